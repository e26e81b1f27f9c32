//! What a site's ledger answers, and what it asks its caller to do.

use waiting_room_core::{Timestamp, VisitorId};

use crate::escrow::{SitePass, ToGlobal};

/// What a site says to a new visitor.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Admission {
    /// Come in.
    Admit(SitePass),
    /// No slot here, but there may be one elsewhere. A [`SiteAction`] says what became of it.
    Borrow {
        /// The wait is over then at the latest.
        until: Timestamp,
        /// To be sent, if it says anything new.
        ask: Option<ToGlobal>,
    },
    /// No slot here, and nobody may wait for one.
    Full,
}

/// What a site says to a visitor with a pass.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Prolonged {
    /// The visitor is from elsewhere and lacks a slot here. The pass stands until its end, and a
    /// [`SiteAction`] says whether there is another.
    Borrow {
        /// The wait is over then at the latest.
        until: Timestamp,
        /// To be sent, if it says anything new.
        ask: Option<ToGlobal>,
    },
    /// The pass is void, or the visitor has left.
    End,
    /// There is no new pass for now; this one stands until its end.
    Keep,
    /// A new pass.
    Renew {
        /// The pass.
        pass: SitePass,
        /// To be sent, if the visitor is from elsewhere: its slot there may be free.
        claim: Option<ToGlobal>,
    },
}

/// Something for the caller to do.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SiteAction {
    /// A visitor who waited has a slot.
    Admit(SitePass),
    /// A visitor has waited in vain: one who is new is shown the queue, one who returns goes on with
    /// the pass it has.
    GiveUp(VisitorId),
    /// A message for the global ledger.
    Send(ToGlobal),
}
