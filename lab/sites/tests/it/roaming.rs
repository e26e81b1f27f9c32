//! Visitors with cookies who move between three sites, each a real server with a node, on both engines.
//! One of the sites dies.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use axum::{Router, body::Body, http::Request, routing::get};
use tokio::{
    net::TcpListener,
    task::{JoinHandle, JoinSet},
    time::{Instant, interval},
};
use tower::ServiceExt;
use tower_waiting_room::{
    KeyRing, Reason, StoreFailure, TokenKey, WaitingRoomConfig, WaitingRoomLayer,
    respond::reason_of, room::RoomRules,
};
use waiting_room_engines::{Engine, EngineServer, Persistence};
use waiting_room_ledger::{
    EscrowRules, SiteId, SiteOptions, SiteStore,
    model::{Holder, HolderTimes, LedgerServer, MemoryKeeper, ServerKeys},
};
use waiting_room_redis::RedisStoreOptions;

use crate::{LASTING, keys};

const SITES: [u16; 3] = [1, 2, 3];
const SESSION: Duration = Duration::from_secs(2);
/// Passes last for an eighth longer than a session.
const PASS: Duration = Duration::from_millis(2250);

/// Three sites and a ledger.
struct World {
    sites: Vec<Router>,
    servers: Vec<EngineServer>,
    ledger: [JoinHandle<()>; 2],
}

impl World {
    async fn new(limit: u32, rules: EscrowRules) -> Self {
        let keeper = MemoryKeeper::new(limit, SITES.map(SiteId::new), rules);
        let (holder, handle) = Holder::new("shop", keeper, HolderTimes::default());
        let holder = tokio::spawn(holder.run(std::future::pending()));
        let server = LedgerServer::new([("shop".into(), handle)], ServerKeys::new(keys()));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let server = tokio::spawn(async move { drop(server.listen(&listener).await) });
        let mut sites = Vec::new();
        let mut servers = Vec::new();
        for (site, engine) in SITES.into_iter().zip([Engine::Redis, Engine::Valkey, Engine::Redis])
        {
            let server = EngineServer::start(engine, Persistence::Never).unwrap();
            sites.push(application(&server, site, &address, rules).await);
            servers.push(server);
        }
        Self { sites, servers, ledger: [holder, server] }
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.ledger.iter().for_each(JoinHandle::abort);
    }
}

/// A site as an application builds it, with the keys for tokens of all sites. A response to `/out` ends
/// the session.
async fn application(
    server: &EngineServer,
    site: u16,
    ledger: &str,
    escrow: EscrowRules,
) -> Router {
    let [(_, pass), ..] = escrow.times();
    let client = redis::Client::open(server.url()).unwrap();
    let open = move || {
        let client = client.clone();
        async move { client.get_multiplexed_async_connection().await }
    };
    let options = RedisStoreOptions::new().deadline(Duration::from_secs(2));
    let site = SiteOptions::new(SiteId::new(site), escrow, [ledger.to_owned()], keys());
    let rules = RoomRules::new("shop", 1_000).session_duration(pass * 8 / 9);
    let store = SiteStore::connect(open, rules, options, site).await.unwrap();
    let config = WaitingRoomConfig::builder("shop")
        .room_store(store, StoreFailure::Wait)
        .keys(KeyRing::new(TokenKey::from_bytes([7; 32])));
    let layer = WaitingRoomLayer::new(config.build().unwrap());
    let out = || async { [("waiting-room-command", "revoke")] };
    Router::new().route("/", get(|| async { "inside" })).route("/out", get(out)).layer(layer)
}

/// A visitor, who keeps the cookie of the room.
#[derive(Clone, Default)]
struct Visitor {
    cookie: Option<String>,
    /// The site of its pass, if the cookie is one.
    site: Option<usize>,
}

/// What a visitor saw: why it was let in or not, and whether it got another cookie.
struct Seen {
    is_inside: bool,
    reason: Reason,
    is_given: bool,
}

impl Visitor {
    async fn get(&mut self, site: &Router, path: &str) -> Seen {
        let mut request = Request::get(path).header("accept", "text/html");
        if let Some(cookie) = &self.cookie {
            request = request.header("cookie", cookie);
        }
        let response = site.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
        let set = response.headers().get("set-cookie").map(|value| value.to_str().unwrap());
        let given = set.and_then(|header| header.split(';').next()).map(str::to_owned);
        let is_given = given.is_some();
        self.cookie = given.or(self.cookie.take());
        let reason = reason_of(&response).cloned().unwrap_or(Reason::AdmittedPass);
        Seen { is_inside: response.status().is_success(), reason, is_given }
    }

    /// Asks until it is let in, and returns the reason.
    async fn enter(&mut self, site: &Router) -> Reason {
        let begin = Instant::now();
        let mut each = interval(Duration::from_millis(100));
        loop {
            let seen = self.get(site, "/").await;
            if seen.is_inside {
                return seen.reason;
            }
            assert!(begin.elapsed() < Duration::from_secs(20), "not let in: {}", seen.reason);
            each.tick().await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_moving_visitor_is_admitted_or_waits_ahead_of_the_line() {
    let world = World::new(4, LASTING).await;
    let [paris, tokyo, _] = &world.sites[..] else { panic!("three sites") };
    let mut ann = Visitor::default();
    ann.enter(paris).await;
    assert_eq!(ann.enter(tokyo).await, Reason::AdmittedMoved);
    let from_tokyo = ann.cookie.clone();
    assert_eq!(ann.enter(tokyo).await, Reason::AdmittedPass);
    assert_eq!(ann.cookie, from_tokyo, "the pass is one of Tokyo, and not due");
    // Two of the four slots are hers.
    let mut bob = Visitor::default();
    let mut carol = Visitor::default();
    bob.enter(paris).await;
    carol.enter(tokyo).await;
    let mut dan = Visitor::default();
    let begin = Instant::now();
    let mut each = interval(Duration::from_millis(100));
    while begin.elapsed() < Duration::from_secs(3) {
        each.tick().await;
        assert!(!dan.get(tokyo, "/").await.is_inside, "the room is full");
        assert!(!bob.clone().get(tokyo, "/").await.is_inside, "the room is full");
    }
    assert!(!bob.get(tokyo, "/").await.is_inside);
    carol.get(tokyo, "/out").await;
    while begin.elapsed() < Duration::from_secs(20) {
        each.tick().await;
        assert!(!dan.get(tokyo, "/").await.is_inside, "he is ahead of the one who moves");
        if bob.get(tokyo, "/").await.is_inside {
            return;
        }
    }
    panic!("Bob waits");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_visitor_waits_for_a_slot_from_another_site_while_it_moves() {
    let rules = LASTING.borrow_wait(Duration::from_secs(2));
    let world = World::new(2, rules).await;
    let [paris, tokyo, new_york] = &world.sites[..] else { panic!("three sites") };
    let mut ann = Visitor::default();
    let mut bob = Visitor::default();
    ann.enter(paris).await;
    bob.enter(new_york).await;
    // A single request is under way while a visitor leaves the third site.
    let (moved, _) = tokio::join!(ann.get(tokyo, "/"), async {
        let mut each = interval(Duration::from_millis(300));
        each.tick().await;
        each.tick().await;
        bob.get(new_york, "/out").await
    });
    assert_eq!((moved.is_inside, moved.reason), (true, Reason::AdmittedMoved));
}

/// A session that was certainly active: from the arrival of a pass, until that pass has lapsed.
#[derive(Clone, Copy, Debug)]
struct Session {
    visitor: u64,
    site: usize,
    from: Instant,
    until: Instant,
}

/// What all visitors saw.
#[derive(Debug, Default)]
struct Oracle {
    sessions: Mutex<Vec<Session>>,
    /// The visitors who were admitted for the first time, and the moves to another site.
    admitted: AtomicUsize,
    moved: AtomicUsize,
    /// The requests that were let in at a site without a pass of that site.
    without_slot: AtomicUsize,
}

impl Oracle {
    fn counts(&self) -> (usize, usize) {
        (self.admitted.load(Ordering::Relaxed), self.moved.load(Ordering::Relaxed))
    }

    /// The greatest number of sessions that were active at once. Passes of one visitor at one site are
    /// one session.
    fn most_active(&self) -> usize {
        let seen = self.sessions.lock().unwrap();
        let at = |now: Instant| {
            let active = seen.iter().filter(|visit| visit.from <= now && now < visit.until);
            let mut active: Vec<_> = active.map(|visit| (visit.visitor, visit.site)).collect();
            active.sort_unstable();
            active.dedup();
            active.len()
        };
        seen.iter().map(|visit| at(visit.from)).max().unwrap_or(0)
    }
}

/// Random numbers that follow from a seed, by SplitMix64.
struct Chance(u64);

impl Chance {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (bits ^ (bits >> 31)) % bound
    }
}

/// A visitor comes, moves back and forth for a while, and goes, with its cookie or a copy of it from
/// before. `alive` is the number of the first site that visitors can reach.
async fn roam(
    visitor: u64,
    seed: u64,
    sites: Vec<Router>,
    alive: Arc<AtomicUsize>,
    oracle: Arc<Oracle>,
) {
    let mut chance = Chance(seed ^ visitor.wrapping_mul(0xd134_2543_de82_ef95));
    let mut person = Visitor::default();
    let mut copy = Visitor::default();
    let mut each = interval(Duration::from_millis(50 + chance.below(200)));
    let mut at = 0;
    let mut home = None;
    for _ in 0..chance.below(14) {
        let first = alive.load(Ordering::Relaxed);
        let moves = chance.below(3) == 0;
        if moves || at < first {
            at = first + usize::try_from(chance.below((sites.len() - first) as u64)).unwrap();
        }
        let shown = if chance.below(8) == 0 { &mut copy } else { &mut person };
        let sent = Instant::now();
        let seen = shown.get(&sites[at], "/").await;
        if seen.is_inside && seen.is_given {
            let session = Session { visitor, site: at, from: Instant::now(), until: sent + PASS };
            oracle.sessions.lock().unwrap().push(session);
            match home.replace(at) {
                None => _ = oracle.admitted.fetch_add(1, Ordering::Relaxed),
                Some(home) if home != at => _ = oracle.moved.fetch_add(1, Ordering::Relaxed),
                Some(_) => {}
            }
        } else if seen.is_inside && shown.site != Some(at) {
            oracle.without_slot.fetch_add(1, Ordering::Relaxed);
        }
        if seen.is_given {
            shown.site = seen.is_inside.then_some(at);
        }
        if chance.below(8) == 0 {
            copy = person.clone();
        }
        each.tick().await;
    }
}

/// Waits until something holds, for a minute at most.
async fn within(what: &str, oracle: &Oracle, holds: impl Fn() -> bool) -> Duration {
    let begin = Instant::now();
    let mut each = interval(Duration::from_millis(20));
    while !holds() {
        assert!(begin.elapsed() < Duration::from_secs(60), "{what}: {:?}", oracle.counts());
        each.tick().await;
    }
    begin.elapsed()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_limit_holds_while_visitors_move_around_and_a_site_dies() {
    const LIMIT: u32 = 120;
    let seed = std::env::var("ROAMING_SEED").ok().and_then(|text| text.parse().ok());
    let seed: u64 = seed.unwrap_or_else(|| u64::from(std::process::id()));
    println!("ROAMING_SEED={seed}");
    let rules = LASTING.session(PASS).lease(Duration::from_secs(2));
    let mut world = World::new(LIMIT, rules).await;
    assert_eq!(SESSION * 9 / 8, PASS);
    let oracle = Arc::new(Oracle::default());
    let alive = Arc::new(AtomicUsize::new(0));
    let crowd = {
        let sites = world.sites.clone();
        let oracle = oracle.clone();
        let alive = alive.clone();
        tokio::spawn(async move {
            let mut crowd = JoinSet::new();
            let mut each = interval(Duration::from_millis(15));
            for visitor in 0.. {
                each.tick().await;
                let sites = sites.clone();
                let oracle = oracle.clone();
                let alive = alive.clone();
                crowd.spawn(roam(visitor, seed, sites, alive, oracle));
                while crowd.try_join_next().is_some() {}
            }
        })
    };
    // The door moves: a hundred visitors are admitted, and a hundred move.
    let is_moving = || oracle.counts().0 >= 100 && oracle.counts().1 >= 100;
    let took = within("visitors move", &oracle, is_moving).await;
    println!("{:?} were admitted and moved in {took:?}", oracle.counts());
    // A site dies, and its visitors move.
    alive.store(1, Ordering::Relaxed);
    world.servers[0].kill();
    let (admitted, moved) = oracle.counts();
    let is_moving = || oracle.counts().0 >= admitted + 50 && oracle.counts().1 >= moved + 100;
    let took = within("visitors of the dead site move", &oracle, is_moving).await;
    println!("{:?} were admitted and moved after {took:?} without a site", oracle.counts());
    crowd.abort();
    let most = oracle.most_active();
    println!("{most} of {LIMIT} sessions were active at once");
    assert!(most <= LIMIT as usize, "{most}");
    assert!(most >= LIMIT as usize * 3 / 4, "the room was never full: {most}");
    assert_eq!(oracle.without_slot.load(Ordering::Relaxed), 0);
}
