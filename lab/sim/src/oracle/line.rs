//! The visitors who may be present in the line, in the order of arrival.
//!
//! A visitor who leaves the line, for whatever reason, stays in the set as long as any request that
//! departed before is in flight: that request may have been decided while the visitor still stood
//! in the line.

use std::{
    cmp::Reverse,
    collections::{BTreeSet, BinaryHeap},
};

use waiting_room_core::Timestamp;

use super::{limits::VisitorNo, visitor::Standing};

/// The visitors who may be present in the line, by the earliest time at which they may have
/// arrived.
#[derive(Clone, Debug, Default)]
pub(super) struct Line {
    standing: BTreeSet<(Timestamp, u64)>,
    lapses: BinaryHeap<Reverse<Lapse>>,
    next_key: u64,
}

/// A time at which a visitor may cease to be present.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Lapse {
    pub at: Timestamp,
    pub arrived: Timestamp,
    pub key: u64,
    pub visitor: VisitorNo,
    /// Whether the visitor has certainly left the entry with this key.
    pub last: bool,
}

impl Line {
    /// Adds a visitor who arrived at `arrived` or later, and may stand in the line until `until`.
    pub(super) fn stand(
        &mut self,
        visitor: VisitorNo,
        arrived: Timestamp,
        until: Timestamp,
    ) -> Standing {
        let key = self.next_key;
        self.next_key += 1;
        self.standing.insert((arrived, key));
        self.lapses.push(Reverse(Lapse { at: until, arrived, key, visitor, last: false }));
        Standing { key, arrived, until }
    }

    /// Records that a visitor does not stand in the line from `until` on.
    pub(super) fn step_out(&mut self, visitor: VisitorNo, standing: Standing, until: Timestamp) {
        let Standing { key, arrived, .. } = standing;
        self.lapses.push(Reverse(Lapse { at: until, arrived, key, visitor, last: true }));
    }

    /// Takes the next lapse that lies before the departure of every request in flight.
    pub(super) fn pop_lapse(&mut self, oldest: Timestamp) -> Option<Lapse> {
        if self.lapses.peek()?.0.at >= oldest {
            return None;
        }
        self.lapses.pop().map(|Reverse(lapse)| lapse)
    }

    /// Moves a lapse to a later time.
    pub(super) fn postpone(&mut self, lapse: Lapse, at: Timestamp) {
        self.lapses.push(Reverse(Lapse { at, ..lapse }));
    }

    /// Removes the entry of a lapse.
    pub(super) fn remove(&mut self, lapse: &Lapse) {
        self.standing.remove(&(lapse.arrived, lapse.key));
    }

    /// Returns whether fewer than `bound` other visitors could be ahead of a visitor who arrived by
    /// `arrived_by` and has the entry `own`.
    pub(super) fn has_fewer_before(
        &self,
        bound: i64,
        arrived_by: Timestamp,
        own: Option<Standing>,
    ) -> bool {
        let bound = usize::try_from(bound).unwrap_or(0);
        let own = own.map(|standing| standing.key);
        let before = self.standing.range(..=(arrived_by, u64::MAX));
        before.filter(|(_, key)| Some(*key) != own).take(bound).count() < bound
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(secs: u64) -> Timestamp {
        Timestamp::from_secs(secs)
    }

    #[test]
    fn later_arrivals_and_the_visitor_itself_are_not_ahead() {
        let mut line = Line::default();
        let own = line.stand(VisitorNo(1), at(10), at(50));
        line.stand(VisitorNo(2), at(9), at(50));
        line.stand(VisitorNo(3), at(11), at(50));
        assert!(line.has_fewer_before(2, at(10), Some(own)));
        assert!(!line.has_fewer_before(1, at(10), Some(own)));
        assert!(!line.has_fewer_before(2, at(11), Some(own)));
        assert!(!line.has_fewer_before(0, at(0), None));
    }

    #[test]
    fn a_leaving_visitor_counts_while_an_older_request_is_under_way() {
        let mut line = Line::default();
        let standing = line.stand(VisitorNo(1), at(10), at(50));
        line.step_out(VisitorNo(1), standing, at(20));
        assert_eq!(line.pop_lapse(at(20)), None);
        let lapse = line.pop_lapse(at(21)).unwrap();
        assert!(lapse.last);
        line.remove(&lapse);
        assert!(line.has_fewer_before(1, at(99), None));
    }
}
