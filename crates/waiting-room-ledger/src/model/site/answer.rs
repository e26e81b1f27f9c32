//! The results of a site's ledger, and the actions that it requests from its caller.

use waiting_room_core::{Timestamp, VisitorId};

use crate::escrow::{JoinRefused, SitePass, ToGlobal};

/// The decision of a site about a new visitor.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[expect(clippy::large_enum_variant, reason = "one at a time, which is sent at once")]
pub enum Admission {
    /// The visitor is admitted, with this pass.
    Admit(SitePass),
    /// The site has no slot, but another site may have one. The visitor waits, and a later
    /// [`SiteAction`] reports the outcome.
    Borrow {
        /// The latest time at which the wait ends.
        until: Timestamp,
        /// The message to send; `None` if a request is under way already.
        request: Option<ToGlobal>,
    },
    /// The site has no slot, and the visitor cannot wait for one.
    Full,
}

/// The decision of a site about a visitor with a pass.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Prolonged {
    /// The visitor has no slot on this site's account. Its pass stays valid until it expires, and a
    /// later [`SiteAction`] reports whether there is a new pass.
    Borrow {
        /// The latest time at which the wait ends.
        until: Timestamp,
        /// The message to send; `None` if a request is under way already.
        request: Option<ToGlobal>,
    },
    /// The pass is void, or the visitor has left.
    End,
    /// No new pass can be made at present. The old one stays valid until it expires.
    Keep,
    /// The session is extended.
    Renew {
        /// The new pass.
        pass: SitePass,
        /// The message to send if the visitor is from another site, where its slot may be claimed.
        claim: Option<ToGlobal>,
    },
}

/// An action that the caller has to carry out.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[expect(clippy::large_enum_variant, reason = "one at a time, which is sent at once")]
pub enum SiteAction {
    /// A visitor that waited is admitted, with this pass.
    Admit(SitePass),
    /// The wait of a visitor has ended without a slot. A new visitor is queued; a returning one
    /// continues with the pass that it has.
    GiveUp(VisitorId),
    /// A message has to be sent to the global ledger.
    Send(ToGlobal),
    /// The operator has to be told that the global ledger refuses this site. The action is returned
    /// once for each reason.
    Warn(JoinRefused),
}
