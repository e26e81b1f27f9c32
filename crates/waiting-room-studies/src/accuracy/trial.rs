//! One algorithm under the requests of one source, in both loops.

use std::time::Duration;

use waiting_room_core::{Meter, Quota, Timestamp};

use super::{
    exact::{Truth, Window},
    tally::Tally,
};

/// Whether what an algorithm calls used is a count of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Used {
    /// An estimate of the requests within the window.
    Count,
    /// Something else.
    Other,
}

/// Lets the requests of a source come to `meter`.
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

/// Each request is decided, and spent whatever was decided.
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
            let (count, estimate) = (before + 1, meter.used(&state, now));
            tally.rate_error += estimate.abs_diff(count) as f64 / count as f64;
        }
    }
}

/// Each request is decided, and spent if it was allowed.
fn closed<M: Meter>(tally: &mut Tally, meter: &M, quota: &Quota, arrivals: &[Timestamp]) {
    let (mut state, mut admitted) = (M::State::default(), Window::new(quota.window()));
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
