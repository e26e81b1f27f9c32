//! One algorithm with the requests of one source: in both loops, and against an adversary.

use std::time::Duration;

use waiting_room_core::{Quota, Timestamp, rate::meters::Meter};

use super::{
    exact::{Truth, Window},
    traffic::START,
};

/// Whether the used units that an algorithm reports are a number of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Used {
    /// An estimate of the number of requests within the window.
    Count,
    /// A different quantity.
    Other,
}

/// Runs `meter` in both loops with the requests of a source.
pub(super) fn try_out<M: Meter>(
    meter: &M,
    used: Used,
    quota: &Quota,
    arrivals: &[Timestamp],
    truth: &Truth,
) -> Tally {
    let mut tally = Tally {
        requests: arrivals.len() as u64,
        admitted_exactly: truth.admitted,
        ..Tally::default()
    };
    open(&mut tally, meter, used, quota, arrivals, truth);
    closed(&mut tally, meter, quota, arrivals);
    tally
}

/// The open loop: each request is decided, and charged whatever the decision was.
fn open<M: Meter>(
    tally: &mut Tally,
    meter: &M,
    used: Used,
    quota: &Quota,
    arrivals: &[Timestamp],
    truth: &Truth,
) {
    let mut state = M::State::default();
    for (&now, &before) in arrivals.iter().zip(&truth.before) {
        tally.open.judge(allows(meter, &state, now), before < quota.limit());
        meter.spend(&mut state, 1, now);
        if used == Used::Count {
            let count = before + 1;
            let estimate = meter.used(&state, now);
            tally.rate_error += estimate.abs_diff(count) as f64 / count as f64;
        }
    }
}

/// The closed loop: each request is decided, and charged if it was allowed.
fn closed<M: Meter>(tally: &mut Tally, meter: &M, quota: &Quota, arrivals: &[Timestamp]) {
    let mut state = M::State::default();
    let mut admitted = Window::new(quota.window());
    for &now in arrivals {
        let allowed = allows(meter, &state, now);
        tally.closed.judge(allowed, admitted.count(now) < quota.limit());
        if allowed {
            meter.spend(&mut state, 1, now);
            admitted.add(now);
            tally.admitted += 1;
        }
    }
    tally.most = admitted.most();
}

fn allows<M: Meter>(meter: &M, state: &M::State, now: Timestamp) -> bool {
    meter.wait(state, 1, now) == Some(Duration::ZERO)
}

/// An adversary that bursts at the end of a window, and continues for three windows as fast as it
/// is allowed.
///
/// It knows when windows begin and trusts the wait that it is told: after each refused request it
/// sends the next one at the very nanosecond at which that is allowed.
pub(super) fn attack<M: Meter>(meter: &M, quota: &Quota) -> Tally {
    let mut state = M::State::default();
    let mut admitted = Window::new(quota.window());
    let mut tally = Tally::default();
    let mut now = START.before(Duration::from_micros(1));
    let until = now + 3 * quota.window();
    while now < until {
        let wait = meter.wait(&state, 1, now).unwrap_or(Duration::MAX);
        tally.requests += 1;
        tally.closed.judge(wait.is_zero(), admitted.count(now) < quota.limit());
        if wait.is_zero() {
            meter.spend(&mut state, 1, now);
            admitted.add(now);
            tally.admitted += 1;
        }
        now = now + wait;
    }
    tally.most = admitted.most();
    tally
}

/// The results of one algorithm with the requests of some sources.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Tally {
    pub requests: u64,
    pub open: Wrong,
    pub closed: Wrong,
    /// The sum over all requests of the error of the algorithm's count, as a share of the true
    /// count.
    pub rate_error: f64,
    /// Closed loop: the number of allowed requests.
    pub admitted: u64,
    /// Closed loop: the number of requests that an exact limiter allows.
    pub admitted_exactly: u64,
    /// Closed loop: the highest number of allowed requests in any window.
    pub most: u64,
}

/// Wrong decisions, by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Wrong {
    pub refused: u64,
    pub allowed: u64,
}

impl Tally {
    /// Adds the results of the same algorithm with the requests of other sources.
    pub(super) fn add(&mut self, other: &Self) {
        self.requests += other.requests;
        self.open.add(other.open);
        self.closed.add(other.closed);
        self.rate_error += other.rate_error;
        self.admitted += other.admitted;
        self.admitted_exactly += other.admitted_exactly;
        self.most = self.most.max(other.most);
    }
}

impl Wrong {
    /// Counts a decision that differs from the right one.
    pub(super) const fn judge(&mut self, allowed: bool, right: bool) {
        match (allowed, right) {
            (true, false) => self.allowed += 1,
            (false, true) => self.refused += 1,
            _ => {}
        }
    }

    pub(super) const fn total(self) -> u64 {
        self.refused + self.allowed
    }

    const fn add(&mut self, other: Self) {
        self.refused += other.refused;
        self.allowed += other.allowed;
    }
}

#[cfg(test)]
mod tests {
    use waiting_room_core::Timestamp;

    use super::*;

    #[test]
    fn the_attack_begins_at_the_end_of_a_window() {
        assert_eq!(START, Timestamp::from_secs(START.as_secs()));
        assert_eq!(START.as_secs() % 86_400, 0);
    }

    #[test]
    fn sums_keep_the_fullest_window() {
        let one = Tally {
            requests: 9,
            open: Wrong { refused: 1, allowed: 2 },
            closed: Wrong { refused: 3, allowed: 4 },
            rate_error: 0.5,
            admitted: 6,
            admitted_exactly: 5,
            most: 7,
        };
        let mut sum = one;
        sum.add(&Tally { most: 2, ..one });
        let twice = Tally {
            requests: 18,
            open: Wrong { refused: 2, allowed: 4 },
            closed: Wrong { refused: 6, allowed: 8 },
            rate_error: 1.0,
            admitted: 12,
            admitted_exactly: 10,
            most: 7,
        };
        assert_eq!(sum, twice);
    }
}
