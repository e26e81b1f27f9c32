//! A question at a door, its answer, and its round trips.

/// The round trips that visitors waited for, and the number of messages.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::sites) struct Trips {
    pub(in crate::sites) site: u64,
    pub(in crate::sites) wan: u64,
    /// The number of one-way messages between ledgers.
    pub(in crate::sites) messages: u64,
    /// The round trips of visitors with a pass.
    pub(in crate::sites) returning: u64,
}

/// A visitor who requests a slot, and the situation of the visitor.
#[derive(Clone, Copy, Debug)]
pub(in crate::sites) struct Asker {
    pub(in crate::sites) who: u32,
    pub(in crate::sites) site: u16,
    pub(in crate::sites) now: u32,
    /// The time at which the visitor arrived.
    pub(in crate::sites) arrived: u32,
    /// Whether the site can reach the others.
    pub(in crate::sites) is_connected: bool,
    /// Whether a ledger that knows everything would admit the visitor.
    pub(in crate::sites) is_next: bool,
    /// Whether this is the first request of the visitor.
    pub(in crate::sites) is_new: bool,
    /// The number of the arrival.
    pub(in crate::sites) id: u32,
}

/// The outcome for a visitor who had to wait at the door.
#[derive(Clone, Copy, Debug)]
pub(in crate::sites) struct Outcome {
    pub(in crate::sites) who: u32,
    pub(in crate::sites) say: Say,
}

/// The answer of the door.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sites) enum Say {
    Admit,
    /// The answer depends on a reply that arrives at this time.
    Later(u32),
    /// The pass of the visitor now ends at this time.
    Prolong(u32),
    Queue,
    /// An [`Outcome`] will follow.
    Wait,
}

/// The next step of a question.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    Anywhere,
    Say(Say),
    Site,
}
