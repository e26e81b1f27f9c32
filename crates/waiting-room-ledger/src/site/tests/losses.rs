//! What a site does without a lease, after a loss, and when a clock is wrong. The global ledger is the
//! test.

use std::time::Duration;

use redis::AsyncCommands;
use waiting_room_core::{
    Pass, Reason, RoomRules, Store, Timestamp, Verdict, VisitorId,
    room::{Renewal, RoomMode},
    time::ManualClock,
};
use waiting_room_engines::{Engine, EngineServer};
use waiting_room_redis::{
    RedisStore,
    site::{GlobalNews, NodeReport, SharedLimit, SiteReport},
};

use crate::{
    escrow::EscrowRules,
    site::{
        messages::times,
        tests::support::{connect, start},
    },
};

const BEGIN: Timestamp = Timestamp::from_secs(1_700_000_000);
const SESSION: Duration = Duration::from_secs(90);
const LEASE: Duration = Duration::from_secs(30);
const RULES: EscrowRules = EscrowRules::new().session(SESSION).lease(LEASE);

/// A room, and the global ledger that a test is.
struct Site {
    room: RedisStore,
    clock: ManualClock,
    server: EngineServer,
    granted: u64,
    epoch: (u32, u32),
    lives: u64,
    visitors: u128,
}

impl Site {
    /// A site that has been granted slots.
    async fn with(engine: Engine, slots: u64) -> Self {
        let server = start(engine);
        let clock = ManualClock::new(BEGIN);
        // A pass lasts for 80 s and an eighth.
        let rules = RoomRules::new("shop", 100).session_duration(Duration::from_secs(80));
        let room = connect(&server.url(), rules, |options| options.clock(clock.clone())).await;
        let epoch = (1, 0);
        let lives = 1;
        let mut site = Self { room, clock, server, granted: 0, epoch, lives, visitors: 0 };
        site.join(0).await;
        site.grant(slots).await;
        site
    }

    async fn report(&self, judged: Timestamp) -> SiteReport {
        let report = NodeReport {
            node: 7,
            incarnation: self.lives,
            arrivals: 0,
            at_door: 0,
            door_for: Duration::from_secs(1),
            judged,
            speaks_for: Duration::from_secs(5),
            minute: None,
        };
        self.room.report_of_site(&report).await.unwrap()
    }

    async fn say(&self) -> SiteReport {
        self.report(Timestamp::ZERO).await
    }

    async fn receive(&self, news: GlobalNews) {
        self.room
            .hear_for_site(SharedLimit::ActiveVisitors, 1, &news, &times(&RULES))
            .await
            .unwrap();
    }

    /// Opens an account for the incarnation that the room reports.
    async fn join(&mut self, inherited: u64) {
        let said = self.say().await;
        assert!(!said.slots.has_account, "{said:?}");
        self.epoch.1 = said.slots.epoch.1.max(self.epoch.1) + 1;
        self.granted = inherited;
        let epoch = self.epoch;
        let incarnation = said.slots.incarnation;
        let heard = said.at;
        let lease = LEASE;
        self.receive(GlobalNews::Welcome { epoch, incarnation, heard, lease, inherited }).await;
    }

    /// Grants more slots, and renews the lease.
    async fn grant(&mut self, slots: u64) {
        let said = self.say().await;
        self.granted += slots;
        let epoch = self.epoch;
        let heard = said.at;
        let lease = LEASE;
        let granted = self.granted;
        let reserve = 100;
        let recall = false;
        self.receive(GlobalNews::Grant { epoch, heard, lease, granted, reserve, recall }).await;
    }

    async fn enter(&mut self) -> Verdict {
        self.visitors += 1;
        self.room.enter(VisitorId::new(self.visitors)).await.unwrap()
    }

    async fn admitted(&mut self) -> Pass {
        match self.enter().await {
            Verdict::Admit { pass, .. } => pass,
            other => panic!("not admitted: {other:?}"),
        }
    }

    async fn waits(&mut self) {
        match self.enter().await {
            Verdict::Wait { reason, .. } => assert_eq!(reason, Reason::QueuedActiveLimit),
            other => panic!("not waiting: {other:?}"),
        }
    }

    async fn renewed(&self, pass: Pass) -> Pass {
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
    async fn flush(&mut self) {
        let mut connection = self.connection().await;
        let () = redis::cmd("FLUSHALL").query_async(&mut connection).await.unwrap();
        self.lives += 1;
    }

    /// The server has another run id than the one that has written the room.
    async fn restart(&mut self) {
        let () = self.connection().await.hset("{wr:shop}:room", "server", "other").await.unwrap();
        self.lives += 1;
    }
}

/// Runs a test on each engine.
async fn on_each(test: impl AsyncFn(Engine)) {
    for engine in Engine::ALL {
        test(engine).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_room_has_the_slots_of_its_account_under_any_rules() {
    on_each(async |engine| {
        let mut site = Site::with(engine, 2).await;
        site.admitted().await;
        site.admitted().await;
        site.waits().await;
        // An operator's change of the rules does not bring the slots of the rules back.
        site.room.configure(|rules| rules.mode(RoomMode::QueueAll)).await.unwrap();
        site.room.configure(|rules| rules.mode(RoomMode::Auto)).await.unwrap();
        site.waits().await;
        site.grant(1).await;
        site.admitted().await;
        site.waits().await;
        let said = site.say().await;
        assert_eq!(
            (said.slots.granted, said.slots.returned, said.slots.used, said.free),
            (3, 0, 3, 0)
        );
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_of_another_epoch_term_or_life_grant_nothing() {
    on_each(async |engine| {
        let mut site = Site::with(engine, 1).await;
        // The room is lost, so its account is over, and the site gets another one.
        site.flush().await;
        site.clock.advance(LEASE);
        site.join(1).await;
        let before = site.say().await;
        assert_eq!((before.slots.epoch, before.slots.granted, before.free), ((1, 2), 1, 0));
        site.clock.advance(Duration::from_secs(1));
        let heard = site.say().await.at;
        let lease = LEASE;
        let incarnation = before.slots.incarnation;
        let grant = |epoch| GlobalNews::Grant {
            epoch,
            heard,
            lease,
            granted: 50,
            reserve: 9,
            recall: false,
        };
        let welcome = |epoch, incarnation| GlobalNews::Welcome {
            epoch,
            incarnation,
            heard,
            lease,
            inherited: 50,
        };
        let refused =
            |incarnation, over| GlobalNews::Refused { incarnation, over, is_fenced: true };
        for news in [
            // Late, or of a ledger that knows more than the site.
            grant((1, 1)),
            grant((1, 3)),
            grant((0, 2)),
            grant((2, 2)),
            // The site has an account.
            welcome((1, 2), incarnation),
            welcome((1, 3), incarnation),
            welcome((1, 3), 99),
            GlobalNews::Stale { over: (1, 1), current: (1, 1) },
            refused(99, (1, 2)),
            refused(incarnation, (1, 1)),
        ] {
            site.receive(news).await;
            let said = site.say().await;
            assert_eq!(
                (said.slots.epoch, said.slots.granted, said.free),
                ((1, 2), 1, 0),
                "{news:?}"
            );
            assert_eq!(
                (said.slots.has_account, said.slots.incarnation, said.slots.lease_end),
                (true, incarnation, before.slots.lease_end),
                "{news:?}"
            );
        }
        // A ledger of an earlier term, after the site has heard of a later one.
        site.room
            .hear_for_site(SharedLimit::ActiveVisitors, 2, &GlobalNews::Report, &times(&RULES))
            .await
            .unwrap();
        site.receive(grant((1, 2))).await;
        let said = site.say().await;
        assert_eq!(
            (said.slots.term, said.slots.granted, said.slots.lease_end),
            (2, 1, before.slots.lease_end)
        );
        site.room
            .hear_for_site(SharedLimit::ActiveVisitors, 2, &grant((1, 2)), &times(&RULES))
            .await
            .unwrap();
        assert_eq!(site.say().await.slots.granted, 50, "a grant of the account's own epoch counts");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_lease_no_visitor_enters_and_no_session_is_extended() {
    on_each(async |engine| {
        let mut site = Site::with(engine, 3).await;
        let pass = site.admitted().await;
        site.clock.advance(Duration::from_secs(20));
        let pass = site.renewed(pass).await;
        assert_eq!(pass.expires_at, BEGIN + Duration::from_secs(20 + 90), "it is prolonged");
        site.clock.advance(Duration::from_secs(10));
        site.waits().await;
        let refused = site.renewed(pass).await;
        assert_eq!(refused.expires_at, pass.expires_at, "it is not prolonged");
        // Its node asks again after a ninth of the 80 s that are left.
        let is_due_at = |secs| {
            site.room.rules().timing().is_renewal_due(&refused, BEGIN + Duration::from_secs(secs))
        };
        assert_eq!([30 + 8, 30 + 9].map(is_due_at), [false, true]);
        assert_eq!(site.say().await.slots.lease_end, BEGIN + LEASE);

        site.grant(0).await;
        site.admitted().await;
        assert_eq!(site.renewed(pass).await.expires_at, BEGIN + Duration::from_secs(30 + 90));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_room_counts_all_slots_as_in_use_until_the_session_is_over() {
    on_each(async |engine| {
        let mut site = Site::with(engine, 3).await;
        let passes = [site.admitted().await, site.admitted().await, site.admitted().await];
        site.clock.advance(Duration::from_secs(1));
        site.flush().await;
        // Without an account, passes stay as they are, even if they are shown twice.
        for _ in 0..2 {
            let pass = site.renewed(passes[0]).await;
            assert_eq!(pass.expires_at, passes[0].expires_at);
        }
        site.waits().await;
        assert_eq!(site.say().await.slots.incarnation, 2);

        site.join(3).await;
        assert_eq!(site.say().await.slots.used, 3);
        site.waits().await;
        for pass in passes {
            site.renewed(pass).await;
            assert_eq!(site.say().await.slots.used, 3, "its slot is one of those that are kept");
        }
        // A pass that nobody has got from this site finds no slot.
        let mut foreign = passes[0];
        foreign.id = VisitorId::new(99);
        assert_eq!(site.room.renew(foreign).await.unwrap(), Renewal::End);
        site.waits().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_slots_of_lost_visitors_are_free_after_a_session_and_a_margin() {
    on_each(async |engine| {
        let mut site = Site::with(engine, 2).await;
        site.admitted().await;
        site.admitted().await;
        site.flush().await;
        site.join(2).await;
        let [_, _, (_, margin), ..] = RULES.times();
        for _ in 0..6 {
            site.clock.advance(SESSION / 6);
            site.grant(0).await;
            site.waits().await;
        }
        site.clock.advance(margin);
        site.admitted().await;
        site.admitted().await;
        site.waits().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_restart_sessions_continue_and_lost_ones_are_not_replaced() {
    on_each(async |engine| {
        let mut site = Site::with(engine, 4).await;
        let pass = site.admitted().await;
        site.admitted().await;
        site.clock.advance(Duration::from_secs(1));
        site.restart().await;
        site.waits().await;
        let said = site.say().await;
        assert_eq!((said.slots.has_account, said.slots.incarnation), (false, 2));

        site.join(4).await;
        // Two visitors are known, but the server may have lost others.
        site.waits().await;
        let said = site.say().await;
        assert_eq!((said.slots.used, said.slots.wanted), (4, 0));
        let renewed = site.renewed(pass).await;
        assert!(renewed.expires_at > pass.expires_at, "the session goes on");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_key_ends_the_life_of_the_site() {
    on_each(async |engine| {
        let mut site = Site::with(engine, 2).await;
        site.admitted().await;
        let () = site.connection().await.del("{wr:shop}:visitors").await.unwrap();
        site.lives += 1;
        site.waits().await;
        assert!(!site.say().await.slots.has_account);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fenced_life_is_over_and_the_next_one_waits_for_slots_for_its_visitors() {
    on_each(async |engine| {
        let mut site = Site::with(engine, 2).await;
        let pass = site.admitted().await;
        let incarnation = 1;
        let over = site.epoch;
        let is_fenced = true;
        site.receive(GlobalNews::Refused { incarnation: 9, over, is_fenced }).await;
        assert!(site.say().await.slots.has_account, "another life was refused");
        site.receive(GlobalNews::Refused { incarnation, over, is_fenced }).await;
        site.lives += 1;
        site.waits().await;
        site.join(0).await;
        assert_eq!(site.say().await.slots.used, 1, "the site owes a slot");
        let clock = Duration::from_secs(5);
        site.clock.advance(clock);
        assert_eq!(site.renewed(pass).await.expires_at, pass.expires_at, "it has no slot");
        site.grant(1).await;
        assert!(site.renewed(pass).await.expires_at > pass.expires_at);
        site.waits().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lease_that_is_over_by_the_clock_of_a_node_is_over() {
    on_each(async |engine| {
        let mut site = Site::with(engine, 3).await;
        site.admitted().await;
        let end = BEGIN + LEASE;
        assert_eq!(site.report(end.before(Duration::from_micros(1))).await.slots.lease_end, end);
        site.admitted().await;
        assert_eq!(site.report(end).await.slots.lease_end, BEGIN);
        site.waits().await;
        // The next message begins another one.
        site.clock.advance(Duration::from_secs(1));
        site.grant(0).await;
        site.admitted().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn slots_that_the_line_will_use_are_not_given_back() {
    on_each(async |engine| {
        let mut site = Site::with(engine, 1).await;
        site.admitted().await;
        // Two visitors get places in the line.
        let mut tickets = Vec::new();
        for _ in 0..2 {
            let Verdict::Wait { ticket, .. } = site.enter().await else { panic!("it waits") };
            site.clock.advance(Duration::from_secs(2));
            tickets.push(match site.room.check_in(ticket).await.unwrap() {
                Verdict::Wait { ticket, .. } => ticket,
                other => panic!("{other:?}"),
            });
        }
        let said = site.say().await;
        assert_eq!((said.slots.used, said.slots.wanted), (1, 2));

        // One slot is granted, and everything unused is recalled.
        site.granted += 1;
        let epoch = site.epoch;
        let granted = site.granted;
        let reserve = 0;
        let recall = true;
        let heard = said.at;
        let lease = LEASE;
        let grant = GlobalNews::Grant { epoch, heard, lease, granted, reserve, recall };
        site.receive(grant).await;
        let said = site.say().await;
        assert_eq!(
            (said.slots.returned, said.slots.used, said.slots.wanted, said.free),
            (0, 2, 1, 1)
        );

        // Nobody takes it, so it goes back.
        site.clock.advance(Duration::from_secs(4));
        let GlobalNews::Grant { epoch, lease, granted, reserve, recall, .. } = grant else {
            panic!("it is a grant")
        };
        let heard = site.clock_now();
        site.receive(GlobalNews::Grant { epoch, heard, lease, granted, reserve, recall }).await;
        let said = site.say().await;
        assert_eq!((said.slots.returned, said.free), (1, 0));

        // A slot that is granted again is taken at the check-in.
        site.grant(1).await;
        let admitted = site.room.check_in(tickets[0]).await.unwrap();
        assert!(matches!(admitted, Verdict::Admit { .. }), "{admitted:?}");
        assert_eq!(site.say().await.free, 0);
    })
    .await;
}

impl Site {
    fn clock_now(&self) -> Timestamp {
        waiting_room_core::time::Clock::now(&self.clock)
    }
}
