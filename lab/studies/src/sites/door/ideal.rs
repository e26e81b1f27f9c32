//! One ledger that knows everything at once: the reference for the other policies.

use std::collections::{BTreeMap, VecDeque};

use super::question::{Asker, Outcome, Say};

/// The visitors who stand at the ideal door.
///
/// A visitor either hears at once that it has to wait, as in a room on one machine, or is held for
/// as long as the escrow holds a visitor.
#[derive(Debug)]
pub(super) struct IdealDoor {
    /// The time in milliseconds for which a visitor is held.
    holds: u32,
    /// The visitors who stand at the door, by the number of the arrival.
    standing: BTreeMap<u32, u32>,
    /// The times until which visitors are held, in ascending order. Some have been admitted since.
    deadlines: VecDeque<(u32, u32)>,
}

impl IdealDoor {
    pub(super) const fn new(holds: u32) -> Self {
        Self { holds, standing: BTreeMap::new(), deadlines: VecDeque::new() }
    }

    pub(super) fn arrive(&mut self, asker: &Asker) -> Say {
        if asker.is_next {
            return Say::Admit;
        }
        if self.holds == 0 {
            return Say::Queue;
        }
        self.standing.insert(asker.id, asker.who);
        self.deadlines.push_back((asker.now + self.holds, asker.id));
        Say::Wait
    }

    /// Removes the visitor who arrived first, who gets a free slot.
    pub(super) fn take_first(&mut self) -> Option<u32> {
        self.standing.pop_first().map(|(_, who)| who)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.standing.is_empty()
    }

    /// The next time at which a visitor may have stood for long enough.
    pub(super) fn next_wake(&self) -> Option<u32> {
        self.deadlines.front().map(|(until, _)| *until)
    }

    /// Sends the visitors away who have stood for long enough.
    pub(super) fn wake(&mut self, now: u32) -> Vec<Outcome> {
        let mut outcomes = Vec::new();
        while let Some(&(until, id)) = self.deadlines.front()
            && until <= now
        {
            self.deadlines.pop_front();
            outcomes.extend(self.standing.remove(&id).map(|who| Outcome { who, say: Say::Queue }));
        }
        outcomes
    }
}
