//! The pauses between attempts to connect.

use std::time::Duration;

use waiting_room_core::Timestamp;

/// Pauses that grow, with jitter, so that sites do not return at the same instant.
///
/// For the first seconds after a loss they stay below [`SOON`](Self::SOON), because a standby takes
/// over within 3 s. After that they grow to [`LONGEST`](Self::LONGEST).
#[derive(Clone, Debug)]
pub(super) struct Backoff {
    random: u64,
    since: Option<Timestamp>,
    attempts: u32,
}

impl Backoff {
    const FIRST: Duration = Duration::from_millis(50);
    const SOON: Duration = Duration::from_millis(500);
    const HOPEFUL: Duration = Duration::from_secs(10);
    const LONGEST: Duration = Duration::from_secs(5);

    /// Creates pauses whose jitter follows from `seed`.
    pub(super) const fn new(seed: u64) -> Self {
        Self { random: seed, since: None, attempts: 0 }
    }

    /// Records that a stream was opened.
    pub(super) const fn reset(&mut self) {
        (self.since, self.attempts) = (None, 0);
    }

    /// The pause after another attempt that has failed at `now`: between a half and all of the
    /// nominal pause.
    pub(super) fn next(&mut self, now: Timestamp) -> Duration {
        let since = *self.since.get_or_insert(now);
        let most = if now.since(since) < Self::HOPEFUL { Self::SOON } else { Self::LONGEST };
        let nominal = Self::FIRST.saturating_mul(1 << self.attempts.min(16)).min(most);
        self.attempts = self.attempts.saturating_add(1);
        let half = nominal / 2;
        let spread = u64::try_from(half.as_nanos()).unwrap_or(u64::MAX).saturating_add(1);
        half + Duration::from_nanos(self.random() % spread)
    }

    /// SplitMix64, which is enough for jitter.
    const fn random(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.random;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The times of the attempts in the first `within` after a loss.
    fn attempts(seed: u64, within: Duration) -> Vec<Duration> {
        let mut backoff = Backoff::new(seed);
        let mut now = Timestamp::from_secs(1000);
        let begin = now;
        let mut times = Vec::new();
        loop {
            now = now + backoff.next(now);
            if now.since(begin) > within {
                return times;
            }
            times.push(now.since(begin));
        }
    }

    #[test]
    fn for_ten_seconds_no_pause_is_longer_than_half_a_second() {
        for seed in 0..50 {
            let times = attempts(seed, Duration::from_secs(10));
            let longest = times.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap();
            assert!(longest <= Duration::from_millis(500), "seed {seed}: {longest:?}");
            assert!(times.len() < 50, "seed {seed}: {}", times.len());
        }
    }

    #[test]
    fn later_the_pauses_grow_to_five_seconds_and_no_further() {
        for seed in 0..50 {
            let times = attempts(seed, Duration::from_secs(600));
            let longest = times.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap();
            assert!(longest <= Duration::from_secs(5), "seed {seed}: {longest:?}");
            assert!(times.len() < 50 + 240, "seed {seed}: {}", times.len());
        }
    }

    #[test]
    fn sites_return_at_different_times_and_a_stream_begins_anew() {
        let within = Duration::from_secs(1);
        assert_ne!(attempts(1, within), attempts(2, within));
        let mut backoff = Backoff::new(1);
        let now = Timestamp::from_secs(5);
        for _ in 0..20 {
            backoff.next(now);
        }
        backoff.reset();
        assert!(backoff.next(now) <= Backoff::FIRST);
    }
}
