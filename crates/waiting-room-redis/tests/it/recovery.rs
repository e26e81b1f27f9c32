//! Recovery: a server that has lost its data, and a replica that has taken over.

use std::time::Duration;

use redis::AsyncCommands;
use waiting_room_core::{
    Pass, Reason, RoomRules, Store, Timestamp, Verdict, VisitorId,
    room::{Recovery, Renewal},
    time::{Clock, ManualClock},
};
use waiting_room_engines::{Engine, EngineServer, Persistence};
use waiting_room_redis::RedisStore;

use crate::support::{admitted, eventually, manager, node_by, on_each, queued, start};

const START: Timestamp = Timestamp::from_secs(1_700_000_000);

fn rules(recovery: Recovery) -> RoomRules {
    RoomRules::new("shop", 2).session_duration(Duration::from_secs(80)).recovery(recovery)
}

/// Opens a room, waits until its first pause is over, and admits a visitor.
async fn used(
    server: &EngineServer,
    clock: &ManualClock,
    recovery: Recovery,
) -> (RedisStore, Pass) {
    let store = node_by(clock.clone(), server, rules(recovery)).await;
    clock.advance(Duration::from_secs(90));
    let pass = admitted(&store, 1).await;
    (store, pass)
}

/// Checks that the room admits no newcomers until each pass from before the loss is void, and that
/// the session of such a pass goes on and counts again.
async fn holds(store: &RedisStore, clock: &ManualClock, pass: Pass) {
    let lost_at = clock.now();
    let verdict = store.enter(VisitorId::new(2)).await.unwrap();
    assert_eq!(verdict.reason(), &Reason::QueuedRecovery);
    assert_eq!(store.remembers_since(), lost_at, "passes from before are due for renewal");
    let Renewal::Renew(renewed) = store.renew(pass).await.unwrap() else { panic!("broken off") };
    assert_eq!(renewed.accepted_at, pass.accepted_at);
    assert_eq!(store.snapshot().await.unwrap().active, 1);
    clock.advance(Duration::from_secs(89));
    let verdict = store.enter(VisitorId::new(2)).await.unwrap();
    assert_eq!(verdict.reason(), &Reason::QueuedRecovery);
    clock.advance(Duration::from_secs(1));
    admitted(store, 2).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_emptied_server_admits_no_visitor_while_old_passes_exist() {
    on_each(async |engine| {
        let server = start(engine);
        let clock = ManualClock::new(START);
        let (store, pass) = used(&server, &clock, Recovery::Pause).await;
        let () = redis::cmd("FLUSHALL").query_async(&mut manager(&server).await).await.unwrap();
        holds(&store, &clock, pass).await;
    })
    .await;
}

/// Deletes all data of the server, and checks that the pause is as long as sessions of an hour
/// need, although sessions under the current rules last 80 s.
async fn holds_for_an_hour(store: &RedisStore, server: &EngineServer, clock: &ManualClock) {
    let () = redis::cmd("FLUSHALL").query_async(&mut manager(server).await).await.unwrap();
    for wait in [0, 4_049] {
        clock.advance(Duration::from_secs(wait));
        let verdict = store.enter(VisitorId::new(2)).await.unwrap();
        assert_eq!(verdict.reason(), &Reason::QueuedRecovery, "after {wait} s");
    }
    clock.advance(Duration::from_secs(1));
    admitted(store, 2).await;
}

fn long_rules() -> RoomRules {
    rules(Recovery::Pause).session_duration(Duration::from_secs(3_600))
}

#[tokio::test(flavor = "multi_thread")]
async fn shortening_sessions_as_an_operator_does_not_shorten_the_hold() {
    on_each(async |engine| {
        let server = start(engine);
        let clock = ManualClock::new(START);
        let store = node_by(clock.clone(), &server, long_rules()).await;
        store.configure(|_| rules(Recovery::Pause)).await.unwrap();
        holds_for_an_hour(&store, &server, &clock).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_release_with_shorter_sessions_does_not_shorten_the_hold() {
    on_each(async |engine| {
        let server = start(engine);
        let clock = ManualClock::new(START);
        drop(node_by(clock.clone(), &server, long_rules()).await);
        let store = node_by(clock.clone(), &server, rules(Recovery::Pause)).await;
        assert_eq!(*store.rules(), rules(Recovery::Pause));
        holds_for_an_hour(&store, &server, &clock).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_room_that_lost_a_key_admits_no_visitor_while_old_passes_exist() {
    on_each(async |engine| {
        for key in ["visitors", "deadlines", "ended", "voids", "minute"] {
            let server = start(engine);
            let clock = ManualClock::new(START);
            let (store, pass) = used(&server, &clock, Recovery::Pause).await;
            store.leave(VisitorId::new(7)).await.unwrap();
            let () = manager(&server).await.del(format!("{{wr:shop}}:{key}")).await.unwrap();
            holds(&store, &clock, pass).await;
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_room_of_which_a_key_has_shrunk_is_never_above_its_limit() {
    on_each(async |engine| {
        let server = start(engine);
        let clock = ManualClock::new(START);
        let (store, pass) = used(&server, &clock, Recovery::Pause).await;
        let other = admitted(&store, 3).await;
        let page: Vec<Vec<u8>> = manager(&server).await.hkeys("{wr:shop}:visitors").await.unwrap();
        let () = manager(&server).await.hdel("{wr:shop}:visitors", &page[0]).await.unwrap();
        let verdict = store.enter(VisitorId::new(2)).await.unwrap();
        assert_eq!(verdict.reason(), &Reason::QueuedRecovery);
        for pass in [pass, other] {
            assert!(matches!(store.renew(pass).await.unwrap(), Renewal::Renew(_)));
        }
        assert_eq!(store.snapshot().await.unwrap().active, 2);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_and_minutes_that_end_by_themselves_are_no_loss() {
    on_each(async |engine| {
        let server = start(engine);
        let clock = ManualClock::new(START);
        let (store, _) = used(&server, &clock, Recovery::Pause).await;
        for id in 10..30 {
            for other in 0..4 {
                let verdict = store.enter(VisitorId::new(100 * id + other)).await.unwrap();
                clock.advance(Duration::from_secs(3));
                if let Verdict::Wait { ticket, .. } = verdict {
                    store.check_in(ticket).await.unwrap();
                }
            }
            store.leave(VisitorId::new(100 * id)).await.unwrap();
            store.leave(VisitorId::new(100 * id + 3)).await.unwrap();
            clock.advance(Duration::from_secs(13 * u64::try_from(id).unwrap()));
        }
        assert_eq!(store.remembers_since(), START);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_restarted_without_its_memory_admits_no_visitor_either() {
    on_each(async |engine| {
        let mut server = start(engine);
        let clock = ManualClock::new(START);
        let (store, pass) = used(&server, &clock, Recovery::Pause).await;
        server.start_again().unwrap();
        eventually(async || store.snapshot().await.ok()).await;
        holds(&store, &clock, pass).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rules_that_an_operator_changed_outlive_the_memory_of_the_server() {
    on_each(async |engine| {
        let server = start(engine);
        let clock = ManualClock::new(START);
        let (store, _) = used(&server, &clock, Recovery::AdmitAtOnce).await;
        store.configure(|rules| rules.total_active_users(1)).await.unwrap();
        let () = redis::cmd("FLUSHALL").query_async(&mut manager(&server).await).await.unwrap();
        admitted(&store, 5).await;
        queued(&store, 6).await;
        assert_eq!(store.snapshot().await.unwrap().total_active_users, 1);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_kept_its_data_is_not_trusted_to_have() {
    on_each(async |engine| {
        let mut server = EngineServer::start(engine, Persistence::Always).unwrap();
        let clock = ManualClock::new(START);
        let (store, pass) = used(&server, &clock, Recovery::Pause).await;
        server.start_again().unwrap();
        // The scripts check the server's run id once in 50 ms.
        clock.advance(Duration::from_millis(50));
        eventually(async || store.snapshot().await.ok()).await;
        holds(&store, &clock, pass).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replica_that_takes_over_may_have_missed_something() {
    on_each(async |engine: Engine| {
        let server = start(engine);
        let replica = start(engine);
        follow(&replica, Some(&server)).await;
        let clock = ManualClock::new(START);
        let (_, pass) = used(&server, &clock, Recovery::Pause).await;
        has_heard(&replica).await;
        drop(server);
        follow(&replica, None).await;
        clock.advance(Duration::from_millis(50));
        let store = node_by(clock.clone(), &replica, rules(Recovery::Pause)).await;
        holds(&store, &clock, pass).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unheard_renewal_outlives_the_session_that_the_replica_knows() {
    on_each(async |engine: Engine| {
        let server = start(engine);
        let replica = start(engine);
        follow(&replica, Some(&server)).await;
        let clock = ManualClock::new(START);
        let (store, pass) = used(&server, &clock, Recovery::Pause).await;
        has_heard(&replica).await;
        follow(&replica, None).await;
        clock.advance(Duration::from_secs(60));
        let Renewal::Renew(pass) = store.renew(pass).await.unwrap() else { panic!("broken off") };
        drop(server);
        clock.advance(Duration::from_millis(50));
        let store = node_by(clock.clone(), &replica, rules(Recovery::Pause)).await;
        store.sweep().await.unwrap();
        clock.advance(Duration::from_secs(60));
        store.sweep().await.unwrap();
        assert_eq!(store.snapshot().await.unwrap().active, 0, "the session has lapsed here");
        let renewal = store.renew(pass).await.unwrap();
        assert!(matches!(renewal, Renewal::Renew(_)), "{renewal:?}");
    })
    .await;
}

/// Makes a server a replica of another, or a primary.
async fn follow(replica: &EngineServer, server: Option<&EngineServer>) {
    let mut replicaof = redis::cmd("REPLICAOF");
    match server {
        Some(server) => {
            // A server waits five seconds for other replicas by default.
            let mut set = redis::cmd("CONFIG");
            set.arg("SET").arg("repl-diskless-sync-delay").arg(0);
            let () = set.query_async(&mut manager(server).await).await.unwrap();
            replicaof.arg("127.0.0.1").arg(server.port())
        }
        None => replicaof.arg("NO").arg("ONE"),
    };
    let () = replicaof.query_async(&mut manager(replica).await).await.unwrap();
}

/// Waits until a replica knows of the active visitor.
async fn has_heard(replica: &EngineServer) {
    let mut connection = manager(replica).await;
    eventually(async || {
        let pages: usize = connection.zcard("{wr:shop}:deadlines").await.ok()?;
        (pages == 1).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_hold_the_line_continues_at_once_in_the_order_of_its_tickets() {
    on_each(async |engine| {
        let server = start(engine);
        let clock = ManualClock::new(START);
        let (store, _) = used(&server, &clock, Recovery::AdmitAtOnce).await;
        admitted(&store, 2).await;
        let first = queued(&store, 3).await;
        let second = queued(&store, 4).await;
        let () = redis::cmd("FLUSHALL").query_async(&mut manager(&server).await).await.unwrap();
        admitted(&store, 5).await;
        clock.advance(Duration::from_secs(1));
        let verdict = store.check_in(first).await.unwrap();
        assert!(matches!(verdict, Verdict::Admit { .. }), "{verdict:?}");
        match store.check_in(second).await.unwrap() {
            Verdict::Wait { ticket, .. } => assert_eq!(ticket.first_seen, second.first_seen),
            other @ (Verdict::Admit { .. } | Verdict::Refuse { .. }) => panic!("{other:?}"),
        }
    })
    .await;
}
