//! Scenarios: a file that describes a world, and the settings that it comes to.
//!
//! ```text
//!   text ─► tables (as TOML has them) ─► source (each value is checked) ─► settings: a Scenario
//!                                            └─► error, with the line and the field
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

pub(super) use self::settings::{FaultKind, Limits, Move, Visitors};
pub(crate) use self::settings::{Policy, Scenario};
