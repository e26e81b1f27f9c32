//! Points in time in the answers that serde writes.

use serde::{Serialize, Serializer};
use waiting_room_core::Timestamp;

/// A point in time in ISO 8601 format, in UTC and with milliseconds, such as
/// `2026-11-21T08:00:00.000Z`.
pub(super) struct Iso(pub(super) Timestamp);

impl Serialize for Iso {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0.write_iso(&mut [0; Timestamp::ISO_LEN]))
    }
}
