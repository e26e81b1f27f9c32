//! The shortage of a site, and its turn among the sites that lack slots.

use std::time::Duration;

use waiting_room_core::Timestamp;

use crate::escrow::{
    Heartbeat, LineFront,
    front::{Bucket, WIDTH_NS},
};

/// The visitors that wait at a site, as last reported, and the times of its shortage of slots.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Need {
    /// The new visitors that wait for a slot.
    want: u64,
    /// The oldest of these visitors.
    front: LineFront,
    /// The time of the report, by the clock of the global ledger and by that of the site.
    reported_at: Timestamp,
    sent_at: Timestamp,
    /// The first time at which the site lacked slots since it was last granted some.
    short_since: Option<Timestamp>,
    /// The last time at which the site lacked slots.
    short_at: Timestamp,
}

/// The turn of a site among those that lack slots. The lowest turn is next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Turn {
    /// The arrival of the site's oldest visitor without a slot, by the clock of the global ledger,
    /// in [widths](LineFront::WIDTH), counted from [`LONGEST_WAIT`] before the start of that clock.
    arrived: u64,
    /// The first time at which the site lacked slots since it was last granted some.
    short_since: Timestamp,
}

impl Turn {
    /// Returns whether the oldest visitors of both sites arrived within the same five seconds.
    pub(super) const fn is_as_old_as(self, other: Self) -> bool {
        self.arrived == other.arrived
    }
}

impl Need {
    /// Replaces what was reported before.
    pub(super) const fn receive(&mut self, heartbeat: &Heartbeat, now: Timestamp) {
        self.want = heartbeat.want;
        self.front = heartbeat.front;
        self.reported_at = now;
        self.sent_at = heartbeat.sent_at;
    }

    /// The number of slots that the site lacks, if it holds `held` and uses `used`.
    pub(super) const fn shortage(&self, used: u64, held: u64) -> u64 {
        used.saturating_add(self.want).saturating_sub(held)
    }

    /// The time until which the report holds, if visitors wait for `wait`.
    pub(super) fn holds_until(&self, wait: Duration) -> Timestamp {
        self.reported_at + wait
    }

    /// Records that the site lacks slots.
    ///
    /// The end of a shortage does not end the turn at once, so a site that lacks no slot for a
    /// moment keeps its turn.
    pub(super) fn note_shortage(&mut self, now: Timestamp) {
        if self.short_at + TURN_KEPT < now {
            self.short_since = None;
        }
        self.short_since.get_or_insert(now);
        self.short_at = now;
    }

    /// Records that the site was granted slots, so that it ranks behind all sites whose oldest visitors
    /// have waited for as long as its own.
    pub(super) const fn end_turn(&mut self) {
        self.short_since = None;
    }

    /// The turn of a site that lacks `shortage` slots, and the number of slots that it may be
    /// granted in this turn: those for visitors of one bucket. `None` if the site lacks none.
    ///
    /// Visitors who are not in the front of the line count as if they had arrived when the shortage
    /// began. They are behind all visitors in the front.
    pub(super) fn turn(&self, shortage: u64) -> Option<(Turn, u64)> {
        let short_since = self.short_since.filter(|_| shortage > 0)?;
        // The site already has slots for the first visitors. Visitors with a pass, who come before
        // them, may lack slots as well.
        let covered = self.want.saturating_sub(shortage);
        let others = shortage.saturating_sub(self.want);
        let since_short = widths(short_since + LONGEST_WAIT);
        let turn = |arrived, slots: u64| (Turn { arrived, short_since }, slots.min(shortage));
        Some(match self.front.place(covered) {
            Some((bucket, visitors)) => {
                turn(self.arrival_of(bucket), visitors.saturating_add(others))
            }
            None => {
                let last = self.front.as_slice().last().map_or(0, |last| self.arrival_of(*last));
                turn(since_short.max(last), shortage)
            }
        })
    }

    /// The arrival time of a visitor, in the form that [`Turn::arrived`] uses.
    ///
    /// The result depends on how long the visitor has waited by the clock of its site, which has
    /// timed both the arrival and the report. So it does not matter whether that clock is right. An
    /// arrival in the future counts as the time of the report.
    fn arrival_of(&self, bucket: Bucket) -> u64 {
        let waited = self.sent_at.since(bucket.begins_at()).min(LONGEST_WAIT);
        widths((self.reported_at + LONGEST_WAIT).before(waited))
    }
}

fn widths(at: Timestamp) -> u64 {
    at.as_nanos() / WIDTH_NS
}

/// The longest wait by which visitors are ordered: 24 h. Visitors who have waited longer are
/// treated alike, and their sites are served in turn.
///
/// So a site whose clock is wrong, or that reports nonsense, cannot keep the slots from other sites
/// for longer than that.
pub(super) const LONGEST_WAIT: Duration = Duration::from_secs(24 * 60 * 60);

/// The time for which a site without a shortage keeps its turn: 10 s.
const TURN_KEPT: Duration = Duration::from_secs(10);
