//! The order of a visitor with a head start, and the return of a visitor whose session has lapsed.
//!
//! A visitor returns with a ticket that is ordered by its first arrival. The ticket is like any other:
//! it has a place or takes a slot only where a first ticket could.

use std::time::Duration;

use crate::{Pass, Room, Ticket, Timestamp, room::HeadStart};

impl Ticket {
    /// Returns the time by which the visitor is ordered, unless a draw determines its place: its
    /// first touch, less its head start.
    #[must_use]
    pub fn arrival(&self) -> Timestamp {
        self.first_seen.before(self.head_start.duration())
    }

    /// Creates the ticket with which the visitor of a pass that has expired returns to the line, at
    /// `now`. Returns `None` if the pass has not expired.
    ///
    /// The visitor is ordered by its first arrival, rounded to a minute, so it is ahead of all
    /// visitors who came later. It takes a slot or a place under the same conditions as any other
    /// visitor. If it has left its session, a room treats the ticket as void.
    #[must_use]
    pub fn resuming(pass: &Pass, now: Timestamp) -> Option<Self> {
        // The order of arrival begins after the end of the session, which voids all earlier tickets.
        let returns_at = pass.expires_at + Duration::from_micros(1);
        let arrived = Timestamp::from_secs(u64::from(pass.bucket) * 60);
        // The head start is rounded down, by less than a minute.
        let head_start = returns_at.since(arrived) + Duration::from_secs(60);
        let mut ticket = Self::new(pass.id, returns_at, now, now);
        ticket.head_start = HeadStart::new(head_start);
        ticket.resumes = true;
        (returns_at <= now).then_some(ticket)
    }
}

impl Room {
    /// Returns whether the session of this ticket's visitor ended after the ticket was issued. A
    /// visitor that returns from a lapsed session must not have left it.
    pub(super) fn is_void(&self, ticket: &Ticket) -> bool {
        self.sessions.is_ticket_void(ticket.id, ticket.first_seen)
            || ticket.resumes && self.sessions.is_pass_void(ticket.id, ticket.arrival())
    }
}

#[cfg(test)]
mod tests;
