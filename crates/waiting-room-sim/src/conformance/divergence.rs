//! Where a store and the model disagree.

use std::{error::Error, fmt};

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
