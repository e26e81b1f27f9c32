//! The outcome of an attack.
//!
//! A strike has bounds in two directions: an attack that never comes near a limit proves nothing
//! about it, and is void.

/// Requests of an attacker, what they were worth to it, and the bound on that.
#[derive(Clone, Debug)]
pub(crate) struct Strike {
    /// Requests, or connections.
    pub(crate) sent: u64,
    pub(crate) got: String,
    pub(crate) bound: String,
    pub(crate) broken: Vec<String>,
}

impl Strike {
    pub(crate) fn new(sent: u64, got: impl Into<String>, bound: impl Into<String>) -> Self {
        Self { sent, got: got.into(), bound: bound.into(), broken: Vec::new() }
    }

    /// Notes what was found to be broken, if anything was.
    pub(crate) fn finds(mut self, broken: Option<String>) -> Self {
        self.broken.extend(broken);
        self
    }

    /// At least one of these is needed, or the attack has proved nothing.
    pub(crate) fn needs(self, count: u64, of: &str) -> Self {
        self.finds((count == 0).then(|| format!("void: no {of}")))
    }

    /// More was asked for than this, or no bound was reached.
    pub(crate) fn asks_for_more_than(self, most: u64) -> Self {
        let sent = self.sent;
        self.finds((sent <= most).then(|| format!("void: {sent} sent, and {most} are allowed")))
    }

    /// At most this many are allowed.
    pub(crate) fn at_most(self, most: u64, count: u64, of: &str) -> Self {
        self.finds((count > most).then(|| format!("{count} {of} instead of at most {most}")))
    }
}
