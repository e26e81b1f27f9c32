//! The line of a site as its ledger knows it, and the slots that are kept for the visitors in it.

use std::time::Duration;

use waiting_room_core::Timestamp;

use crate::escrow::LineFront;

/// The line of a site, as the caller last described it: visitors who check in from time to time,
/// and are not at the door in between. Empty at a site without a line.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Line {
    /// Whether the site has a line, which may be empty.
    is_described: bool,
    /// The oldest present visitors, including those at the door.
    front: LineFront,
    /// The slots that were granted for visitors of this site, until they come and take them.
    promised: u64,
    promised_until: Timestamp,
    /// The number of slots that may be promised with the next grant, since the last report.
    wanted: u64,
    /// The granted slots and the slots that were wanted, at the last report.
    requested: (u64, u64),
}

/// The time for which a slot is kept for a visitor in line. At the front, the interval between
/// check-ins is two seconds plus jitter, rounded up to three.
const PROMISE: Duration = Duration::from_secs(4);

impl Line {
    /// Replaces the description.
    pub(super) fn describe(&mut self, front: LineFront) {
        self.is_described = true;
        self.front = front;
    }

    /// The oldest present visitors, including those at the door.
    pub(super) const fn front(&self) -> &LineFront {
        &self.front
    }

    /// Returns whether no visitor waits in the line, and no slot is kept.
    pub(super) fn is_empty(&self) -> bool {
        self.front.is_empty() && self.promised == 0
    }

    /// The slots that are kept for visitors in line.
    pub(super) const fn promised(&self) -> u64 {
        self.promised
    }

    /// The visitors in line for whom no slot is kept.
    pub(super) fn without_slot(&self) -> u64 {
        self.front.visitors().saturating_sub(self.promised)
    }

    /// Records a report of a site with a line: the slots granted so far, the slots that it asks
    /// for, and the slots that visitors may take in the meantime.
    pub(super) const fn record_request(&mut self, granted: u64, want: u64, usable: u64) {
        if self.is_described {
            self.wanted = want + usable.saturating_sub(self.promised);
            self.requested = (granted, want);
        }
    }

    /// Returns whether the global ledger knows that visitors in line want slots, and had too few
    /// slots for them. The ledger then grants slots as soon as they are free.
    pub(super) fn is_served_later(&self, granted: u64) -> bool {
        let (before, wanted) = self.requested;
        !self.front.is_empty() && wanted > granted.saturating_sub(before)
    }

    /// Keeps unused slots for the visitors in line, but at most as many as are wanted. Slots whose
    /// promise has expired are not promised again, because their visitors did not show up.
    pub(super) fn promise(&mut self, unused: u64, now: Timestamp) {
        let taken = unused.saturating_sub(self.promised).min(self.wanted);
        if self.promised_until <= now {
            self.promised = 0;
        }
        self.wanted -= taken;
        if taken > 0 && !self.front.is_empty() {
            self.promised += taken;
            self.promised_until = now + PROMISE;
        }
    }

    /// Forgets promises that have expired, promises whose slots are gone, and promises that no
    /// visitor needs. `newcomers` wait at the door, and are not in line.
    pub(super) fn review(&mut self, unused: u64, newcomers: u64, is_leased: bool, now: Timestamp) {
        let is_over = self.promised_until <= now || !is_leased;
        let needed = self.front.visitors() + newcomers;
        self.promised = if is_over { 0 } else { self.promised.min(unused).min(needed) };
    }

    /// A visitor takes a slot, and leaves the line if the visitor `was_in_line`. The first visitors
    /// in line take slots first.
    pub(super) fn take(&mut self, was_in_line: bool) {
        self.promised = self.promised.saturating_sub(1);
        if was_in_line {
            self.front = self.front.behind(1);
        }
    }

    /// Forgets all slots, because the account has changed.
    pub(super) fn close(&mut self) {
        *self = Self { is_described: self.is_described, front: self.front, ..Self::default() };
    }
}
