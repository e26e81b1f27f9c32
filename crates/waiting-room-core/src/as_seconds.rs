//! Times as numbers of seconds, in which form snapshots are serialized.

use std::time::Duration;

use serde::Serializer;

use crate::Timestamp;

/// Serializes a duration as a number of seconds.
pub(crate) fn of_duration<S: Serializer>(
    duration: &Duration,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(duration.as_secs_f64())
}

/// Serializes a time as the number of seconds since the Unix epoch.
pub(crate) fn of_time<S: Serializer>(at: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
    of_duration(&at.since(Timestamp::ZERO), serializer)
}
