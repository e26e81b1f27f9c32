//! When to ask again.

use std::time::Duration;

/// How long a client waits before it repeats a request.
#[derive(Clone, Copy, Debug)]
pub(super) struct BackOff {
    next: Duration,
    /// From 0 to 1, and different for each client, so that they do not come back together.
    spread: f64,
}

impl BackOff {
    pub(super) const fn new(spread: f64) -> Self {
        Self { next: FIRST, spread }
    }

    /// As long as the server says; if it does not, twice as long as the last time.
    pub(super) fn pause(&mut self, retry_after: Option<Duration>) -> Duration {
        if let Some(told) = retry_after {
            return told;
        }
        let pause = self.next.mul_f64(1.0 + self.spread);
        self.next = (self.next * 2).min(LONGEST);
        pause
    }
}

/// The seconds of a `Retry-After`.
pub(super) fn seconds(retry_after: Option<&[u8]>) -> Option<Duration> {
    let seconds = std::str::from_utf8(retry_after?).ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds))
}

const FIRST: Duration = Duration::from_millis(250);
const LONGEST: Duration = Duration::from_secs(8);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_comes_back_when_it_is_told_to() {
        let mut back_off = BackOff::new(0.5);
        let told = Duration::from_secs(7);
        assert_eq!(back_off.pause(Some(told)), told);
        assert_eq!(back_off.pause(seconds(Some(b"3"))), Duration::from_secs(3));
        assert_eq!(back_off.pause(None), Duration::from_millis(375), "what was told is no step");
    }

    #[test]
    fn a_client_that_is_told_nothing_waits_twice_as_long_each_time() {
        let pauses = |spread| {
            let mut back_off = BackOff::new(spread);
            [(); 8].map(|()| back_off.pause(None).as_millis())
        };
        assert_eq!(pauses(0.0), [250, 500, 1_000, 2_000, 4_000, 8_000, 8_000, 8_000]);
        assert_eq!(pauses(0.5)[..3], [375, 750, 1_500]);
    }

    #[test]
    fn what_is_no_number_of_seconds_says_nothing() {
        for value in [&b""[..], b"soon", b"-1", b"1.5", b"Sat, 21 Nov 2026 08:00:00 GMT", b"\xff"] {
            assert_eq!(seconds(Some(value)), None, "{value:?}");
        }
        assert_eq!(seconds(None), None);
    }
}
