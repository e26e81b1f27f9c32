//! The front of the line in the report of a site, on both engines.

use std::{collections::BTreeMap, time::Duration};

use waiting_room_core::{
    RoomRules, Store, Ticket, Timestamp, Verdict, VisitorId,
    room::{
        QueueingMethod, SessionRenewal,
        event::{Event, Schedule, Seed},
    },
    time::ManualClock,
};
use waiting_room_engines::{Engine, EngineServer};
use waiting_room_redis::{
    RedisStore, RedisStoreOptions,
    site::{GlobalNews, NodeReport, SharedLimit, SiteReport},
};

use crate::{
    SiteId,
    escrow::{EscrowRules, Heartbeat, LineFront, RulesDigest, ToGlobal},
    site::{
        messages::{times, to_global},
        tests::support::{connect, start},
    },
};

const BEGIN: Timestamp = Timestamp::from_secs(1_700_000_000);
const RULES: EscrowRules = EscrowRules::new();

/// A room with a line. The test acts as the global ledger.
struct Site {
    room: RedisStore,
    clock: ManualClock,
    server: EngineServer,
    granted: u64,
    admitted: u64,
    visitors: u128,
    tickets: BTreeMap<VisitorId, Ticket>,
    now: Timestamp,
}

impl Site {
    async fn new(
        engine: Engine,
        rules: RoomRules,
        set: impl FnOnce(RedisStoreOptions) -> RedisStoreOptions,
    ) -> Self {
        let server = start(engine);
        let clock = ManualClock::new(BEGIN);
        // No session lapses in a test.
        let rules = rules
            .session_duration(Duration::from_secs(24 * 60 * 60))
            .session_renewal(SessionRenewal::Fixed);
        let room = connect(&server.url(), rules, |options| set(options.clock(clock.clone()))).await;
        let tickets = BTreeMap::new();
        let mut site =
            Self { room, clock, server, granted: 0, admitted: 0, visitors: 0, tickets, now: BEGIN };
        let said = site.report(0).await;
        let incarnation = said.slots.incarnation;
        let heard = said.at;
        let lease = Duration::from_secs(100_000);
        site.receive(GlobalNews::Welcome {
            epoch: (1, 1),
            incarnation,
            heard,
            lease,
            inherited: 0,
        })
        .await;
        site
    }

    async fn report(&mut self, at_door: u32) -> SiteReport {
        let report = NodeReport {
            node: 7,
            incarnation: 1,
            arrivals: 0,
            at_door,
            door_for: Duration::from_secs(1),
            judged: Timestamp::ZERO,
            speaks_for: Duration::from_secs(5),
            minute: None,
        };
        self.room.sweep().await.unwrap();
        self.room.report_of_site(&report).await.unwrap()
    }

    async fn heartbeat(&mut self, at_door: u32) -> Heartbeat {
        let said = self.report(at_door).await;
        match to_global(SiteId::new(1), RulesDigest::of(&RULES), said.at, &said.slots) {
            ToGlobal::Heartbeat(heartbeat) => heartbeat,
            other => panic!("{other:?}"),
        }
    }

    async fn receive(&self, news: GlobalNews) {
        self.room
            .hear_for_site(SharedLimit::ActiveVisitors, 1, &news, &times(&RULES))
            .await
            .unwrap();
    }

    async fn grant(&mut self, slots: u64) {
        self.granted += slots;
        let epoch = (1, 1);
        let heard = self.now;
        let lease = Duration::from_secs(100_000);
        let granted = self.granted;
        let reserve = 0;
        let recall = true;
        self.receive(GlobalNews::Grant { epoch, heard, lease, granted, reserve, recall }).await;
    }

    fn pass(&mut self, time: Duration) {
        self.now = self.now + time;
        self.clock.advance_to(self.now);
    }

    async fn arrive(&mut self) {
        self.visitors += 1;
        let visitor = VisitorId::new(self.visitors);
        let verdict = self.room.enter(visitor).await.unwrap();
        self.note(visitor, verdict);
    }

    async fn check_in(&mut self, visitor: VisitorId) {
        let verdict = self.room.check_in(self.tickets[&visitor]).await.unwrap();
        self.note(visitor, verdict);
    }

    async fn check_in_who_is_due(&mut self) {
        for visitor in self.tickets.keys().copied().collect::<Vec<_>>() {
            if self.tickets[&visitor].next_check_in <= self.now {
                self.check_in(visitor).await;
            }
        }
    }

    fn note(&mut self, visitor: VisitorId, verdict: Verdict) {
        match verdict {
            Verdict::Admit { .. } => {
                self.tickets.remove(&visitor);
                self.admitted += 1;
            }
            Verdict::Wait { ticket, .. } => _ = self.tickets.insert(visitor, ticket),
            other => panic!("{other:?}"),
        }
    }

    async fn connection(&self) -> redis::aio::MultiplexedConnection {
        let client = redis::Client::open(self.server.url()).unwrap();
        client.get_multiplexed_async_connection().await.unwrap()
    }

    /// The present visitors by rank, read as a whole.
    async fn line(&self) -> Vec<u64> {
        let mut range = redis::cmd("ZRANGE");
        range.arg("{wr:shop}:present").arg(0).arg(-1).arg("WITHSCORES");
        let line: Vec<(Vec<u8>, u64)> =
            range.query_async(&mut self.connection().await).await.unwrap();
        line.into_iter().map(|(_, rank)| rank).collect()
    }
}

/// Pseudo-random numbers below a bound (SplitMix64).
struct Chance(u64);

impl Chance {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }
}

fn seconds(front: &LineFront) -> Vec<(u64, u32)> {
    front.buckets().map(|(at, visitors)| (at.since(BEGIN).as_secs(), visitors)).collect()
}

/// Visitors arrive, check in or not, and are admitted. After each step, the report has to match
/// what follows from the whole line.
#[tokio::test]
async fn the_front_begins_behind_the_visitors_with_a_slot() {
    let seed = getrandom::u64().unwrap();
    println!("seed {seed}");
    for (number, engine) in (0..).zip(Engine::ALL) {
        let mut chance = Chance(seed + number);
        let mut site = Site::new(engine, RoomRules::new("shop", 1_000), |options| options).await;
        let mut promised_once = false;
        let mut longest = 0;
        for step in 0..150 {
            site.pass(Duration::from_millis(chance.below(4_000)));
            for _ in 0..chance.below(4) {
                site.arrive().await;
            }
            let waiting: Vec<_> = site.tickets.keys().copied().collect();
            for visitor in waiting {
                if site.tickets[&visitor].next_check_in <= site.now && chance.below(10) > 0 {
                    site.check_in(visitor).await;
                }
            }
            if chance.below(3) == 0 {
                site.grant(chance.below(4)).await;
            }
            let at_door = u32::try_from(chance.below(3)).unwrap();
            let said = site.heartbeat(at_door).await;
            // The first visitors in line take the slots that the site has, promised or not.
            let unused = usize::try_from(said.granted - said.returned - site.admitted).unwrap();
            let line = site.line().await;
            let mut front = LineFront::new();
            for rank in line.iter().skip(unused) {
                front.add(Timestamp::ZERO + Duration::from_micros(*rank), 1);
            }
            assert_eq!(said.front, front, "{engine}, seed {seed}, step {step}, {line:?}");
            let at_door = (line.len() + at_door as usize).saturating_sub(unused.max(line.len()));
            assert_eq!(said.want, front.visitors() + at_door as u64, "{engine}, {seed}, {step}");
            promised_once |= said.used > site.admitted && !front.is_empty();
            longest = longest.max(front.visitors());
        }
        assert!(promised_once && longest > 20 && site.admitted > 20, "{engine}, seed {seed}");
    }
}

/// Three visitors want slots. The first two slots that are granted are not taken in time.
#[tokio::test]
async fn a_promise_that_is_over_is_not_renewed_by_the_next_grant() {
    for engine in Engine::ALL {
        let mut site = Site::new(engine, RoomRules::new("shop", 1_000), |options| options).await;
        for _ in 0..3 {
            site.arrive().await;
        }
        site.pass(Duration::from_secs(2));
        site.check_in_who_is_due().await;
        assert_eq!(site.heartbeat(0).await.want, 3, "{engine}");
        site.grant(2).await;
        site.pass(Duration::from_secs(5));
        site.grant(1).await;
        assert_eq!(site.heartbeat(0).await.used, 1, "{engine}: one slot is promised");
    }
}

#[tokio::test]
async fn a_long_line_takes_no_more_commands_than_a_short_one() {
    for engine in Engine::ALL {
        let mut site = Site::new(engine, RoomRules::new("shop", 10_000), |options| options).await;
        for _ in 0..200 {
            site.arrive().await;
            site.pass(Duration::from_secs(1));
            site.check_in_who_is_due().await;
        }
        let mut connection = site.connection().await;
        let () = redis::cmd("CONFIG").arg("RESETSTAT").query_async(&mut connection).await.unwrap();
        let said = site.heartbeat(0).await;
        let stats: String =
            redis::cmd("INFO").arg("commandstats").query_async(&mut connection).await.unwrap();
        let calls = |command: &str| {
            let line = stats.lines().find(|line| line.starts_with(command))?;
            line.split(['=', ',']).nth(1)?.parse::<u64>().ok()
        };
        let calls = calls("cmdstat_zcount:").unwrap() + calls("cmdstat_zrange:").unwrap();
        // Five visitors in each bucket, of whom some may be away.
        assert_eq!((said.front.buckets().count(), said.want), (16, said.front.visitors()));
        assert!((50..=80).contains(&said.want), "{engine}: {said:?}");
        // The polls of the node take a few dozen commands per second.
        assert!(calls <= 150, "{engine}: {calls} commands");
    }
}

#[tokio::test]
async fn a_random_line_has_no_front_and_asks_for_a_few() {
    for engine in Engine::ALL {
        let rules = RoomRules::new("shop", 1_000).queueing_method(QueueingMethod::Random);
        let mut site = Site::new(engine, rules, |options| options).await;
        for _ in 0..30 {
            site.arrive().await;
        }
        site.pass(Duration::from_secs(2));
        site.check_in_who_is_due().await;
        let said = site.heartbeat(0).await;
        assert!(said.front.is_empty(), "{engine}: {:?}", said.front);
        assert_eq!(said.want, 8, "{engine}");
    }
}

/// The places of a draw are not times, so all entrants are treated alike.
#[tokio::test]
async fn the_entrants_of_a_draw_have_come_at_the_beginning_of_its_prequeue() {
    let after = |seconds| BEGIN + Duration::from_secs(seconds);
    let doors = Event::new("doors", after(300), after(900)).prequeue_start(after(100));
    let schedule = Schedule::new([doors]).unwrap();
    let schedule = schedule.with_seed("shop", "doors", Seed::new([7; 32])).unwrap();
    for engine in Engine::ALL {
        let rules = RoomRules::new("shop", 1_000);
        let mut site = Site::new(engine, rules, |options| options.schedule(schedule.clone())).await;
        site.pass(Duration::from_secs(150));
        for _ in 0..20 {
            site.arrive().await;
        }
        for _ in 0..100 {
            site.pass(Duration::from_secs(2));
            site.check_in_who_is_due().await;
            if site.now == after(310) {
                site.arrive().await;
            }
        }
        assert!(site.line().await[0] <= 20, "the draw has taken place");
        let said = site.heartbeat(0).await;
        assert_eq!(seconds(&said.front), [(100, 20), (310, 1)], "{engine}");
    }
}
