//! One visitor, in as few bytes as possible: there may be a hundred million of them.

/// What the world knows of somebody who is there. Times are in milliseconds of the run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Visitor {
    /// Which of all arrivals it is.
    pub(super) id: u32,
    pub(super) arrived: u32,
    /// How long it browses once it is in; after that, when its last page is.
    pub(super) browsing: u32,
    /// When its session ends, or when it gives up waiting.
    pub(super) ends: u32,
    /// The wait it was shown first, in seconds.
    pub(super) shown: Option<u16>,
    pub(super) site: u16,
    pub(super) phase: Phase,
    /// Keeps no cookie: it is never seen again.
    pub(super) is_bot: bool,
    /// It was told to wait at least once.
    pub(super) is_in_line: bool,
    /// A new visitor at a door that has not decided yet.
    pub(super) is_at_a_door: bool,
}

/// What a visitor is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Active,
    /// A counter or a ledger was asked.
    Asking,
    Waiting,
}

/// Everybody who is there, by numbers that are used again.
#[derive(Debug, Default)]
pub(super) struct Visitors {
    all: Vec<Visitor>,
    vacant: Vec<u32>,
}

impl Visitors {
    pub(super) fn add(&mut self, visitor: Visitor) -> u32 {
        if let Some(who) = self.vacant.pop() {
            self.all[who as usize] = visitor;
            return who;
        }
        self.all.push(visitor);
        u32::try_from(self.all.len() - 1).expect("fewer visitors at once than bytes of memory")
    }

    pub(super) fn remove(&mut self, who: u32) {
        self.vacant.push(who);
    }

    pub(super) fn of(&self, who: u32) -> &Visitor {
        &self.all[who as usize]
    }

    pub(super) fn of_mut(&mut self, who: u32) -> &mut Visitor {
        &mut self.all[who as usize]
    }

    /// The most who were there at once.
    pub(super) fn most(&self) -> usize {
        self.all.len()
    }
}
