//! The pace limits: the limits on how often tickets may be presented.
//!
//! The rate limits do not charge a request with a ticket until the room admits it, because
//! otherwise the check-ins of a waiting visitor would use up the visitor's own limits. Instead, two
//! pace limits bound the cost of an abusive client:
//!
//! - Each **ticket** has a pace limit, which a client that obeys `Retry-After` never reaches.
//! - Each **address** has a pace limit for requests other than timely check-ins: for tickets that
//!   are early, for tickets of which a copy was presented before, and for POSTs of scripts. This
//!   limit bounds the cost of a client that has collected many tickets. One check-in per ticket and
//!   interval does not count towards the pace limit of an address, so any number of visitors can
//!   wait behind one address.
//!
//! Each node enforces both pace limits on its own, in bounded memory and without a call to the
//! store.

use std::time::Duration;

use waiting_room_core::{
    ConfigError, Limiter, Quota, Ticket, Timestamp,
    rate::{
        Algorithm, KeyHash,
        charging::{LimiterCharge, charge_all},
    },
};

use crate::request::Caller;

/// The pace limits of all tickets, and of all addresses that present tickets early or again.
pub(crate) struct CheckInPace {
    tickets: Limiter,
    /// The check-ins that are due, each of which costs as many units as its interval has seconds.
    due: Limiter,
    addresses: Limiter,
}

impl CheckInPace {
    /// The pace limit of each ticket: 4 requests per second with bursts of 20. A client is never
    /// asked to check in more often than every 2 s, but it may do so in several tabs of one
    /// browser.
    const PER_TICKET: Quota = Quota::per_second(4).burst(20);
    /// The allowance of each ticket for check-ins that do not count towards the pace limit of its
    /// address. A check-in uses up its interval, and the allowance grows by 1 s per second, up to
    /// 30 s.
    const DUE: Quota = Quota::per_second(1).burst(Self::LONGEST);
    /// The longest interval, in seconds. A longer one counts as this interval.
    const LONGEST: u64 = 30;
    /// The interval that counts for the ticket of an open push stream, which is due at once.
    const AFTER_PUSH: u64 = 10;
    /// The pace limit of each address for tickets that are not due: 50 requests per second with
    /// bursts of up to 500 requests. This is enough for a school behind one address, with a few
    /// hundred visitors who reload the page at the same time.
    const PER_ADDRESS: Quota = Quota::per_second(50).burst(500);
    /// The maximum number of tickets that are remembered. A ticket is remembered until its whole
    /// burst is available again, which takes up to 5 s. More tickets than this would have to be
    /// remembered only if millions of visitors were waiting.
    const MAX_TICKETS: usize = 1 << 16;
    /// The maximum number of tickets whose check-ins are remembered, each for up to 30 s: enough
    /// for over 100 000 waiting visitors.
    const MAX_DUE: usize = 1 << 18;
    /// The maximum number of addresses that are remembered. An address is remembered for up to 10
    /// s, and only if it presents tickets early.
    const MAX_ADDRESSES: usize = 1 << 14;

    /// Creates the pace limits, with no requests charged against them yet.
    ///
    /// # Errors
    ///
    /// Returns no error in practice, because the quotas are constants that a limiter accepts.
    pub(crate) fn new() -> Result<Self, ConfigError> {
        let limiter = |quota, keys| Limiter::new(Algorithm::Gcra, &[quota], keys);
        Ok(Self {
            tickets: limiter(Self::PER_TICKET, Self::MAX_TICKETS)?,
            due: limiter(Self::DUE, Self::MAX_DUE)?,
            addresses: limiter(Self::PER_ADDRESS, Self::MAX_ADDRESSES)?,
        })
    }

    /// Charges a check-in with `ticket` at `now` against the pace limit of the ticket. If the
    /// ticket is not due, or this node has seen it within its interval, also charges the pace limit
    /// of the client's address. If the request exceeds either limit, it is charged against neither.
    ///
    /// If the address is unknown, only the pace limit of the ticket applies.
    ///
    /// # Errors
    ///
    /// Returns the length of time after which the ticket may be presented again. This time never
    /// ends before the ticket is due, so the next request is not early again.
    pub(crate) fn charge(
        &self,
        ticket: &Ticket,
        caller: &Caller<'_>,
        now: Timestamp,
    ) -> Result<(), Duration> {
        let interval = match ticket.next_check_in.since(ticket.last_check_in).as_secs() {
            0 if ticket.placed => Self::AFTER_PUSH,
            seconds => seconds.clamp(1, Self::LONGEST),
        };
        let key = caller.hasher.hash(&ticket.id.bits());
        let is_in_turn = !ticket.is_early(now)
            && charge_all(&mut [LimiterCharge::new(&self.due, key, 0, interval)], now);
        let address = if is_in_turn { None } else { caller.address_hash() };
        self.charge_both(ticket, key, address, now)
    }

    /// Charges a script's POST with `ticket` at `now` in the same way as [`charge`](Self::charge)
    /// charges a ticket that is not due.
    ///
    /// # Errors
    ///
    /// As for [`charge`](Self::charge).
    pub(crate) fn charge_post(
        &self,
        ticket: &Ticket,
        caller: &Caller<'_>,
        now: Timestamp,
    ) -> Result<(), Duration> {
        let key = caller.hasher.hash(&ticket.id.bits());
        self.charge_both(ticket, key, caller.address_hash(), now)
    }

    /// Charges a request against the pace limit of the ticket and, if an address is given, that of
    /// the address.
    fn charge_both(
        &self,
        ticket: &Ticket,
        key: KeyHash,
        address: Option<KeyHash>,
        now: Timestamp,
    ) -> Result<(), Duration> {
        let of_ticket = LimiterCharge::new(&self.tickets, key, 0, 1);
        let allowed = match address {
            Some(address) => {
                let mut asks = [of_ticket, LimiterCharge::new(&self.addresses, address, 0, 1)];
                Self::decide(&mut asks, now)
            }
            None => Self::decide(&mut [of_ticket], now),
        };
        allowed.map_err(|pause| pause.max(ticket.retry_after(now)))
    }

    /// Charges the request against all given limits or against none. The error is the longest retry
    /// time among the limits.
    fn decide(asks: &mut [LimiterCharge<'_>], now: Timestamp) -> Result<(), Duration> {
        if charge_all(asks, now) {
            return Ok(());
        }
        let pauses = asks.iter().filter_map(|ask| ask.decision()?.retry_after());
        Err(pauses.max().unwrap_or_default())
    }
}
