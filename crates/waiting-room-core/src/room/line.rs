//! The waiting visitors of a room, in order.
//!
//! A visitor with a place is *present* while it checks in on time. Without a check-in, the visitor
//! becomes *away*, and the place is given up after the retention time:
//!
//! ```text
//!            check-in                    1.5 intervals                place_retention
//!  (none) ─────────────► present ──────────────────────► away ─────────────────────────► (none)
//!                           ▲          without a check-in  │
//!                           └──────────────────────────────┘
//!                                      check-in
//! ```
//!
//! A visitor who is away keeps the place but does not delay other visitors, because only present
//! visitors are counted.
//!
//! The line also counts the places of each network. The network of a visitor is part of its id.
//!
//! A place is stored under its visitor's id, and appears once in each of two orders: by arrival,
//! and by a time at which it may lapse. While the order of the line is random, a place is also in
//! the order of the lots, as soon as its visitor has drawn a lot at a check-in.
//!
//! # Bounded steps
//!
//! No operation has to mark a visitor as away: the orders can count the present visitors at any
//! time. Lapsed places are removed a few at a time. Until a lapsed place is removed, its visitor is
//! away, and the place still counts in [`len`](Line::len) and [`of_network`](Line::of_network),
//! which are therefore never too low. Before an operation decides on a visitor, it removes that
//! visitor's own place if the place has lapsed, so a visitor neither benefits nor suffers from its
//! own lapsed place.

use crate::{
    Timestamp, VisitorId,
    room::{
        networks::{Networks, UNIT},
        orders::{Rank, Ranks},
        shards::Shards,
        work::Sizes,
    },
};

/// The line of a room.
#[derive(Clone, Debug, Default)]
pub(super) struct Line {
    places: Shards<VisitorId, Place>,
    /// The places in the order of arrival, each with the time until which its visitor is present.
    arrivals: Ranks<Timestamp>,
    /// The places whose visitors have drawn lots, in the order of the lots, each with the time
    /// until which its visitor is present.
    lots: Ranks<Timestamp>,
    /// Orders of lots that are no longer used, and are dropped step by step.
    retired: Vec<Ranks<Timestamp>>,
    /// For each place, a time at which it may have lapsed. A check-in does not postpone this time;
    /// it is postponed only when it has been reached.
    lapses: Ranks<()>,
    networks: Networks,
    /// The number of places that have entered the line, not counting those that were given up.
    entered: u64,
    /// The number of late places, which have not entered the line yet.
    late: u32,
    /// The entrants who have lost or given up their places since the room last took this list.
    departed: Vec<Number>,
    /// The number of places that were given up: those that lapsed, and those of visitors who left.
    abandoned: u64,
    /// The time of the latest operation.
    now: Timestamp,
}

/// The place of one visitor.
#[derive(Clone, Copy, Debug)]
struct Place {
    arrival: PlaceOrder,
    /// The time at which the place is given up.
    kept_until: Timestamp,
    /// The time of this place in `lapses`, which is not later than `kept_until`.
    due_at: Timestamp,
    /// The draw in which the visitor last drew a lot, or `None` if it has not drawn one.
    draw: Option<Draw>,
}

/// The values that determine a visitor's place in the order of arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PlaceOrder {
    /// The time of the visitor's first touch, less its head start.
    pub(super) arrived: Timestamp,
    /// The time that determines the visitor's rank: its arrival or, for an entrant of a draw that
    /// has taken place, its place as a number of nanoseconds.
    pub(super) order: Timestamp,
    /// The number of the visitor in the draw of an event.
    pub(super) number: Option<Number>,
}

/// The number of an entrant in one draw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Number {
    /// The bits that identify the draw.
    pub(super) draw: u32,
    pub(super) number: u32,
}

impl PlaceOrder {
    /// Returns whether the place is behind all places in the line, because it is late.
    pub(super) fn is_late(self) -> bool {
        self.order >= LATE
    }
}

impl From<Timestamp> for PlaceOrder {
    /// Returns the arrival of a visitor who does not take part in a draw.
    fn from(arrived: Timestamp) -> Self {
        Self { arrived, order: arrived, number: None }
    }
}

/// The number of a draw, from which the lot of each visitor is derived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Draw(pub(super) u32);

impl Draw {
    /// Returns a visitor's rank in the order of this draw's lots.
    fn rank(self, id: VisitorId) -> Rank {
        Rank::new(id.draw(self.0.into()), id)
    }
}

impl Line {
    /// Advances the time to `now`, and removes up to [`Sizes::buried`] places that have lapsed.
    pub(super) fn reap(&mut self, now: Timestamp) {
        self.now = self.now.max(now);
        self.arrivals.advance(self.now);
        self.lots.advance(self.now);
        self.let_in();
        if self.retired.last_mut().is_some_and(|last| !last.drop_section()) {
            self.retired.pop();
        }
        for due in self.lapses.take_due(self.now, Sizes::current().buried) {
            let id = due.id();
            match self.places.get_mut(&id) {
                Some(place) if place.kept_until > self.now => {
                    place.due_at = place.kept_until;
                    self.lapses.insert(Rank::at(place.due_at, id), ());
                }
                _ => self.abandon(id),
            }
        }
    }

    /// Removes a visitor's place if it has lapsed.
    pub(super) fn settle(&mut self, id: VisitorId) {
        // Usually no place is due, so the visitor's place need not be looked up.
        if self.lapses.first().is_some_and(|first| first.is_due(self.now))
            && self.places.get(&id).is_some_and(|place| place.kept_until <= self.now)
        {
            self.abandon(id);
        }
    }

    /// Gives up the place of a visitor who is not admitted, and counts it.
    pub(super) fn abandon(&mut self, id: VisitorId) {
        if self.remove(id) {
            self.abandoned += 1;
            self.entered = self.entered.saturating_sub(1);
        }
    }

    /// After a check-in, gives the visitor a place in the order of arrival, or moves its existing
    /// place. If there is a draw, the place is also inserted into the order of the lots, or moved
    /// within it.
    ///
    /// The visitor is present until `present_until`, or until `kept_until` if that is earlier.
    pub(super) fn stand(
        &mut self,
        id: VisitorId,
        draw: Option<Draw>,
        arrival: impl Into<PlaceOrder>,
        present_until: Timestamp,
        kept_until: Timestamp,
    ) {
        let arrival = arrival.into();
        debug_assert!(draw.is_some() || self.lots.len() == 0, "a lot is never left behind");
        let present_until = present_until.min(kept_until);
        let mut place = Place { arrival, kept_until, due_at: kept_until, draw };
        let old = self.places.get(&id).copied();
        match old {
            Some(old) if old.due_at <= kept_until => place.due_at = old.due_at,
            Some(old) => _ = self.lapses.remove(Rank::at(old.due_at, id)),
            None => self.networks.add(id),
        }
        let was_late = old.is_some_and(|old| old.arrival.is_late());
        self.late = self.late + u32::from(arrival.is_late()) - u32::from(was_late);
        self.entered += u64::from((old.is_none() || was_late) && !arrival.is_late());
        if old.is_none_or(|old| old.due_at != place.due_at) {
            self.lapses.insert(Rank::at(place.due_at, id), ());
        }
        let before = old.map(|old| Rank::at(old.arrival.order, id));
        stand_in(&mut self.arrivals, before, Rank::at(arrival.order, id), present_until);
        if let Some(draw) = draw {
            let before = old.and_then(|old| old.draw).map(|draw| draw.rank(id));
            stand_in(&mut self.lots, before, draw.rank(id), present_until);
        }
        self.places.insert(id, place);
        self.let_in();
    }

    /// Lets late places into the line once all places ahead of them have entered. From then on,
    /// they are in the order of arrival. Each call lets in only a few places.
    fn let_in(&mut self) {
        let entered = |line: &Self| Timestamp::from_nanos(LATE.as_nanos() + line.entered * UNIT);
        for _ in 0..(self.late as usize).min(Sizes::current().buried) {
            let first = self.arrivals.next_from(Rank::at(LATE, VisitorId::new(0)), 1);
            let Some(rank) = first.first().copied().filter(|rank| rank.is_due(entered(self)))
            else {
                return;
            };
            if let Some(present_until) = self.arrivals.remove(rank)
                && let Some(place) = self.places.get_mut(&rank.id())
            {
                place.arrival = self.now.into();
                self.arrivals.insert(Rank::at(self.now, rank.id()), present_until);
            }
            self.late -= 1;
            self.entered += 1;
        }
    }

    /// Gives up a visitor's place, and returns whether the visitor had one.
    pub(super) fn remove(&mut self, id: VisitorId) -> bool {
        let Some(place) = self.places.remove(&id) else {
            return false;
        };
        self.arrivals.remove(Rank::at(place.arrival.order, id));
        self.departed.extend(place.arrival.number);
        if let Some(draw) = place.draw {
            self.lots.remove(draw.rank(id));
        }
        self.lapses.remove(Rank::at(place.due_at, id));
        self.networks.take(id);
        if place.arrival.is_late() {
            self.late -= 1;
            self.entered += 1;
        }
        true
    }

    /// Returns the order of a new place of this visitor if the place is late because, at some
    /// level, the visitor's network has more than its share of the places that have entered the
    /// line.
    pub(super) fn late_order(
        &self,
        id: VisitorId,
        shares: [u32; 3],
        total: u32,
    ) -> Option<Timestamp> {
        let entered = self.entered * UNIT;
        let order = self.networks.next_order(id, shares, total, entered)?;
        (order > entered).then(|| Timestamp::from_nanos(LATE.as_nanos() + order))
    }

    /// Counts a new place of this visitor in the order of late places.
    pub(super) fn charge(&mut self, id: VisitorId, shares: [u32; 3], total: u32) {
        self.networks.charge(id, shares, total, self.entered * UNIT);
    }

    /// Returns the order of a place that was late by this number of places before the room lost its
    /// state.
    pub(super) fn restored_order(&self, late_by: u32) -> Option<Timestamp> {
        let order = (self.entered + u64::from(late_by)) * UNIT;
        (late_by > 0).then(|| Timestamp::from_nanos(LATE.as_nanos() + order))
    }

    /// Returns the number of places that enter the line before a late place, or 0 if the place is
    /// not late.
    pub(super) fn late_by(&self, place: PlaceOrder) -> u32 {
        let order = place.order.as_nanos().saturating_sub(LATE.as_nanos());
        let places = order.div_ceil(UNIT).saturating_sub(self.entered).max(1);
        if place.is_late() { u32::try_from(places).unwrap_or(u32::MAX) } else { 0 }
    }

    /// Returns the number of present visitors in the line, without those whose places are late.
    pub(super) fn in_order(&mut self) -> u32 {
        self.arrivals.before(Rank::at(LATE, VisitorId::new(0)))
    }

    /// Moves the entrants of a draw who are still ordered by arrival to their places. The move does
    /// not affect how long an entrant is present.
    ///
    /// Looks at up to `most` places, from the rank `from` to the time `until` (exclusive). Returns
    /// the rank at which to continue, or `None` if there are no more places.
    pub(super) fn move_entrants(
        &mut self,
        from: Rank,
        until: Timestamp,
        most: usize,
        draw: u32,
        places_of: impl FnOnce(&[u32]) -> Vec<Option<u32>>,
    ) -> Option<Rank> {
        let end = Rank::at(until, VisitorId::new(0));
        let ranks = self.arrivals.next_from(from, most + 1);
        let in_step = ranks.iter().take(most).filter(|rank| **rank < end);
        let number_of = |rank: &Rank| self.places.get(&rank.id())?.arrival.number;
        let (entrants, numbers): (Vec<_>, Vec<_>) = in_step
            .filter_map(|rank| Some((*rank, number_of(rank)?)))
            .filter_map(|(rank, entrant)| (entrant.draw == draw).then_some((rank, entrant.number)))
            .unzip();
        for (rank, drawn) in entrants.into_iter().zip(places_of(&numbers)) {
            let id = rank.id();
            let Some(place) = self.places.get_mut(&id) else { continue };
            let Some(drawn) = drawn else { continue };
            if let Some(present_until) = self.arrivals.remove(rank) {
                place.arrival.order = Timestamp::from_nanos(drawn.into());
                self.arrivals.insert(Rank::at(place.arrival.order, id), present_until);
            }
        }
        ranks.get(most).copied().filter(|rank| *rank < end)
    }

    /// Forgets all lots, because the order is no longer random.
    pub(super) fn forget_lots(&mut self) {
        let lots = std::mem::take(&mut self.lots);
        self.retired.push(lots);
        self.lots.advance(self.now);
    }

    /// Returns the arrival of the visitor, if it has a place.
    pub(super) fn arrival(&self, id: VisitorId) -> Option<PlaceOrder> {
        self.places.get(&id).map(|place| place.arrival)
    }

    /// Adds an entrant without a place to the list of those who have departed.
    pub(super) fn depart(&mut self, number: Number) {
        self.departed.push(number);
    }

    /// Removes an entrant from the list of those who have departed, because it is in line again.
    pub(super) fn take_back(&mut self, number: Number) {
        self.departed.retain(|other| *other != number);
    }

    /// Takes the list of the entrants who have lost or given up their places, or were admitted.
    pub(super) fn take_departed(&mut self) -> Vec<Number> {
        std::mem::take(&mut self.departed)
    }

    /// Returns the number of present visitors other than this one who are ordered before `at`.
    pub(super) fn others_before(&mut self, id: VisitorId, at: Timestamp) -> u32 {
        let own = self.arrival(id).map(|arrival| Rank::at(arrival.order, id));
        let end = Rank::at(at, VisitorId::new(0));
        let is_counted = own.is_some_and(|own| own < end && self.arrivals.is_present(own));
        self.arrivals.before(end) - u32::from(is_counted)
    }

    /// Returns the number of present visitors ahead of this visitor. If the line is drawn by lot,
    /// the visitor is ranked by its lot. Otherwise, it is ranked by `order`: its first touch or its
    /// place.
    ///
    /// A visitor that has not checked in since the order became random has no lot yet, and is
    /// behind all visitors that have one.
    pub(super) fn ahead_of(&mut self, id: VisitorId, draw: Option<Draw>, order: Timestamp) -> u32 {
        let Some(draw) = draw else {
            let rank = Rank::at(order, id);
            // An entrant that moves back to its place is not behind itself.
            let own = self.arrival(id).map(|arrival| Rank::at(arrival.order, id));
            let is_counted = own.is_some_and(|own| own < rank && self.arrivals.is_present(own));
            return self.arrivals.before(rank) - u32::from(is_counted);
        };
        let rank = draw.rank(id);
        // The new lot replaces the visitor's own earlier lot, which is therefore not counted.
        let own = self.places.get(&id).and_then(|place| place.draw).map(|draw| draw.rank(id));
        let is_counted = own.is_some_and(|own| own < rank && self.lots.is_present(own));
        self.lots.before(rank) - u32::from(is_counted)
    }

    /// Returns the number of present visitors.
    pub(super) fn present(&self) -> u32 {
        self.arrivals.count()
    }

    /// Returns the number of places that were given up by visitors who were not admitted.
    pub(super) const fn abandoned(&self) -> u64 {
        self.abandoned
    }

    /// Returns the number of places, including the places of visitors who are away.
    pub(super) fn len(&self) -> u32 {
        u32::try_from(self.places.len()).unwrap_or(u32::MAX)
    }

    /// Returns the number of places of this visitor's network at each level, or `None` if the
    /// network is unknown.
    pub(super) fn of_network(&self, id: VisitorId) -> Option<[u32; 3]> {
        self.networks.held(id)
    }

    /// Returns the largest number of places of one narrow network.
    pub(super) fn most_of_one_network(&self) -> u32 {
        self.networks.most_held()
    }

    /// Returns the arrival of the visitor at the front of the line, present or away: its first touch,
    /// less its head start.
    ///
    /// If more places have lapsed at the front than one operation removes, this may be the arrival
    /// of a visitor whose place has lapsed. After a draw, this need not be the earliest arrival.
    pub(super) fn first_arrival(&self) -> Option<Timestamp> {
        let place = |rank: Rank| self.places.get(&rank.id());
        let mut front = self.arrivals.iter().take(Sizes::current().buried).filter_map(place);
        let first = front.next()?;
        let is_kept = |place: &&Place| place.kept_until > self.now;
        Some(
            Some(first)
                .filter(is_kept)
                .or_else(|| front.find(is_kept))
                .unwrap_or(first)
                .arrival
                .arrived,
        )
    }

    /// Checks the invariants, in debug builds.
    pub(super) fn invariants(&self) {
        debug_assert_eq!(self.places.len(), self.arrivals.len(), "each place has one rank");
        debug_assert_eq!(self.places.len(), self.lapses.len(), "each place may lapse once");
        debug_assert!(self.lots.len() <= self.places.len(), "each place has at most one lot");
        if cfg!(debug_assertions) && self.places.len() <= Networks::CHECKED {
            self.networks.invariants(self.places.iter().map(|(id, _)| *id));
            let late = self.places.iter().filter(|(_, place)| place.arrival.is_late());
            debug_assert_eq!(late.count(), self.late as usize, "each late place is counted");
        }
    }
}

/// Inserts a present visitor into an order, or moves it there from its previous rank.
fn stand_in(
    order: &mut Ranks<Timestamp>,
    before: Option<Rank>,
    rank: Rank,
    present_until: Timestamp,
) {
    // A check-in rarely changes the rank, and replacing the time at a rank is cheaper than moving
    // the visitor.
    if before == Some(rank) && order.replace(rank, present_until) {
        return;
    }
    if let Some(before) = before {
        order.remove(before);
    }
    order.insert(rank, present_until);
}

/// The order of the first late place: later than all times.
const LATE: Timestamp = Timestamp::from_nanos(1 << 63);

#[cfg(test)]
mod tests;
