//! Reads the `rate_limit` table of a descriptor.
//!
//! Every field is checked together with the fields on which it depends: `burst` needs an algorithm
//! with a burst, `refusals` needs a sliding log, `alignment` needs a fixed window, and `cost` must
//! not exceed the capacity. An error names the field that has to be changed, so each value is kept
//! with its location until its last check.

use std::time::Duration;

use jiff::fmt::friendly::SpanParser;
use waiting_room_core::{Quota, rate::Algorithm};

use super::{
    error::RulesFileError,
    fields::{Fields, Given, Span},
};
use crate::rate::{
    Limits, OverLimit,
    names::{ALIGNMENTS, REFUSALS, UNITS, algorithms},
};

/// A limit as described in a file, without the conditions under which it applies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FileLimit {
    /// The number of units per window, and the burst.
    pub(crate) quota: Quota,
    pub(crate) algorithm: Algorithm,
    /// The cost of each request, or `None` for the default of 1.
    pub(crate) cost: Option<u64>,
    /// The number of keys that are remembered, or `None` for the same default as for a limit from
    /// code.
    pub(crate) max_keys: Option<usize>,
    /// The effect on requests that exceed the limit. The descriptor that contains the table sets
    /// this effect, based on its `shadow_mode` and `soft` fields.
    pub(crate) over_limit: OverLimit,
}

/// The content of a `rate_limit`.
pub(super) struct RateLimit<'a> {
    /// The name of the rule, if the file contains a name. The name is checked when the descriptor
    /// is read.
    pub(super) name: Option<Given<'a>>,
    /// The limit, or `None` if the rule is unlimited.
    pub(super) limit: Option<FileLimit>,
}

/// Reads a `rate_limit`.
///
/// # Errors
///
/// Returns an error for the first field that is unknown, missing or invalid, or that contradicts
/// another field.
pub(super) fn rate_limit(given: Given<'_>) -> Result<RateLimit<'_>, RulesFileError> {
    let mut fields = given.table(&FIELDS)?;
    let name = fields.take("name");
    // `unlimited: false` is the same as leaving the field out.
    let unlimited = match fields.take("unlimited") {
        Some(given) => given.flag()?,
        None => false,
    };
    if unlimited {
        fields.only_beside("unlimited")?;
        return Ok(RateLimit { name, limit: None });
    }
    Ok(RateLimit { name, limit: Some(limit(fields)?) })
}

/// Reads the fields of a limit that is not unlimited.
fn limit(mut fields: Fields<'_>) -> Result<FileLimit, RulesFileError> {
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
    let cost = fields.take("cost").map(|given| cost(&given, &quota)).transpose()?;
    let max_keys = fields.take("max_keys").map(|given| max_keys(&given)).transpose()?;
    Ok(FileLimit { quota, algorithm, cost, max_keys, over_limit: OverLimit::default() })
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
        (Some(unit), None) => Ok((unit.one_of(&UNITS)?, unit.place)),
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
const FIELDS: [&str; 11] = [
    "unit",
    "requests_per_unit",
    "window",
    "algorithm",
    "refusals",
    "alignment",
    "burst",
    "cost",
    "max_keys",
    "name",
    "unlimited",
];

/// The maximum number of keys that one rule may remember. This is also the maximum for all limits
/// of a layer together, but that sum is checked later.
const MAX_KEYS: u64 = Limits::MAX_KEYS as u64;
