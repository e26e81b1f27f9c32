//! The waiting visitors of a room, in order.
//!
//! A place is *present* while its visitor checks in on time. Without a check-in, the place becomes
//! *away*, and is given up after the retention time:
//!
//! ```text
//!            check-in                    1.5 intervals                place_retention
//!  (none) ─────────────► present ──────────────────────► away ─────────────────────────► (none)
//!                           ▲          without a check-in  │
//!                           └──────────────────────────────┘
//!                                      check-in
//! ```
//!
//! A visitor who is away keeps the place and delays no other visitor, because only present visitors
//! are counted.
//!
//! The line also counts the places of each network. The network of a visitor is part of its id.
//!
//! Each place is stored under the id of its visitor, and appears once in the order of ranks and
//! once in the order of deadlines. Each change keeps all three structures consistent.

use std::{
    collections::{HashMap, hash_map::Entry},
    num::NonZeroU32,
};

use crate::{
    Timestamp, VisitorId,
    room::orders::{Deadlines, Rank, Ranks},
};

/// The line of a room.
#[derive(Clone, Debug, Default)]
pub(super) struct Line {
    places: HashMap<VisitorId, Place>,
    /// The order of the places, with a count of the present places.
    ranks: Ranks,
    /// The next deadline of each place: the time at which its visitor becomes away, or at which the
    /// place is given up.
    deadlines: Deadlines,
    networks: Networks,
}

/// The number of places of each known network. Networks without places have no entry.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Networks(HashMap<NonZeroU32, u32>);

/// The place of one visitor.
#[derive(Clone, Copy, Debug)]
struct Place {
    rank: Rank,
    /// The time of the visitor's first touch.
    first_seen: Timestamp,
    /// The time at which the place is given up.
    kept_until: Timestamp,
    /// The time until which the visitor is present, or `None` while the visitor is away.
    present_until: Option<Timestamp>,
}

impl Place {
    /// Returns the time at which this place changes next if its visitor does not check in.
    fn deadline(&self) -> Timestamp {
        self.present_until.unwrap_or(self.kept_until)
    }
}

impl Line {
    /// Gives a place at `rank` to a visitor that has checked in, or moves its existing place to
    /// `rank`.
    ///
    /// The visitor is present until `present_until`, or until `kept_until` if that is earlier.
    pub(super) fn stand(
        &mut self,
        rank: Rank,
        first_seen: Timestamp,
        present_until: Timestamp,
        kept_until: Timestamp,
    ) {
        let id = rank.1;
        let present_until = Some(present_until.min(kept_until));
        let place = Place { rank, first_seen, kept_until, present_until };
        match self.places.insert(id, place) {
            Some(old) => {
                self.deadlines.cancel(old.deadline(), id);
                // A check-in rarely changes the rank, and marking a rank as present is cheaper than
                // moving the rank.
                if old.rank == rank {
                    self.ranks.mark(rank, true);
                } else {
                    self.ranks.remove(old.rank);
                    self.ranks.insert(rank, true);
                }
            }
            None => {
                self.ranks.insert(rank, true);
                self.networks.add(id);
            }
        }
        self.deadlines.set(place.deadline(), id);
    }

    /// Gives up a visitor's place, and returns whether the visitor had one.
    pub(super) fn remove(&mut self, id: VisitorId) -> bool {
        let Some(place) = self.places.remove(&id) else {
            return false;
        };
        self.ranks.remove(place.rank);
        self.deadlines.cancel(place.deadline(), id);
        self.networks.take(id);
        true
    }

    /// Marks visitors who have not checked in as away, and gives up places whose retention time is
    /// over.
    ///
    /// After a long pause, both deadlines of a place may pass in one call.
    pub(super) fn reap(&mut self, now: Timestamp) {
        while let Some(id) = self.deadlines.pop_due(now) {
            let Some(place) = self.places.get_mut(&id) else {
                continue;
            };
            if place.kept_until <= now {
                self.ranks.remove(place.rank);
                self.places.remove(&id);
                self.networks.take(id);
            } else {
                place.present_until = None;
                self.ranks.mark(place.rank, false);
                self.deadlines.set(place.deadline(), id);
            }
        }
    }

    /// Reorders all places, without changing their presence and deadlines.
    pub(super) fn reorder(&mut self, rank: impl Fn(VisitorId, Timestamp) -> u64) {
        self.ranks = Ranks::default();
        for (&id, place) in &mut self.places {
            place.rank = (rank(id, place.first_seen), id);
            self.ranks.insert(place.rank, place.present_until.is_some());
        }
    }

    /// Returns the time of the visitor's first touch, if it has a place.
    pub(super) fn arrival(&self, id: VisitorId) -> Option<Timestamp> {
        self.places.get(&id).map(|place| place.first_seen)
    }

    /// Returns the number of present visitors ahead of `rank`.
    pub(super) fn present_before(&self, rank: Rank) -> u32 {
        self.ranks.present_before(rank)
    }

    /// Returns the number of present visitors.
    pub(super) fn present(&self) -> u32 {
        self.ranks.present()
    }

    /// Returns the number of places, including the places of visitors who are away.
    pub(super) fn len(&self) -> u32 {
        u32::try_from(self.places.len()).unwrap_or(u32::MAX)
    }

    /// Returns the number of places of this visitor's network, or 0 if the network is unknown.
    pub(super) fn of_network(&self, id: VisitorId) -> u32 {
        id.network().and_then(|network| self.networks.0.get(&network)).copied().unwrap_or(0)
    }

    /// Returns the time of the first touch of the first visitor in line, present or away.
    pub(super) fn first_arrival(&self) -> Option<Timestamp> {
        let (_, id) = self.ranks.first()?;
        self.places.get(&id).map(|place| place.first_seen)
    }

    /// Checks the invariants, in debug builds.
    pub(super) fn invariants(&self) {
        debug_assert_eq!(self.places.len(), self.ranks.len(), "each place has one rank");
        debug_assert_eq!(self.places.len(), self.deadlines.len(), "each place has one deadline");
        if cfg!(debug_assertions) && self.places.len() <= Networks::CHECKED {
            let mut counted = Networks::default();
            self.places.keys().for_each(|id| counted.add(*id));
            debug_assert_eq!(counted, self.networks, "each place is counted for its network");
        }
    }
}

impl Networks {
    /// The maximum length of a line for which the invariants recount all places, which takes O(n).
    const CHECKED: usize = 64;

    /// Counts a new place for its network.
    fn add(&mut self, id: VisitorId) {
        if let Some(network) = id.network() {
            *self.0.entry(network).or_default() += 1;
        }
    }

    /// Removes a place that has been given up from the count of its network.
    fn take(&mut self, id: VisitorId) {
        if let Some(network) = id.network()
            && let Entry::Occupied(mut places) = self.0.entry(network)
        {
            *places.get_mut() -= 1;
            if *places.get() == 0 {
                places.remove();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(secs: u64) -> Timestamp {
        Timestamp::from_secs(secs)
    }

    fn stand(line: &mut Line, who: u128, arrived: u64, present: u64, kept: u64) -> Rank {
        let rank = (arrived, VisitorId::new(who));
        line.stand(rank, at(arrived), at(present), at(kept));
        line.invariants();
        rank
    }

    #[test]
    fn who_is_away_holds_up_nobody_and_finds_the_place_again() {
        let mut line = Line::default();
        stand(&mut line, 1, 10, 40, 300);
        let second = stand(&mut line, 2, 11, 60, 300);
        line.reap(at(39));
        assert_eq!(line.present_before(second), 1);
        line.reap(at(40));
        assert_eq!((line.present_before(second), line.len()), (0, 2));
        stand(&mut line, 1, 10, 80, 340);
        assert_eq!(line.present_before(second), 1);
    }

    #[test]
    fn a_place_is_gone_when_its_time_is_over() {
        let mut line = Line::default();
        stand(&mut line, 1, 10, 40, 300);
        line.reap(at(299));
        assert!(line.arrival(VisitorId::new(1)).is_some());
        line.reap(at(300));
        assert!(line.arrival(VisitorId::new(1)).is_none());
        assert_eq!((line.len(), line.present()), (0, 0));
        line.invariants();
    }

    #[test]
    fn a_long_pause_goes_through_both_deadlines_at_once() {
        let mut line = Line::default();
        stand(&mut line, 1, 10, 40, 300);
        line.reap(at(1_000));
        assert_eq!(line.len(), 0);
    }

    #[test]
    fn a_new_order_keeps_everybody() {
        let mut line = Line::default();
        let first = stand(&mut line, 1, 10, 400, 400);
        let second = stand(&mut line, 2, 11, 400, 400);
        assert_eq!(line.present_before(second), 1);
        line.reorder(|id, _| u64::from(id == first.1));
        line.invariants();
        assert_eq!(line.present_before((1, first.1)), 1);
        assert_eq!(line.first_arrival(), Some(at(11)));
        assert!(line.remove(first.1) && !line.remove(first.1));
    }
}
