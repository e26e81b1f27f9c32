//! Two sites with one limit on new visitors, each a real server with a node, and a ledger with
//! PostgreSQL between them. The test sets the clocks of the rooms, so that minutes are short. One
//! of these clocks is fast.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use redis::aio::MultiplexedConnection;
use tokio::{task::JoinSet, time::interval};
use waiting_room_core::{
    RoomRules, Store, StoreError, Timestamp, Verdict, VisitorId, time::ManualClock,
};
use waiting_room_engines::{Engine, EngineServer, Persistence, PostgresServer};
use waiting_room_ledger::{EscrowRules, Policy, SiteId, SiteOptions, SiteStore};
use waiting_room_redis::RedisStoreOptions;

use crate::sites::{Ledger, keys, sentence_of, set_up_room};

/// The most new visitors in any sixty seconds, and the most active ones.
const NEW: u32 = 20;
const ACTIVE: u32 = 1_000;
const SESSION: Duration = Duration::from_secs(8);
const MINUTE: Duration = Duration::from_secs(60);
const BEGIN: Timestamp = Timestamp::from_secs(1_700_000_000);
/// How often time advances, by a tenth of a second on an exact clock. The agents of the sites use
/// the clock of the machine. After another site has asked, which it does each fifth of a heartbeat,
/// a site that has places gives them back for two heartbeats by its own clock. So time must not
/// pass ten times as fast as on the clock of the machine.
const EACH: Duration = Duration::from_millis(15);
const STEP: Duration = Duration::from_millis(100);

/// The rules of both accounts. The lease does not end in a test, since heartbeats take long by the
/// clocks of the rooms.
const fn rules(rules: EscrowRules) -> EscrowRules {
    rules
        .lease(Duration::from_secs(3_600))
        .drift_margin(Duration::from_secs(1))
        .heartbeat(Duration::from_millis(300))
        .borrow_wait(Duration::from_millis(500))
}

/// Passes last for an eighth longer than a session.
const SLOTS: EscrowRules = rules(EscrowRules::new().session(Duration::from_secs(9)));
const PLACES: EscrowRules = rules(EscrowRules::rolling_minute());

/// A site whose clock is fast by this many parts in 256.
struct Site {
    store: SiteStore,
    server: EngineServer,
    clock: ManualClock,
    fast: u32,
}

impl Site {
    async fn join(number: u16, engine: Engine, ledger: &str, fast: u32) -> Self {
        let server = EngineServer::start(engine, Persistence::Never).unwrap();
        let clock = ManualClock::new(BEGIN);
        let client = redis::Client::open(server.url()).unwrap();
        let open = move || {
            let client = client.clone();
            async move { client.get_multiplexed_async_connection().await }
        };
        // Each site alone would admit twice the limit, if the rules of the room had an effect.
        let room =
            RoomRules::new("shop", ACTIVE).session_duration(SESSION).new_users_per_minute(2 * NEW);
        let options = RedisStoreOptions::new().deadline(Duration::from_secs(5));
        let options = options.clock(clock.clone());
        let site = SiteOptions::new(SiteId::new(number), SLOTS, [ledger.to_owned()], keys())
            .new_users_per_minute("shop-minute", PLACES)
            .clock(clock.clone());
        let store = SiteStore::connect(open, room, options, site).await.unwrap();
        Self { store, server, clock, fast }
    }

    /// Sets the clock to the time that it shows after this time has passed.
    fn after(&self, passed: Duration) {
        self.clock.advance_to(BEGIN + passed + passed * self.fast / 256);
    }

    /// The time that had passed when the clock of the site showed this time.
    fn passed(&self, shown: Timestamp) -> Duration {
        shown.since(BEGIN) * 256 / (256 + self.fast)
    }

    async fn connection(&self) -> MultiplexedConnection {
        let client = redis::Client::open(self.server.url()).unwrap();
        client.get_multiplexed_async_connection().await.unwrap()
    }
}

/// The greatest number of these times in any sixty seconds.
fn most_in_a_minute(times: &[Duration]) -> usize {
    let mut times = times.to_vec();
    times.sort_unstable();
    let within = |first: usize| times[first..].partition_point(|at| *at < times[first] + MINUTE);
    (0..times.len()).map(within).max().unwrap_or(0)
}

#[tokio::test(flavor = "multi_thread")]
async fn two_sites_keep_one_limit_on_new_visitors_with_a_fast_clock_and_a_lost_room() {
    let postgres = PostgresServer::start().unwrap();
    set_up_room(&postgres, "shop", ACTIVE, SLOTS).await;
    set_up_room(&postgres, "shop-minute", NEW, PLACES).await;
    let ledger = Ledger::of_rooms(&postgres, "127.0.0.1:0", &["shop", "shop-minute"]).await;
    let [redis, valkey] = Engine::ALL;
    let sites = [
        Site::join(1, redis, &ledger.address, 0).await,
        Site::join(2, valkey, &ledger.address, 1).await,
    ];
    // When each visitor was admitted, and where.
    let admitted = Arc::new(Mutex::new(Vec::new()));
    let mut visitors = 0;
    let mut arrivals = JoinSet::new();
    let mut each = interval(EACH);
    let loss = Duration::from_secs(75);
    let end = Duration::from_secs(215);
    let mut passed = Duration::ZERO;
    while passed < end {
        each.tick().await;
        passed += STEP;
        for (number, site) in sites.iter().enumerate() {
            site.after(passed);
            visitors += 1;
            let id = VisitorId::new(visitors);
            let store = site.store.clone();
            let admitted = Arc::clone(&admitted);
            arrivals.spawn(async move {
                if let Ok(Verdict::Admit { pass, .. }) = store.enter(id).await {
                    admitted.lock().unwrap().push((number, pass.accepted_at));
                }
            });
        }
        if passed == loss {
            let mut connection = sites[0].connection().await;
            let () = redis::cmd("FLUSHALL").query_async(&mut connection).await.unwrap();
        }
        while arrivals.try_join_next().is_some() {}
    }
    arrivals.abort_all();
    ledger.kill().await;
    let admitted: Vec<_> = admitted.lock().unwrap().clone();
    let admitted: Vec<_> =
        admitted.iter().map(|&(site, shown)| (site, sites[site].passed(shown))).collect();
    let between = |from: Duration, until: Duration| {
        let within = |site| {
            move |admission: &&(usize, Duration)| {
                admission.0 == site && from <= admission.1 && admission.1 < until
            }
        };
        [0, 1].map(|site| admitted.iter().filter(within(site)).count())
    };
    // Both sites are open again when the last places and passes from before the loss are over.
    let again = loss + Duration::from_secs(65);
    let phases = [(Duration::ZERO, loss), (loss, again), (again, end)];
    let counts = phases.map(|(from, until)| between(from, until));
    println!("{counts:?} were admitted before the loss of the first room, after it, and later");
    // A place goes to the site that asks first, so the shares of a busy machine are uneven.
    for [first, second] in [counts[0], counts[2]] {
        assert!(first > 0 && second > 0 && first + second >= NEW as usize, "{counts:?}");
    }
    assert!(counts[1][1] > 0, "the other site goes on: {counts:?}");
    let times: Vec<_> = admitted.iter().map(|admission| admission.1).collect();
    assert_eq!(most_in_a_minute(&times), NEW as usize, "the minute is full, and not above");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_limit_on_new_visitors_that_would_not_hold_is_refused_at_the_start_by_name() {
    let server = EngineServer::start(Engine::Redis, Persistence::Never).unwrap();
    let client = redis::Client::open(server.url()).unwrap();
    let connection = client.get_multiplexed_async_connection().await.unwrap();
    let refused = async |room: &str, rules, policy| {
        let site = SiteOptions::new(SiteId::new(1), SLOTS, ["127.0.0.1:9".to_owned()], keys());
        let site = site.policy(policy).new_users_per_minute(room, rules);
        let rules = RoomRules::new("shop", 9).session_duration(SESSION);
        let options = RedisStoreOptions::new().deadline(Duration::from_secs(5));
        let store = SiteStore::with_connection(connection.clone(), rules, options, site);
        let refused: StoreError = store.await.unwrap_err();
        sentence_of(&refused)
    };
    let shorter = PLACES.session(MINUTE);
    for (room, rules, policy, sentence) in [
        (
            "shop-minute",
            shorter,
            Policy::Escrow,
            "session is 60s, expected 60.234375s, for which a place in a rolling minute is held",
        ),
        (
            "shop",
            PLACES,
            Policy::Escrow,
            "new_users_per_minute is \"shop\", expected another room of the ledger than that of the \
             limit on active visitors",
        ),
        (
            "",
            PLACES,
            Policy::Escrow,
            "new_users_per_minute is \"\", expected the name of a room of the ledger",
        ),
        (
            "shop-minute",
            PLACES,
            Policy::Counters,
            "new_users_per_minute is \"shop-minute\", expected no room of its own with \
             Policy::Counters",
        ),
        (
            "shop-minute",
            PLACES.heartbeat(Duration::ZERO),
            Policy::Escrow,
            "heartbeat is 0ns, expected at least 10ms",
        ),
    ] {
        let refused = refused(room, rules, policy).await;
        assert!(refused.contains(sentence), "{refused}");
    }
}
