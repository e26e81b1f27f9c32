//! A fault, as far as a program that injects it has reported it to the witness.

use std::time::Duration;

use tower_waiting_room::time::Timestamp;

/// The state of the fault, as far as it was reported to the witness.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Trouble {
    /// Whether there is a fault.
    pub(crate) is_on: bool,
    /// Whether the answers of the room may differ from what the store has decided.
    pub(crate) is_in_doubt: bool,
    pub(crate) healed_at: Option<Timestamp>,
    pub(crate) last_undecided_at: Option<Timestamp>,
    pub(crate) admissions: Admissions,
}

/// The number of requests without a pass that were admitted, by time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "there is no other time")]
pub struct Admissions {
    /// Before the fault.
    pub before: u64,
    /// During the fault.
    pub meanwhile: u64,
    /// After the fault.
    pub after: u64,
}

impl Trouble {
    /// A fault counts as over after this time without an answer that reports an outage or an
    /// overload. A later answer of that kind has another cause.
    const OVER_AFTER: Duration = Duration::from_secs(5);

    /// Records an answer that is not a decision of the room.
    pub(crate) fn was_undecided(&mut self, now: Timestamp) {
        let Some(healed) = self.healed_at else { return };
        let last = self.last_undecided_at.map_or(healed, |last| last.max(healed));
        if now.since(last) <= Self::OVER_AFTER {
            self.last_undecided_at = Some(now);
        }
    }

    /// How long after the fault an answer still reported an outage or an overload of the store.
    pub(crate) fn undecided_after(&self) -> Duration {
        match (self.healed_at, self.last_undecided_at) {
            (Some(healed), Some(last)) => last.since(healed),
            _ => Duration::ZERO,
        }
    }

    /// Records that a request without a pass was admitted.
    pub(crate) fn was_let_in(&mut self) {
        let Admissions { before, meanwhile, after } = &mut self.admissions;
        let now = match (self.is_on, self.healed_at) {
            (true, _) => meanwhile,
            (false, None) => before,
            (false, Some(_)) => after,
        };
        *now += 1;
    }
}
