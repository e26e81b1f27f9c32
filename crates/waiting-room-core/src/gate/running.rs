//! How many run of each class of priority.

use super::rules::Discipline;
use crate::sync::{AtomicU32, Ordering};

/// One number for each class; none where the discipline knows no classes.
pub(super) struct Running(Box<[AtomicU32]>);

impl Running {
    pub(super) fn new(discipline: &Discipline) -> Self {
        let classes = match discipline {
            Discipline::Priority { reserved, .. } => reserved.len(),
            _ => 0,
        };
        Self((0..classes).map(|_| AtomicU32::new(0)).collect())
    }

    /// One of a class runs.
    pub(super) fn begins(&self, class: u8) {
        if let Some(running) = self.number(class) {
            running.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// One of a class runs no longer.
    pub(super) fn ends(&self, class: u8) {
        if let Some(running) = self.number(class) {
            running.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// How many of a class run.
    pub(super) fn of(&self, class: u8) -> u32 {
        self.number(class).map_or(0, |running| running.load(Ordering::Relaxed))
    }

    /// The number of a class; of the last, for one that there is not.
    fn number(&self, class: u8) -> Option<&AtomicU32> {
        self.0.get(usize::from(class)).or(self.0.last())
    }
}
