//! The verbs as the scripts see them: arguments, the encoded rules of a room, and replies.
//!
//! Everything here is a pure conversion. Ids are 16 bytes, most significant first; times are
//! microseconds since the Unix epoch; durations carry their unit in the script's header, in
//! `lua/*.lua`.
//!
//! The reply of `enter` and `check_in` for one visitor is one of these:
//!
//! ```text
//!  admit         reason, bucket, accepted_us, expires_us
//!  first         reason, interval_s                  a ticket without a place
//!  wait          reason, is_new, first_seen_us, interval_s, ahead, is_over_share
//!  full          is_new, first_seen_us, interval_s   the line is full
//!  network_full  interval_s                          the network has all its places
//!  refuse        reason, retry_us or -1
//!  late                                              `enter` only: the caller has given up
//! ```

use std::time::Duration;

use waiting_room_core::{
    ConfigError, Pass, Reason, RoomRules, StoreError, Ticket, Timestamp, Verdict, VisitorId,
    error::StoreErrorKind,
    room::{
        CookieTest, PlacesPerNetwork, QueueingMethod, Renewal, RoomMode, SessionRenewal,
        WaitEstimate,
    },
};

use crate::{
    clock::{from_micros, micros},
    reply::{Head, ReplyFields, malformed},
};

/// Returns the arguments of `enter`.
///
/// The caller waits for the reply until `until`. A script that runs later, because the call was
/// stuck in the buffer of a dead connection, must not take a slot.
pub(crate) fn enter(id: VisitorId, until: Timestamp) -> Vec<Vec<u8>> {
    vec![bytes(id), number(id.draw(0) % JITTER), number(micros(until))]
}

/// Returns the arguments of `check_in`.
///
/// The last but one is the lot of the visitor, for [`QueueingMethod::Random`]: 53 bits, which a script
/// holds exactly. It is derived from the id and the minute, so it changes every minute and is the
/// same on all nodes.
pub(crate) fn check_in(ticket: &Ticket, now: Timestamp) -> Vec<Vec<u8>> {
    let lot = ticket.id.draw(now.as_secs() / 60) >> (u64::BITS - f64::MANTISSA_DIGITS);
    vec![
        bytes(ticket.id),
        number(micros(ticket.first_seen)),
        number(micros(ticket.last_check_in)),
        number(u64::from(ticket.placed)),
        number(ticket.id.draw(ticket.last_check_in.as_nanos()) % JITTER),
        number(lot),
        number(u64::from(ticket.is_reissued())),
    ]
}

/// Returns the arguments of `heartbeat` for a visitor whose check-in this node answered by itself.
///
/// The interval is in seconds, as the visitor was asked to return.
pub(crate) fn heartbeat(ticket: &Ticket) -> Vec<Vec<u8>> {
    // The script derives from the interval for how long the visitor counts as present.
    let interval = ticket.next_check_in.since(ticket.last_check_in).as_secs();
    vec![bytes(ticket.id), number(micros(ticket.first_seen)), number(interval)]
}

/// Returns the arguments of `renew`: all fields of the pass, so that a room that does not know it
/// can resume the session.
pub(crate) fn renew(pass: &Pass) -> Vec<Vec<u8>> {
    vec![
        bytes(pass.id),
        number(u64::from(pass.bucket)),
        number(micros(pass.accepted_at)),
        number(micros(pass.last_check_in)),
        number(micros(pass.expires_at)),
    ]
}

/// Returns the arguments of `leave`.
pub(crate) fn leave(id: VisitorId) -> Vec<Vec<u8>> {
    vec![bytes(id)]
}

/// Returns the arguments of `configure` for an operator's change to the rules of `version`.
///
/// The script makes the change only if that version is still in force.
pub(crate) fn configure(version: u64, rules: &RoomRules) -> Vec<Vec<u8>> {
    // The next two arguments, a time and the configured rules, are read only when a node opens or
    // joins a room.
    let head = [number(version), number(0), Vec::new()];
    head.into_iter().chain(encode_rules(rules, Duration::ZERO)).collect()
}

/// Encodes rules as arguments of `configure`: as JSON for the nodes, then field by field for the
/// scripts, in the order of `FIELDS` in `lua/room/state.lua`.
///
/// `lifetime` is the longest lifetime of any pass that the room has issued, as far as this node
/// knows. A pause after a loss must not be shorter, even if the present rules issue shorter passes.
/// A limit that does not apply is an empty string.
pub(crate) fn encode_rules(rules: &RoomRules, lifetime: Duration) -> Vec<Vec<u8>> {
    // Zero means that the room does not pause, so `lifetime` must not raise it.
    let hold = match rules.recovery_pause() {
        Duration::ZERO => Duration::ZERO,
        hold => hold.max(lifetime),
    };
    let micros = |duration: Duration| duration.as_micros().to_string();
    let (slots, minute) = (rules.total_active_users(), rules.new_users_per_minute());
    let share = rules.places_per_network();
    let fields = [
        slots.to_string(),
        minute.map_or_else(String::new, |users| users.to_string()),
        micros(rules.pass_lifetime()),
        u8::from(rules.session_renewal() == SessionRenewal::Fixed).to_string(),
        match rules.queueing_method() {
            QueueingMethod::Passthrough => "passthrough",
            QueueingMethod::Random => "random",
            QueueingMethod::Reject => "reject",
            _ => "fifo",
        }
        .to_owned(),
        match rules.mode() {
            RoomMode::Drain => "drain",
            RoomMode::QueueAll => "queue_all",
            _ => "auto",
        }
        .to_owned(),
        rules.line_capacity().to_string(),
        micros(rules.place_retention()),
        micros(rules.refresh_interval()),
        match rules.cookie_test() {
            CookieTest::AboveUtilization(percent) => percent.to_string(),
            _ => String::new(),
        },
        micros(hold),
        format!("{:?}", rules.configured_rate()),
        share.number().map_or_else(String::new, |places| places.to_string()),
        u8::from(matches!(share, PlacesPerNetwork::Shadow(_))).to_string(),
    ];
    std::iter::once(rules_json(rules)).chain(fields.map(String::into_bytes)).collect()
}

/// Encodes rules for other nodes.
///
/// A field that a later release adds needs a default, because its nodes also read the rules of
/// rooms that an earlier release has opened.
pub(crate) fn rules_json(rules: &RoomRules) -> Vec<u8> {
    serde_json::to_vec(rules).expect("rules are plain data")
}

/// Decodes rules that another node has written, and checks them as if they were configured here.
///
/// # Errors
///
/// [`Rules`](StoreErrorKind::Rules): the JSON has a form that this release cannot read, or a rule
/// is out of its bounds.
pub(crate) fn decode_rules(json: &[u8]) -> Result<RoomRules, StoreError> {
    let foreign =
        |error: serde_json::Error| StoreError::new(StoreErrorKind::Rules).with_source(error);
    let rules: RoomRules = serde_json::from_slice(json).map_err(foreign)?;
    rules.validate().map_err(|error: ConfigError| error.into())
}

/// Decodes the reply of `enter` or `check_in` for one visitor; the module docs list its forms.
///
/// The estimates of the wait are made here, from the numbers of the head, so that all stores share
/// the arithmetic of the core.
///
/// # Errors
///
/// The reply cannot be decoded, or is `late`. That one is [`Busy`](StoreErrorKind::Busy): the
/// script ran too late to decide, and changed nothing.
pub(crate) fn verdict(
    head: &Head,
    mut said: ReplyFields,
    id: VisitorId,
    shown: Option<&Ticket>,
    rules: &RoomRules,
) -> Result<Verdict, StoreError> {
    let kind = said.text()?;
    match kind.as_str() {
        "admit" => {
            let reason = reason(&said.text()?)?;
            let pass = Pass::new(id, said.number()?, said.time()?, head.now, said.time()?);
            Ok(Verdict::Admit { pass, reason })
        }
        "first" => {
            let reason = reason(&said.text()?)?;
            let next = head.now + seconds(said.number()?);
            let mut ticket = Ticket::new(id, head.now, head.now, next);
            // The position is an estimate: the visitor would stand behind all present ones. A
            // random line has no positions.
            if rules.queueing_method() != QueueingMethod::Random {
                ticket.show(head.present.saturating_add(1), true);
            }
            Ok(Verdict::Wait { ticket, reason })
        }
        "wait" => waits(head, said, id, shown, rules),
        "full" => {
            // The ticket keeps its order of arrival: it may get a place at a later check-in.
            let ticket = resumed(head, &mut said, id, shown)?;
            let retry_after = Some(ticket.retry_after(head.now));
            let reason = Reason::RefusedLineFull;
            Ok(Verdict::Refuse { ticket: Some(ticket), reason, retry_after })
        }
        "network_full" => {
            // A new ticket: the order of arrival starts again at the back, or a network could keep
            // tickets in reserve and take each place that it gives back at the front.
            let next = head.now + seconds(said.number()?);
            let ticket = Ticket::new(id, head.now, head.now, next);
            let retry_after = Some(ticket.retry_after(head.now));
            let reason = Reason::RefusedNetworkFull;
            Ok(Verdict::Refuse { ticket: Some(ticket), reason, retry_after })
        }
        "refuse" => {
            let reason = reason(&said.text()?)?;
            // A negative number means that there is no point in coming back.
            let retry_after = u64::try_from(said.signed()?).ok().map(Duration::from_micros);
            Ok(Verdict::Refuse { ticket: None, reason, retry_after })
        }
        // By the server's clock, the script ran after the time until which its caller waits. If
        // the clock has jumped, the caller still waits, and tries again.
        "late" => Err(StoreError::new(StoreErrorKind::Busy)),
        _ => Err(malformed(format!("{kind:?} is not a verdict"))),
    }
}

/// Decodes the rest of a `wait` reply: the visitor has a place in line.
///
/// Its ticket gets a new position and a new estimate of the wait.
fn waits(
    head: &Head,
    mut said: ReplyFields,
    id: VisitorId,
    shown: Option<&Ticket>,
    rules: &RoomRules,
) -> Result<Verdict, StoreError> {
    let reason = reason(&said.text()?)?;
    let mut ticket = resumed(head, &mut said, id, shown)?;
    // The position is exact at this instant, as the rank among the present visitors.
    let ahead: u32 = said.number()?;
    let is_over_share = said.signed()? == 1;
    let is_drawn = rules.queueing_method() == QueueingMethod::Random;
    // A closed room admits no visitor whatever becomes free, so the wait is unknown.
    ticket.wait = match (is_closed(&reason), is_drawn) {
        (true, _) => None,
        (false, true) => WaitEstimate::by_lot(head.present, head.per_second),
        (false, false) => WaitEstimate::behind(ahead, head.per_second, head.dispersion),
    };
    if is_drawn {
        (ticket.shown_position, ticket.is_approximate) = (None, false);
    } else {
        ticket.show(ahead.saturating_add(1), false);
    }
    ticket.placed = true;
    // In shadow mode a place over the share of a network is given, and reported.
    let reason = if is_over_share { Reason::QueuedNetworkFull } else { reason };
    Ok(Verdict::Wait { ticket, reason })
}

/// Decodes the reply of `renew` for one visitor.
///
/// # Errors
///
/// The reply cannot be decoded.
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

/// Returns the ticket of a check-in, updated to now: the one that was shown, or a new one if that
/// had lapsed.
///
/// A new ticket has none of the old one's position, estimate or place: its visitor now stands at
/// the back of the line.
fn resumed(
    head: &Head,
    said: &mut ReplyFields,
    id: VisitorId,
    shown: Option<&Ticket>,
) -> Result<Ticket, StoreError> {
    let is_new = said.signed()? == 1;
    let first_seen = from_micros(said.number()?);
    let next = head.now + seconds(said.number()?);
    let mut ticket = Ticket::new(id, first_seen, head.now, next);
    if let Some(shown) = shown.filter(|_| !is_new) {
        ticket.shown_position = shown.shown_position;
        ticket.is_approximate = shown.is_approximate;
        ticket.wait = shown.wait;
        ticket.placed = shown.placed;
    }
    Ok(ticket)
}

/// Decodes a reason. The scripts have their own short words for them, which appear nowhere else.
fn reason(said: &str) -> Result<Reason, StoreError> {
    Ok(match said {
        "active_limit" => Reason::QueuedActiveLimit,
        "behind_others" => Reason::QueuedBehindOthers,
        "cookie_test" => Reason::QueuedCookieTest,
        "draining" => Reason::RefusedDraining,
        "passthrough" => Reason::AdmittedPassthrough,
        "queue_all" => Reason::QueueAll,
        "rate" => Reason::QueuedRate,
        "recovery" => Reason::QueuedRecovery,
        "reject" => Reason::RefusedReject,
        "slot" => Reason::AdmittedSlot,
        _ => return Err(malformed(format!("{said:?} is not a reason"))),
    })
}

/// Whether a room that gives this reason admits no visitor whatever becomes free.
const fn is_closed(reason: &Reason) -> bool {
    matches!(reason, Reason::QueueAll | Reason::QueuedRecovery)
}

/// The number of values that a jitter can have, from 0 to 300 thousandths of an interval.
///
/// It is drawn anew for each check-in, so that visitors who once arrived together spread out.
const JITTER: u64 = 301;

/// Encodes an id, most significant byte first: a sorted set orders members of one score by their
/// bytes, and so breaks ties in the order of the ids, as the core does.
fn bytes(id: VisitorId) -> Vec<u8> {
    id.bits().to_be_bytes().to_vec()
}

/// Encodes a number as decimal digits, which is how arguments of scripts arrive.
fn number(number: u64) -> Vec<u8> {
    number.to_string().into_bytes()
}

const fn seconds(seconds: u32) -> Duration {
    Duration::from_secs(seconds as u64)
}
