//! The plan of a run of the suite, its coverage, and where a store and the model diverged.

use std::{collections::BTreeMap, error::Error, fmt};

/// What is to be run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    pub(super) seed: u64,
    pub(super) commands: u64,
    pub(super) memory: Memory,
}

/// What a store still knows when the process has died.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "it does or it does not")]
pub enum Memory {
    /// Nothing: the next one is an empty room.
    Forgets,
    /// Everything: the next one goes on.
    Lasts,
}

impl Plan {
    /// So many commands of this seed, for a store in the memory of the process.
    #[must_use]
    pub const fn new(seed: u64, commands: u64) -> Self {
        Self { seed, commands, memory: Memory::Forgets }
    }

    /// What the store knows after a restart. [`Memory::Forgets`].
    #[must_use]
    pub const fn memory(mut self, memory: Memory) -> Self {
        self.memory = memory;
        self
    }
}

/// How often each thing was said, by its stable name; so that a run can show what it has tried.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage(BTreeMap<String, u64>);

impl Coverage {
    /// What runs that mean anything have heard, together: all that a room can say but the rarest.
    pub const SAID: [&str; 15] = [
        "admitted:passthrough",
        "admitted:slot",
        "ended",
        "queue_all",
        "queued:active_limit",
        "queued:behind_others",
        "queued:cookie_test",
        "queued:network_full",
        "queued:rate",
        "queued:recovery",
        "refused:draining",
        "refused:line_full",
        "refused:network_full",
        "refused:reject",
        "renewed",
    ];

    /// How often this was said: a [`Reason`](waiting_room_core::Reason) as it is displayed, `renewed` or `ended`.
    #[must_use]
    pub fn count(&self, said: &str) -> u64 {
        self.0.get(said).copied().unwrap_or(0)
    }

    /// Adds what another run has tried.
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

/// A store and the model said different things, or the store failed.
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

    /// What the model said.
    #[must_use]
    pub fn expected(&self) -> &str {
        &self.expected
    }

    /// What the store said.
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
