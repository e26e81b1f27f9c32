//! The position of a visitor in an order.

use std::fmt;

use crate::{Timestamp, VisitorId};

/// The position of a visitor in an order: lower ranks come first. The id breaks ties.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::room) struct Rank {
    order: u64,
    /// The two halves of the id, the upper half first. A single `u128` would be aligned to 16
    /// bytes, and a rank would use a third more memory.
    id: [u64; 2],
}

impl Rank {
    pub(in crate::room) const fn new(order: u64, id: VisitorId) -> Self {
        #[expect(clippy::cast_possible_truncation, reason = "these are the halves")]
        let id = [(id.bits() >> 64) as u64, id.bits() as u64];
        Self { order, id }
    }

    /// Returns the rank of a visitor in an order by time.
    pub(in crate::room) const fn at(time: Timestamp, id: VisitorId) -> Self {
        Self::new(time.as_nanos(), id)
    }

    pub(in crate::room) fn id(self) -> VisitorId {
        let [upper, lower] = self.id.map(u128::from);
        VisitorId::new(upper << 64 | lower)
    }

    /// For ranks that are ordered by time: returns whether this rank's time is at or before `now`.
    pub(in crate::room) const fn is_due(self, now: Timestamp) -> bool {
        self.order <= now.as_nanos()
    }

    /// For ranks that are ordered by time: returns the lowest possible rank that is not due at
    /// `now`, or `None` if every rank is due.
    pub(super) fn first_after(now: Timestamp) -> Option<Self> {
        now.as_nanos().checked_add(1).map(|order| Self { order, id: [0; 2] })
    }
}

impl fmt::Debug for Rank {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Rank").field(&self.order).field(&self.id()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rank_keeps_all_bits_of_an_id() {
        let id = VisitorId::new(0x0123_4567_89ab_cdef_0f1e_2d3c_4b5a_6978);
        assert_eq!(Rank::new(7, id).id(), id);
        let ids = [0, 1, u128::from(u64::MAX), 1 << 64, u128::MAX].map(VisitorId::new);
        assert!(ids.map(|id| Rank::new(7, id)).is_sorted());
        assert!(Rank::new(8, VisitorId::new(0)) > Rank::new(7, VisitorId::new(u128::MAX)));
    }
}
