//! One visitor, in as few bytes as possible: there may be a hundred million of them.

/// A visitor who is present. Times are in milliseconds of the run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Visitor {
    /// The number of the arrival.
    pub(super) id: u32,
    pub(super) arrived: u32,
    /// Before admission, the time that the visitor will browse; afterwards, the time of its last
    /// page.
    pub(super) browsing: u32,
    /// The end of its session, or the time at which it gives up waiting.
    pub(super) ends: u32,
    /// The first wait that it was shown, in seconds.
    pub(super) shown: Option<u16>,
    pub(super) site: u16,
    pub(super) phase: Phase,
    /// Whether it keeps no cookie, so that it is never seen again.
    pub(super) is_bot: bool,
    /// Whether it was told to wait, and has not been admitted since.
    pub(super) is_in_line: bool,
    /// Whether it is a new visitor at a door that has not decided yet.
    pub(super) is_at_a_door: bool,
}

impl Visitor {
    /// A visitor who arrives, and will browse for this time.
    pub(super) const fn new(id: u32, arrived: u32, site: u16, browsing: u32) -> Self {
        Self {
            id,
            arrived,
            browsing,
            ends: u32::MAX,
            shown: None,
            site,
            phase: Phase::Asking,
            is_bot: false,
            is_in_line: false,
            is_at_a_door: false,
        }
    }
}

/// The activity of a visitor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Active,
    /// Waiting for the reply of a counter or a ledger.
    Asking,
    Waiting,
}

/// All visitors who are present, by numbers that are reused.
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
}
