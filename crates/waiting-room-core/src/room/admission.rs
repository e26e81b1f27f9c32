//! The conditions under which a visitor is admitted, gets a place, or continues a session.
//!
//! The operations in `room.rs` change the state of the room. The conditions in this file only read
//! that state, with one exception: the hold after a loss of state begins here, and a pass issued
//! before the loss may extend it.

use crate::{
    Pass, Reason, Room, RoomRules, Ticket, Timestamp, VisitorId,
    room::{CookieTest, QueueingMethod, Recovery, RoomMode, line::PlaceOrder},
};

impl Room {
    /// Decides whether a visitor may enter now, given that `ahead` present visitors are ahead of
    /// it. Returns the reason for the admission or, as an error, the reason for the wait.
    ///
    /// The checks proceed from the most general reason to the most specific. Only the last check
    /// depends on the visitor, so `QueuedBehindOthers` implies that a slot is free and that the
    /// limit on new visitors allows an admission.
    pub(super) fn may_enter(&self, ahead: u32, now: Timestamp) -> Result<Reason, Reason> {
        if self.rules.mode == RoomMode::QueueAll {
            return Err(if self.course.is_prequeue() {
                Reason::Prequeue
            } else {
                Reason::QueueAll
            });
        }
        if self.rules.queueing_method == QueueingMethod::Passthrough
            && self.sessions.active() < RoomRules::MAX_USERS
        {
            return Ok(Reason::AdmittedPassthrough);
        }
        if now < self.hold_until {
            return Err(Reason::QueuedRecovery);
        }
        let slots = self.rules.total_active_users.saturating_sub(self.sessions.active());
        if slots == 0 {
            return Err(Reason::QueuedActiveLimit);
        }
        let conforms = |reserved| {
            self.rules
                .new_users_per_minute
                .is_none_or(|limit| self.minute.conforms(limit, reserved, now))
        };
        if !conforms(0) {
            return Err(Reason::QueuedRate);
        }
        if slots <= ahead || !conforms(ahead) {
            return Err(Reason::QueuedBehindOthers);
        }
        Ok(Reason::AdmittedSlot)
    }

    /// Records that state was lost at `now`: passes issued earlier may still be in use.
    ///
    /// [`RoomRules::recovery`] determines how the room continues. With [`Recovery::Pause`], no
    /// newcomer is admitted until the last of these passes has expired.
    pub fn recover(&mut self, now: Timestamp) {
        self.recovered_at = now;
        if self.rules.recovery == Recovery::Pause {
            self.hold_until = now + self.rules.timing().recovery_pause().max(self.longest_lifetime);
        }
    }

    /// Returns whether the room accepts a pass that it does not know about.
    ///
    /// With [`Recovery::Pause`], a pass issued before the loss of state shows how long other passes
    /// may be valid, so the hold is extended accordingly. After the hold, newcomers may have taken
    /// the slots, so an earlier pass is accepted only if a slot is free.
    pub(super) fn can_take_up(&mut self, pass: &Pass, now: Timestamp) -> bool {
        let is_of_before = pass.last_check_in < self.recovered_at;
        if self.rules.recovery != Recovery::Pause || !is_of_before {
            return true;
        }
        if now < self.hold_until {
            let lifetime = pass.expires_at.since(pass.last_check_in);
            self.hold_until = self.hold_until.max(self.recovered_at + lifetime);
            return true;
        }
        self.rules.queueing_method == QueueingMethod::Passthrough
            || self.sessions.active() < self.rules.total_active_users
    }

    /// Returns the reason to report if a new place for this visitor would exceed the limit on the
    /// places of its network, at any level.
    ///
    /// In shadow mode, the reason is reported, but the visitor still gets the place.
    pub(super) fn over_share(&self, id: VisitorId) -> Option<Reason> {
        let shares = self.rules.shares;
        let most = shares.places(self.rules.total_active_users, self.rules.line_capacity)?;
        let held = self.line.of_network(id)?;
        let is_over = held.iter().zip(most).any(|(held, most)| *held >= most);
        let reason =
            if shares.is_shadow() { Reason::QueuedNetworkFull } else { Reason::RefusedNetworkFull };
        is_over.then_some(reason)
    }

    /// Continues the session of a pass, and returns the renewed pass.
    ///
    /// The session is prolonged unless it gives way to the waiting visitors. It gives way if it
    /// would last longer than the longest visit, or if it is above the share of its network while a
    /// visitor of another network waits. In both cases, it gives way only while the free slots,
    /// plus those that other sessions give up, are fewer than the present visitors in the line.
    pub(super) fn prolong(&mut self, pass: &Pass, now: Timestamp) -> Pass {
        let mut renewed = self.rules.timing().prolonged(pass, now);
        let total = self.rules.total_active_users;
        let free = total.saturating_sub(self.sessions.active());
        let crowded = self.sessions.withdraw(pass.id, self.rules.shares.slots(total));
        let is_wanted = crowded.is_some_and(|level| {
            let own = self.line.of_network(pass.id).map_or(0, |held| held[level]);
            self.line.len() > own
        });
        let is_long = self
            .rules
            .longest_visit
            .is_some_and(|longest| renewed.expires_at > pass.accepted_at + longest);
        let is_ending = (is_wanted || is_long)
            && renewed.expires_at > pass.expires_at
            && self.sessions.ending().saturating_add(free) < self.line.present();
        if is_ending {
            renewed.expires_at = pass.expires_at;
        }
        self.sessions.hold(renewed, crowded.is_none(), is_ending);
        renewed
    }

    /// Returns the order of a visitor's place if the place is late because the visitor's network
    /// has more than its share of the line. In a line that is drawn, no place is late.
    pub(super) fn late_order(
        &self,
        ticket: &Ticket,
        known: Option<PlaceOrder>,
    ) -> Option<Timestamp> {
        if !self.is_by_arrival(ticket) {
            return None;
        }
        match known {
            Some(known) => known.is_late().then_some(known.order),
            None if ticket.placed => self.line.restored_order(ticket.late_by),
            None => {
                let total = self.rules.total_active_users;
                self.line.late_order(ticket.id, self.rules.shares.slots(total)?, total)
            }
        }
    }

    /// Returns whether the order of arrival determines when a visitor is admitted.
    pub(super) fn is_by_arrival(&self, ticket: &Ticket) -> bool {
        ticket.entrant.is_none()
            && !self.course.will_be_drawn()
            && self.rules.queueing_method != QueueingMethod::Random
    }

    /// Returns whether a newcomer has to return a cookie before it is given a free slot.
    pub(super) fn is_cookie_tested(&self) -> bool {
        match self.rules.cookie_test {
            CookieTest::Off => false,
            CookieTest::AboveUtilization(percent) => {
                let taken = u64::from(self.sessions.active()) * 100;
                taken >= u64::from(percent) * u64::from(self.rules.total_active_users)
            }
        }
    }
}
