//! What came of an attack.

/// What an attacker did, what it got, and what it should have got at most.
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

    /// Notes that a bound is broken unless this holds.
    pub(crate) fn must(mut self, holds: bool, says: impl FnOnce() -> String) -> Self {
        if !holds {
            self.broken.push(says());
        }
        self
    }

    /// At least one of these is needed, or the attack has proved nothing.
    pub(crate) fn needs(self, count: u64, of: &str) -> Self {
        self.must(count > 0, || format!("void: no {of}"))
    }

    /// At most this many are allowed.
    pub(crate) fn at_most(self, most: u64, count: u64, of: &str) -> Self {
        self.must(count <= most, || format!("{count} {of} instead of at most {most}"))
    }
}
