//! A user of the server who has only the rights that `docs/redis.md` lists.

use std::{collections::BTreeSet, fs, num::NonZeroU32, path::Path, time::Duration};

use redis::{Client, Value};
use waiting_room_core::{
    Quota, RoomRules, Store, Timestamp, Verdict, VisitorId,
    gate::{Demand, SharedConcurrency},
    rate::RateStore,
    room::{
        QueueingMethod, Renewal,
        event::{Event, Schedule, Seed},
    },
    time::ManualClock,
};
use waiting_room_redis::{GateShare, GateShareOptions, GateStoreFailure, RedisLimits, RedisStore};

use crate::{
    limits::support::{all, ask, charge, policy},
    support::{admitted, connection, on_each, open, patient, queued, start},
};

const MANUAL: &str = include_str!("../../../../docs/redis.md");

#[tokio::test(flavor = "multi_thread")]
async fn the_rights_in_the_manual_are_enough() {
    on_each(async |engine| {
        let server = start(engine);
        let mut command = redis::cmd("ACL");
        rights().skip(1).for_each(|right| _ = command.arg(right));
        let _: Value = command.query_async(&mut connection(&server).await).await.unwrap();
        let url = format!("redis://waiting-room:secret@127.0.0.1:{}", server.port());
        let client = Client::open(url).unwrap();
        let connect = move || open(client.clone());

        let rules = RoomRules::new("shop", 1);
        let store = RedisStore::connect(connect.clone(), rules, patient()).await.unwrap();
        goes_in_and_out(&store).await;
        let clock = ManualClock::new(Timestamp::from_secs(1_700_000_000));
        let options = patient().prefix("wr:drawn").clock(clock.clone());
        let rules = RoomRules::new("shop", 1);
        let drawn = RedisStore::connect(connect.clone(), rules, options).await.unwrap();
        admitted(&drawn, 3).await;
        takes_part_in_a_draw(&drawn, &clock).await;
        let limits = RedisLimits::connect(connect.clone(), "api", patient()).await.unwrap();
        for algorithm in all() {
            let ask = ask(&policy(algorithm, Quota::per_hour(10)), "ann", 2);
            let charged = charge(&limits, &ask).await.charge.unwrap();
            limits.settle(&ask, &charged, 1).unwrap();
            charge(&limits, &ask).await;
        }
        let total = NonZeroU32::new(7).unwrap();
        let options =
            GateShareOptions::new(total, GateStoreFailure::Refuse).deadline(Duration::from_secs(1));
        let gate = GateShare::connect(connect, "checkout", options).await.unwrap();
        assert_eq!(gate.join().renew(Demand::default()).await, 7);
    })
    .await;
}

async fn goes_in_and_out(store: &RedisStore) {
    let pass = admitted(store, 1).await;
    let ticket = queued(store, 7 << 96 | 2).await;
    store.check_in(ticket).await.unwrap();
    assert!(matches!(store.renew(pass).await.unwrap(), Renewal::Renew(_)));
    store.configure(|rules| rules.queueing_method(QueueingMethod::Random)).await.unwrap();
    store.configure(|rules| rules.queueing_method(QueueingMethod::Fifo)).await.unwrap();
    store.leave(pass.id).await.unwrap();
    assert!(matches!(store.check_in(ticket).await.unwrap(), Verdict::Admit { .. }));
    store.enter(VisitorId::new(3)).await.unwrap();
    store.sweep().await.unwrap();
    assert_eq!(store.snapshot().await.unwrap().active, 1);
}

/// Lets an entrant take its place in a draw.
async fn takes_part_in_a_draw(store: &RedisStore, clock: &ManualClock) {
    let [prequeue, start, end] = [1, 21, 91].map(|secs| store.now() + Duration::from_secs(secs));
    let doors = Event::new("doors", start, end).prequeue_start(prequeue);
    let schedule = Schedule::new([doors]).unwrap();
    let seed = Seed::new([7; 32]);
    store.schedule(schedule.with_seed("shop", "doors", seed).unwrap()).await.unwrap();
    clock.advance(Duration::from_secs(2));
    for who in [4, 5] {
        let ticket = queued(store, who).await;
        clock.advance(Duration::from_secs(2));
        let Verdict::Wait { ticket, .. } = store.check_in(ticket).await.unwrap() else { panic!() };
        assert!(ticket.entrant.is_some());
        if who == 4 {
            store.leave(ticket.id).await.unwrap();
            continue;
        }
        clock.advance(start.since(store.now()));
        let Verdict::Wait { ticket, .. } = store.check_in(ticket).await.unwrap() else { panic!() };
        assert!(ticket.entrant.is_some_and(|entrant| entrant.place.is_some()));
    }
}

#[test]
fn the_rights_in_the_manual_are_exactly_the_ones_in_use() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut used = BTreeSet::from(["evalsha".to_owned(), "script|load".to_owned()]);
    for folder in ["lua", "lua/room", "limits/lua"] {
        let files = fs::read_dir(source.join(folder)).unwrap().map(|file| file.unwrap().path());
        for file in files.filter(|file| file.is_file()) {
            let script = fs::read_to_string(file).unwrap();
            let calls = script.split("redis.call('").skip(1);
            used.extend(calls.map(|call| call.split('\'').next().unwrap().to_lowercase()));
        }
    }
    let given: BTreeSet<_> = rights().filter_map(|right| right.strip_prefix('+')).collect();
    assert_eq!(given, used.iter().map(String::as_str).collect());
}

/// Returns the words of the command in the manual that creates the user.
fn rights() -> impl Iterator<Item = &'static str> {
    let command = MANUAL.find("ACL SETUSER").expect("the manual creates a user");
    MANUAL[command..].split("```").next().unwrap().split_whitespace().filter(|word| *word != "\\")
}
