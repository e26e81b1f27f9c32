//! The shares of networks in the model: sessions that give way, and places that are late.

use waiting_room_core::{
    Pass, Ticket, Timestamp, VisitorId,
    room::{QueueingMethod, SessionRenewal},
};

use super::{LATE, Model, Place};

impl Model {
    /// Continues a session. The session gives way if it is too long, or if it exceeds the share of
    /// its network while others wait, but only if waiting visitors outnumber the slots that are or
    /// will be free.
    pub(super) fn prolong(&mut self, pass: Pass, now: Timestamp) -> Pass {
        let free = (self.settings.total_active_users as usize).saturating_sub(self.sessions.len());
        self.counted.retain(|id| *id != pass.id);
        self.ending.retain(|id| *id != pass.id);
        let crowded = self.crowded(pass.id);
        let mut renewed = pass;
        renewed.last_check_in = now;
        if self.settings.session_renewal == SessionRenewal::Sliding {
            let lifetime = self.settings.timing().pass_lifetime();
            renewed.expires_at = pass.expires_at.max(now + lifetime);
        }
        let longest = self.settings.longest_visit;
        let is_long =
            longest.is_some_and(|longest| renewed.expires_at > pass.accepted_at + longest);
        let is_other =
            |place: &Place| crowded.is_some_and(|level| !shares(level, place.id, pass.id));
        if (is_long || self.places.iter().any(is_other))
            && renewed.expires_at > pass.expires_at
            && self.ending.len() + free < self.present(now).count()
        {
            renewed.expires_at = pass.expires_at;
            self.ending.push(pass.id);
        }
        if crowded.is_none() {
            self.counted.push(pass.id);
        }
        self.hold(renewed);
        renewed
    }

    /// Returns whether the session of a visitor gives way to others.
    pub(crate) fn gives_way(&self, id: VisitorId) -> bool {
        self.ending.contains(&id)
    }

    /// Returns the first level at which the network of a visitor has used up its share of the
    /// slots.
    pub(super) fn crowded(&self, id: VisitorId) -> Option<usize> {
        let shares_of = self.shares_of_slots()?;
        (0..3).find(|level| {
            let counted = self.counted.iter().filter(|other| shares(*level, **other, id));
            id.network().is_some() && counted.count() >= shares_of[*level] as usize
        })
    }

    /// Returns whether a new place would exceed the limit on the places of the visitor's network.
    pub(super) fn is_network_full(&self, id: VisitorId) -> bool {
        let total = self.settings.total_active_users;
        let most = self.settings.shares.places(total, self.settings.line_capacity);
        most.is_some_and(|most| {
            (0..3).any(|level| {
                let held = self.places.iter().filter(|place| shares(level, place.id, id)).count();
                id.network().is_some() && held >= most[level] as usize
            })
        })
    }

    /// Returns the order of a place that is late.
    pub(super) fn late_order(&self, ticket: &Ticket, known: Option<Place>) -> Option<u64> {
        if !self.is_by_arrival(ticket) {
            return None;
        }
        if let Some(known) = known {
            return known.is_late().then_some(known.order);
        }
        if ticket.placed {
            let order = (self.entered + u64::from(ticket.late_by)) * UNIT;
            return (ticket.late_by > 0).then_some(LATE + order);
        }
        let shares_of = self.shares_of_slots()?;
        let levels = ticket.id.network()?.levels();
        let order = (0..3).map(|level| {
            let (next, step) = self.next_place(level, levels[level], shares_of[level]);
            next.saturating_sub((u64::from(shares_of[level]) - 1) * step)
        });
        order.max().filter(|order| *order > self.entered * UNIT).map(|order| LATE + order)
    }

    /// Charges the network of a visitor for a new place.
    pub(super) fn charge(&mut self, ticket: &Ticket) {
        let is_new = self.places.iter().all(|place| place.id != ticket.id) && !ticket.placed;
        let Some(shares_of) = self.shares_of_slots() else { return };
        let Some(network) = ticket.id.network() else { return };
        if is_new && self.is_by_arrival(ticket) {
            for (level, share) in shares_of.into_iter().enumerate() {
                let key = network.levels()[level];
                let (next, step) = self.next_place(level, key, share);
                self.next.insert(key, next + step);
            }
        }
    }

    /// Lets the late places whose turn it is enter the line.
    pub(super) fn let_in(&mut self, now: Timestamp) {
        loop {
            let end = LATE + self.entered * UNIT;
            let is_due = |place: &&mut Place| place.is_late() && place.order <= end;
            let due = self.places.iter_mut().filter(is_due);
            let Some(first) = due.min_by_key(|place| place.rank()) else { return };
            first.order = now.as_nanos();
            first.arrived = now;
            self.entered += 1;
        }
    }

    /// Returns the number of places that enter before a place with this order.
    pub(super) fn late_by(&self, order: u64) -> u32 {
        if order < LATE {
            return 0;
        }
        let entered = (order - LATE).div_ceil(UNIT).saturating_sub(self.entered);
        u32::try_from(entered.max(1)).unwrap_or(u32::MAX)
    }

    /// Returns the largest number of slots, and the largest number of places, that one network has.
    pub(super) fn of_one_network(&self) -> [usize; 2] {
        let most = |ids: Vec<VisitorId>| {
            let of = |id: &VisitorId| ids.iter().filter(|other| shares(0, **other, *id)).count();
            ids.iter().map(of).max().unwrap_or(0)
        };
        let slots = most(self.sessions.iter().map(|session| session.id).collect());
        let places = most(self.places.iter().map(|place| place.id).collect());
        [slots, places]
    }

    /// Forgets what is known of networks without places, and of sessions that are over.
    pub(super) fn forget_shares(&mut self) {
        let places = &self.places;
        self.next.retain(|key, _| places.iter().any(|place| has(place.id, *key)));
        let sessions = &self.sessions;
        let is_active = |id: &VisitorId| sessions.iter().any(|session| session.id == *id);
        self.counted.retain(is_active);
        self.ending.retain(is_active);
    }

    fn next_place(&self, level: usize, key: u64, share: u32) -> (u64, u64) {
        let held = self.places.iter().filter(|place| {
            place.id.network().is_some_and(|network| network.levels()[level] == key)
        });
        let step = u64::from(self.settings.total_active_users) * UNIT / u64::from(share);
        let entered = self.entered * UNIT;
        let next = self.next.get(&key).copied().unwrap_or(0).max(entered);
        (next.min(entered + (held.count() as u64 + 1) * step), step)
    }

    fn shares_of_slots(&self) -> Option<[u32; 3]> {
        self.settings.shares.slots(self.settings.total_active_users)
    }

    fn is_by_arrival(&self, ticket: &Ticket) -> bool {
        ticket.entrant.is_none()
            && !self.will_be_drawn()
            && self.settings.queueing_method != QueueingMethod::Random
    }
}

/// Whether two visitors share a network at a level.
fn shares(level: usize, one: VisitorId, other: VisitorId) -> bool {
    let key = |id: VisitorId| id.network().map(|network| network.levels()[level]);
    key(one).is_some() && key(one) == key(other)
}

/// Whether a visitor is in the network with this key, at any level.
fn has(id: VisitorId, key: u64) -> bool {
    id.network().is_some_and(|network| network.levels().contains(&key))
}

/// The number of units into which a place is divided.
const UNIT: u64 = 1 << 10;
