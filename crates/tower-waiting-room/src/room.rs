//! The room stage: a valid pass goes through, and the store decides about everything else.
//!
//! What is decided about a visitor is the business of `waiting_room_core`. Here is what a node has
//! to do with it: the token that a request brings and takes away, the renewal of a pass beside its
//! request, sessions that ended here and of which the store has yet to hear, and what is done
//! while the store is away.

mod challenge;
mod outage;
mod pace;
mod renewal;
mod sessions;
mod stage;

pub(crate) use self::sessions::Undelivered;
pub(crate) use self::{
    challenge::Challenge,
    outage::BoxFuture,
    renewal::PassRenewal,
    stage::{RoomStage, Token, Visitor},
};
pub use self::{challenge::FirstTouch, outage::StoreFailure, sessions::Visit};
