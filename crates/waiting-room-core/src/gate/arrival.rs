//! Somebody who comes to a gate.

use crate::Timestamp;

/// Somebody who comes to a gate, as far as its discipline cares.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arrival {
    pub(super) class: u8,
    pub(super) tenant: u64,
    pub(super) deadline: Option<Timestamp>,
    pub(super) is_inside: bool,
}

impl Arrival {
    /// Of this class of priority: 0, the default, goes first.
    #[must_use]
    pub const fn class(mut self, class: u8) -> Self {
        self.class = class;
        self
    }

    /// Of this tenant, by a hash that its clients cannot aim.
    #[must_use]
    pub const fn tenant(mut self, tenant: u64) -> Self {
        self.tenant = tenant;
        self
    }

    /// Of a request that holds a permit of another gate already: while this one is drained and those
    /// who wait [have their turn](super::DrainQueue::Serve), it has its turn too.
    #[must_use]
    pub const fn inside(mut self) -> Self {
        self.is_inside = true;
        self
    }

    /// Of a client that gives up then.
    #[must_use]
    pub const fn deadline(mut self, deadline: Timestamp) -> Self {
        self.deadline = Some(deadline);
        self
    }
}
