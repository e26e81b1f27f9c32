//! Reads the table `rate_limit` of a descriptor.
//!
//! Every field is checked here, together with the fields that it depends on: a burst needs an
//! algorithm with a burst, `refusals` a sliding log, `alignment` a fixed window, and a cost must
//! not exceed the capacity. An error names the field to change, so each value keeps its place until
//! its last check.

use std::time::Duration;

use jiff::fmt::friendly::SpanParser;
use waiting_room_core::{Quota, rate::Algorithm};

use super::{
    error::RulesFileError,
    fields::{Fields, Given, Span},
};
use crate::rate::{
    Limits, OverLimit,
    names::{ALGORITHMS, ALIGNMENTS, REFUSALS, UNITS},
};

/// A limit as a file describes it, without the conditions under which it applies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FileLimit {
    /// The amount per window, and the burst.
    pub(crate) quota: Quota,
    pub(crate) algorithm: Algorithm,
    /// The cost of each request; `None` for the default of 1.
    pub(crate) cost: Option<u64>,
    /// The number of keys that are remembered; `None` for the default of a limit from code.
    pub(crate) max_keys: Option<usize>,
    /// Set by the descriptor around the table, which has the fields `shadow_mode` and `soft`.
    pub(crate) over_limit: OverLimit,
}

/// The content of a `rate_limit`.
pub(super) struct RateLimit<'a> {
    /// The name for the rule, if the file gives one. The descriptor checks it.
    pub(super) name: Option<Given<'a>>,
    /// `None` if the rule is unlimited.
    pub(super) limit: Option<FileLimit>,
}

/// Reads a `rate_limit`.
///
/// # Errors
///
/// The first field that is unknown, missing or wrong, or that contradicts another one.
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
    let requests = fields.require("requests_per_unit", "how many requests are allowed")?;
    let limit = requests.number(0, Quota::MAX_LIMIT)?;
    let (window, window_place) = window(&mut fields)?;
    let algorithm = algorithm(&mut fields)?;
    let mut quota = Quota::new(limit, window);
    let burst = fields.take("burst");
    if let Some(given) = &burst {
        quota = quota.burst(given.number(0, Quota::MAX_LIMIT)?);
    }
    // The quota checks its numbers together. Its error is reported at the field of the file that it
    // is about.
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
/// If an option is given for an algorithm that does not have it: ignoring it would hide a mistake.
fn algorithm(fields: &mut Fields<'_>) -> Result<Algorithm, RulesFileError> {
    let mut algorithm = match fields.take("algorithm") {
        Some(given) => given.one_of(&ALGORITHMS)?,
        None => Algorithm::default(),
    };
    if let Some(given) = fields.take("refusals") {
        let Algorithm::SlidingLog(refusals) = &mut algorithm else {
            return Err(given.wrong("nothing without algorithm: sliding_log"));
        };
        *refusals = given.one_of(&REFUSALS)?;
    }
    if let Some(given) = fields.take("alignment") {
        let Algorithm::FixedWindow(alignment) = &mut algorithm else {
            return Err(given.wrong("nothing without algorithm: fixed_window"));
        };
        *alignment = given.one_of(&ALIGNMENTS)?;
    }
    Ok(algorithm)
}

/// Reads the length of the window, and returns it with the place of the field that states it.
///
/// # Errors
///
/// If neither `unit` nor `window` is given, or both are. There is no default, since a window that
/// the author of the file did not choose would be a guess.
fn window<'a>(fields: &mut Fields<'a>) -> Result<(Duration, Span<'a>), RulesFileError> {
    let unit = fields.take("unit");
    let window = fields.take("window");
    match (unit, window) {
        (Some(unit), None) => Ok((unit.one_of(&UNITS)?, unit.place)),
        (Some(_), Some(window)) => Err(window.wrong("nothing beside unit")),
        (None, Some(window)) => {
            let expected = "a duration such as 10s or 1m 30s";
            // Prepared in advance, since `text` below consumes the value.
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

/// Reads a cost. A cost of 0 would mean that there is no limit, and requests with a cost above the
/// capacity would always be refused.
fn cost(given: &Given<'_>, quota: &Quota) -> Result<u64, RulesFileError> {
    // A limit of 0 has no capacity and refuses every request. A cost of 1 is still valid for it.
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

/// The maximum number of keys that one rule may remember: the number for all limits of a layer
/// together, which is checked later.
const MAX_KEYS: u64 = Limits::MAX_KEYS as u64;
