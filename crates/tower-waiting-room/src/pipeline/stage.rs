//! The stages on the way to the application, and the order in which a request passes them.

use crate::room::{Opened, Visitor};

/// A stage on a request's way to the application.
#[derive(Clone, Copy, Debug)]
pub(super) enum Stage {
    /// Takes a permit from each gate that covers the request.
    Gates,
    /// Charges the request against the rate limits.
    Limits,
    /// Counts the requests that reach the stage, and lets all of them continue.
    #[cfg(test)]
    Probe(&'static std::sync::atomic::AtomicU32),
    /// Opens a push stream, or refuses it.
    Push,
    /// Accepts a pass, answers an early ticket, or asks the store.
    Room,
}

impl Stage {
    /// Returns the stages of a request in the order in which they run. The order depends on the
    /// request's token.
    ///
    /// The order also determines when a request is charged. No request is charged more than once:
    ///
    /// - **A ticket: the room first.** The limits protect the application, so a waiting visitor is
    ///   charged when the room admits it. Otherwise the check-ins of a waiting visitor would use up
    ///   the quota of its address.
    /// - **No token: the limits first.** With this order, a flood of newcomers is refused without a
    ///   call to the room's store.
    /// - **A pass: the limits first.** The room accepts a pass without asking the store, so this
    ///   order costs nothing, and the pass of a refused request need not be renewed.
    /// - **A preflight** skips only the room.
    ///
    /// The gates come last. A permit is held from the moment it is granted, so only a request that
    /// no other stage can stop may take a permit.
    pub(super) fn order(visitor: &Visitor) -> &'static [Self] {
        match visitor {
            Visitor::Preflight => &[Self::Limits, Self::Gates],
            Visitor::Proven(Opened::Ticket(_)) => &[Self::Room, Self::Limits, Self::Gates],
            Visitor::Proven(Opened::Pass(_)) => &[Self::Limits, Self::Room, Self::Gates],
            Visitor::Proven(Opened::Lapsed(_))
            | Visitor::Unknown
            | Visitor::Inside(_)
            | Visitor::Outside(_) => &[Self::Limits, Self::Room, Self::Gates],
        }
    }
}
