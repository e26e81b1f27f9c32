//! Seeded crowds in front of a waiting room, and the oracle that judges what they saw.
mod oracle;

pub use self::oracle::{Alarm, AlarmKind, Limits, Oracle, Report, Seen, VisitorNo};
