//! How often a ticket may be shown.
//!
//! A client with a ticket is not charged by the limits of the service until the room lets it in, so
//! that the line's own check-ins are not refused. Instead each ticket has a pace of its own, which
//! no client that obeys `Retry-After` comes near, and so does each address for the tickets that it
//! shows before they are due. What a sender of tickets can cost the service is bounded by this.

use std::time::Duration;

use waiting_room_core::{
    Algorithm, ConfigError, Limiter, LimiterCharge, Quota, Ticket, Timestamp, charge_all,
};

use crate::request::Caller;

/// The paces of all tickets, and of all addresses that show them early. Counted by this node.
pub(crate) struct CheckInPace {
    tickets: Limiter,
    addresses: Limiter,
}

impl CheckInPace {
    /// For each ticket. A client asks every 2 s at most, and has perhaps a few tabs.
    const PER_TICKET: Quota = Quota::per_second(4).burst(20);
    /// For each address, apart from tickets that are due: a school that reloads the page at once.
    const PER_ADDRESS: Quota = Quota::per_second(50).burst(500);
    /// More tickets than this are shown within the seconds for which one is remembered only by
    /// millions of visitors.
    const MAX_TICKETS: usize = 1 << 16;
    const MAX_ADDRESSES: usize = 1 << 14;

    pub(crate) fn new() -> Result<Self, ConfigError> {
        let limiter = |quota, keys| Limiter::new(Algorithm::Gcra, &[quota], keys);
        Ok(Self {
            tickets: limiter(Self::PER_TICKET, Self::MAX_TICKETS)?,
            addresses: limiter(Self::PER_ADDRESS, Self::MAX_ADDRESSES)?,
        })
    }

    /// Notes that a ticket is shown.
    ///
    /// # Errors
    ///
    /// When to come back, if it or its address is shown too often. Where the address is unknown,
    /// only the ticket counts.
    pub(crate) fn charge(
        &self,
        ticket: &Ticket,
        caller: &Caller<'_>,
        now: Timestamp,
    ) -> Result<(), Duration> {
        let key = caller.hasher.hash(&ticket.id.bits());
        let of_ticket = LimiterCharge::new(&self.tickets, key, 0, 1);
        let address = if ticket.is_early(now) { caller.address_hash() } else { None };
        let allowed = match address {
            Some(address) => {
                let mut asks = [of_ticket, LimiterCharge::new(&self.addresses, address, 0, 1)];
                Self::decide(&mut asks, now)
            }
            None => Self::decide(&mut [of_ticket], now),
        };
        allowed.map_err(|pause| pause.max(ticket.retry_after(now)))
    }

    fn decide(asks: &mut [LimiterCharge<'_>], now: Timestamp) -> Result<(), Duration> {
        if charge_all(asks, now) {
            return Ok(());
        }
        let pauses = asks.iter().filter_map(|ask| ask.decision()?.retry_after);
        Err(pauses.max().unwrap_or_default())
    }
}
