//! The encoding of operations for the scripts: arguments, the rules of a room, and replies.
//!
//! All functions in this module are pure conversions. Ids are 16 bytes, most significant byte
//! first. Times are microseconds since the Unix epoch. The header of each script in `lua/*.lua`
//! states the units of its durations.
//!
//! The reply to `enter`, `check_in` or `stay` for one visitor has one of the following forms:
//!
//! ```text
//!  admit         reason, bucket, accepted_us, expires_us
//!  first         reason, interval_s                  a ticket without a place
//!  wait          reason, is_new, arrived_us, interval_s, ahead, is_over_share, late_by, entrant
//!  full          is_new, arrived_us, interval_s, entrant      the line is full
//!  network_full  interval_s                          the network has used up its places
//!  refuse        reason, retry_us or -1
//!  turn                                              `stay` only: the turn of a visitor without a place
//!  late                                              `enter` only: the caller has given up
//!  draw          tag, number, entrants, departed     the script needs the places of these numbers
//! ```
//!
//! `entrant` is empty in a room that never had a draw. Otherwise, it consists of the number or 0,
//! the tag, the place or 0, the number of entrants or -1, and 1 if the position is not known before
//! the start.

use std::time::Duration;

use waiting_room_core::{
    Pass, Reason, RoomRules, StoreError, Ticket, Timestamp, Verdict, VisitorId,
    error::StoreErrorKind,
    room::{
        HeadStart, QueueingMethod, Renewal, WaitEstimate,
        event::{Entrant, RoomPlan},
    },
};

use crate::{
    clock::{from_micros, micros},
    known::{DrawQuestion, ShownEntrant},
    phases::encode_plan,
    reply::{Head, ReplyFields, malformed},
    rules::SlotsOf,
};

/// Returns the arguments of `enter`.
///
/// The caller waits for the reply until the time `until`. A script that runs after that time,
/// because the call was stuck in the buffer of a dead connection, must not take a slot.
pub(crate) fn enter(id: VisitorId, until: Timestamp) -> Vec<Vec<u8>> {
    vec![pack(id, &[(id.draw(0) % JITTER, 2), (micros(until), 8)])]
}

/// Returns the arguments of `check_in`.
///
/// One of the numbers is the lot of the visitor for [`QueueingMethod::Random`], a number
/// of 53 bits, which a script can represent exactly. The lot is derived from the id and the minute,
/// so it changes every minute and is the same on all nodes.
///
/// `stays` says whether the visitor only confirms that it is still waiting. `shown` contains what
/// the node knows about an entrant, and `departed` contains the numbers and places that a script
/// has asked for.
pub(crate) fn check_in(
    ticket: &Ticket,
    now: Timestamp,
    stays: Stays,
    shown: Option<ShownEntrant>,
    departed: &[(u32, u32)],
) -> Vec<Vec<u8>> {
    let lot = ticket.id.draw(now.as_secs() / 60) >> (u64::BITS - f64::MANTISSA_DIGITS);
    let mut packed = pack(
        ticket.id,
        &[
            (micros(ticket.first_seen), 8),
            (micros(ticket.last_check_in), 8),
            (u64::from(ticket.placed), 1),
            (ticket.id.draw(ticket.last_check_in.as_nanos()) % JITTER, 2),
            (lot, 8),
            (u64::from(ticket.is_reissued()), 1),
            (u64::from(stays == Stays::Yes), 1),
            (head_start_micros(ticket), 8),
            (u64::from(ticket.resumes), 1),
            (u64::from(ticket.late_by), 4),
        ],
    );
    append_entrant(&mut packed, shown);
    for (number, place) in departed {
        packed.extend([number.to_be_bytes(), place.to_be_bytes()].as_flattened());
    }
    vec![packed]
}

/// Appends what a script reads about an entrant.
fn append_entrant(packed: &mut Vec<u8>, shown: Option<ShownEntrant>) {
    if let Some(ShownEntrant { number, tag, place, entrants, position }) = shown {
        packed
            .extend([number, tag, place, entrants, position].map(u32::to_be_bytes).as_flattened());
    }
}

/// Returns the arguments of `heartbeat` for a visitor whose check-in this node has answered by
/// itself.
///
/// The numbers are the visitor's first touch, the number of seconds after which it was asked to
/// return, and its head start.
pub(crate) fn heartbeat(ticket: &Ticket, shown: Option<ShownEntrant>) -> Vec<Vec<u8>> {
    // From the interval, the script derives how long the visitor counts as present.
    let interval = ticket.next_check_in.since(ticket.last_check_in).as_secs();
    let head_start = head_start_micros(ticket);
    let numbers = [(micros(ticket.first_seen), 8), (interval, 4), (head_start, 8)];
    let mut packed = pack(ticket.id, &numbers);
    append_entrant(&mut packed, shown);
    vec![packed]
}

/// Returns the arguments of `renew`: every field of the pass, so that a room that does not know
/// about the pass can resume the session.
pub(crate) fn renew(pass: &Pass) -> Vec<Vec<u8>> {
    vec![pack(
        pass.id,
        &[
            (u64::from(pass.bucket), 4),
            (micros(pass.accepted_at), 8),
            (micros(pass.last_check_in), 8),
            (micros(pass.expires_at), 8),
        ],
    )]
}

/// Returns the arguments of `leave`.
pub(crate) fn leave(id: VisitorId) -> Vec<Vec<u8>> {
    vec![pack(id, &[])]
}

/// Returns the arguments of `configure` for an operator's change to the plan with this version.
///
/// The script makes the change only if that version is still current.
pub(crate) fn configure(version: u64, plan: &RoomPlan, slots_of: SlotsOf) -> Vec<Vec<u8>> {
    // The next two arguments, a time and the configured rules, are read only when a node opens or
    // joins a room.
    let head = [number(version), number(0), Vec::new()];
    head.into_iter().chain(encode_plan(plan, Duration::ZERO, None, slots_of)).collect()
}

/// Decodes the reply of `enter` or `check_in` for one visitor. The module docs list the forms of
/// the reply.
///
/// This function estimates the wait from the numbers in the head of the reply, so that all stores
/// use the arithmetic of the core.
///
/// # Errors
///
/// Returns an error if the reply cannot be decoded. Returns a [`Busy`](StoreErrorKind::Busy) error
/// if the reply is `late`, which means that the script ran too late to decide and changed nothing.
pub(crate) fn verdict(
    head: &Head,
    mut said: ReplyFields,
    id: VisitorId,
    shown: Option<&Ticket>,
    rules: &RoomRules,
) -> Result<Verdict, StoreError> {
    let kind = said.text()?;
    verdict_of(&kind, head, said, id, shown, rules)
}

/// Decodes the rest of a reply of this kind.
fn verdict_of(
    kind: &str,
    head: &Head,
    mut said: ReplyFields,
    id: VisitorId,
    shown: Option<&Ticket>,
    rules: &RoomRules,
) -> Result<Verdict, StoreError> {
    match kind {
        "admit" => {
            let reason = reason(&said.text()?)?;
            let pass = Pass::new(id, said.number()?, said.time()?, head.now, said.time()?);
            Ok(Verdict::Admit { pass, reason })
        }
        "first" => {
            let reason = reason(&said.text()?)?;
            let next = head.now + seconds(said.number()?);
            let mut ticket = Ticket::new(id, head.now, head.now, next);
            // The position is an estimate, as if the visitor were behind all present visitors. In a
            // line in random order, it is only the length of the line.
            ticket.show(head.present.saturating_add(1), true);
            Ok(Verdict::Wait { ticket, reason })
        }
        "wait" => waits(head, said, id, shown, rules),
        "full" => {
            // The ticket keeps its order of arrival, because its visitor may get a place at a later
            // check-in.
            let mut ticket = resumed(head, &mut said, id, shown, rules)?;
            take_entrant(&mut ticket, &mut said)?;
            let retry_after = Some(ticket.retry_after(head.now));
            let reason = Reason::RefusedLineFull;
            Ok(Verdict::Refuse { ticket: Some(ticket), reason, retry_after })
        }
        "network_full" => {
            // The visitor gets a new ticket, and its earlier arrival no longer counts. Otherwise, a
            // network could hold tickets in reserve and, each time it gives up a place, take
            // another place at the front of the line.
            let next = head.now + seconds(said.number()?);
            let ticket = Ticket::new(id, head.now, head.now, next);
            let retry_after = Some(ticket.retry_after(head.now));
            let reason = Reason::RefusedNetworkFull;
            Ok(Verdict::Refuse { ticket: Some(ticket), reason, retry_after })
        }
        "refuse" => {
            let reason = reason(&said.text()?)?;
            // A negative number means that a retry is pointless.
            let retry_after = u64::try_from(said.signed()?).ok().map(Duration::from_micros);
            Ok(Verdict::Refuse { ticket: None, reason, retry_after })
        }
        // The visitor's next check-in decides, so the ticket stays as it is.
        "turn" => {
            let ticket =
                shown.copied().unwrap_or_else(|| Ticket::new(id, head.now, head.now, head.now));
            Ok(Verdict::Wait { ticket, reason: Reason::QueuedTurn })
        }
        // According to the server's clock, the script ran after its caller had stopped waiting. If
        // the clock has jumped, the caller is still waiting, and tries again.
        "late" => Err(StoreError::new(StoreErrorKind::Busy)),
        _ => Err(malformed(format!("{kind:?} is not a verdict"))),
    }
}

/// Decodes the rest of a `wait` reply, for a visitor who has a place in line.
///
/// The visitor's ticket gets a new position and a new estimate of the wait.
fn waits(
    head: &Head,
    mut said: ReplyFields,
    id: VisitorId,
    shown: Option<&Ticket>,
    rules: &RoomRules,
) -> Result<Verdict, StoreError> {
    let reason = reason(&said.text()?)?;
    let mut ticket = resumed(head, &mut said, id, shown, rules)?;
    // At this instant the position is exact, because it is the rank among the present visitors.
    let ahead: u32 = said.number()?;
    let is_over_share = said.signed()? == 1;
    ticket.late_by = said.number()?;
    if ticket.late_by > 0 {
        // A late place has no head start.
        ticket.first_seen = ticket.arrival();
        ticket.head_start = HeadStart::NONE;
    }
    let will_be_drawn = take_entrant(&mut ticket, &mut said)?;
    let is_drawn = rules.queueing_method == QueueingMethod::Random;
    // A closed room admits no visitor even if slots become free, so the wait is unknown.
    ticket.wait = match (is_closed(&reason), is_drawn) {
        (true, _) => None,
        (false, true) => WaitEstimate::by_lot(head.present, head.per_second),
        (false, false) => WaitEstimate::behind(ahead, head.per_second, head.dispersion),
    };
    if is_drawn || will_be_drawn {
        ticket.shown_position = None;
        ticket.is_approximate = false;
    } else {
        ticket.show(ahead.saturating_add(1), false);
    }
    ticket.placed = true;
    // In shadow mode, a place beyond the share of a network is granted, but reported.
    let reason = if is_over_share { Reason::QueuedNetworkFull } else { reason };
    Ok(Verdict::Wait { ticket, reason })
}

/// Decodes the number in a draw at the end of a reply, which is absent if the room never had a draw.
/// Returns whether the order of the line is unknown until the start of an event.
fn take_entrant(ticket: &mut Ticket, said: &mut ReplyFields) -> Result<bool, StoreError> {
    let Some(number) = said.next_number_if_any()? else { return Ok(false) };
    let tag: u32 = said.number()?;
    let place: u32 = said.number()?;
    let entrants = u32::try_from(said.signed()?).ok();
    if number > 0 {
        let mut entrant = Entrant::new(number, tag);
        entrant.place = Some(place).filter(|place| *place > 0);
        entrant.entrants = entrants;
        ticket.entrant = Some(entrant);
    }
    Ok(said.signed()? == 1)
}

/// Decodes the reply of `check_in` for one visitor, which may be a question.
///
/// # Errors
///
/// Returns the same errors as [`verdict`].
pub(crate) fn answer(
    head: &Head,
    mut said: ReplyFields,
    shown: &Ticket,
    rules: &RoomRules,
) -> Result<CheckInReply, StoreError> {
    let kind = said.text()?;
    if kind != "draw" {
        return verdict_of(&kind, head, said, shown.id, Some(shown), rules)
            .map(CheckInReply::Verdict);
    }
    let tag = said.number()?;
    let number = said.number()?;
    let entrants = said.number()?;
    let mut departed = said.fields()?;
    let mut numbers = Vec::new();
    while let Some(number) = departed.next_number_if_any()? {
        numbers.push(number);
    }
    Ok(CheckInReply::Draw(DrawQuestion { tag, number, entrants, departed: numbers }))
}

/// Decodes the reply of `renew` for one visitor.
///
/// # Errors
///
/// Returns an error if the reply cannot be decoded.
pub(crate) fn renewal(
    head: &Head,
    mut said: ReplyFields,
    id: VisitorId,
) -> Result<Renewal, StoreError> {
    let kind = said.text()?;
    match kind.as_str() {
        "renew" => {
            let pass = Pass::new(id, said.number()?, said.time()?, head.now, said.time()?);
            Ok(Renewal::Renew(pass))
        }
        "end" => Ok(Renewal::End),
        _ => Err(malformed(format!("{kind:?} is not a renewal"))),
    }
}

/// Returns the ticket after a check-in: the presented ticket with new times, or a new ticket if the
/// presented ticket had lapsed.
///
/// A new ticket does not take over the old ticket's position, estimate or place, because its
/// visitor is now at the back of the line.
fn resumed(
    head: &Head,
    said: &mut ReplyFields,
    id: VisitorId,
    shown: Option<&Ticket>,
    rules: &RoomRules,
) -> Result<Ticket, StoreError> {
    let is_new = said.signed()? == 1;
    let arrived = from_micros(said.number()?);
    let next = head.now + seconds(said.number()?);
    let mut ticket = Ticket::new(id, arrived, head.now, next);
    if let Some(shown) = shown.filter(|_| !is_new) {
        // A ticket that has lapsed has no head start, although its place may still be kept.
        if !rules.timing().has_lapsed(shown, head.now) {
            ticket.head_start = shown.head_start;
            ticket.first_seen = arrived + shown.head_start.duration();
        }
        ticket.shown_position = shown.shown_position;
        ticket.is_approximate = shown.is_approximate;
        ticket.wait = shown.wait;
        ticket.placed = shown.placed;
        ticket.promised_wait = shown.promised_wait;
        ticket.late_by = shown.late_by;
    }
    Ok(ticket)
}

/// Decodes a reason. The scripts use short words for reasons, which appear nowhere else.
fn reason(said: &str) -> Result<Reason, StoreError> {
    Ok(match said {
        "active" => Reason::AdmittedActive,
        "active_limit" => Reason::QueuedActiveLimit,
        "behind_others" => Reason::QueuedBehindOthers,
        "turn" => Reason::QueuedTurn,
        "cookie_test" => Reason::QueuedCookieTest,
        "draining" => Reason::RefusedDraining,
        "passthrough" => Reason::AdmittedPassthrough,
        "prequeue" => Reason::Prequeue,
        "queue_all" => Reason::QueueAll,
        "rate" => Reason::QueuedRate,
        "recovery" => Reason::QueuedRecovery,
        "reject" => Reason::RefusedReject,
        "slot" => Reason::AdmittedSlot,
        _ => return Err(malformed(format!("{said:?} is not a reason"))),
    })
}

/// Returns whether a room that gives this reason admits no visitors, even if slots become free.
const fn is_closed(reason: &Reason) -> bool {
    matches!(reason, Reason::Prequeue | Reason::QueueAll | Reason::QueuedRecovery)
}

/// A decoded reply to a check-in.
#[derive(Debug)]
pub(crate) enum CheckInReply {
    /// The script needs the places of entrants before it can decide.
    Draw(DrawQuestion),
    /// The script has decided.
    Verdict(Verdict),
}

/// Whether a visitor only confirms that it is still waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stays {
    No,
    Yes,
}

/// The number of possible jitter values, from 0 to 300 thousandths of an interval.
///
/// The jitter is drawn again for each check-in, so that visitors who arrived together spread out.
const JITTER: u64 = 301;

/// Packs the arguments of one visitor: the id, followed by numbers with their lengths in bytes, all
/// most significant byte first.
///
/// A script unpacks such a string several times as fast as it parses decimal digits. A sorted set
/// orders members with the same score by their bytes, and thus breaks ties in the order of the ids,
/// as the core does.
fn pack(id: VisitorId, numbers: &[(u64, usize)]) -> Vec<u8> {
    let mut packed = id.bits().to_be_bytes().to_vec();
    for (number, length) in numbers {
        packed.extend_from_slice(&number.to_be_bytes()[8 - length..]);
    }
    packed
}

/// Encodes a number as decimal digits, the format of the arguments that do not belong to a visitor.
fn number(number: u64) -> Vec<u8> {
    number.to_string().into_bytes()
}

/// Returns the head start of a visitor in microseconds.
fn head_start_micros(ticket: &Ticket) -> u64 {
    ticket.head_start.duration().as_secs() * 1_000_000
}

const fn seconds(seconds: u32) -> Duration {
    Duration::from_secs(seconds as u64)
}
