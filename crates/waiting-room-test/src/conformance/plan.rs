//! The plan of a run of the suite, its coverage, and the divergence of a store from the model.

use std::{collections::BTreeMap, error::Error, fmt};

/// The plan of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SuitePlan {
    pub(super) seed: u64,
    pub(super) commands: u64,
    pub(super) durability: Durability,
}

/// Whether the state of a store outlives the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "the state outlives the process or not")]
pub enum Durability {
    /// The state is lost: after a restart, the room is empty.
    Forgets,
    /// The state lasts: after a restart, the room continues.
    Lasts,
}

impl SuitePlan {
    /// Plans a run of `commands` commands with this seed, for a store in the memory of the process.
    #[must_use]
    pub const fn new(seed: u64, commands: u64) -> Self {
        Self { seed, commands, durability: Durability::Forgets }
    }

    /// Sets whether the state of the store outlives the process. [`Durability::Forgets`] by
    /// default.
    #[must_use]
    pub const fn durability(mut self, durability: Durability) -> Self {
        self.durability = durability;
        self
    }
}

/// The number of replies of each kind in a run, by stable names, to show what the run has covered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage(BTreeMap<String, u64>);

impl Coverage {
    /// The kinds of replies that a meaningful set of runs must contain: all but the rarest.
    pub const SAID: [&str; 22] = [
        "admitted:active",
        "admitted:passthrough",
        "admitted:slot",
        "drawn",
        "ended",
        "gives_way",
        "late",
        "prequeue",
        "queue_all",
        "queued:active_limit",
        "queued:behind_others",
        "queued:cookie_test",
        "queued:network_full",
        "queued:rate",
        "queued:recovery",
        "queued:turn",
        "refused:draining",
        "refused:line_full",
        "refused:network_full",
        "refused:reject",
        "renewed",
        "scheduled",
    ];

    /// Returns the number of replies of one kind: a [`Reason`](waiting_room_core::Reason) as it is
    /// displayed, `renewed` or `ended`, `gives_way` for a session that is not prolonged because others
    /// wait, `late` for a ticket of a late place, `drawn` for a place in the draw of an event, or
    /// `scheduled` for a change of the events.
    #[must_use]
    pub fn count(&self, said: &str) -> u64 {
        self.0.get(said).copied().unwrap_or(0)
    }

    /// Adds the numbers of another run.
    pub fn add(&mut self, other: &Self) {
        for (said, count) in &other.0 {
            *self.0.entry(said.clone()).or_default() += count;
        }
    }

    pub(super) fn note(&mut self, said: impl fmt::Display) {
        *self.0.entry(said.to_string()).or_default() += 1;
    }
}

impl fmt::Display for Coverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|(said, count)| writeln!(f, "{count:>10}  {said}"))
    }
}

/// The first command at which a store and the model disagreed, or the store failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Divergence {
    pub(super) seed: u64,
    pub(super) step: u64,
    pub(super) command: String,
    pub(super) expected: String,
    pub(super) given: String,
}

impl Divergence {
    /// The seed of the stream.
    #[must_use]
    pub const fn seed(&self) -> u64 {
        self.seed
    }

    /// The number of the command, counted from 1.
    #[must_use]
    pub const fn step(&self) -> u64 {
        self.step
    }

    /// The reply of the model.
    #[must_use]
    pub fn expected(&self) -> &str {
        &self.expected
    }

    /// The reply of the store.
    #[must_use]
    pub fn given(&self) -> &str {
        &self.given
    }
}

impl fmt::Display for Divergence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seed, step, command, expected, given } = self;
        write!(f, "seed {seed}, step {step}: {command}\n  model: {expected}\n  store: {given}")
    }
}

impl Error for Divergence {}
