//! A question at a door, its answer, and the round trips that it cost.

/// Round trips that visitors waited for, and messages in all.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::sites) struct Trips {
    pub(in crate::sites) site: u64,
    pub(in crate::sites) wan: u64,
    /// Between ledgers, one way.
    pub(in crate::sites) messages: u64,
    /// Of visitors with a pass.
    pub(in crate::sites) returning: u64,
}

/// Where a visitor stands who asks.
#[derive(Clone, Copy, Debug)]
pub(in crate::sites) struct Asker {
    pub(in crate::sites) who: u32,
    pub(in crate::sites) site: u16,
    pub(in crate::sites) now: u32,
    /// The site can reach the others.
    pub(in crate::sites) is_connected: bool,
    /// A ledger that knows everything would let it in.
    pub(in crate::sites) is_next: bool,
    /// It has never asked before.
    pub(in crate::sites) is_new: bool,
    /// The number of the arrival.
    pub(in crate::sites) id: u32,
}

/// What became of somebody who had to wait for the door.
#[derive(Clone, Copy, Debug)]
pub(in crate::sites) struct Outcome {
    pub(in crate::sites) who: u32,
    pub(in crate::sites) say: Say,
}

/// What the door says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sites) enum Say {
    Admit,
    /// It has to ask somebody, and knows more then.
    Later(u32),
    /// A visitor with a pass has one now that ends then.
    Prolong(u32),
    Queue,
    /// An [`Outcome`] will tell.
    Wait,
}

/// Where a question goes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    Anywhere,
    Say(Say),
    Site,
}
