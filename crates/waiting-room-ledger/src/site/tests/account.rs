//! The accounts of a site in its room are compared with [`SiteLedger`], by random commands, on both
//! engines. The room and the ledger get the same visitors and the same messages from a real global
//! ledger. The messages may be lost, repeated or late, and the two have to report the same after
//! each message.
//!
//! The account of slots and the account of the minute are compared one at a time, with visitors who
//! wait, while the other account is ample. They are also compared together, with visitors who do
//! not wait.
//!
//! The account of slots is also compared in a room with a line, which its model is told about.
//! There, a newcomer is not held at the door, because the room keeps newcomers behind the line, but
//! a ledger does not. All visitors fit into a front, because a ledger knows no others.

mod world;

use std::{
    cell::Cell,
    ops::AddAssign,
    sync::atomic::{AtomicU64, Ordering},
};

use proptest::{prelude::*, test_runner::TestRunner};
use waiting_room_engines::Engine;
use waiting_room_redis::site::SharedLimit;

use self::world::{World, disagree};
use crate::site::tests::support::start;

/// Which accounts a room has, and which of them are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Accounts {
    /// The account of slots, in a room that has no other account.
    Slots,
    /// The account of slots, in a room that has no other account and whose visitors wait in line.
    Line,
    /// The account of slots, while the account of the minute is ample.
    SlotsBesideMinute,
    /// The account of the minute, while the account of slots is ample.
    Minute,
    /// Both accounts.
    Both,
}

impl Accounts {
    const ALL: [Self; 5] =
        [Self::Line, Self::Slots, Self::SlotsBesideMinute, Self::Minute, Self::Both];

    /// Whether the room has an account of the minute.
    const fn has_minute(self) -> bool {
        !matches!(self, Self::Slots | Self::Line)
    }

    /// The accounts that are compared.
    const fn compared(self) -> &'static [SharedLimit] {
        match self {
            Self::Slots | Self::Line | Self::SlotsBesideMinute => &[SharedLimit::ActiveVisitors],
            Self::Minute => &[SharedLimit::NewVisitors],
            Self::Both => &[SharedLimit::ActiveVisitors, SharedLimit::NewVisitors],
        }
    }

    /// The account that never lacks anything.
    const fn ample(self) -> Option<SharedLimit> {
        match self {
            Self::SlotsBesideMinute => Some(SharedLimit::NewVisitors),
            Self::Minute => Some(SharedLimit::ActiveVisitors),
            Self::Slots | Self::Line | Self::Both => None,
        }
    }
}

/// The events in the worlds of a comparison. Without these events, a comparison proves nothing.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    /// The visitors who were admitted at once, and those who had waited.
    at_once: u64,
    later: u64,
    /// The number of reports with a line front, and of those sent while unused slots were being
    /// recalled.
    fronts: u64,
    recalls: u64,
    /// The slots that reports counted as used because they were promised.
    promised: u64,
}

impl AddAssign for Seen {
    fn add_assign(&mut self, more: Self) {
        self.at_once += more.at_once;
        self.later += more.later;
        self.fronts += more.fronts;
        self.recalls += more.recalls;
        self.promised += more.promised;
    }
}

#[derive(Clone, Debug)]
enum Command {
    /// Time passes, in milliseconds.
    Advance(u64),
    /// A visitor who does not wait arrives.
    Arrive,
    /// A visitor who waits for a slot arrives, if one account is compared. In a room with a line,
    /// this is the first visitor in it.
    Borrow,
    /// A visitor arrives at the other site.
    Compete,
    /// A message of a global ledger arrives. It may arrive again if it is kept.
    Down { index: usize, kept: bool },
    /// The room is lost, with all of its visitors.
    Flush,
    /// The `tick` of each global ledger is called.
    GlobalTick,
    /// Something happens in the line of the room, or in that of the other site.
    Line(InLine),
    /// All messages arrive, in order.
    Exchange,
    /// A global ledger is lost, and the next one learns from the sites.
    Recover(usize),
    /// A global ledger is lost, and continued from its keeper.
    Restore(usize),
    /// A limit changes.
    SetLimit(usize, u32),
    /// A message of the site arrives.
    Up { index: usize, kept: bool },
    /// An admission is undone.
    Withdraw(usize),
}

/// What happens in a line.
#[derive(Clone, Debug)]
enum InLine {
    /// A visitor who is due checks in.
    CheckIn(usize),
    /// A visitor leaves.
    Leave(usize),
    /// The visitors at the front of the other site's line take the slots that it has.
    ServeOther,
    /// A visitor who has waited for this many seconds joins the line of the other site.
    JoinOther(u64),
}

/// The commands of a world with these accounts. In a world with a line, more time passes, so that
/// visitors check in.
fn commands(accounts: Accounts) -> BoxedStrategy<Vec<Command>> {
    let in_line = prop_oneof![
        8 => any::<usize>().prop_map(InLine::CheckIn),
        1 => any::<usize>().prop_map(InLine::Leave),
        3 => Just(InLine::ServeOther),
        2 => (0_u64..30).prop_map(InLine::JoinOther),
    ];
    let with_line = prop_oneof![
        10 => command(),
        10 => in_line.prop_map(Command::Line),
        3 => (200_u64..2_500).prop_map(Command::Advance),
        3 => Just(Command::Arrive),
        5 => Just(Command::Exchange),
    ];
    match accounts {
        Accounts::Line => prop::collection::vec(with_line, 80..320).boxed(),
        _ => prop::collection::vec(command(), 40..160).boxed(),
    }
}

fn command() -> impl Strategy<Value = Command> {
    let message = || (any::<usize>(), prop::bool::weighted(0.2));
    let side = any::<usize>;
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
        1 => prop_oneof![side().prop_map(Command::Recover), side().prop_map(Command::Restore)],
        1 => (side(), 0_u32..12).prop_map(|(side, limit)| Command::SetLimit(side, limit)),
        12 => message().prop_map(|(index, kept)| Command::Up { index, kept }),
        2 => any::<usize>().prop_map(Command::Withdraw),
    ]
}

static WORLDS: AtomicU64 = AtomicU64::new(0);

#[test]
fn redis_agrees_with_the_ledgers_of_a_site() {
    Accounts::ALL.into_iter().for_each(|accounts| agree(Engine::Redis, accounts));
}

#[test]
fn valkey_agrees_with_the_ledgers_of_a_site() {
    Accounts::ALL.into_iter().for_each(|accounts| agree(Engine::Valkey, accounts));
}

/// Compares the room and the ledger in random worlds: one world for every four cases of
/// `PROPTEST_CASES`, since a world sends a hundred commands to a server.
fn agree(engine: Engine, accounts: Accounts) {
    let server = start(engine);
    let url = server.url();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let config = ProptestConfig::default();
    let cases = config.cases.div_ceil(4);
    let config = ProptestConfig { cases, failure_persistence: None, ..config };
    let mut runner = TestRunner::new(config);
    let seen = Cell::new(Seen::default());
    let result = runner.run(&commands(accounts), |commands| {
        let prefix = format!("w{}", WORLDS.fetch_add(1, Ordering::Relaxed));
        runtime.block_on(async {
            let mut world = World::new(&url, prefix, accounts).await;
            for (step, command) in commands.iter().enumerate() {
                world
                    .run(command)
                    .await
                    .map_err(|error| disagree(format!("step {step}, {command:?}: {error}")))?;
            }
            let mut sum = seen.get();
            sum += world.seen;
            seen.set(sum);
            Ok(())
        })
    });
    if let Err(error) = result {
        panic!("{engine}, {accounts:?}: {error}");
    }
    let seen = seen.get();
    println!("{engine}, {accounts:?}: {seen:?}");
    let Seen { at_once, later, fronts, promised, recalls } = seen;
    let has_line = accounts == Accounts::Line;
    assert!(at_once > 0 && recalls > 0, "{accounts:?} in {cases} worlds: {seen:?}");
    assert!(later > 0 || accounts == Accounts::Both, "{accounts:?} in {cases} worlds: {seen:?}");
    assert!(fronts > 0 && promised > 0 || !has_line, "{accounts:?} in {cases} worlds: {seen:?}");
}
