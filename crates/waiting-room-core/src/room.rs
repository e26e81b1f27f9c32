//! One room: its rules, its sessions, its line, and the verbs on them.

pub(crate) mod estimate;
mod line;
pub(crate) mod options;
mod orders;
#[expect(clippy::module_inception, reason = "room.rs is the room; its parts stand beside it")]
pub(crate) mod room;
pub(crate) mod rules;
mod sessions;
pub(crate) mod snapshot;
pub(crate) mod verdict;
