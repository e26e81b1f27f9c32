//! The accounts of a site in its room are held against [`SiteLedger`], by random commands, on both
//! engines. Both get the same visitors and the same messages of a real global ledger, which may be
//! lost, repeated or late, and have to say the same after each of them.
//!
//! The account of slots and that of the minute are compared one at a time, with visitors who wait,
//! while the other one is ample; and together, with visitors who do not wait.

mod world;

use std::sync::atomic::{AtomicU64, Ordering};

use proptest::{prelude::*, test_runner::TestRunner};
use waiting_room_engines::Engine;
use waiting_room_redis::site::SharedLimit;

use self::world::{World, disagree};
use crate::site::tests::support::start;

/// Which accounts a room has, and which of them are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Accounts {
    /// That of slots, in a room that has no other one.
    Slots,
    /// That of slots, while the one of the minute is ample.
    SlotsBesideMinute,
    /// That of the minute, while the one of slots is ample.
    Minute,
    /// Both.
    Both,
}

impl Accounts {
    const ALL: [Self; 4] = [Self::Slots, Self::SlotsBesideMinute, Self::Minute, Self::Both];

    /// The accounts that are compared.
    const fn compared(self) -> &'static [SharedLimit] {
        match self {
            Self::Slots | Self::SlotsBesideMinute => &[SharedLimit::ActiveVisitors],
            Self::Minute => &[SharedLimit::NewVisitors],
            Self::Both => &[SharedLimit::ActiveVisitors, SharedLimit::NewVisitors],
        }
    }

    /// The account that never lacks anything.
    const fn ample(self) -> Option<SharedLimit> {
        match self {
            Self::SlotsBesideMinute => Some(SharedLimit::NewVisitors),
            Self::Minute => Some(SharedLimit::ActiveVisitors),
            Self::Slots | Self::Both => None,
        }
    }
}

#[derive(Clone, Debug)]
enum Command {
    /// Time passes, in milliseconds.
    Advance(u64),
    /// A visitor arrives who does not wait.
    Arrive,
    /// A visitor arrives who waits for a slot, if one account is compared.
    Borrow,
    /// A visitor arrives at the other site.
    Compete,
    /// A message of a global ledger arrives. It may arrive again if it is kept.
    Down { index: usize, kept: bool },
    /// The room is lost, with all of its visitors.
    Flush,
    /// The global ledgers do what is due.
    GlobalTick,
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
fn redis_says_what_the_ledgers_of_a_site_say() {
    Accounts::ALL.into_iter().for_each(|accounts| agree(Engine::Redis, accounts));
}

#[test]
fn valkey_says_what_the_ledgers_of_a_site_say() {
    Accounts::ALL.into_iter().for_each(|accounts| agree(Engine::Valkey, accounts));
}

/// Compares both in random worlds. `PROPTEST_CASES` makes it longer.
fn agree(engine: Engine, accounts: Accounts) {
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
        runtime.block_on(async {
            let mut world = World::new(&url, prefix, accounts).await;
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
        panic!("{engine}, {accounts:?}: {error}");
    }
    let [at_once, later] = admitted.get();
    println!("{engine}, {accounts:?}: {at_once} were admitted at once, {later} had waited");
    assert!(at_once > 0, "{accounts:?} in {cases} worlds");
    assert!(later > 0 || accounts == Accounts::Both, "{accounts:?} in {cases} worlds");
}
