//! The names of units, algorithms and their options in configuration files and in rules files.

use std::time::Duration;

use waiting_room_core::rate::{Algorithm, Alignment, Refusals};

/// A day, in seconds.
const DAY: u64 = 86_400;

/// The values of `unit`, each with the length of its window. A unit of varying length, such as a
/// month, cannot be used as a window.
pub(crate) const UNITS: [(&str, Duration); 5] = [
    ("second", Duration::from_secs(1)),
    ("minute", Duration::from_secs(60)),
    ("hour", Duration::from_secs(3_600)),
    ("day", Duration::from_secs(DAY)),
    ("week", Duration::from_secs(7 * DAY)),
];

/// Returns the values of `algorithm`, each with the default option of the algorithm.
pub(crate) fn algorithms() -> [(&'static str, Algorithm); Algorithm::ALL.len()] {
    Algorithm::ALL.map(|algorithm| (algorithm.as_str(), algorithm))
}

/// The values of `refusals`, an option of the sliding log.
pub(crate) const REFUSALS: [(&str, Refusals); 2] =
    [("count", Refusals::Count), ("ignore", Refusals::Ignore)];

/// The values of `alignment`, an option of the fixed window.
pub(crate) const ALIGNMENTS: [(&str, Alignment); 2] =
    [("epoch", Alignment::Epoch), ("first_hit", Alignment::FirstHit)];
