//! A site that shares one limit or both. The test acts as the global ledgers.

use std::time::Duration;

use redis::AsyncCommands;
use waiting_room_core::{
    Pass, Reason, RoomRules, Store, Timestamp, Verdict, VisitorId,
    room::Renewal,
    time::{Clock, ManualClock},
};
use waiting_room_engines::{Engine, EngineServer};
use waiting_room_redis::{
    RedisStore,
    site::{AccountReport, GlobalNews, NodeReport, SharedLimit, SiteReport},
};

use crate::{
    escrow::EscrowRules,
    site::{
        messages::times,
        tests::support::{connect, start},
    },
};

pub(super) const BEGIN: Timestamp = Timestamp::from_secs(1_700_000_000);
pub(super) const LEASE: Duration = Duration::from_secs(30);
/// A pass of the room lasts for 270 s.
pub(super) const SLOTS: EscrowRules =
    EscrowRules::new().session(Duration::from_secs(270)).lease(LEASE);
pub(super) const MINUTE: EscrowRules = EscrowRules::rolling_minute().lease(LEASE);
/// The rules of a site that shares only slots.
pub(super) const SHORT: EscrowRules =
    EscrowRules::new().session(Duration::from_secs(90)).lease(LEASE);
pub(super) use SharedLimit::{ActiveVisitors, NewVisitors};

/// How long a place in the minute is held.
pub(super) fn held() -> Duration {
    MINUTE.times()[0].1
}

/// What a test knows of an account.
#[derive(Clone, Copy, Debug)]
struct Known {
    epoch: (u32, u32),
    granted: u64,
    is_recalled: bool,
}

pub(super) struct Site {
    pub(super) room: RedisStore,
    pub(super) clock: ManualClock,
    server: EngineServer,
    /// The rules of the two accounts.
    rules: [EscrowRules; 2],
    known: [Known; 2],
    pub(super) lives: u64,
    pub(super) at_door: u32,
    pub(super) node: u64,
    /// How long a place is held, according to the node that reports.
    pub(super) minute: Option<Duration>,
    visitors: u128,
}

const fn index(limit: SharedLimit) -> usize {
    match limit {
        NewVisitors => 1,
        _ => 0,
    }
}

pub(super) fn account(limit: SharedLimit, said: &SiteReport) -> AccountReport {
    match limit {
        NewVisitors => said.minute.clone().unwrap(),
        _ => said.slots.clone(),
    }
}

impl Site {
    /// A site with this many slots and places in the minute.
    pub(super) async fn with(engine: Engine, slots: u64, places: u64) -> Self {
        // The limits in the rules have no effect.
        let rules = RoomRules::new("shop", 100).session_duration(Duration::from_secs(240));
        let rules = rules.new_users_per_minute(1);
        let mut site = Self::new(engine, rules, SLOTS, Some(held())).await;
        site.join(ActiveVisitors, 0).await;
        site.join(NewVisitors, 0).await;
        site.grant(ActiveVisitors, slots).await;
        site.grant(NewVisitors, places).await;
        site
    }

    /// A site with this many slots, which shares no other limit. A pass lasts for 80 s and an eighth.
    pub(super) async fn of_slots(engine: Engine, slots: u64) -> Self {
        let rules = RoomRules::new("shop", 100).session_duration(Duration::from_secs(80));
        let mut site = Self::new(engine, rules, SHORT, None).await;
        site.join(ActiveVisitors, 0).await;
        site.grant(ActiveVisitors, slots).await;
        site
    }

    async fn new(
        engine: Engine,
        rules: RoomRules,
        slots: EscrowRules,
        minute: Option<Duration>,
    ) -> Self {
        let server = start(engine);
        let clock = ManualClock::new(BEGIN);
        let room = connect(&server.url(), rules, |options| options.clock(clock.clone())).await;
        let known = Known { epoch: (1, 0), granted: 0, is_recalled: false };
        Self {
            room,
            clock,
            server,
            rules: [slots, MINUTE],
            known: [known; 2],
            lives: 1,
            at_door: 0,
            node: 7,
            minute,
            visitors: 0,
        }
    }

    pub(super) async fn report(&self, judged: Timestamp) -> SiteReport {
        let report = NodeReport {
            node: self.node,
            incarnation: self.lives,
            arrivals: 0,
            at_door: self.at_door,
            door_for: Duration::from_secs(1),
            judged,
            speaks_for: Duration::from_secs(5),
            minute: self.minute,
        };
        self.room.report_of_site(&report).await.unwrap()
    }

    pub(super) async fn say(&self) -> SiteReport {
        self.report(Timestamp::ZERO).await
    }

    /// What the site says about one of its accounts.
    pub(super) async fn say_of(&self, limit: SharedLimit) -> AccountReport {
        account(limit, &self.say().await)
    }

    /// The granted, returned, used and wanted slots of an account.
    pub(super) async fn figures(&self, limit: SharedLimit) -> [u64; 4] {
        let account = self.say_of(limit).await;
        [account.granted, account.returned, account.used, account.wanted]
    }

    pub(super) async fn receive(&self, limit: SharedLimit, news: GlobalNews) {
        let times = times(&self.rules[index(limit)]);
        self.room.hear_for_site(limit, 1, &news, &times).await.unwrap();
    }

    /// Opens an account for the incarnation that the room reports.
    pub(super) async fn join(&mut self, limit: SharedLimit, inherited: u64) {
        let said = self.say().await;
        let account = account(limit, &said);
        assert!(!account.has_account, "{said:?}");
        let known = &mut self.known[index(limit)];
        known.epoch.1 = account.epoch.1.max(known.epoch.1) + 1;
        known.granted = inherited;
        let epoch = known.epoch;
        let incarnation = account.incarnation;
        let heard = said.at;
        let lease = LEASE;
        let welcome = GlobalNews::Welcome { epoch, incarnation, heard, lease, inherited };
        self.receive(limit, welcome).await;
    }

    /// Grants more, and renews the lease.
    pub(super) async fn grant(&mut self, limit: SharedLimit, more: u64) {
        let heard = self.say().await.at;
        let known = &mut self.known[index(limit)];
        known.granted += more;
        let Known { epoch, granted, is_recalled: recall } = *known;
        let lease = LEASE;
        let reserve = if recall { 0 } else { 100 };
        let grant = GlobalNews::Grant { epoch, heard, lease, granted, reserve, recall };
        self.receive(limit, grant).await;
    }

    /// From now on, unused slots are recalled.
    pub(super) async fn recall(&mut self, limit: SharedLimit) {
        self.known[index(limit)].is_recalled = true;
        self.grant(limit, 0).await;
    }

    /// Fences the current life of the site in an account.
    pub(super) async fn fence(&mut self, limit: SharedLimit) {
        let over = self.known[index(limit)].epoch;
        let incarnation = self.say_of(limit).await.incarnation;
        self.receive(limit, GlobalNews::Refused { incarnation, over, is_fenced: true }).await;
        self.lives += 1;
    }

    pub(super) fn pass(&self, time: Duration) {
        self.clock.advance(time);
    }

    /// Lets time pass, and renews both leases every ten seconds.
    pub(super) async fn pass_with_leases(&mut self, time: Duration) {
        let until = self.clock.now() + time;
        while self.clock.now() < until {
            self.clock.advance_to(until.min(self.clock.now() + LEASE / 3));
            self.grant(ActiveVisitors, 0).await;
            self.grant(NewVisitors, 0).await;
        }
    }

    pub(super) async fn enter(&mut self) -> Verdict {
        self.visitors += 1;
        self.room.enter(VisitorId::new(self.visitors)).await.unwrap()
    }

    pub(super) async fn admitted(&mut self) -> Pass {
        match self.enter().await {
            Verdict::Admit { pass, .. } => pass,
            other => panic!("not admitted: {other:?}"),
        }
    }

    pub(super) async fn waits(&mut self, why: Reason) {
        match self.enter().await {
            Verdict::Wait { reason, .. } => assert_eq!(reason, why),
            other => panic!("not waiting: {other:?}"),
        }
    }

    pub(super) async fn renewed(&self, pass: Pass) -> Pass {
        match self.room.renew(pass).await.unwrap() {
            Renewal::Renew(pass) => pass,
            Renewal::End => panic!("{pass:?} ended"),
        }
    }

    async fn connection(&self) -> redis::aio::MultiplexedConnection {
        let client = redis::Client::open(self.server.url()).unwrap();
        client.get_multiplexed_async_connection().await.unwrap()
    }

    /// The server loses everything.
    pub(super) async fn flush(&mut self) {
        let mut connection = self.connection().await;
        let () = redis::cmd("FLUSHALL").query_async(&mut connection).await.unwrap();
        self.lives += 1;
    }

    /// The server loses a key of the room.
    pub(super) async fn lose(&mut self, key: &str) {
        let () = self.connection().await.del(format!("{{wr:shop}}:{key}")).await.unwrap();
        self.lives += 1;
    }

    /// Simulates a change of the server's run id: from then on, the room contains another run id.
    pub(super) async fn restart(&mut self) {
        let () = self.connection().await.hset("{wr:shop}:room", "server", "other").await.unwrap();
        self.lives += 1;
    }
}

/// Runs a test on each engine.
pub(super) async fn on_each(test: impl AsyncFn(Engine)) {
    for engine in Engine::ALL {
        test(engine).await;
    }
}
