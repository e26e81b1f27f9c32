//! Two sites, each a real server with a node, and a ledger with PostgreSQL between them.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use axum::{Router, body::Body, http::Request, routing::get};
use tokio::{
    net::TcpListener,
    task::{JoinHandle, JoinSet},
    time::{Instant, interval},
};
use tower::ServiceExt;
use tower_waiting_room::{KeyRing, StoreFailure, TokenKey, WaitingRoomConfig, WaitingRoomLayer};
use waiting_room_core::{RoomRules, Store, StoreError, Verdict, VisitorId};
use waiting_room_engines::{Engine, EngineServer, Persistence, PostgresServer};
use waiting_room_ledger::{
    EscrowRules, Policy, SharedKeys, SiteId, SiteOptions, SiteStore,
    model::{
        Failover, Holder, HolderTimes, Kept, KeptAccount, LedgerServer, PostgresKeeper, ServerKeys,
        Standing, Term,
    },
};
use waiting_room_redis::RedisStoreOptions;

use crate::logged::Logged;

const LIMIT: u32 = 20;
/// Passes last for an eighth longer than a session.
const SESSION: Duration = Duration::from_secs(2);
const PASS: Duration = Duration::from_millis(2250);
const LEASE: Duration = Duration::from_secs(3);
const RULES: EscrowRules = LASTING.session(PASS).lease(LEASE);
/// Rules under which no pass lapses in a test.
const LASTING: EscrowRules = EscrowRules::new()
    .session(Duration::from_secs(600))
    .heartbeat(Duration::from_millis(200))
    .borrow_wait(Duration::from_millis(500));

pub(crate) fn keys() -> SharedKeys {
    SharedKeys::parse(&"0123456789abcdef".repeat(4)).unwrap()
}

fn keeper(server: &PostgresServer, room: &str) -> PostgresKeeper {
    PostgresKeeper::new(server.url(), Failover::None, room, "a test")
}

async fn set_up(server: &PostgresServer, rules: EscrowRules) {
    set_up_room(server, "shop", LIMIT, rules).await;
}

/// Sets up a room with two sites.
pub(crate) async fn set_up_room(
    server: &PostgresServer,
    room: &str,
    limit: u32,
    rules: EscrowRules,
) {
    let mut kept = Kept::new(Term::new(0), limit, rules);
    for site in 1..=2 {
        let account = KeptAccount::new(Default::default(), Standing::Away);
        kept.accounts.insert(SiteId::new(site), account);
    }
    keeper(server, room).set_up(&kept).await.unwrap();
}

/// A global ledger in this process, which can be killed.
pub(crate) struct Ledger {
    tasks: Vec<JoinHandle<()>>,
    pub(crate) address: String,
}

impl Ledger {
    /// Starts a ledger at an address, where port 0 means any free port.
    async fn start(server: &PostgresServer, address: &str) -> Self {
        Self::of_rooms(server, address, &["shop"]).await
    }

    /// Starts a ledger of several rooms.
    pub(crate) async fn of_rooms(server: &PostgresServer, address: &str, rooms: &[&str]) -> Self {
        let mut tasks = Vec::new();
        let mut handles = Vec::new();
        for room in rooms {
            let keeper = keeper(server, room);
            let (holder, handle) = Holder::new(*room, keeper, HolderTimes::default());
            tasks.push(tokio::spawn(holder.run(std::future::pending())));
            handles.push(((*room).to_owned(), handle));
        }
        let server = LedgerServer::new(handles, ServerKeys::new(keys()));
        let listener = TcpListener::bind(address).await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        tasks.push(tokio::spawn(async move { drop(server.listen(&listener).await) }));
        Self { tasks, address }
    }

    pub(crate) async fn kill(self) {
        for task in self.tasks {
            task.abort();
            let _ = task.await;
        }
    }
}

async fn join(
    server: &EngineServer,
    site: u16,
    (ledger, escrow): (&str, EscrowRules),
    rules: RoomRules,
) -> Result<SiteStore, StoreError> {
    let client = redis::Client::open(server.url()).unwrap();
    let open = move || {
        let client = client.clone();
        async move { client.get_multiplexed_async_connection().await }
    };
    let options = RedisStoreOptions::new().deadline(Duration::from_secs(5));
    let site = SiteOptions::new(SiteId::new(site), escrow, [ledger.to_owned()], keys());
    SiteStore::connect(open, rules, options, site).await
}

/// What the visitors of all sites saw: who was admitted, and when.
#[derive(Clone, Default)]
struct Oracle(Arc<Mutex<Vec<Seen>>>);

/// The time in which a visitor was certainly active: from the arrival of its pass until the expiry
/// of a pass that was made when the request was sent.
#[derive(Clone, Copy)]
struct Seen {
    site: usize,
    from: Instant,
    until: Instant,
}

impl Oracle {
    fn admitted(&self, site: usize, sent: Instant) {
        let seen = Seen { site, from: Instant::now(), until: sent + PASS };
        self.0.lock().unwrap().push(seen);
    }

    /// The greatest number of visitors that were active at once.
    fn most_active(&self) -> usize {
        let seen = self.0.lock().unwrap().clone();
        let at = |now: Instant| {
            seen.iter().filter(|visit| visit.from <= now && now < visit.until).count()
        };
        seen.iter().map(|visit| at(visit.from)).max().unwrap_or(0)
    }

    /// How many visitors each site has admitted since this time.
    fn since(&self, begin: Instant) -> [usize; 2] {
        let seen = self.0.lock().unwrap();
        [0, 1].map(|site| {
            seen.iter().filter(|visit| visit.site == site && visit.from >= begin).count()
        })
    }
}

/// Lets a visitor arrive at each site a hundred times a second, until it is aborted.
async fn crowd(sites: [SiteStore; 2], oracle: Oracle) {
    let mut visitors = 0;
    let mut arrivals = JoinSet::new();
    let mut each = interval(Duration::from_millis(10));
    loop {
        each.tick().await;
        for (site, store) in sites.iter().enumerate() {
            visitors += 1;
            let id = VisitorId::new(visitors);
            let store = store.clone();
            let oracle = oracle.clone();
            arrivals.spawn(async move {
                let sent = Instant::now();
                if let Ok(Verdict::Admit { .. }) = store.enter(id).await {
                    oracle.admitted(site, sent);
                }
            });
        }
        while arrivals.try_join_next().is_some() {}
    }
}

/// Waits until this holds, for 20 s at most.
async fn until(what: &str, holds: impl Fn() -> bool) -> Duration {
    let begin = Instant::now();
    let mut each = interval(Duration::from_millis(20));
    while !holds() {
        assert!(begin.elapsed() < Duration::from_secs(20), "not within 20 s: {what}");
        each.tick().await;
    }
    begin.elapsed()
}

#[tokio::test(flavor = "multi_thread")]
async fn two_sites_keep_one_limit_and_a_dead_ledger_stops_nothing_in_a_lease() {
    let postgres = PostgresServer::start().unwrap();
    set_up(&postgres, RULES).await;
    let ledger = Ledger::start(&postgres, "127.0.0.1:0").await;
    let address = ledger.address.clone();
    let engines = Engine::ALL.map(|engine| EngineServer::start(engine, Persistence::Never));
    let servers = engines.map(|server| server.unwrap());
    // Each site alone would admit twice the limit, if the rules of the room had an effect.
    let rules = RoomRules::new("shop", 2 * LIMIT).session_duration(SESSION);
    let sites = [
        join(&servers[0], 1, (&address, RULES), rules.clone()).await.unwrap(),
        join(&servers[1], 2, (&address, RULES), rules).await.unwrap(),
    ];
    let oracle = Oracle::default();
    let begin = Instant::now();
    let crowd = tokio::spawn(crowd(sites.clone(), oracle.clone()));

    // Both sites have visitors, and slots that lapse are taken again.
    let admitted = |since: Instant, least: usize| {
        let oracle = oracle.clone();
        move || oracle.since(since).iter().all(|&count| count >= least)
    };
    let took = until("both sites admit", admitted(begin, 15)).await;
    println!("30 were admitted in {took:?}");
    for (site, store) in (1..).zip(&sites) {
        let home = store.home().unwrap();
        assert_eq!((home.site, home.term, home.count > 0), (site, 1, true), "{home:?}");
    }
    assert_eq!(oracle.most_active(), LIMIT as usize, "the room is full, and not above");

    // Without a ledger, the sites continue with the slots that they hold.
    let killed = Instant::now();
    ledger.kill().await;
    until("a pass lapses", || killed.elapsed() > LEASE + Duration::from_millis(200)).await;
    let [first, second] = oracle.since(killed);
    println!("{first} and {second} were admitted within the leases");
    assert!(first > 0 && second > 0, "{first} and {second}");
    let over = Instant::now();
    until("all passes lapse", || over.elapsed() > PASS).await;
    assert_eq!(oracle.since(over), [0, 0], "no lease, no admission");

    // Another ledger takes over at the same address.
    let begin = Instant::now();
    let ledger = Ledger::start(&postgres, &address).await;
    let took = until("both sites admit again", admitted(begin, 5)).await;
    println!("10 were admitted again in {took:?}");
    crowd.abort();
    ledger.kill().await;
    let most = oracle.most_active();
    println!("{most} of {LIMIT} were active at once");
    assert!(most <= LIMIT as usize, "{most}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_front_of_a_line_is_admitted_to_a_slot_from_elsewhere_while_it_checks_in() {
    let postgres = PostgresServer::start().unwrap();
    let escrow = LASTING.borrow_wait(Duration::from_secs(2));
    set_up(&postgres, escrow).await;
    let ledger = Ledger::start(&postgres, "127.0.0.1:0").await;
    let engines = Engine::ALL.map(|engine| EngineServer::start(engine, Persistence::Never));
    let servers = engines.map(|server| server.unwrap());
    let rules = RoomRules::new("shop", LIMIT);
    let paris = join(&servers[0], 1, (&ledger.address, escrow), rules.clone()).await.unwrap();
    let tokyo = join(&servers[1], 2, (&ledger.address, escrow), rules).await.unwrap();

    let mut admitted = 0;
    for visitor in 1.. {
        assert!(visitor < 100, "{admitted} are admitted");
        match tokyo.enter(VisitorId::new(visitor)).await.unwrap() {
            Verdict::Admit { .. } => admitted += 1,
            _ if admitted == LIMIT => break,
            _ => {}
        }
    }
    let Verdict::Wait { ticket, .. } = paris.enter(VisitorId::new(1_000)).await.unwrap() else {
        panic!("the limit is exceeded");
    };
    // Exactly one check-in is under way while a visitor leaves the other site.
    let (verdict, left) = tokio::join!(paris.check_in(ticket), async {
        let mut each = interval(Duration::from_millis(300));
        each.tick().await;
        each.tick().await;
        for visitor in 1..=100 {
            tokyo.leave(VisitorId::new(visitor)).await.unwrap();
        }
        true
    });
    assert!(left && matches!(verdict, Ok(Verdict::Admit { .. })), "{verdict:?}");
    ledger.kill().await;
}

/// A site as an application builds it, with a key for tokens of its own.
async fn application(server: &EngineServer, site: u16, ledger: &str) -> Router {
    let key = TokenKey::from_bytes([u8::try_from(site).unwrap(); 32]);
    let rules = RoomRules::new("shop", 2 * LIMIT);
    let store = join(server, site, (ledger, LASTING), rules).await.unwrap();
    let config = WaitingRoomConfig::builder("shop")
        .room_store(store, StoreFailure::Wait)
        .keys(KeyRing::new(key))
        .build()
        .unwrap();
    Router::new().route("/", get(|| async { "inside" })).layer(WaitingRoomLayer::new(config))
}

/// Sends a request with this cookie, or with none. Returns whether it was let in, and its cookie.
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
async fn two_sites_admit_the_limit_and_a_pass_counts_at_its_own_site_only() {
    let postgres = PostgresServer::start().unwrap();
    set_up(&postgres, LASTING).await;
    let ledger = Ledger::start(&postgres, "127.0.0.1:0").await;
    let engines = Engine::ALL.map(|engine| EngineServer::start(engine, Persistence::Never));
    let servers = engines.map(|server| server.unwrap());
    let paris = application(&servers[0], 1, &ledger.address).await;
    let tokyo = application(&servers[1], 2, &ledger.address).await;

    // The first visitors wait until the ledger has taken over the room.
    let mut cookie = None;
    let mut refused = 0;
    let mut admitted = [0; 2];
    while refused < 6 || cookie.is_none() {
        assert!(refused < 100, "nobody is admitted");
        let mut sites = [&paris, &tokyo].into_iter().zip(&mut admitted);
        let mut refusals = 0;
        if let Some((site, admitted)) = sites.next() {
            match visit(site, None).await {
                (true, set) => (cookie, *admitted) = (set, *admitted + 1),
                (false, _) => refusals += 1,
            }
        }
        if let Some((site, admitted)) = sites.next() {
            let (is_admitted, _) = visit(site, None).await;
            *admitted += u32::from(is_admitted);
            refusals += u32::from(!is_admitted);
        }
        refused = if refusals == 2 { refused + 1 } else { 0 };
    }
    println!("{admitted:?} were admitted");
    assert_eq!(admitted.iter().sum::<u32>(), LIMIT);
    assert!(admitted[1] > 0, "{admitted:?}");
    assert!(visit(&paris, cookie.as_deref()).await.0, "the pass counts in Paris");
    assert!(!visit(&tokyo, cookie.as_deref()).await.0, "the pass counts in Tokyo");
    ledger.kill().await;
}

#[tokio::test]
async fn a_site_warns_of_a_lease_that_is_as_long_as_a_session() {
    let (logged, _guard) = Logged::begin();
    let server = EngineServer::start(Engine::Valkey, Persistence::Never).unwrap();
    let connect = |name, escrow: EscrowRules, policy| {
        let site = SiteOptions::new(SiteId::new(1), escrow, ["127.0.0.1:9".to_owned()], keys());
        let client = redis::Client::open(server.url()).unwrap();
        async move {
            let connection = client.get_multiplexed_async_connection().await.unwrap();
            let rules = RoomRules::new(name, 9).session_duration(SESSION);
            let options = RedisStoreOptions::new().deadline(Duration::from_secs(5));
            SiteStore::with_connection(connection, rules, options, site.policy(policy)).await
        }
    };
    connect("shop", RULES.lease(SESSION), Policy::Escrow).await.unwrap();
    connect("counted", RULES, Policy::Counters).await.unwrap();
    assert!(logged.with("WARN").is_empty(), "{:?}", logged.with("WARN"));
    connect("shoe", RULES, Policy::Escrow).await.unwrap();
    let told = logged.with("WARN the rules of the room are questionable");
    let [told] = &told[..] else { panic!("one warning: {told:?}") };
    let sentence = "room=shoe site=1 warning=lease is 3s, expected less than the session, 2.25s: if a \
                    site is switched off, its passes expire within a session, and its slots are free \
                    5.270507812s after its last message";
    assert!(told.contains(sentence), "{told}");
}

pub(crate) fn sentence_of(error: &StoreError) -> String {
    std::error::Error::source(error).unwrap().to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn passes_that_outlive_their_slots_are_refused_at_the_start_and_later() {
    let server = EngineServer::start(Engine::Redis, Persistence::Never).unwrap();
    let client = redis::Client::open(server.url()).unwrap();
    let connection = client.get_multiplexed_async_connection().await.unwrap();
    let options = || RedisStoreOptions::new().deadline(Duration::from_secs(5));
    let site = || SiteOptions::new(SiteId::new(1), RULES, ["127.0.0.1:9".to_owned()], keys());
    let rules = |session| RoomRules::new("shop", 9).session_duration(session);

    let long = rules(Duration::from_secs(3));
    let refused = SiteStore::with_connection(connection.clone(), long, options(), site());
    let refused = sentence_of(&refused.await.unwrap_err());
    let sentence = "session is 2.25s, expected at least 3.375s, the longest lifetime of a pass of \
                    the room";
    assert!(refused.contains(sentence), "{refused}");

    let store = SiteStore::with_connection(connection.clone(), rules(SESSION), options(), site());
    let store = store.await.unwrap();
    let longer = |rules: RoomRules| rules.session_duration(Duration::from_secs(3));
    let refused = sentence_of(&store.configure(longer).await.unwrap_err());
    assert!(refused.contains(sentence), "{refused}");
    assert_eq!(store.rules().session_duration, SESSION);

    let nowhere = SiteOptions::new(SiteId::new(1), RULES, [], keys());
    let refused = SiteStore::with_connection(connection, rules(SESSION), options(), nowhere);
    let refused = sentence_of(&refused.await.unwrap_err());
    assert!(refused.contains("addresses is an empty list"), "{refused}");
}
