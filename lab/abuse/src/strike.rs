//! The outcome of an attack.
//!
//! A strike has bounds in both directions: an attack that never comes near a limit proves nothing
//! about the limit, so it is void.

use crate::people::NEWCOMERS;

/// The requests of an attacker, what the attacker got by them, and the bound on that.
#[derive(Clone, Debug)]
pub(crate) struct Strike {
    /// The number of requests, or of connections.
    pub(crate) sent: u64,
    pub(crate) got: String,
    pub(crate) bound: String,
    pub(crate) broken: Vec<String>,
}

impl Strike {
    pub(crate) fn new(sent: u64, got: impl Into<String>, bound: impl Into<String>) -> Self {
        Self { sent, got: got.into(), bound: bound.into(), broken: Vec::new() }
    }

    /// Records a broken bound, if there is one.
    pub(crate) fn finds(mut self, broken: Option<String>) -> Self {
        self.broken.extend(broken);
        self
    }

    /// Marks the run as void if `count` is zero.
    pub(crate) fn needs(self, count: u64, of: &str) -> Self {
        self.finds((count == 0).then(|| format!("void: no {of}")))
    }

    /// Marks the run as void unless more than `most` requests were sent. With fewer requests, the
    /// bound is never reached.
    pub(crate) fn asks_for_more_than(self, most: u64) -> Self {
        let sent = self.sent;
        self.finds((sent <= most).then(|| format!("void: {sent} sent, and {most} are allowed")))
    }

    /// Records a broken bound unless at least 18 of the 20 people who came were let in.
    pub(crate) fn lets_in(self, count: usize) -> Self {
        self.finds((count < 18).then(|| format!("{count} of {NEWCOMERS} people were let in")))
    }

    /// Records a broken bound if `count` exceeds `most`.
    pub(crate) fn at_most(self, most: u64, count: u64, of: &str) -> Self {
        self.finds((count > most).then(|| format!("{count} {of} instead of at most {most}")))
    }
}
