//! Reads the `rate_limit` table of a descriptor.
//!
//! Every field is checked together with the fields on which it depends: `burst` needs an algorithm
//! with a burst, `refusals` needs a sliding log, `alignment` needs a fixed window, and `cost` must
//! not exceed the capacity. An error names the field that has to be changed, so each value is kept
//! with its location until its last check.

use std::time::Duration;

use jiff::fmt::friendly::SpanParser;
use waiting_room_core::{
    Quota,
    rate::{Algorithm, Alignment, Refusals},
};

use super::{
    error::RulesFileError,
    fields::{Fields, Given, Span},
};
use crate::{
    rate::{Limits, RateLimit},
    rate_headers::QuotaUnit,
    request::{Key, MissingKey},
};

/// Reads the fields of a `rate_limit`, apart from its name. Returns `None` for `unlimited: true`.
///
/// The descriptor that contains the table sets the key of the limit, its conditions, and its effect
/// on requests that exceed it.
///
/// # Errors
///
/// Returns an error for the first field that is missing or invalid, or that contradicts another
/// field.
pub(super) fn rate_limit(
    name: String,
    mut fields: Fields<'_>,
) -> Result<Option<RateLimit>, RulesFileError> {
    // `unlimited: false` is the same as leaving the field out.
    let unlimited = fields.take("unlimited").map(|given| given.flag()).transpose()?;
    if unlimited == Some(true) {
        return fields.only_beside("unlimited").map(|()| None);
    }
    let requests = fields.require("requests_per_unit", "the number of requests in each window")?;
    let limit = requests.number(0, Quota::MAX_LIMIT)?;
    let (window, window_place) = window(&mut fields)?;
    let algorithm = algorithm(&mut fields)?;
    let mut quota = Quota::new(limit, window);
    let burst = fields.take("burst");
    if let Some(given) = &burst {
        quota = quota.burst(given.number(0, Quota::MAX_LIMIT)?);
    }
    // The numbers in a quota are validated together. An error is reported at the field that
    // contains the invalid number.
    quota.validate(algorithm).map_err(|error| {
        let place = match (error.field(), &burst) {
            ("burst", Some(given)) => &given.place,
            ("window", _) => &window_place,
            _ => &requests.place,
        };
        place.wrong(error.given(), error.expected())
    })?;
    // By default, a rule does not apply to a request that lacks one of its keys.
    let mut limit = RateLimit::new(name, quota, Key::global())
        .algorithm(algorithm)
        .missing_key(MissingKey::Bypass);
    if let Some(given) = fields.take("cost") {
        limit = limit.cost(cost(&given, &quota)?);
    }
    if let Some(given) = fields.take("max_keys") {
        limit = limit.max_keys(max_keys(&given)?);
    }
    if let Some(given) = fields.take("missing_key") {
        limit = limit.missing_key(given.one_of(&MISSING_KEYS)?);
    }
    if let Some(given) = fields.take("quota_unit") {
        limit = limit.unit(given.one_of(&QUOTA_UNITS)?);
    }
    if let Some(given) = fields.take("adjustable") {
        limit.is_adjustable = given.flag()?;
    }
    Ok(Some(limit))
}

/// Reads the algorithm, and the option that only this algorithm has.
///
/// # Errors
///
/// Returns an error if an option is given for an algorithm that does not have it, because ignoring
/// the option would hide a mistake.
fn algorithm(fields: &mut Fields<'_>) -> Result<Algorithm, RulesFileError> {
    let mut algorithm = match fields.take("algorithm") {
        Some(given) => given.one_of(&algorithms())?,
        None => Algorithm::default(),
    };
    if let Some(given) = fields.take("refusals") {
        let Algorithm::SlidingLog(refusals) = &mut algorithm else {
            return Err(given.wrong("no value unless the algorithm is sliding_log"));
        };
        *refusals = given.one_of(&REFUSALS)?;
    }
    if let Some(given) = fields.take("alignment") {
        let Algorithm::FixedWindow(alignment) = &mut algorithm else {
            return Err(given.wrong("no value unless the algorithm is fixed_window"));
        };
        *alignment = given.one_of(&ALIGNMENTS)?;
    }
    Ok(algorithm)
}

/// Reads the length of the window, and returns it with the location of the field that sets it.
///
/// # Errors
///
/// Returns an error if neither `unit` nor `window` is given, or if both are given. There is no
/// default, because a default window would be a guess at the author's intention.
fn window<'a>(fields: &mut Fields<'a>) -> Result<(Duration, Span<'a>), RulesFileError> {
    let unit = fields.take("unit");
    let window = fields.take("window");
    match (unit, window) {
        (Some(unit), None) => Ok((unit.one_of_any_case(&UNITS)?, unit.place)),
        (Some(_), Some(window)) => Err(window.wrong("either unit or window, but not both")),
        (None, Some(window)) => {
            let expected = "a duration such as 10s or 1m 30s";
            // The error is prepared in advance, because `text` consumes the value.
            let wrong = window.wrong(expected);
            let place = window.place.clone();
            let duration = SpanParser::new().parse_unsigned_duration(window.text()?);
            Ok((duration.map_err(|_| wrong)?, place))
        }
        (None, None) => {
            Err(fields.missing("unit", "second, minute, hour, day or week, or a window"))
        }
    }
}

/// Reads the cost of a request. With a cost of 0, there would be no limit, and with a cost above
/// the capacity, every request would be refused.
fn cost(given: &Given<'_>, quota: &Quota) -> Result<u64, RulesFileError> {
    // A limit of 0 has no capacity and refuses every request. A cost of 1 is still valid for such a
    // limit.
    given.number(1, quota.capacity().max(1))
}

/// Reads the number of keys to remember, from 1 to [`MAX_KEYS`].
fn max_keys(given: &Given<'_>) -> Result<usize, RulesFileError> {
    let keys = given.number(1, MAX_KEYS)?;
    usize::try_from(keys).map_err(|_| given.wrong("a smaller number"))
}

/// The fields of a `rate_limit`, in the order in which messages list them.
pub(super) const FIELDS: [&str; 14] = [
    "unit",
    "requests_per_unit",
    "window",
    "algorithm",
    "refusals",
    "alignment",
    "burst",
    "cost",
    "max_keys",
    "missing_key",
    "quota_unit",
    "adjustable",
    "name",
    "unlimited",
];

/// The values of `unit`, each with the length of its window. A unit of varying length, such as a
/// month, cannot be used as a window.
const UNITS: [(&str, Duration); 5] = [
    ("second", Duration::from_secs(1)),
    ("minute", Duration::from_secs(60)),
    ("hour", Duration::from_secs(3_600)),
    ("day", Duration::from_secs(DAY)),
    ("week", Duration::from_secs(7 * DAY)),
];

/// A day, in seconds.
const DAY: u64 = 86_400;

/// Returns the values of `algorithm`, each with the default option of the algorithm.
fn algorithms() -> [(&'static str, Algorithm); Algorithm::ALL.len()] {
    Algorithm::ALL.map(|algorithm| (algorithm.as_str(), algorithm))
}

/// The values of `refusals`, an option of the sliding log.
const REFUSALS: [(&str, Refusals); 2] = [("count", Refusals::Count), ("ignore", Refusals::Ignore)];

/// The values of `alignment`, an option of the fixed window.
const ALIGNMENTS: [(&str, Alignment); 2] =
    [("epoch", Alignment::Epoch), ("first_hit", Alignment::FirstHit)];

/// The values of `missing_key`.
const MISSING_KEYS: [(&str, MissingKey); 3] = [
    ("address", MissingKey::Address),
    ("bypass", MissingKey::Bypass),
    ("refuse", MissingKey::Refuse),
];

/// The values of `quota_unit`.
const QUOTA_UNITS: [(&str, QuotaUnit); 2] =
    [("content_bytes", QuotaUnit::ContentBytes), ("requests", QuotaUnit::Requests)];

/// The maximum number of keys that one rule may remember. This is also the maximum for all limits
/// of a layer together, but that sum is checked later.
const MAX_KEYS: u64 = Limits::MAX_KEYS as u64;
