//! The server's time, as a node knows it without asking.
//!
//! A node needs the time for each request, to check whether a pass or a ticket is still valid, but
//! must not make a round trip for it. So it keeps the difference between the server's clock and its
//! own monotonic one, and corrects that difference with each reply.
//!
//! ```text
//!  server ────────────────●────────────────────►  reads its clock: `now`
//!                       ↗   ↘
//!  node   ────────────●───────●────────────────►
//!                   sent    received
//!
//!  now - received  ≤  difference  ≤  now - sent
//! ```

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::time::Instant;
use waiting_room_core::{
    Timestamp,
    time::{Clock, SystemClock},
};

/// Derives the server's time from its replies.
///
/// A reply with the time `now` to a call that was sent at `sent` and returned at `received` bounds
/// the difference: the server is at most `now - sent` ahead of this node's clock, and at least
/// `now - received`. The clock uses the greatest difference that agrees with the last reply and the
/// earlier ones. So it is not behind the server's: a proof that has lapsed there has lapsed here.
#[derive(Debug)]
pub(crate) struct ServerClock {
    /// The origin of this node's own, monotonic time.
    started: Instant,
    /// The server's time at `started`, in nanoseconds since the Unix epoch.
    ahead: AtomicU64,
    /// The greatest time returned so far, so that this clock never runs backwards.
    told: AtomicU64,
    /// Whether a reply has arrived. Before, `ahead` comes from the clock of this machine.
    is_known: AtomicBool,
    /// Replaces the server's clock, in tests.
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

    /// Returns the time of the server as this node knows it, without a round trip.
    pub(crate) fn now(&self) -> Timestamp {
        if let Some(clock) = &self.given {
            return clock.now();
        }
        let now = self.ahead.load(Ordering::Relaxed) + self.since_started(Instant::now());
        Timestamp::from_nanos(self.told.fetch_max(now, Ordering::Relaxed).max(now))
    }

    /// Returns the time of the server after `duration`.
    ///
    /// With a given clock there is no such time, because a deadline passes in real time and that
    /// clock need not: the result is [`Timestamp::MAX`].
    pub(crate) fn after(&self, duration: Duration) -> Timestamp {
        match self.given {
            Some(_) => Timestamp::MAX,
            None => self.now() + duration,
        }
    }

    /// Returns the greatest time that this clock has returned; zero before the first reply, when it
    /// was not the server's time.
    pub(crate) fn told(&self) -> Timestamp {
        match self.is_known.load(Ordering::Relaxed) {
            true => Timestamp::from_nanos(self.told.load(Ordering::Relaxed)),
            false => Timestamp::ZERO,
        }
    }

    /// Returns this node's own time, which counts from the start of the node and is unrelated to
    /// that of the server. A given clock replaces both.
    pub(crate) fn own(&self) -> Timestamp {
        match &self.given {
            Some(clock) => clock.now(),
            None => Timestamp::from_nanos(self.since_started(Instant::now())),
        }
    }

    /// Whether the time comes from the server rather than from a given clock.
    pub(crate) const fn is_servers(&self) -> bool {
        self.given.is_none()
    }

    /// Returns the time argument of a script, in microseconds; empty if the script is to read the
    /// server's clock.
    pub(crate) fn argument(&self) -> Vec<u8> {
        self.given.as_ref().map_or_else(Vec::new, |clock| micros(clock.now()).to_string().into())
    }

    /// Records the server's time from a reply that has just arrived to a call sent at `sent`.
    pub(crate) fn learn(&self, server: Timestamp, sent: Instant) {
        let at_most = server.as_nanos().saturating_sub(self.since_started(sent));
        let at_least = server.as_nanos().saturating_sub(self.since_started(Instant::now()));
        // Until now the time came from the clock of this machine, which may have been ahead. This
        // is the only step at which the returned time may go back.
        if !self.is_known.swap(true, Ordering::Relaxed) {
            self.ahead.store(at_most, Ordering::Relaxed);
            self.told.store(0, Ordering::Relaxed);
        }
        let learnt = |ahead| (ahead > at_most || ahead < at_least).then_some(at_most);
        // An error means that the known difference agrees with this reply; it stays as it is.
        let _ = self.ahead.fetch_update(Ordering::Relaxed, Ordering::Relaxed, learnt);
    }

    fn since_started(&self, at: Instant) -> u64 {
        u64::try_from(at.saturating_duration_since(self.started).as_nanos()).unwrap_or(u64::MAX)
    }
}

/// Converts a time to the microseconds of the scripts, rounded down.
pub(crate) fn micros(at: Timestamp) -> u64 {
    at.as_nanos() / 1_000
}

/// Converts the microseconds of a script to a time.
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

        // The reply takes 10 ms; the server reads its clock after 9 of them.
        let sent = Instant::now();
        advance(Duration::from_millis(10)).await;
        clock.learn(server + Duration::from_millis(9), sent);
        assert_eq!(clock.now(), server + Duration::from_millis(19));

        // A quicker reply gives a better estimate, which is lower: the time that was returned
        // before stands until the estimate has passed it.
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
