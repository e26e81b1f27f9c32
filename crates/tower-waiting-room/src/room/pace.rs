//! The pace at which tickets may be shown.
//!
//! The rate limits do not charge a request with a ticket until the room admits it, because
//! otherwise the check-ins of a waiting visitor would use up the visitor's own limits. Instead, two
//! paces bound the cost of an abusive client:
//!
//! - Each **ticket** has a pace, which a client that obeys `Retry-After` never reaches.
//! - Each **address** has a pace for tickets that are shown before they are due. This pace bounds
//!   the cost of a client that has collected many tickets. Tickets that are due do not count
//!   towards the pace of an address, so any number of visitors can wait behind one address.
//!
//! Each node enforces both paces on its own, in bounded memory and without a call to the store.

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
    /// The pace of each ticket: 4 requests per second with bursts of 20. A client is never asked to
    /// check in more often than every 2 s, but it may do so in several tabs of one browser.
    const PER_TICKET: Quota = Quota::per_second(4).burst(20);
    /// The pace of each address for tickets that are not due: 50 requests per second with bursts of
    /// up to 500 requests. This pace is enough for a school behind one address, with a few hundred
    /// visitors who reload the page at the same time.
    const PER_ADDRESS: Quota = Quota::per_second(50).burst(500);
    /// The maximum number of tickets that are remembered. A ticket is remembered until its whole
    /// burst is available again, which takes up to 5 s. More tickets than this would have to be
    /// remembered only if millions of visitors were waiting.
    const MAX_TICKETS: usize = 1 << 16;
    /// The maximum number of addresses that are remembered. An address is remembered for up to 10
    /// s, and only if it shows tickets early.
    const MAX_ADDRESSES: usize = 1 << 14;

    /// Creates the paces, with no requests charged to them yet.
    ///
    /// # Errors
    ///
    /// Returns no error in practice, because the quotas are constants that a limiter accepts.
    pub(crate) fn new() -> Result<Self, ConfigError> {
        let limiter = |quota, keys| Limiter::new(Algorithm::Gcra, &[quota], keys);
        Ok(Self {
            tickets: limiter(Self::PER_TICKET, Self::MAX_TICKETS)?,
            addresses: limiter(Self::PER_ADDRESS, Self::MAX_ADDRESSES)?,
        })
    }

    /// Charges a request that shows `ticket` at `now` to the pace of the ticket and, if the ticket
    /// is not due yet, also to the pace of the client's address. If either pace refuses, neither is
    /// charged.
    ///
    /// If the address is unknown, only the pace of the ticket applies.
    ///
    /// # Errors
    ///
    /// Returns the length of time after which the ticket may be shown again. This time never ends
    /// before the ticket is due, so the next request is not early again.
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

    /// Charges all paces or none. The error is the longest retry time among the paces.
    fn decide(asks: &mut [LimiterCharge<'_>], now: Timestamp) -> Result<(), Duration> {
        if charge_all(asks, now) {
            return Ok(());
        }
        let pauses = asks.iter().filter_map(|ask| ask.decision()?.retry_after);
        Err(pauses.max().unwrap_or_default())
    }
}
