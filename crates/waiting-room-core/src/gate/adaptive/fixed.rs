//! A limit that does not move.

use super::{Limit, Sample};

/// As many as it was told, however the requests go. The default.
///
/// 0 lets nobody run: the gate is closed. It does not mean "without limit".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fixed(u32);

impl Fixed {
    /// This many.
    #[must_use]
    pub const fn new(limit: u32) -> Self {
        Self(limit)
    }
}

impl Limit for Fixed {
    fn limit(&self) -> u32 {
        self.0
    }

    fn observe(&mut self, _: &Sample) -> u32 {
        self.0
    }
}
