//! The verbs: their arguments, the rules of a room among them, and the meaning of their replies.

use std::time::Duration;

use waiting_room_core::{
    ConfigError, CookieTest, Pass, PlacesPerNetwork, QueueingMethod, Reason, Renewal, RoomMode,
    RoomRules, SessionRenewal, StoreError, StoreErrorKind, Ticket, Timestamp, Verdict, VisitorId,
    WaitEstimate,
};

use crate::{
    clock::{from_micros, micros},
    reply::{Fields, Head, malformed},
};

/// The arguments of `enter`, whose answer is waited for until then.
pub(crate) fn enter(id: VisitorId, until: Timestamp) -> Vec<Vec<u8>> {
    vec![bytes(id), number(id.draw(0) % JITTER), number(micros(until))]
}

/// The arguments of `check_in`. The lot of a visitor is another each minute.
pub(crate) fn check_in(ticket: &Ticket, now: Timestamp) -> Vec<Vec<u8>> {
    let lot = ticket.id.draw(now.as_secs() / 60) >> (u64::BITS - f64::MANTISSA_DIGITS);
    vec![
        bytes(ticket.id),
        number(micros(ticket.first_seen)),
        number(micros(ticket.last_check_in)),
        number(u64::from(ticket.placed)),
        number(ticket.id.draw(ticket.last_check_in.as_nanos()) % JITTER),
        number(lot),
    ]
}

/// The arguments of `heartbeat` for a visitor who was answered without asking.
pub(crate) fn heartbeat(ticket: &Ticket) -> Vec<Vec<u8>> {
    let interval = ticket.next_check_in.since(ticket.last_check_in).as_secs();
    vec![bytes(ticket.id), number(micros(ticket.first_seen)), number(interval)]
}

/// The arguments of `renew`.
pub(crate) fn renew(pass: &Pass) -> Vec<Vec<u8>> {
    vec![
        bytes(pass.id),
        number(u64::from(pass.bucket)),
        number(micros(pass.accepted_at)),
        number(micros(pass.last_check_in)),
        number(micros(pass.expires_at)),
    ]
}

/// The arguments of `leave`.
pub(crate) fn leave(id: VisitorId) -> Vec<Vec<u8>> {
    vec![bytes(id)]
}

/// The arguments of `configure` of who changes the rules of this version.
pub(crate) fn configure(version: u64, rules: &RoomRules) -> Vec<Vec<u8>> {
    // What follows the version is for who opens a room.
    let head = [number(version), number(0), Vec::new()];
    head.into_iter().chain(encode_rules(rules, Duration::ZERO)).collect()
}

/// The rules as arguments of `configure`: all of them for nodes, then one by one for scripts. Passes
/// may be about that live for as long as the longest `lifetime` so far.
pub(crate) fn encode_rules(rules: &RoomRules, lifetime: Duration) -> Vec<Vec<u8>> {
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

/// The rules as nodes read them. What a later release adds needs a default, for nodes that start in
/// a room that an earlier one has opened.
pub(crate) fn rules_json(rules: &RoomRules) -> Vec<u8> {
    serde_json::to_vec(rules).expect("rules are plain data")
}

/// The rules as another node wrote them.
pub(crate) fn decode_rules(json: &[u8]) -> Result<RoomRules, StoreError> {
    let foreign =
        |error: serde_json::Error| StoreError::new(StoreErrorKind::Rules).with_source(error);
    let rules: RoomRules = serde_json::from_slice(json).map_err(foreign)?;
    rules.validate().map_err(|error: ConfigError| error.into())
}

/// What the room says to a visitor who showed this ticket, or none.
pub(crate) fn verdict(
    head: &Head,
    mut said: Fields,
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
            if rules.queueing_method() != QueueingMethod::Random {
                ticket.show(head.present.saturating_add(1), true);
            }
            Ok(Verdict::Wait { ticket, reason })
        }
        "wait" => {
            let reason = reason(&said.text()?)?;
            let mut ticket = resumed(head, &mut said, id, shown)?;
            let ahead: u32 = said.number()?;
            let is_over_share = said.signed()? == 1;
            let is_drawn = rules.queueing_method() == QueueingMethod::Random;
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
            let reason = if is_over_share { Reason::QueuedNetworkFull } else { reason };
            Ok(Verdict::Wait { ticket, reason })
        }
        "full" => {
            let ticket = resumed(head, &mut said, id, shown)?;
            let retry_after = Some(ticket.retry_after(head.now));
            let reason = Reason::RefusedLineFull;
            Ok(Verdict::Refuse { ticket: Some(ticket), reason, retry_after })
        }
        "network_full" => {
            let next = head.now + seconds(said.number()?);
            let ticket = Ticket::new(id, head.now, head.now, next);
            let retry_after = Some(ticket.retry_after(head.now));
            let reason = Reason::RefusedNetworkFull;
            Ok(Verdict::Refuse { ticket: Some(ticket), reason, retry_after })
        }
        "refuse" => {
            let reason = reason(&said.text()?)?;
            let retry_after = u64::try_from(said.signed()?).ok().map(Duration::from_micros);
            Ok(Verdict::Refuse { ticket: None, reason, retry_after })
        }
        "late" => Err(StoreError::new(StoreErrorKind::Busy)),
        _ => Err(malformed(format!("{kind:?} is no verdict"))),
    }
}

/// What the room says to an admitted visitor.
pub(crate) fn renewal(head: &Head, mut said: Fields, id: VisitorId) -> Result<Renewal, StoreError> {
    let kind = said.text()?;
    match kind.as_str() {
        "renew" => {
            let pass = Pass::new(id, said.number()?, said.time()?, head.now, said.time()?);
            Ok(Renewal::Renew(pass))
        }
        "end" => Ok(Renewal::End),
        _ => Err(malformed(format!("{kind:?} is no renewal"))),
    }
}

/// The ticket that was shown, or a new one for one that had lapsed, as of now.
fn resumed(
    head: &Head,
    said: &mut Fields,
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
        _ => return Err(malformed(format!("{said:?} is no reason"))),
    })
}

/// Whether nobody is let in whatever becomes free, so that there is nothing to expect.
const fn is_closed(reason: &Reason) -> bool {
    matches!(reason, Reason::QueueAll | Reason::QueuedRecovery)
}

/// An interval is spread by less than so many thousandths, by others for each check-in.
const JITTER: u64 = 301;

/// Most significant first, so that the members of a sorted set stand in the order of the ids.
fn bytes(id: VisitorId) -> Vec<u8> {
    id.bits().to_be_bytes().to_vec()
}

fn number(number: u64) -> Vec<u8> {
    number.to_string().into_bytes()
}

const fn seconds(seconds: u32) -> Duration {
    Duration::from_secs(seconds as u64)
}
