//! The table `rate_limit`.

use std::time::Duration;

use jiff::fmt::friendly::SpanParser;
use waiting_room_core::{Algorithm, Alignment, Quota, Refusals};

use super::{
    error::RulesFileError,
    fields::{Fields, Given, Span},
};
use crate::rate::{Limits, OverLimit};

/// How much, counted how, and what becomes of the rest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FileLimit {
    pub(crate) quota: Quota,
    pub(crate) algorithm: Algorithm,
    /// What each request costs, if it is not 1.
    pub(crate) cost: Option<u64>,
    /// How many keys are remembered, if it is not the usual number.
    pub(crate) max_keys: Option<usize>,
    pub(crate) over_limit: OverLimit,
}

/// What a `rate_limit` says.
pub(super) struct RateLimit<'a> {
    pub(super) name: Option<Given<'a>>,
    /// None if it is unlimited.
    pub(super) limit: Option<FileLimit>,
}

pub(super) fn rate_limit(given: Given<'_>) -> Result<RateLimit<'_>, RulesFileError> {
    let mut fields = given.table(&FIELDS)?;
    let name = fields.take("name");
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

/// The algorithm, with what only this one can be told.
fn algorithm(fields: &mut Fields<'_>) -> Result<Algorithm, RulesFileError> {
    let mut algorithm = match fields.take("algorithm") {
        Some(given) => {
            given.one_of(&ALGORITHMS.map(|algorithm| (algorithm.as_str(), algorithm)))?
        }
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

/// The length of the window, and which field says it.
fn window<'a>(fields: &mut Fields<'a>) -> Result<(Duration, Span<'a>), RulesFileError> {
    let unit = fields.take("unit");
    let window = fields.take("window");
    match (unit, window) {
        (Some(unit), None) => Ok((unit.one_of(&UNITS)?, unit.place)),
        (Some(_), Some(window)) => Err(window.wrong("nothing beside unit")),
        (None, Some(window)) => {
            let expected = "a duration such as 10s or 1m 30s";
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

/// A cost of nothing would not be a limit, and one above the capacity would always be refused.
fn cost(given: &Given<'_>, quota: &Quota) -> Result<u64, RulesFileError> {
    given.number(1, quota.capacity().max(1))
}

fn max_keys(given: &Given<'_>) -> Result<usize, RulesFileError> {
    let keys = given.number(1, MAX_KEYS)?;
    usize::try_from(keys).map_err(|_| given.wrong("a smaller number"))
}

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

/// How many keys a rule may remember: as many as all limits of a layer together.
const MAX_KEYS: u64 = Limits::MAX_KEYS as u64;

const DAY: u64 = 86_400;

const UNITS: [(&str, Duration); 5] = [
    ("second", Duration::from_secs(1)),
    ("minute", Duration::from_secs(60)),
    ("hour", Duration::from_secs(3_600)),
    ("day", Duration::from_secs(DAY)),
    ("week", Duration::from_secs(7 * DAY)),
];

const ALGORITHMS: [Algorithm; 6] = [
    Algorithm::FixedWindow(Alignment::Epoch),
    Algorithm::Gcra,
    Algorithm::LeakyQueue,
    Algorithm::SlidingCounter,
    Algorithm::SlidingLog(Refusals::Ignore),
    Algorithm::TokenBucket,
];

const REFUSALS: [(&str, Refusals); 2] = [("count", Refusals::Count), ("ignore", Refusals::Ignore)];

const ALIGNMENTS: [(&str, Alignment); 2] =
    [("epoch", Alignment::Epoch), ("first_hit", Alignment::FirstHit)];
