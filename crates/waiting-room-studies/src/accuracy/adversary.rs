//! A client that takes whatever it can get, as early as it can.

use std::time::Duration;

use waiting_room_core::{Meter, Quota};

use super::{exact::Window, tally::Tally, traffic::START};

/// Bursts at the end of a window, and goes on for three windows as fast as it is allowed.
///
/// It knows when windows begin and believes what it is told about waiting, so each of its requests
/// that is refused is followed by one at the very nanosecond at which that one is allowed.
pub(super) fn attack<M: Meter>(meter: &M, quota: &Quota) -> Tally {
    let (mut state, mut admitted) = (M::State::default(), Window::new(quota.window()));
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

#[cfg(test)]
mod tests {
    use waiting_room_core::Timestamp;

    use super::*;

    #[test]
    fn the_attack_begins_at_the_end_of_a_window() {
        assert_eq!(START, Timestamp::from_secs(START.as_secs()));
        assert_eq!(START.as_secs() % 86_400, 0);
    }
}
