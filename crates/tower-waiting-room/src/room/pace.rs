//! The pace at which tickets may be shown.
//!
//! A request with a ticket is not charged by the rate limits until the room admits it: otherwise
//! the check-ins of a waiting visitor would use up its own limits. Instead, two paces bound the
//! cost of an abusive client:
//!
//! - Each **ticket** has a pace. A client that obeys `Retry-After` never comes near it.
//! - Each **address** has a pace for tickets that are shown before they are due. It bounds a client
//!   that has collected many tickets. Tickets that are due are free of it, so that any number of
//!   visitors can wait behind one address.
//!
//! Both are counted by this node alone, in bounded memory, with no call of the store.

use std::time::Duration;

use waiting_room_core::{
    ConfigError, Limiter, Quota, Ticket, Timestamp,
    rate::{Algorithm, LimiterCharge, charge_all},
};

use crate::request::Caller;

/// The paces of all tickets, and of all addresses that show tickets early.
pub(crate) struct CheckInPace {
    tickets: Limiter,
    addresses: Limiter,
}

impl CheckInPace {
    /// For each ticket: 4 per second with bursts of 20. A client is asked to check in every 2 s at
    /// the soonest, and may do so in a few tabs of one browser.
    const PER_TICKET: Quota = Quota::per_second(4).burst(20);
    /// For each address and tickets that are not due: 50 per second with bursts of 500. Enough for
    /// a school behind one address, with a few hundred visitors that reload the page at once.
    const PER_ADDRESS: Quota = Quota::per_second(50).burst(500);
    /// A ticket is remembered for up to 5 s, until its whole burst is available again. More tickets
    /// than this are shown within that time only by a line of millions of visitors.
    const MAX_TICKETS: usize = 1 << 16;
    /// An address is remembered for up to 10 s, and only if it shows tickets early.
    const MAX_ADDRESSES: usize = 1 << 14;

    /// Makes the paces, with no ticket shown yet.
    ///
    /// # Errors
    ///
    /// None in practice: the quotas are constants that a limiter accepts.
    pub(crate) fn new() -> Result<Self, ConfigError> {
        let limiter = |quota, keys| Limiter::new(Algorithm::Gcra, &[quota], keys);
        Ok(Self {
            tickets: limiter(Self::PER_TICKET, Self::MAX_TICKETS)?,
            addresses: limiter(Self::PER_ADDRESS, Self::MAX_ADDRESSES)?,
        })
    }

    /// Charges a request that shows `ticket` at `now`: to the pace of the ticket and, before the
    /// ticket is due, to the pace of the address. If one of them refuses, neither is charged.
    ///
    /// Where the address is unknown, only the pace of the ticket applies.
    ///
    /// # Errors
    ///
    /// Returns the time after which the ticket may be shown again. It is never before the ticket is
    /// due, so that the next request is not early as well.
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

    /// Charges all paces or none. The error is the longest of their times.
    fn decide(asks: &mut [LimiterCharge<'_>], now: Timestamp) -> Result<(), Duration> {
        if charge_all(asks, now) {
            return Ok(());
        }
        let pauses = asks.iter().filter_map(|ask| ask.decision()?.retry_after);
        Err(pauses.max().unwrap_or_default())
    }
}
