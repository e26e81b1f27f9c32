//! The order of a visitor with a head start, the return of a visitor whose session has lapsed, and the
//! arrival of a visitor from another site.
//!
//! Such a visitor comes with a ticket that is ordered by the visitor's first arrival. The ticket
//! gets a slot only under the same conditions as any other ticket.

use std::time::Duration;

use crate::{
    Pass, Room, Ticket, Timestamp,
    room::{HeadStart, line::PlaceOrder},
};

impl Ticket {
    /// Returns the visitor's arrival: its first touch, less its head start. The visitor is ordered
    /// by this time, unless a draw determines its place.
    #[must_use]
    pub fn arrival(&self) -> Timestamp {
        self.first_seen.before(self.head_start.duration())
    }

    /// Creates the ticket with which a visitor returns to the line at `now`, after its pass has
    /// expired. Returns `None` if the pass has not expired.
    ///
    /// The visitor is ordered by its first arrival, rounded to a minute, so it is ahead of all
    /// visitors who came later. It takes a slot or a place under the same conditions as any other
    /// visitor. If the visitor left its session on purpose, a room treats the ticket as void.
    #[must_use]
    pub fn resuming(pass: &Pass, now: Timestamp) -> Option<Self> {
        // The ticket is dated after the end of the session, which voids all earlier tickets.
        let returns_at = pass.expires_at + Duration::from_micros(1);
        let arrived = Timestamp::from_secs(u64::from(pass.bucket) * 60);
        // The head start is rounded down, by less than a minute.
        let head_start = returns_at.since(arrived) + Duration::from_secs(60);
        let mut ticket = Self::new(pass.id, returns_at, now, now);
        ticket.head_start = HeadStart::new(head_start);
        ticket.resumes = true;
        (returns_at <= now).then_some(ticket)
    }

    /// Creates the ticket with which a visitor with a pass from another site gets a slot here, at
    /// `now`.
    ///
    /// The visitor is ordered as if it had come an [hour](Self::MOVING_LEAD) before its first
    /// arrival, which is rounded to a minute. It is therefore ahead of every visitor without a
    /// session at any site, except those who have waited over an hour longer. The ticket counts as
    /// a ticket with a place. If no slot is free, the visitor therefore waits, even in a room that
    /// refuses newcomers, and even if the line is full. A visitor that has a session here continues
    /// it. A visitor that the room remembers to have left is a newcomer, unless it left more than
    /// an hour before its first arrival.
    ///
    /// The times of the pass refer to another clock. The caller decides whether the pass is valid.
    ///
    /// ```
    /// use std::time::Duration;
    /// use waiting_room_core::{Room, RoomRules, Ticket, Timestamp, Verdict, VisitorId};
    ///
    /// let ann = VisitorId::new(1);
    /// let bob = VisitorId::new(2);
    /// let now = Timestamp::from_secs(7_200);
    /// let mut paris = Room::new(RoomRules::new("shop", 1))?;
    /// let mut tokyo = paris.clone();
    /// let Verdict::Admit { pass, .. } = paris.enter(ann, now) else { panic!("a slot is free") };
    ///
    /// let moving = Ticket::moving(&pass, now + Duration::from_secs(1));
    /// let verdict = tokyo.check_in(&moving, now + Duration::from_secs(1));
    /// assert!(matches!(verdict, Verdict::Admit { pass, .. } if pass.id == ann));
    /// # Ok::<(), waiting_room_core::ConfigError>(())
    /// ```
    #[must_use]
    pub fn moving(pass: &Pass, now: Timestamp) -> Self {
        let arrived = Timestamp::from_secs(u64::from(pass.bucket) * 60);
        let mut ticket = Self::new(pass.id, now, now, now + Duration::from_nanos(1));
        ticket.head_start = HeadStart::new(now.since(arrived) + Self::MOVING_LEAD);
        ticket.placed = true;
        ticket.resumes = true;
        ticket
    }

    /// The time by which a visitor that [moves](Self::moving) between sites is ordered ahead of its
    /// first arrival. No visitor can have a longer head start in a line.
    pub const MOVING_LEAD: Duration = Duration::from_secs(60 * 60);
}

impl Room {
    /// Returns whether the session of this ticket's visitor ended after the ticket was issued. A
    /// visitor that returns from a lapsed session must not have left it.
    ///
    /// If the room may have forgotten the end of the session, the ticket is valid only if its
    /// visitor still has a place (`held`), and only for that place. A ticket that moves between
    /// sites stands for the pass of another site, whose clock is different.
    pub(super) fn is_void(&self, ticket: &Ticket, held: Option<PlaceOrder>) -> bool {
        let made_at = if ticket.resumes { ticket.arrival() } else { ticket.first_seen };
        let is_moving = ticket.resumes && ticket.placed;
        self.sessions.is_ticket_void(ticket.id, ticket.first_seen)
            || ticket.resumes && self.sessions.is_pass_void(ticket.id, ticket.arrival())
            || self.sessions.may_be_forgotten(ticket.id, made_at)
                && !is_moving
                && !held.is_some_and(|place| self.is_of_place(ticket, place))
    }

    /// Returns whether a ticket claims no more than a place of its visitor: neither an earlier
    /// arrival, nor another number in the draw.
    fn is_of_place(&self, ticket: &Ticket, place: PlaceOrder) -> bool {
        let tag = self.course.drawing.as_ref().map(|drawing| drawing.tag());
        let shown = ticket.entrant.filter(|entrant| Some(entrant.draw) == tag);
        let is_own = shown.is_none_or(|shown| {
            let own = place.number;
            own.is_some_and(|own| own.draw != shown.draw || own.number == shown.number)
        });
        place.arrived <= ticket.first_seen && is_own
    }
}

#[cfg(test)]
mod tests;
