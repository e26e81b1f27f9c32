//! What somebody who comes to the queue can hope for.

use std::time::Duration;

use super::{
    arrival::Arrival, controlled_delay::longest_wait, critical::Critical, refused::RefusedBecause,
    rules::Discipline,
};
use crate::Timestamp;

impl Critical<'_> {
    /// Until when somebody who comes now may wait, and what it is told then.
    pub(super) fn deadline(&self, arrival: &Arrival) -> (Timestamp, RefusedBecause) {
        let max_wait = self.shared.rules.max_wait;
        let (wait, because) = match &self.shared.rules.discipline {
            Discipline::ControlledDelay { target, interval } => {
                let wait = longest_wait(self.standing(), max_wait, *target, *interval);
                let is_cut = wait < max_wait;
                (wait, if is_cut { RefusedBecause::Shed } else { RefusedBecause::TimedOut })
            }
            _ => (max_wait, RefusedBecause::TimedOut),
        };
        let own = self.now + wait;
        // A client that gives up then has no use for a permit that comes with no time left to run.
        let clients = arrival.deadline.map(|deadline| deadline.before(self.typical_hold()));
        match clients {
            Some(clients) if clients <= own => (clients, RefusedBecause::TimedOut),
            _ => (own, because),
        }
    }

    /// How long requests run, as far as somebody who comes is judged by it.
    fn typical_hold(&self) -> Duration {
        let hold = if self.is_first() { None } else { self.state.typical_hold.median() };
        hold.unwrap_or_default()
    }

    /// Whether somebody who joins a lane now cannot be served in time.
    pub(super) fn is_hopeless(&self, lane: u64, deadline: Timestamp) -> bool {
        let Some(rate) = self.rate() else { return self.now > deadline };
        let ahead = self.state.line.ahead(lane, self.is_standing());
        #[expect(clippy::cast_precision_loss, reason = "an estimate, of half a million at most")]
        let wait = (ahead + 1) as f64 / rate;
        let left = deadline.since(self.now).as_secs_f64();
        // Less than a nanosecond more is but rounding.
        self.now > deadline || wait - left > 1e-9
    }

    /// The rate by which somebody who comes is judged.
    fn rate(&self) -> Option<f64> {
        if self.is_first() { None } else { self.state.rate.per_second() }
    }

    /// Whether somebody who comes finds the queue empty, and is not judged by what was before: it is
    /// from those who wait that the gate learns, and a bad hour would keep all of them away.
    fn is_first(&self) -> bool {
        self.state.queued == 0
    }

    /// Whether the queue has not been empty for so long that it turns round.
    pub(super) fn is_standing(&self) -> bool {
        match &self.shared.rules.discipline {
            Discipline::AdaptiveLifo { interval } => self.standing() > *interval,
            _ => false,
        }
    }

    /// For how long the queue has not been empty.
    fn standing(&self) -> Duration {
        match self.state.queued {
            0 => Duration::ZERO,
            _ => self.now.since(self.state.last_empty),
        }
    }
}
