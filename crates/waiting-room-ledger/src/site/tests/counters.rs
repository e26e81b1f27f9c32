//! A room that counts is compared with [`SiteAdmission`] and its counters, which the simulation
//! uses, by random commands, on both engines. Then come the things that only a room can do: lose
//! its counters, and change the policy.

use std::time::Duration;

use proptest::{
    prelude::*,
    test_runner::{TestCaseError, TestRunner},
};
use waiting_room_core::{
    Pass, RoomRules, Store, Timestamp, Verdict, VisitorId,
    room::Renewal,
    time::{Clock, ManualClock},
};
use waiting_room_engines::Engine;
use waiting_room_redis::{
    RedisStore,
    site::{GlobalNews, MinutePlan, NodeReport, SharedLimit, SiteReport},
};

use crate::{
    SiteId,
    escrow::{
        Census, Draw, EscrowRules, GlobalLedger, Incarnation, RulesDigest, Tally, Term, ToGlobal,
        ToSite,
    },
    model::{NodeRules, SiteAdmission, SlotDecision, SlotPolicy},
    site::{
        counting::Counting,
        messages::{for_room, times},
        tests::support::{connect, start},
    },
    slots::{Minute, Pool, SlotRules, TicketCounter},
};

const SITE: SiteId = SiteId::new(1);
const OTHER: SiteId = SiteId::new(2);
const BEGIN: Timestamp = Timestamp::from_secs(60 * 28_000_000);
const RULES: EscrowRules = EscrowRules::new();
const LIMIT: u32 = 12;

#[derive(Clone, Debug)]
enum Command {
    /// Time passes, in seconds.
    Advance(u64),
    /// A visitor arrives, and waits for one of Anywhere's slots.
    Arrive,
    /// The site reports to the global ledger.
    Beat,
    /// A visitor arrives at the other site.
    Compete,
    /// The visitors of the other site leave.
    Empty,
    /// The visitor that was admitted first leaves.
    Leave,
}

fn command() -> impl Strategy<Value = Command> {
    prop_oneof![
        2 => (1..70_u64).prop_map(Command::Advance),
        8 => Just(Command::Arrive),
        3 => Just(Command::Beat),
        4 => Just(Command::Compete),
        1 => Just(Command::Empty),
        3 => Just(Command::Leave),
    ]
}

/// A site as the simulation knows it.
struct Model {
    admission: SiteAdmission,
    counter: TicketCounter,
    /// The visitors for whom tickets were drawn from Anywhere's counter, and their minute.
    drawn: (Minute, u32),
    active: u32,
    admitted: (Minute, [u32; 2]),
}

impl Model {
    fn new(site: SiteId) -> Self {
        let slots = SlotRules::new(LIMIT).new_users_per_minute(10);
        let rules = NodeRules::new(slots, SlotPolicy::Counters);
        Self {
            admission: SiteAdmission::new(rules, site).unwrap(),
            counter: TicketCounter::new(),
            drawn: (Minute::new(0), 0),
            active: 0,
            admitted: (Minute::new(0), [0; 2]),
        }
    }

    /// Counts a visitor, or begins a minute without one.
    fn count(&mut self, now: Timestamp, visitors: u32) {
        let minute = Minute::of(now);
        let (known, counts) = self.admitted;
        self.admitted = match () {
            () if minute == known => (minute, [counts[0] + visitors, counts[1]]),
            () if minute == known.next() => (minute, [visitors, counts[0]]),
            () => (minute, [visitors, 0]),
        };
    }

    fn tally(&self, site: SiteId, draw: Draw, now: Timestamp) -> ToGlobal {
        ToGlobal::Tally(Tally {
            site,
            incarnation: Incarnation::new(9),
            term: Term::new(1),
            sent_at: now,
            rules: RulesDigest::of(&RULES),
            knows: 0,
            active: self.active,
            minute: Minute::of(now).previous(),
            admitted: self.admitted.1[1],
            draw,
        })
    }
}

/// A room with its agent, the global ledger, and the models of this site and of the other one.
struct World {
    room: RedisStore,
    clock: ManualClock,
    counting: Counting,
    global: GlobalLedger,
    census: Census,
    model: Model,
    other: Model,
    anywhere: TicketCounter,
    active: Vec<VisitorId>,
    visitors: u128,
    /// How many visitors were admitted and refused.
    decided: [u32; 2],
}

impl World {
    async fn new(server: &str, prefix: String) -> Self {
        let clock = ManualClock::new(BEGIN);
        let rules = RoomRules::new("shop", LIMIT).new_users_per_minute(10);
        let rules = rules.session_duration(Duration::from_secs(200));
        let room =
            connect(server, rules, |options| options.clock(clock.clone()).prefix(prefix.clone()))
                .await;
        let mut world = Self {
            room,
            clock,
            counting: Counting::new(SITE, RulesDigest::of(&RULES)),
            global: GlobalLedger::new(LIMIT, [SITE, OTHER], Term::new(1), RULES).unwrap(),
            census: Census::new(&RULES, BEGIN),
            model: Model::new(SITE),
            other: Model::new(OTHER),
            anywhere: TicketCounter::new(),
            active: Vec::new(),
            visitors: 0,
            decided: [0; 2],
        };
        world.beat(0).await;
        world.tell_of_other();
        world.beat(0).await;
        world
    }

    fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Reports to the room, as the agent does, and gives it a plan.
    async fn report(&mut self, at_door: u32) -> SiteReport {
        let said = report(&self.room, at_door).await;
        if let Some((term, plan)) = self.counting.plan(&said, &self.room.rules()) {
            self.room
                .hear_for_site(SharedLimit::ActiveVisitors, term, &plan, &times(&RULES))
                .await
                .unwrap();
            self.counting.was_planned(&said);
        }
        said
    }

    /// Reports to the global ledger as well, and receives its answers.
    async fn beat(&mut self, at_door: u32) {
        let mut said = self.report(at_door).await;
        if said.counted.is_none() {
            said = self.report(at_door).await;
        }
        let message = self.counting.tally(&said, &said.counted.unwrap());
        for answer in self.send(&message) {
            if let ToSite::World(world) = &answer {
                assert!(self.counting.receive(world));
                self.model.admission.observe(world.snapshot().into());
                self.other.admission.observe(world.snapshot().into());
                self.report(at_door).await;
            }
            if let Some((term, news)) = for_room(&answer) {
                self.room
                    .hear_for_site(SharedLimit::ActiveVisitors, term, &news, &times(&RULES))
                    .await
                    .unwrap();
            }
        }
    }

    fn send(&mut self, message: &ToGlobal) -> Vec<ToSite> {
        let now = self.now();
        // The message is encoded and decoded, as on the wire.
        let message = ToGlobal::decode(&message.encode()).unwrap();
        assert_eq!(self.global.receive(&message, now), []);
        let ToGlobal::Tally(tally) = message else { panic!("{message:?}") };
        self.census.receive(&tally, &self.global, now)
    }

    fn tell_of_other(&mut self) {
        let now = self.now();
        self.other.count(now, 0);
        let draw = Draw { minute: Minute::of(now), total: 0, slots: 0, knows_world: true };
        let message = self.other.tally(OTHER, draw, now);
        self.send(&message);
    }

    /// A visitor arrives at the room and in the simulation, which have to agree.
    async fn arrive(&mut self) -> Result<(), TestCaseError> {
        self.visitors += 1;
        let id = VisitorId::new(self.visitors);
        let now = self.now();
        let expected = self.model_admits(now);
        let mut is_admitted = self.enters(id).await;
        if !is_admitted {
            self.beat(1).await;
            is_admitted = self.enters(id).await;
            self.report(0).await;
        }
        self.decided[usize::from(!is_admitted)] += 1;
        if is_admitted {
            self.active.push(id);
        }
        self.model.count(now, u32::from(is_admitted));
        let said = report(&self.room, 0).await;
        prop_assert_eq!(is_admitted, expected, "{:?}", said);
        let counted = said.counted.unwrap();
        prop_assert_eq!(counted.minute, Minute::of(now).number());
        prop_assert_eq!(counted.admitted_before, self.model.admitted.1[1], "{:?}", said);
        Ok(())
    }

    async fn enters(&self, id: VisitorId) -> bool {
        matches!(self.room.enter(id).await.unwrap(), Verdict::Admit { .. })
    }

    fn model_admits(&mut self, now: Timestamp) -> bool {
        let mut ruling = self.model.admission.arrive(now);
        while let SlotDecision::Request(request) = ruling {
            let counter = match request.pool {
                Pool::Anywhere => &mut self.anywhere,
                Pool::Site => &mut self.model.counter,
            };
            ruling = self.model.admission.on_reply(&request, counter.take(&request, now), now);
        }
        ruling == SlotDecision::Admit
    }

    /// A visitor arrives at the other site, which is a model with the counter of the census.
    fn compete(&mut self) -> Result<(), TestCaseError> {
        let now = self.now();
        let mut ruling = self.other.admission.arrive(now);
        while let SlotDecision::Request(request) = ruling {
            let reply = match request.pool {
                Pool::Anywhere => {
                    let known = self.other.drawn;
                    let before = if known.0 == request.minute { known.1 } else { 0 };
                    let draw = Draw {
                        minute: request.minute,
                        total: before + 1,
                        slots: request.slots,
                        knows_world: request.knows_world,
                    };
                    let message = self.other.tally(OTHER, draw, now);
                    let heard = self.send(&message);
                    let tickets = heard.iter().find_map(|news| match news {
                        ToSite::Tickets(tickets) => Some(tickets.total),
                        _ => None,
                    });
                    let reply = self.anywhere.take(&request, now);
                    let drawn = before + u32::from(reply.admits(&request));
                    prop_assert_eq!(tickets, Some(drawn), "{:?}", request);
                    self.other.drawn = (request.minute, drawn);
                    reply
                }
                Pool::Site => self.other.counter.take(&request, now),
            };
            ruling = self.other.admission.on_reply(&request, reply, now);
        }
        let is_admitted = u32::from(ruling == SlotDecision::Admit);
        self.other.count(now, is_admitted);
        self.other.active += is_admitted;
        Ok(())
    }

    /// Time passes. The agent reports at least at the beginning of each minute. At that time, a
    /// visitor arrives, which fixes the slots of the minute in the room and in the simulation.
    async fn advance(&mut self, seconds: u64) -> Result<(), TestCaseError> {
        let until = self.now() + Duration::from_secs(seconds);
        while Minute::of(self.now()) < Minute::of(until) {
            self.clock.advance_to(Minute::of(self.now()).end());
            self.arrive().await?;
            self.compete()?;
            self.tell_of_other();
            self.beat(0).await;
        }
        self.clock.advance_to(until);
        Ok(())
    }

    async fn run(&mut self, command: &Command) -> Result<(), TestCaseError> {
        match command {
            Command::Advance(seconds) => self.advance(*seconds).await?,
            Command::Arrive => self.arrive().await?,
            Command::Beat => self.beat(0).await,
            Command::Compete => self.compete()?,
            Command::Empty => self.other.active = 0,
            Command::Leave if !self.active.is_empty() => {
                self.room.leave(self.active.remove(0)).await.unwrap();
            }
            Command::Leave => {}
        }
        Ok(())
    }
}

async fn report(room: &RedisStore, at_door: u32) -> SiteReport {
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
    room.report_of_site(&report).await.unwrap()
}

#[test]
fn redis_agrees_with_the_simulation() {
    agree(Engine::Redis);
}

#[test]
fn valkey_agrees_with_the_simulation() {
    agree(Engine::Valkey);
}

/// Compares the room and the simulation in random worlds: one world for every four cases of
/// `PROPTEST_CASES`.
fn agree(engine: Engine) {
    let server = start(engine);
    let url = server.url();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let config = ProptestConfig::default();
    let cases = config.cases.div_ceil(4);
    let config = ProptestConfig { cases, failure_persistence: None, ..config };
    let mut runner = TestRunner::new(config);
    let worlds = std::cell::Cell::new(0_u32);
    let decided = std::cell::Cell::new([0; 2]);
    let result = runner.run(&prop::collection::vec(command(), 40..120), |commands| {
        worlds.set(worlds.get() + 1);
        let prefix = format!("c{}", worlds.get());
        runtime.block_on(async {
            let mut world = World::new(&url, prefix).await;
            for (step, command) in commands.iter().enumerate() {
                let text = world.run(command).await;
                text.map_err(|error| {
                    TestCaseError::fail(format!("step {step}, {command:?}: {error}"))
                })?;
            }
            let [admitted, refused] = decided.get();
            decided.set([admitted + world.decided[0], refused + world.decided[1]]);
            Ok(())
        })
    });
    if let Err(error) = result {
        panic!("{engine}: {error}");
    }
    let [admitted, refused] = decided.get();
    println!("{engine}: {admitted} were admitted, {refused} had to wait");
    assert!(admitted > 0 && refused > 0, "{admitted} and {refused} in {cases} worlds");
}

/// A world in which the site has admitted a visitor with one of Anywhere's slots.
async fn with_one_visitor(server: &str) -> (World, Pass) {
    let mut world = World::new(server, "one".to_owned()).await;
    world.arrive().await.unwrap();
    world.visitors += 1;
    let id = VisitorId::new(world.visitors);
    assert!(!world.enters(id).await, "the site has no slots of its own yet");
    world.beat(1).await;
    match world.room.enter(id).await.unwrap() {
        Verdict::Admit { pass, .. } => (world, pass),
        other => panic!("not admitted: {other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_room_counts_from_zero_and_its_passes_stay_valid() {
    for engine in Engine::ALL {
        let server = start(engine);
        let (mut world, pass) = with_one_visitor(&server.url()).await;
        // The world is full by now.
        world.other.active = LIMIT;
        world.clock.advance(Duration::from_secs(1));
        world.tell_of_other();
        world.beat(0).await;
        let client = redis::Client::open(server.url()).unwrap();
        let mut connection = client.get_multiplexed_async_connection().await.unwrap();
        let () = redis::cmd("FLUSHALL").query_async(&mut connection).await.unwrap();

        assert!(!world.enters(VisitorId::new(99)).await, "{engine}: nothing is known yet");
        let kept = world.room.renew(pass).await.unwrap();
        assert!(
            matches!(kept, Renewal::Renew(text) if text.expires_at == pass.expires_at),
            "{kept:?}"
        );

        world.report(0).await;
        let said = report(&world.room, 1).await;
        let counted = said.counted.unwrap();
        assert_eq!((counted.active, counted.tickets, counted.anywhere), (0, 0, 0), "{engine}");
        assert_eq!(said.free, 0, "{engine}: no slot for a new visitor");
        world.clock.advance(Duration::from_secs(1));
        let renewed = world.room.renew(pass).await.unwrap();
        assert!(matches!(renewed, Renewal::Renew(text) if text.expires_at > pass.expires_at));
        assert_eq!(report(&world.room, 0).await.counted.unwrap().active, 1, "{engine}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_site_with_a_lease_goes_on_to_hold_slots_and_an_account_ends_the_counting() {
    for engine in Engine::ALL {
        let server = start(engine);
        let (mut world, _) = with_one_visitor(&server.url()).await;
        let said = report(&world.room, 0).await;
        assert!(said.counted.is_some() && !said.slots.has_account);
        let welcome = GlobalNews::Welcome {
            epoch: (1, 1),
            incarnation: said.slots.incarnation,
            heard: said.at,
            lease: Duration::from_secs(30),
            inherited: 0,
        };
        let receive = async |room: &RedisStore, news| {
            room.hear_for_site(SharedLimit::ActiveVisitors, 1, news, &times(&RULES)).await.unwrap();
        };
        receive(&world.room, &welcome).await;
        let said = report(&world.room, 0).await;
        assert!(said.slots.has_account && said.counted.is_none(), "{engine}: {said:?}");

        let (_, plan) = world.counting.plan(&said, &world.room.rules()).unwrap();
        receive(&world.room, &plan).await;
        assert!(report(&world.room, 0).await.slots.has_account, "{engine}: the lease is running");
        world.clock.advance(Duration::from_secs(30));
        world.report(0).await;
        let said = report(&world.room, 0).await;
        assert!(!said.slots.has_account && said.counted.is_some(), "{engine}: {said:?}");
    }
}

/// No visitor was admitted for half a minute, so the measured rate is near zero.
#[tokio::test(flavor = "multi_thread")]
async fn a_line_that_stood_still_gets_tickets_for_all_imminent_admissions() {
    for engine in Engine::ALL {
        let server = start(engine);
        let clock = ManualClock::new(BEGIN);
        let rules = RoomRules::new("shop", 900).session_duration(Duration::from_secs(8));
        let room = connect(&server.url(), rules, |options| options.clock(clock.clone())).await;
        report(&room, 0).await;
        let plan = |minute: Minute, anywhere| {
            let minute = minute.number();
            let slots = 0;
            let knows_world = true;
            MinutePlan { minute, slots, anywhere, knows_world }
        };
        let minute = Minute::of(BEGIN);
        let minutes = [plan(minute, 0), plan(minute.next(), 900)];
        let news = GlobalNews::Plan { ceiling: 900, minutes };
        let times = times(&RULES);
        room.hear_for_site(SharedLimit::ActiveVisitors, 1, &news, &times).await.unwrap();
        clock.advance(Duration::from_secs(40));
        let mut tickets = Vec::new();
        for visitor in 1..=60 {
            match room.enter(VisitorId::new(visitor)).await.unwrap() {
                Verdict::Wait { ticket, .. } => tickets.push(ticket),
                other => panic!("{engine}: {other:?}"),
            }
        }
        clock.advance(Duration::from_secs(2));
        for ticket in tickets {
            room.check_in(ticket).await.unwrap();
        }
        clock.advance_to(minute.end());
        assert_eq!(report(&room, 0).await.counted.unwrap().wanted, 60, "{engine}");
    }
}
