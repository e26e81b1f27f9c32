//! Visitors who are kept for a moment, while a slot is fetched from elsewhere.

use std::collections::VecDeque;

use waiting_room_core::{Timestamp, VisitorId};

use crate::escrow::EscrowRules;

/// Who waits for a slot, in the order of arrival; those who return before those who are new.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Borrowers {
    new: VecDeque<Borrower>,
    returning: VecDeque<Borrower>,
}

/// One who waits, until its wait is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Borrower {
    visitor: VisitorId,
    until: Timestamp,
}

impl Borrowers {
    /// Lets a new visitor wait. Says until when, or nothing if that time is over or too many wait.
    pub(super) fn wait(
        &mut self,
        visitor: VisitorId,
        until: Timestamp,
        now: Timestamp,
    ) -> Option<Timestamp> {
        let line =
            if Self::holds(&self.returning, visitor) { &mut self.returning } else { &mut self.new };
        Self::join(line, Borrower { visitor, until }, now)
    }

    /// Lets a visitor wait who has a pass from elsewhere.
    pub(super) fn wait_returning(
        &mut self,
        visitor: VisitorId,
        until: Timestamp,
        now: Timestamp,
    ) -> Option<Timestamp> {
        self.new.retain(|borrower| borrower.visitor != visitor);
        Self::join(&mut self.returning, Borrower { visitor, until }, now)
    }

    /// The new visitor who is next.
    pub(super) fn next_new(&mut self) -> Option<VisitorId> {
        self.new.pop_front().map(|borrower| borrower.visitor)
    }

    /// The returning visitor who is next.
    pub(super) fn next_returning(&mut self) -> Option<VisitorId> {
        self.returning.pop_front().map(|borrower| borrower.visitor)
    }

    /// Takes somebody whose wait is over.
    pub(super) fn pop_late(&mut self, now: Timestamp) -> Option<VisitorId> {
        for line in [&mut self.returning, &mut self.new] {
            if let Some(place) = line.iter().position(|borrower| borrower.until <= now) {
                return line.remove(place).map(|borrower| borrower.visitor);
            }
        }
        None
    }

    /// Somebody does not wait any more.
    pub(super) fn leave(&mut self, visitor: VisitorId) {
        self.returning.retain(|borrower| borrower.visitor != visitor);
        self.new.retain(|borrower| borrower.visitor != visitor);
    }

    /// When the first wait is over.
    pub(super) fn next_late(&self) -> Option<Timestamp> {
        self.returning.iter().chain(&self.new).map(|borrower| borrower.until).min()
    }

    /// How many new visitors wait.
    pub(super) fn new_count(&self) -> u64 {
        self.new.len() as u64
    }

    pub(super) fn is_empty(&self) -> bool {
        self.new.is_empty() && self.returning.is_empty()
    }

    fn holds(line: &VecDeque<Borrower>, visitor: VisitorId) -> bool {
        line.iter().any(|borrower| borrower.visitor == visitor)
    }

    fn join(
        line: &mut VecDeque<Borrower>,
        borrower: Borrower,
        now: Timestamp,
    ) -> Option<Timestamp> {
        if let Some(waiting) = line.iter_mut().find(|it| it.visitor == borrower.visitor) {
            waiting.until = waiting.until.min(borrower.until);
            return Some(waiting.until);
        }
        if borrower.until <= now || line.len() >= EscrowRules::MAX_BORROWERS {
            return None;
        }
        line.push_back(borrower);
        Some(borrower.until)
    }
}
