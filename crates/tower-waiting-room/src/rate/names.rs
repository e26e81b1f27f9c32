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

/// The values of `algorithm`, each with the default options of the algorithm.
pub(crate) const ALGORITHMS: [(&str, Algorithm); 6] = [
    ("fixed_window", Algorithm::FixedWindow(Alignment::Epoch)),
    ("gcra", Algorithm::Gcra),
    ("leaky_queue", Algorithm::LeakyQueue),
    ("sliding_counter", Algorithm::SlidingCounter),
    ("sliding_log", Algorithm::SlidingLog(Refusals::Ignore)),
    ("token_bucket", Algorithm::TokenBucket),
];

/// The values of `refusals`, an option of the sliding log.
pub(crate) const REFUSALS: [(&str, Refusals); 2] =
    [("count", Refusals::Count), ("ignore", Refusals::Ignore)];

/// The values of `alignment`, an option of the fixed window.
pub(crate) const ALIGNMENTS: [(&str, Alignment); 2] =
    [("epoch", Alignment::Epoch), ("first_hit", Alignment::FirstHit)];

#[test]
fn the_name_of_every_algorithm_is_its_display_name() {
    for (name, algorithm) in ALGORITHMS {
        assert_eq!(name, algorithm.as_str());
    }
}
