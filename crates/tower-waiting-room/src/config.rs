//! The configuration of a layer, validated once at start-up.
//!
//! A [`WaitingRoomConfig`] is created with its [builder](WaitingRoomConfig::builder). With the
//! features `files` and `room`, it can also be deserialized from a file with serde. In both cases,
//! [`build`](WaitingRoomConfigBuilder::build) validates the configuration. Every value of this type
//! is therefore valid, and [`WaitingRoomLayer::new`](crate::WaitingRoomLayer::new) cannot fail.

mod builder;
#[cfg(all(feature = "files", feature = "room"))]
mod file;
mod layer;
mod modes;
#[cfg(feature = "room")]
mod room;

#[doc(no_inline)]
pub use waiting_room_core::error::ConfigErrorKind;

pub use self::{
    builder::WaitingRoomConfigBuilder,
    layer::WaitingRoomConfig,
    modes::{DebugHeader, Enforcement, Preflight},
};
pub use crate::misconfiguration::Misconfiguration;

#[cfg(test)]
#[cfg(all(feature = "files", feature = "room"))]
mod tests;

#[cfg(doctest)]
#[cfg(all(feature = "files", feature = "room"))]
#[doc = include_str!("../../../docs/configuration-file.md")]
struct ConfigurationPage;
