//! The account of a site in its room is held against [`SiteLedger`], by random commands, on both
//! engines. Both get the same visitors and the same messages of a real global ledger, which may be
//! lost, repeated or late, and have to say the same after each of them.

use std::{
    collections::BTreeSet,
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use proptest::{
    prelude::*,
    test_runner::{TestCaseError, TestRunner},
};
use waiting_room_core::{
    RoomRules, Store, Timestamp, Verdict, VisitorId,
    room::{QueueingMethod, SessionRenewal},
    time::ManualClock,
};
use waiting_room_engines::Engine;
use waiting_room_redis::{
    RedisStore,
    site::{GlobalNews, NodeReport},
};
use waiting_room_sites::{
    SiteId,
    escrow::{
        Admission, EscrowRules, GlobalLedger, Incarnation, Kept, KeptAccount, SiteAction,
        SiteLedger, Standing, Term, ToGlobal, ToSite,
    },
};

use crate::site::{
    messages::{for_room, times, to_global},
    tests::support::{connect, start},
};

const SITE: SiteId = SiteId::new(1);
const OTHER: SiteId = SiteId::new(2);
const BEGIN: Timestamp = Timestamp::from_secs(1_700_000_000);
const RULES: EscrowRules =
    EscrowRules::new().session(Duration::from_secs(12)).lease(Duration::from_secs(6));
/// The visitors of the other site have greater ids.
const OTHERS: u128 = 1 << 64;

#[derive(Clone, Debug)]
enum Command {
    /// Time passes, in milliseconds.
    Advance(u64),
    /// A visitor arrives who does not wait.
    Arrive,
    /// A visitor arrives who waits for a slot.
    Borrow,
    /// A visitor arrives at the other site.
    Compete,
    /// A message of the global ledger arrives. It may arrive again if it is kept.
    Down { index: usize, kept: bool },
    /// The room is lost, with all of its visitors.
    Flush,
    /// The global ledger does what is due.
    GlobalTick,
    /// All messages arrive, in order.
    Exchange,
    /// The global ledger is lost, and the next one learns from the sites.
    Recover,
    /// The global ledger is lost, and continued from its keeper.
    Restore,
    /// The limit changes.
    SetLimit(u32),
    /// A message of the site arrives.
    Up { index: usize, kept: bool },
    /// An admission is undone.
    Withdraw(usize),
}

fn command() -> impl Strategy<Value = Command> {
    let message = || (any::<usize>(), prop::bool::weighted(0.2));
    prop_oneof![
        8 => prop_oneof![Just(1), Just(50), Just(200), Just(1_000), 1_u64..7_000]
            .prop_map(Command::Advance),
        6 => Just(Command::Arrive),
        6 => Just(Command::Borrow),
        4 => Just(Command::Compete),
        12 => message().prop_map(|(index, kept)| Command::Down { index, kept }),
        8 => Just(Command::Exchange),
        1 => Just(Command::Flush),
        2 => Just(Command::GlobalTick),
        1 => prop::bool::weighted(0.5).prop_map(|it| if it { Command::Recover } else { Command::Restore }),
        1 => (0_u32..12).prop_map(Command::SetLimit),
        12 => message().prop_map(|(index, kept)| Command::Up { index, kept }),
        2 => any::<usize>().prop_map(Command::Withdraw),
    ]
}

/// A room and its model, a global ledger, another site, and the messages under way.
struct World {
    room: RedisStore,
    clock: ManualClock,
    now: Timestamp,
    model: SiteLedger,
    other: SiteLedger,
    global: GlobalLedger,
    kept: Kept,
    up: Vec<ToGlobal>,
    down: Vec<ToSite>,
    visitors: u128,
    incarnations: u64,
    /// The visitors that wait at the door, and those whose admission may be undone.
    door: BTreeSet<VisitorId>,
    begun: Vec<VisitorId>,
    /// The arrivals that the room was not told of.
    arrivals: u64,
    /// How many visitors were admitted, and how many of those had waited.
    admitted: [u64; 2],
}

fn disagree(what: String) -> TestCaseError {
    TestCaseError::fail(what)
}

impl World {
    async fn new(server: &str, prefix: String) -> Self {
        let clock = ManualClock::new(BEGIN);
        let rules = RoomRules::new("shop", 100)
            .with_session_duration(Duration::from_secs(12))
            .with_session_renewal(SessionRenewal::Fixed)
            .with_queueing_method(QueueingMethod::Reject);
        let room = connect(server, rules, |options| options.prefix(prefix).clock(clock.clone()));
        let mut kept = Kept::new(Term::new(1), 6, RULES);
        for site in [SITE, OTHER] {
            let account = KeptAccount::new(Default::default(), Standing::Away);
            kept.accounts.insert(site, account);
        }
        let kept = kept.take_over(Term::new(2)).unwrap();
        let global = GlobalLedger::restore(&kept, Term::new(2), BEGIN).unwrap();
        let model = SiteLedger::new(SITE, Incarnation::new(1), RULES, BEGIN).unwrap();
        let other = SiteLedger::new(OTHER, Incarnation::new(1), RULES, BEGIN).unwrap();
        let mut world = Self {
            room: room.await,
            clock,
            now: BEGIN,
            model,
            other,
            global,
            kept,
            up: Vec::new(),
            down: Vec::new(),
            visitors: 0,
            incarnations: 1,
            door: BTreeSet::new(),
            begun: Vec::new(),
            arrivals: 0,
            admitted: [0; 2],
        };
        world.advance_room().await;
        world
    }

    /// Lets the room notice the time, and what it has to give back because of it.
    async fn advance_room(&mut self) {
        self.room.sweep().await.unwrap();
        self.room.hear_for_site(0, &GlobalNews::Report, &times(&RULES)).await.unwrap();
    }

    fn visitor(&mut self) -> VisitorId {
        self.visitors += 1;
        VisitorId::new(self.visitors)
    }

    /// What the room reports.
    async fn report(&mut self) -> ToGlobal {
        let report = NodeReport {
            node: 7,
            incarnation: self.incarnations,
            arrivals: std::mem::take(&mut self.arrivals),
            at_door: u32::try_from(self.door.len()).unwrap(),
            door_for: Duration::from_secs(3600),
            judged: Timestamp::ZERO,
            speaks_for: Duration::from_secs(5),
        };
        let said = self.room.report_of_site(&report).await.unwrap();
        assert!(said.speaks);
        to_global(SITE, RULES.digest(), &said)
    }

    /// Sends what the model says, which the room has to say as well.
    async fn send(&mut self, message: ToGlobal) -> Result<(), TestCaseError> {
        let said = self.report().await;
        prop_assert_eq!(said, message.clone(), "the room, and the model at {:?}", self.now);
        self.up.push(message);
        Ok(())
    }

    async fn enters(&self, visitor: VisitorId) -> bool {
        matches!(self.room.enter(visitor).await.unwrap(), Verdict::Admit { .. })
    }

    async fn arrive(&mut self, waits: bool) -> Result<(), TestCaseError> {
        let visitor = self.visitor();
        self.model.arrived();
        self.arrivals += 1;
        let deadline = if waits { Timestamp::MAX } else { self.now };
        let decided = self.model.admit_by(visitor, deadline, self.now);
        let enters = self.enters(visitor).await;
        let is_admitted = matches!(decided, Admission::Admit(_));
        if enters != is_admitted {
            return Err(disagree(format!("{enters} in the room, but {decided:?}")));
        }
        if is_admitted {
            self.begun.push(visitor);
            self.admitted[0] += 1;
        }
        if let Admission::Borrow { ask, .. } = decided {
            self.door.insert(visitor);
            if let Some(ask) = ask {
                self.send(ask).await?;
            }
        }
        Ok(())
    }

    /// Carries out what the model has decided, which the room has to decide as well.
    async fn act(&mut self, actions: Vec<SiteAction>) -> Result<(), TestCaseError> {
        for action in actions {
            match action {
                SiteAction::Admit(pass) => {
                    self.door.remove(&pass.visitor);
                    if !self.enters(pass.visitor).await {
                        return Err(disagree(format!("{:?} waits in the room", pass.visitor)));
                    }
                    self.begun.push(pass.visitor);
                    self.admitted[1] += 1;
                }
                SiteAction::GiveUp(visitor) => _ = self.door.remove(&visitor),
                SiteAction::Send(message) => self.send(message).await?,
                other => return Err(disagree(format!("{other:?}"))),
            }
        }
        Ok(())
    }

    /// Hands the answers of the global ledger over. The other site has a perfect network.
    fn answer(&mut self, messages: Vec<waiting_room_sites::escrow::Outgoing>) {
        self.kept.apply(&self.global.changes()).unwrap();
        let mut messages = messages;
        while let Some(outgoing) = messages.pop() {
            if outgoing.to == SITE {
                self.down.push(outgoing.message);
                continue;
            }
            for action in self.other.receive(&outgoing.message, self.now) {
                if let SiteAction::Send(message) = action {
                    messages.extend(self.global.receive(&message, self.now));
                }
            }
            self.kept.apply(&self.global.changes()).unwrap();
        }
        // The oldest messages are lost.
        self.down.drain(..self.down.len().saturating_sub(12));
        self.up.drain(..self.up.len().saturating_sub(12));
    }

    fn up(&mut self, message: &ToGlobal) {
        let answers = self.global.receive(message, self.now);
        self.answer(answers);
    }

    /// Hands a message to the room and to its model.
    async fn down(&mut self, message: &ToSite) -> Result<(), TestCaseError> {
        let actions = self.model.receive(message, self.now);
        if let Some((term, news)) = for_room(message) {
            self.room.hear_for_site(term, &news, &times(&RULES)).await.unwrap();
        }
        self.act(actions).await
    }

    /// Replaces the global ledger.
    fn replace(&mut self, recovers: bool) {
        let term = Term::new(self.global.term().number() + 1);
        let kept = self.kept.take_over(term).unwrap();
        self.global = match recovers {
            false => GlobalLedger::restore(&kept, term, self.now).unwrap(),
            true => {
                let sites = [SITE, OTHER];
                GlobalLedger::recover(&kept, kept.limit, sites, term, RULES, self.now).unwrap()
            }
        };
        self.kept = kept;
        self.kept.apply(&self.global.changes()).unwrap();
        self.down.push(ToSite::Report { term });
    }

    async fn flush(&mut self, server: &str) {
        let client = redis::Client::open(server).unwrap();
        let mut connection = client.get_multiplexed_async_connection().await.unwrap();
        let pattern = format!("{{{}:shop}}:*", self.prefix());
        let keys: Vec<String> =
            redis::cmd("KEYS").arg(pattern).query_async(&mut connection).await.unwrap();
        let () = redis::cmd("DEL").arg(keys).query_async(&mut connection).await.unwrap();
        self.incarnations += 1;
        let life = Incarnation::new(self.incarnations);
        self.model = SiteLedger::new(SITE, life, RULES, self.now).unwrap();
        self.door.clear();
        self.begun.clear();
        self.arrivals = 0;
        self.advance_room().await;
    }

    fn prefix(&self) -> String {
        PREFIXES.with(|prefix| prefix.borrow().clone())
    }

    async fn run(&mut self, command: &Command, server: &str) -> Result<(), TestCaseError> {
        self.advance_room().await;
        // A visitor that is not there leaves, so that the model notices the time as well.
        self.model.leave(VisitorId::new(0), self.now);
        match *command {
            Command::Advance(millis) => {
                self.now = self.now + Duration::from_millis(millis);
                self.clock.advance_to(self.now);
                let actions = self.other.tick(self.now);
                for action in actions {
                    if let SiteAction::Send(message) = action {
                        self.up(&message);
                    }
                }
            }
            Command::Arrive => self.arrive(false).await?,
            Command::Borrow => self.arrive(true).await?,
            Command::Compete => {
                let visitor = VisitorId::new(OTHERS + self.visitor().bits());
                self.other.arrived();
                let decided = self.other.admit(visitor, self.now);
                if let Admission::Borrow { ask: Some(ask), .. } = decided {
                    self.up(&ask);
                }
            }
            Command::Down { index, kept } if !self.down.is_empty() => {
                let index = index % self.down.len();
                let message = if kept { self.down[index].clone() } else { self.down.remove(index) };
                self.down(&message).await?;
            }
            Command::Up { index, kept } if !self.up.is_empty() => {
                let index = index % self.up.len();
                let message = if kept { self.up[index].clone() } else { self.up.remove(index) };
                self.up(&message);
            }
            Command::Down { .. } | Command::Up { .. } => {}
            Command::Exchange => {
                for message in std::mem::take(&mut self.up) {
                    self.up(&message);
                }
                for message in std::mem::take(&mut self.down) {
                    self.advance_room().await;
                    self.down(&message).await?;
                }
            }
            Command::Flush => self.flush(server).await,
            Command::GlobalTick => {
                let messages = self.global.tick(self.now);
                self.answer(messages);
            }
            Command::Recover => self.replace(true),
            Command::Restore => self.replace(false),
            Command::SetLimit(limit) => self.global.set_limit(limit),
            Command::Withdraw(index) if !self.begun.is_empty() => {
                let visitor = self.begun.remove(index % self.begun.len());
                self.model.withdraw(visitor, self.now);
                self.room.leave(visitor).await.unwrap();
            }
            Command::Withdraw(_) => {}
        }
        // The caller of a ledger does after each verb what is due.
        self.advance_room().await;
        let actions = self.model.tick(self.now);
        self.act(actions).await
    }
}

thread_local! {
    static PREFIXES: std::cell::RefCell<String> = const { std::cell::RefCell::new(String::new()) };
}
static WORLDS: AtomicU64 = AtomicU64::new(0);

#[test]
fn redis_says_what_the_ledger_of_a_site_says() {
    agree(Engine::Redis);
}

#[test]
fn valkey_says_what_the_ledger_of_a_site_says() {
    agree(Engine::Valkey);
}

/// Compares both in random worlds. `PROPTEST_CASES` makes it longer.
fn agree(engine: Engine) {
    let server = start(engine);
    let url = server.url();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|it| it.parse().ok()).unwrap_or(24);
    let config = ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() };
    let mut runner = TestRunner::new(config);
    let admitted = std::cell::Cell::new([0; 2]);
    let worlds = prop::collection::vec(command(), 40..160);
    let result = runner.run(&worlds, |commands| {
        let prefix = format!("w{}", WORLDS.fetch_add(1, Ordering::Relaxed));
        PREFIXES.with(|it| it.borrow_mut().clone_from(&prefix));
        runtime.block_on(async {
            let mut world = World::new(&url, prefix).await;
            for (step, command) in commands.iter().enumerate() {
                world
                    .run(command, &url)
                    .await
                    .map_err(|error| disagree(format!("step {step}, {command:?}: {error}")))?;
            }
            let [at_once, later] = admitted.get();
            admitted.set([at_once + world.admitted[0], later + world.admitted[1]]);
            Ok(())
        })
    });
    if let Err(error) = result {
        panic!("{engine}: {error}");
    }
    let [at_once, later] = admitted.get();
    println!("{engine}: {at_once} were admitted at once, {later} had waited");
    assert!(at_once > 0 && later > 0, "{at_once} and {later} in {cases} worlds");
}
