//! The server's time, as a node knows it.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::time::Instant;
use waiting_room_core::{Clock, SystemClock, Timestamp};

/// Reads the server's time off its replies.
///
/// A reply that was asked for at `sent` and came at `received` with the time `now` says: the server
/// is at most `now - sent` ahead of this node's clock, and at least `now - received`. The greatest
/// time is taken that is consistent with the last reply and with those before it, so this clock is
/// not behind the server's: what has lapsed there has lapsed here.
#[derive(Debug)]
pub(crate) struct ServerClock {
    started: Instant,
    /// What is to be added to the nanoseconds since `started`.
    ahead: AtomicU64,
    /// The greatest time that was told.
    told: AtomicU64,
    /// Whether the server has told its time. Until then, that of this machine is as good as any.
    is_known: AtomicBool,
    given: Option<Arc<dyn Clock>>,
}

impl ServerClock {
    pub(crate) fn new(given: Option<Arc<dyn Clock>>) -> Self {
        Self {
            started: Instant::now(),
            ahead: AtomicU64::new(SystemClock::new().now().as_nanos()),
            told: AtomicU64::new(0),
            is_known: AtomicBool::new(false),
            given,
        }
    }

    pub(crate) fn now(&self) -> Timestamp {
        if let Some(clock) = &self.given {
            return clock.now();
        }
        let now = self.ahead.load(Ordering::Relaxed) + self.since_started(Instant::now());
        Timestamp::from_nanos(self.told.fetch_max(now, Ordering::Relaxed).max(now))
    }

    /// The time of the server after so long, and no limit at all where the time is given.
    pub(crate) fn after(&self, duration: Duration) -> Timestamp {
        match self.given {
            Some(_) => Timestamp::MAX,
            None => self.now() + duration,
        }
    }

    /// The greatest time that was told; zero while it was not the server's.
    pub(crate) fn told(&self) -> Timestamp {
        match self.is_known.load(Ordering::Relaxed) {
            true => Timestamp::from_nanos(self.told.load(Ordering::Relaxed)),
            false => Timestamp::ZERO,
        }
    }

    /// The time of this node, which has nothing to do with that of the server, unless both are
    /// given.
    pub(crate) fn own(&self) -> Timestamp {
        match &self.given {
            Some(clock) => clock.now(),
            None => Timestamp::from_nanos(self.since_started(Instant::now())),
        }
    }

    /// Whether this is the time of the server, and not one that is given.
    pub(crate) const fn is_servers(&self) -> bool {
        self.given.is_none()
    }

    /// What the scripts are told of the time: nothing, if it is the server's.
    pub(crate) fn argument(&self) -> Vec<u8> {
        self.given.as_ref().map_or_else(Vec::new, |clock| micros(clock.now()).to_string().into())
    }

    /// Takes note of a time in a reply that was asked for at `sent` and has come just now.
    pub(crate) fn learn(&self, server: Timestamp, sent: Instant) {
        let at_most = server.as_nanos().saturating_sub(self.since_started(sent));
        let at_least = server.as_nanos().saturating_sub(self.since_started(Instant::now()));
        if !self.is_known.swap(true, Ordering::Relaxed) {
            self.ahead.store(at_most, Ordering::Relaxed);
            self.told.store(0, Ordering::Relaxed);
        }
        let learnt = |ahead| (ahead > at_most || ahead < at_least).then_some(at_most);
        // Somebody else has learnt something as good.
        let _ = self.ahead.fetch_update(Ordering::Relaxed, Ordering::Relaxed, learnt);
    }

    fn since_started(&self, at: Instant) -> u64 {
        u64::try_from(at.saturating_duration_since(self.started).as_nanos()).unwrap_or(u64::MAX)
    }
}

/// A time as the scripts count it.
pub(crate) fn micros(at: Timestamp) -> u64 {
    at.as_nanos() / 1_000
}

/// A time as the scripts count it, as a time.
pub(crate) fn from_micros(micros: u64) -> Timestamp {
    Timestamp::ZERO + Duration::from_micros(micros)
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_clock_is_never_behind_the_server_and_never_runs_backwards() {
        let clock = ServerClock::new(None);
        let server = Timestamp::from_secs(1_000);

        // Asked now, answered after 10 ms, 9 of which it took to get there.
        let sent = Instant::now();
        advance(Duration::from_millis(10)).await;
        clock.learn(server + Duration::from_millis(9), sent);
        assert_eq!(clock.now(), server + Duration::from_millis(19));

        // A quicker reply is nearer the truth; what was told stands until it is.
        let sent = Instant::now();
        advance(Duration::from_millis(1)).await;
        clock.learn(server + Duration::from_millis(11), sent);
        assert_eq!(clock.now(), server + Duration::from_millis(19));
        advance(Duration::from_secs(1)).await;
        assert_eq!(clock.now(), server + Duration::from_millis(1_012));
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_whose_clock_is_set_forward_is_followed() {
        let clock = ServerClock::new(None);
        clock.learn(Timestamp::from_secs(1_000), Instant::now());
        clock.learn(Timestamp::from_secs(5_000), Instant::now());
        assert_eq!(clock.now(), Timestamp::from_secs(5_000));
    }
}
