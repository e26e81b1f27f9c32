//! Fixtures that the tests of this module share.

use std::time::Duration;

use proptest::prelude::*;
use waiting_room_core::{
    Pass, Ticket, Timestamp, VisitorId,
    room::{HeadStart, PassHome, WaitEstimate, event::Entrant},
};

use super::{KeyRing, TokenKey, Tokens};

/// The current time in all tests: 2027-01-15T08:00:00Z.
pub(super) const NOW: Timestamp = Timestamp::from_secs(1_800_000_000);

/// Returns the tokens of the room `shop`, with the key that tests use unless they need a different
/// key.
pub(super) fn tokens() -> Tokens {
    Tokens::new(&KeyRing::new(TokenKey::from_bytes([1; 32])), "shop")
}

/// Returns a pass that was renewed at `now` and expires five minutes later.
pub(super) fn pass(now: Timestamp) -> Pass {
    let accepted_at = now.before(Duration::from_secs(60));
    Pass::new(VisitorId::new(7), 30_000_000, accepted_at, now, now + Duration::from_secs(300))
}

/// Returns a ticket that was issued at `now` and has a place, a position and an expected wait.
pub(super) fn ticket(now: Timestamp) -> Ticket {
    let first_seen = now.before(Duration::from_secs(600));
    let mut ticket = Ticket::new(VisitorId::new(8), first_seen, now, now + Duration::from_secs(20));
    ticket.shown_position = Some(41);
    let [p25, p50, p75] = [60, 80, 120].map(Duration::from_secs);
    ticket.wait = Some(WaitEstimate::new(p25, p50, p75));
    ticket.placed = true;
    ticket
}

/// Returns the pass with the largest value in every field, without a home.
pub(super) fn maximal_pass() -> Pass {
    let end = Timestamp::MAX;
    Pass::new(VisitorId::new(u128::MAX), u32::MAX, end, end, end)
}

/// Returns the ticket with the largest value in every field.
pub(super) fn maximal_ticket() -> Ticket {
    let end = Timestamp::MAX;
    let mut ticket = Ticket::new(VisitorId::new(u128::MAX), end, end, end);
    ticket.shown_position = Some(u32::MAX);
    ticket.wait = Some(WaitEstimate::new(WaitEstimate::MAX, WaitEstimate::MAX, WaitEstimate::MAX));
    ticket.placed = true;
    ticket.promised_wait = Some(Ticket::MAX_PROMISED_WAIT);
    ticket.head_start = HeadStart::MAX;
    let mut entrant = Entrant::new(u32::MAX, u32::MAX);
    entrant.place = Some(u32::MAX);
    entrant.entrants = Some(u32::MAX - 1);
    ticket.entrant = Some(entrant);
    ticket
}

pub(super) fn arbitrary_pass() -> impl Strategy<Value = Pass> {
    let home = (any::<u16>(), any::<u32>(), any::<u32>());
    let home = home.prop_map(|(site, term, count)| PassHome::new(site, term, count));
    (any::<u128>(), any::<u32>(), any::<[u64; 3]>(), prop::option::of(home)).prop_map(
        |(id, bucket, times, home)| {
            let [accepted_at, last_check_in, expires_at] = times.map(Timestamp::from_nanos);
            Pass::new(VisitorId::new(id), bucket, accepted_at, last_check_in, expires_at)
                .with_home(home)
        },
    )
}

pub(super) fn arbitrary_ticket() -> impl Strategy<Value = Ticket> {
    let position = prop::option::of(1..=u32::MAX);
    let wait = prop::option::of(prop::array::uniform3(0..=WaitEstimate::MAX.as_secs()));
    let promised = prop::option::of(0..=Ticket::MAX_PROMISED_WAIT.as_secs());
    let entrant =
        (any::<[u32; 2]>(), prop::option::of(1..=u32::MAX), prop::option::of(0..u32::MAX));
    let entrant = prop::option::of(entrant.prop_map(|([number, draw], place, entrants)| {
        let mut entrant = Entrant::new(number, draw);
        entrant.place = place;
        entrant.entrants = entrants;
        entrant
    }));
    let head_start = (0..1u16 << HeadStart::BITS).prop_map(HeadStart::from_bits);
    let numbers = (any::<u128>(), any::<[u64; 3]>(), head_start);
    (numbers, position, wait, any::<bool>(), promised, entrant).prop_map(
        |((id, times, head_start), position, wait, placed, promised, entrant)| {
            let [first_seen, last_check_in, next_check_in] = times.map(Timestamp::from_nanos);
            let id = VisitorId::new(id);
            let mut ticket = Ticket::new(id, first_seen, last_check_in, next_check_in);
            ticket.shown_position = position;
            ticket.wait = wait.map(|wait| {
                let [p25, p50, p75] = wait.map(Duration::from_secs);
                WaitEstimate::new(p25, p50, p75)
            });
            ticket.placed = placed;
            ticket.promised_wait = promised.map(Duration::from_secs);
            ticket.entrant = entrant;
            ticket.head_start = head_start;
            ticket
        },
    )
}
