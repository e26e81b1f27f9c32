//! Scenarios: the files that describe worlds, and the settings that result.
//!
//! ```text
//!   text ─► tables (the TOML as written) ─► source (checks each value) ─► settings: a Scenario
//!                                              └─► error, with the line and the field
//! ```

mod error;
mod file;
mod happenings;
mod settings;
mod source;
mod tables;
#[cfg(test)]
mod tests;
mod traffic;

pub(super) use self::settings::{FaultKind, Limits, Move, ShopCrowd, Visitors};
pub(crate) use self::settings::{Policy, Scenario};
