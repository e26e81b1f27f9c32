//! Two sites that count, each a real server with a node, and a real ledger between them. Every story
//! is also told of sites that hold slots. The calendar is the test's.

use std::time::Duration;

use axum::{Router, body::Body, http::Request, routing::get};
use tokio::{
    net::TcpListener,
    task::JoinHandle,
    time::{Instant, interval},
};
use tower::ServiceExt;
use tower_waiting_room::{KeyRing, StoreFailure, TokenKey, WaitingRoomConfig, WaitingRoomLayer};
use waiting_room_core::{
    RoomRules, Store, Timestamp, Verdict, VisitorId,
    time::{Clock, ManualClock},
};
use waiting_room_engines::{Engine, EngineServer, Persistence};
use waiting_room_ledger::{
    Policy, SiteId, SiteOptions, SiteStore,
    model::{
        Holder, HolderHandle, HolderTimes, LedgerServer, MemoryKeeper, Minute, Order, ServerKeys,
    },
};
use waiting_room_redis::RedisStoreOptions;

use crate::{LASTING, keys};

const LIMIT: u32 = 20;
/// The beginning of a minute.
const BEGIN: Timestamp = Timestamp::from_secs(60 * 28_000_000);

/// A world with two sites, in which a minute begins only when the test says so.
struct World {
    clock: ManualClock,
    handle: HolderHandle,
    ledger: Vec<JoinHandle<()>>,
    sites: [SiteStore; 2],
    /// The visitors who are active, and the number of all visitors so far.
    active: [Vec<VisitorId>; 2],
    visitors: u128,
    _servers: [EngineServer; 2],
}

impl World {
    async fn new(policy: Policy) -> Self {
        let clock = ManualClock::new(BEGIN);
        let sites = [1, 2].map(SiteId::new);
        let keeper = MemoryKeeper::new(LIMIT, sites, LASTING);
        let (holder, handle) = Holder::new("shop", keeper, HolderTimes::default());
        let holder = holder.calendar(clock.clone());
        let holder = tokio::spawn(holder.run(std::future::pending()));
        let rooms = [("shop".into(), handle.clone())];
        let server = LedgerServer::new(rooms, ServerKeys::new(keys()));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let server = tokio::spawn(async move { drop(server.listen(&listener).await) });

        let engines = Engine::ALL.map(|engine| EngineServer::start(engine, Persistence::Never));
        let servers = engines.map(Result::unwrap);
        let site = |at: usize| {
            let client = redis::Client::open(servers[at].url()).unwrap();
            let open = move || {
                let client = client.clone();
                async move { client.get_multiplexed_async_connection().await }
            };
            let options = RedisStoreOptions::new().deadline(Duration::from_secs(5));
            let options = options.clock(clock.clone());
            let site = SiteOptions::new(sites[at], LASTING, [address.clone()], keys());
            // Each site alone would admit twice the limit, if the rules of the room had a say.
            let rules = RoomRules::new("shop", 2 * LIMIT);
            SiteStore::connect(open, rules, options, site.policy(policy))
        };
        let sites = [site(0).await.unwrap(), site(1).await.unwrap()];
        let active = Default::default();
        let ledger = vec![holder, server];
        let world = Self { clock, handle, ledger, sites, active, visitors: 0, _servers: servers };
        world.settle().await;
        world
    }

    async fn status(&self) -> String {
        self.handle.order(Order::Status).await.unwrap_or_default()
    }

    /// Waits for ten heartbeats, in which each site tells the ledger what it counts, and hears of the
    /// other. Two seconds pass by the calendar as well.
    async fn settle(&self) {
        let begin = Instant::now();
        let at = self.clock.now();
        let mut each = interval(Duration::from_millis(20));
        while begin.elapsed() < Duration::from_secs(2) {
            each.tick().await;
            self.clock.advance_to(at + begin.elapsed());
        }
    }

    /// The next minute of the calendar begins.
    async fn next_minute(&self) {
        self.clock.advance_to(Minute::of(self.clock.now()).end());
        self.settle().await;
    }

    /// Visitors arrive at a site, one after the other. Returns how many of them are admitted.
    async fn arrive(&mut self, site: usize, visitors: u32) -> u32 {
        let mut admitted = 0;
        for _ in 0..visitors {
            self.visitors += 1;
            let id = VisitorId::new(self.visitors);
            if let Verdict::Admit { .. } = self.sites[site].enter(id).await.unwrap() {
                self.active[site].push(id);
                admitted += 1;
            }
        }
        admitted
    }

    async fn all_leave(&mut self) {
        for (site, visitors) in self.sites.iter().zip(&mut self.active) {
            for visitor in visitors.drain(..) {
                site.leave(visitor).await.unwrap();
            }
        }
    }

    fn kill_the_ledger(&mut self) {
        self.ledger.drain(..).for_each(|task| task.abort());
    }
}

/// A request of a visitor with this cookie. Returns whether it is let in, and the cookie it gets.
async fn visit(site: &Router, cookie: Option<&str>) -> (bool, Option<String>) {
    let mut request = Request::get("/").header("accept", "text/html");
    if let Some(cookie) = cookie {
        request = request.header("cookie", cookie);
    }
    let response = site.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
    let set = response.headers().get("set-cookie").map(|value| value.to_str().unwrap());
    let cookie = set.and_then(|header| header.split(';').next()).map(str::to_owned);
    (response.status().is_success(), cookie)
}

#[tokio::test(flavor = "multi_thread")]
async fn applications_at_two_counting_sites_admit_the_limit_and_queue_the_rest() {
    let world = World::new(Policy::Counters).await;
    assert!(world.status().await.contains("counting: sites 2, active 0\n"));
    let sites = world.sites.each_ref().map(|store| {
        let key = TokenKey::from_bytes([7; 32]);
        let config =
            WaitingRoomConfig::builder("shop").room_store(store.clone(), StoreFailure::Wait);
        let layer = WaitingRoomLayer::new(config.keys(KeyRing::new(key)).build().unwrap());
        Router::new().route("/", get(|| async { "inside" })).layer(layer)
    });
    let mut cookie = None;
    let mut admitted = [0; 2];
    for visitor in 0..2 * LIMIT {
        let at = usize::from(visitor % 2 == 1);
        let (is_admitted, set) = visit(&sites[at], None).await;
        admitted[at] += u32::from(is_admitted);
        if is_admitted && at == 0 {
            cookie = set;
        }
    }
    println!("{admitted:?} were admitted");
    assert_eq!(admitted, [LIMIT / 2; 2], "one counter for both sites");
    world.settle().await;
    let status = world.status().await;
    assert!(status.contains("counting: sites 2, active 20\n"), "{status}");

    // Each site had a half of the traffic, and there are no slots to share.
    world.next_minute().await;
    world.next_minute().await;
    for site in &sites {
        assert!(!visit(site, None).await.0, "the room is full");
    }
    assert!(visit(&sites[0], cookie.as_deref()).await.0, "a pass needs no slot");
    assert!(!visit(&sites[1], cookie.as_deref()).await.0, "a visitor who moves needs one");
}

/// A crowd comes to one site, after both had the same traffic. Returns how many are admitted.
async fn crowd_at_one_site(policy: Policy) -> u32 {
    let mut world = World::new(policy).await;
    assert_eq!([world.arrive(0, 10).await, world.arrive(1, 10).await], [10, 10], "{policy:?}");
    world.all_leave().await;
    world.next_minute().await;
    world.next_minute().await;
    world.arrive(0, 15).await
}

#[tokio::test(flavor = "multi_thread")]
async fn only_sites_that_count_queue_a_crowd_too_early() {
    let counted = crowd_at_one_site(Policy::Counters).await;
    // The other ten slots of the minute are those of the other site, where they are not used.
    assert_eq!(counted, 10, "of 15, in a world of {LIMIT} slots");
    assert_eq!(crowd_at_one_site(Policy::Escrow).await, 15);
}

/// The ledger dies, and crowds come to a site in three minutes. Returns how many visitors are active.
async fn crowds_without_a_ledger(policy: Policy) -> u32 {
    let mut world = World::new(policy).await;
    assert_eq!(world.arrive(0, 10).await, 10, "{policy:?}");
    world.all_leave().await;
    world.next_minute().await;
    world.kill_the_ledger();
    let mut active = 0;
    for _ in 0..3 {
        world.next_minute().await;
        active += world.arrive(0, 12).await;
    }
    active
}

#[tokio::test(flavor = "multi_thread")]
async fn only_sites_that_count_exceed_the_limit() {
    let counted = crowds_without_a_ledger(Policy::Counters).await;
    // Ten slots of the site in each minute, by a snapshot that includes none of the visitors.
    assert_eq!(counted, 30, "of {LIMIT}");
    let held = crowds_without_a_ledger(Policy::Escrow).await;
    println!("{held} were admitted to held slots");
    assert!(held <= LIMIT, "{held}");
}

#[tokio::test(flavor = "multi_thread")]
async fn three_minutes_without_news_end_the_counting() {
    let mut world = World::new(Policy::Counters).await;
    assert_eq!(world.arrive(0, 10).await, 10);
    world.next_minute().await;
    world.kill_the_ledger();
    for _ in 0..4 {
        world.next_minute().await;
    }
    assert_eq!(world.arrive(0, 1).await, 0, "the snapshot is 240 s old");
}
