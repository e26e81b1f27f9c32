//! The times of a holder, and when a standby takes over.

use std::time::Duration;

use waiting_room_core::Timestamp;

use crate::keeper::Seen;

/// The times of a holder and its standbys. With the defaults, a standby grants slots within 3 s
/// after the holder is killed.
///
/// `patience` has to be longer than `beat` and `look` together. Otherwise, a standby takes over from a
/// holder that is alive, which is safe but costs a term.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct HolderTimes {
    /// The shortest time between the starts of two batches; 5 ms by default.
    pub batch: Duration,
    /// The longest time between the starts of two batches; 500 ms by default. A holder with
    /// nothing new to store stores an empty batch, to show the standbys that it is alive.
    pub beat: Duration,
    /// The time within which a call to the keeper has to complete; 2 s by default. After that, the
    /// outcome of the call is unknown, and its batch is stored again.
    pub keep: Duration,
    /// The interval at which a standby reads the keeper, and the pause of a holder after a batch
    /// that the keeper did not acknowledge; 250 ms by default.
    pub look: Duration,
    /// The time without a new batch after which a standby takes over; 1.5 s by default.
    pub patience: Duration,
    /// The interval at which expired slots are reclaimed and granted to sites that lack some; 200
    /// ms by default.
    pub tick: Duration,
}

impl Default for HolderTimes {
    fn default() -> Self {
        Self {
            batch: Duration::from_millis(5),
            beat: Duration::from_millis(500),
            keep: Duration::from_secs(2),
            look: Duration::from_millis(250),
            patience: Duration::from_millis(1500),
            tick: Duration::from_millis(200),
        }
    }
}

/// A standby that watches the holder, by its own clock only.
///
/// The holder counts as dead if its state in the keeper has not changed for a while. A gap in the
/// watch does not count: while the keeper cannot be reached, the holder cannot reach it either.
#[derive(Clone, Copy, Debug)]
pub(super) struct Vigil {
    patience: Duration,
    last: Option<(Seen, Timestamp)>,
}

impl Vigil {
    pub(super) const fn new(patience: Duration) -> Self {
        Self { patience, last: None }
    }

    /// Records what the keeper shows. Returns whether it is time to take over.
    pub(super) fn see(&mut self, seen: Seen, now: Timestamp) -> bool {
        if !seen.is_held {
            return true;
        }
        match self.last {
            Some((before, since)) if before == seen => now.since(since) >= self.patience,
            _ => {
                self.last = Some((seen, now));
                false
            }
        }
    }

    /// Records that the keeper could not be reached. The watch begins anew.
    pub(super) const fn lose_sight(&mut self) {
        self.last = None;
    }
}

#[cfg(test)]
mod tests {
    use crate::escrow::Term;

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(2);

    fn at(millis: u64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    const fn seen(term: u32, batch: u64) -> Seen {
        Seen { term: Term::new(term), batch, is_held: true }
    }

    #[test]
    fn a_holder_that_stores_batches_is_alive() {
        let mut vigil = Vigil::new(PATIENCE);
        for second in 0..100 {
            assert!(!vigil.see(seen(1, second), at(1000 * second)));
        }
    }

    #[test]
    fn a_holder_is_dead_when_nothing_has_changed_for_the_patience() {
        let mut vigil = Vigil::new(PATIENCE);
        assert!(!vigil.see(seen(1, 7), at(0)));
        assert!(!vigil.see(seen(1, 7), at(1999)));
        assert!(vigil.see(seen(1, 7), at(2000)));
    }

    #[test]
    fn a_new_term_is_as_good_as_a_new_batch() {
        let mut vigil = Vigil::new(PATIENCE);
        assert!(!vigil.see(seen(1, 7), at(0)));
        assert!(!vigil.see(seen(2, 7), at(3000)));
        assert!(!vigil.see(seen(2, 7), at(4000)));
    }

    #[test]
    fn time_without_the_keeper_does_not_count() {
        let mut vigil = Vigil::new(PATIENCE);
        assert!(!vigil.see(seen(1, 7), at(0)));
        vigil.lose_sight();
        assert!(!vigil.see(seen(1, 7), at(10_000)));
        assert!(vigil.see(seen(1, 7), at(12_000)));
    }

    #[test]
    fn a_room_that_was_given_up_is_taken_over_at_once() {
        let mut vigil = Vigil::new(PATIENCE);
        assert!(vigil.see(Seen { is_held: false, ..seen(1, 7) }, at(0)));
    }
}
