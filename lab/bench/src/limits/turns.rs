//! The order of the keys, which is drawn before the measurement, and the loop that checks them.

use std::thread;

use rand::{RngExt, SeedableRng, rngs::Xoshiro256PlusPlus};
use rand_distr::Zipf;
use waiting_room_core::Timestamp;

use crate::case::Repeat;

/// The frequencies of the keys.
#[derive(Clone, Copy, Debug)]
pub(super) enum Spread {
    /// All keys are equally frequent.
    Uniform,
    /// The first key is twice as frequent as the second, and three times as the third.
    Zipf,
}

/// The result of every check of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Allowed,
    Refused,
}

/// The numbers of the keys, in the order in which they are checked. After the last one, the first
/// follows again.
pub(super) struct Turns {
    keys: u32,
    drawn: Box<[u32]>,
}

impl Turns {
    pub(super) fn new(keys: u32, spread: Spread) -> Self {
        let mut chance = Xoshiro256PlusPlus::seed_from_u64(SEED);
        let draw = || match spread {
            Spread::Uniform => chance.random_range(0..keys),
            Spread::Zipf => {
                let law = Zipf::new(f64::from(keys), 1.0).expect("there are keys");
                rank(chance.sample(law)).min(keys) - 1
            }
        };
        Self { keys, drawn: std::iter::repeat_with(draw).take(DRAWN).collect() }
    }

    /// Checks every key once, so that all of them are known, and then in the drawn order.
    pub(super) fn check(
        self,
        outcome: Outcome,
        check: impl Fn(u32, Timestamp) -> bool + 'static,
    ) -> Repeat {
        (0..self.keys).for_each(|key| _ = check(key, time(0)));
        let mut begin = 0;
        Repeat::new(move |times| {
            self.run(begin, times, outcome, &check);
            begin += times;
        })
    }

    /// Does the same on two threads, with the given number of checks on each.
    pub(super) fn check_on_two(
        self,
        check: impl Fn(u32, Timestamp) -> bool + Sync + 'static,
    ) -> Repeat {
        (0..self.keys).for_each(|key| _ = check(key, time(0)));
        let mut begin = 0;
        Repeat::new(move |times| {
            let turns = &self;
            let check = &check;
            thread::scope(|scope| {
                // Half of the order apart, so that the threads do not check the same keys.
                for begin in [begin, begin + DRAWN as u64 / 2] {
                    scope.spawn(move || turns.run(begin, times, Outcome::Allowed, check));
                }
            });
            begin += times;
        })
    }

    fn run(
        &self,
        begin: u64,
        times: u64,
        outcome: Outcome,
        check: &impl Fn(u32, Timestamp) -> bool,
    ) {
        let turns = begin..begin + times;
        let allowed = turns.filter(|&turn| check(self.key(turn), time(turn))).count();
        let expected = if outcome == Outcome::Allowed { times } else { 0 };
        assert_eq!(allowed as u64, expected, "the case measures something else");
    }

    fn key(&self, turn: u64) -> u32 {
        self.drawn[usize::try_from(turn).expect("it is not turned that often") % DRAWN]
    }
}

/// Returns the time of a turn, for checks without a clock: a microsecond after the one before.
fn time(turn: u64) -> Timestamp {
    Timestamp::from_nanos(OPENING.as_nanos() + turn * 1_000)
}

/// Converts a rank, which the distribution draws as a float.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is a whole u32")]
fn rank(drawn: f64) -> u32 {
    drawn as u32
}

/// When the first key is checked.
pub(super) const OPENING: Timestamp = Timestamp::from_secs(1_700_000_000);

const DRAWN: usize = 1 << 20;
const SEED: u64 = 1;
