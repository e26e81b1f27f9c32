//! The changes that operators have made, in bounded memory.

use std::collections::VecDeque;

use serde::Serialize;

/// The most recent changes, oldest first. Each change is also an event of `tracing`, which is the
/// permanent record.
#[derive(Debug, Default)]
pub(super) struct Audit {
    entries: VecDeque<ChangeRecord>,
    /// The number of changes since the start.
    recorded: u64,
}

/// A change, or an attempt at one that the store did not accept.
#[derive(Clone, Debug, Serialize)]
pub(super) struct ChangeRecord {
    /// The time of the change, in seconds since the Unix epoch.
    pub(super) at: u64,
    pub(super) operator: String,
    pub(super) action: &'static str,
    pub(super) from: String,
    pub(super) to: String,
    /// `done`, or the error of the store.
    pub(super) outcome: String,
}

impl Audit {
    /// The number of changes that are kept.
    pub(super) const MAX: usize = 200;
    /// The maximum length of each text of an entry, in characters.
    pub(super) const MAX_TEXT: usize = 200;

    /// Logs and adds a change of this room, and removes the oldest change if there are too many.
    pub(super) fn push(&mut self, room: &str, mut entry: ChangeRecord) {
        let ChangeRecord { operator, action, from, to, outcome, .. } = &entry;
        tracing::info!(room, operator, action, from, to, outcome, "operator changed the room");
        for text in [&mut entry.from, &mut entry.to, &mut entry.outcome] {
            if let Some((end, _)) = text.char_indices().nth(Self::MAX_TEXT) {
                text.truncate(end);
            }
        }
        if self.entries.len() == Self::MAX {
            self.entries.pop_front();
        }
        self.entries.push_back(entry);
        self.recorded += 1;
    }

    /// Returns the changes, newest first.
    pub(super) fn entries(&self) -> impl Iterator<Item = &ChangeRecord> {
        self.entries.iter().rev()
    }

    /// Returns the number of changes since the start.
    pub(super) const fn recorded(&self) -> u64 {
        self.recorded
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_keeps_the_most_recent_changes_and_cuts_long_texts() {
        let mut audit = Audit::default();
        for at in 0..1_000 {
            let entry = ChangeRecord {
                at,
                operator: "ann".into(),
                action: "limits",
                from: "ü".repeat(10_000),
                to: String::new(),
                outcome: "done".to_owned(),
            };
            audit.push("shop", entry);
        }
        assert_eq!((audit.entries().count(), audit.recorded()), (Audit::MAX, 1_000));
        assert_eq!(audit.entries().next().unwrap().at, 999);
        assert!(audit.entries().all(|entry| entry.from.chars().count() == Audit::MAX_TEXT));
    }
}
