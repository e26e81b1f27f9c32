//! Points in time in ISO 8601 format, as answers contain them.

use serde::{Serialize, Serializer};
use waiting_room_core::Timestamp;

/// A point in time in ISO 8601 format, in UTC and with milliseconds, such as
/// `2026-11-21T08:00:00.000Z`.
pub(crate) struct Iso(pub(crate) Timestamp);

impl Iso {
    /// The length of a formatted point in time, in bytes.
    pub(crate) const LEN: usize = Timestamp::ISO_LEN;

    /// Formats the point in time into `buffer` and returns it as text.
    pub(crate) fn format<'a>(&self, buffer: &'a mut [u8; Self::LEN]) -> &'a str {
        *buffer = self.bytes();
        std::str::from_utf8(buffer).unwrap_or("1970-01-01T00:00:00.000Z")
    }

    /// Formats the point in time.
    pub(super) fn bytes(&self) -> [u8; Self::LEN] {
        self.0.to_iso()
    }
}

impl Serialize for Iso {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.format(&mut [0; Self::LEN]))
    }
}
