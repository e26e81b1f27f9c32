//! An estimate of the server's time, which a node can read without a round trip.
//!
//! A node needs the time for each request, to check whether a pass or a ticket is still valid, but
//! must not make a round trip to get the time. A node therefore stores the difference between the
//! server's clock and its own monotonic clock, and corrects that difference with each reply.
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

/// A clock that derives the server's time from the server's replies.
///
/// Suppose that a call was sent at `sent` and its reply, with the server's time `now`, arrived at
/// `received`. The server's clock is then at most `now - sent` and at least `now - received` ahead
/// of this node's clock. The estimate uses the greatest difference that is consistent with the last
/// reply and the earlier replies. The estimate is thus never behind the server's clock, and a proof
/// that has lapsed on the server has also lapsed on this node.
#[derive(Debug)]
pub(crate) struct ServerClock {
    /// The origin of this node's monotonic time.
    started: Instant,
    /// The server's time at `started`, in nanoseconds since the Unix epoch.
    ahead: AtomicU64,
    /// The latest time returned so far, so that this clock never runs backwards.
    told: AtomicU64,
    /// Whether a reply has arrived. Before the first reply, `ahead` is derived from the clock of
    /// this machine.
    is_known: AtomicBool,
    /// A clock that replaces the server's clock in tests.
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

    /// Returns the server's estimated time, without a round trip.
    pub(crate) fn now(&self) -> Timestamp {
        if let Some(clock) = &self.given {
            return clock.now();
        }
        let now = self.ahead.load(Ordering::Relaxed) + self.since_started(Instant::now());
        Timestamp::from_nanos(self.told.fetch_max(now, Ordering::Relaxed).max(now))
    }

    /// Returns the estimated time that the server's clock will show `duration` from now.
    ///
    /// With a given clock, the result is [`Timestamp::MAX`], because `duration` passes in real time
    /// and the given clock may stand still.
    pub(crate) fn after(&self, duration: Duration) -> Timestamp {
        match self.given {
            Some(_) => Timestamp::MAX,
            None => self.now() + duration,
        }
    }

    /// Returns the latest time that this clock has returned, or zero before the first reply,
    /// because until then no time has come from the server.
    pub(crate) fn told(&self) -> Timestamp {
        if self.is_known.load(Ordering::Relaxed) {
            Timestamp::from_nanos(self.told.load(Ordering::Relaxed))
        } else {
            Timestamp::ZERO
        }
    }

    /// Returns this node's own time, which counts from the start of the node and is unrelated to
    /// the server's time. A given clock replaces the node's own time, too.
    pub(crate) fn own(&self) -> Timestamp {
        match &self.given {
            Some(clock) => clock.now(),
            None => Timestamp::from_nanos(self.since_started(Instant::now())),
        }
    }

    /// Returns whether the time comes from the server rather than from a given clock.
    pub(crate) const fn is_servers(&self) -> bool {
        self.given.is_none()
    }

    /// Returns the time argument of a script in microseconds, or an empty string if the script has
    /// to read the server's clock.
    pub(crate) fn argument(&self) -> Vec<u8> {
        self.given.as_ref().map_or_else(Vec::new, |clock| micros(clock.now()).to_string().into())
    }

    /// Records the server's time from a reply that has just arrived. The call was sent at `sent`.
    pub(crate) fn learn(&self, server: Timestamp, sent: Instant) {
        let at_most = server.as_nanos().saturating_sub(self.since_started(sent));
        let at_least = server.as_nanos().saturating_sub(self.since_started(Instant::now()));
        // Before the first reply, the time came from the clock of this machine, which may have been
        // ahead of the server. The time that this clock reports may move backwards only once, at
        // the first reply.
        if !self.is_known.swap(true, Ordering::Relaxed) {
            self.ahead.store(at_most, Ordering::Relaxed);
            self.told.store(0, Ordering::Relaxed);
        }
        let learnt = |ahead| (ahead > at_most || ahead < at_least).then_some(at_most);
        // `fetch_update` fails if the known difference is consistent with this reply, and then
        // leaves it unchanged.
        let _ = self.ahead.fetch_update(Ordering::Relaxed, Ordering::Relaxed, learnt);
    }

    fn since_started(&self, at: Instant) -> u64 {
        u64::try_from(at.saturating_duration_since(self.started).as_nanos()).unwrap_or(u64::MAX)
    }
}

/// Converts a time to microseconds, the unit of the scripts, rounded down.
pub(crate) fn micros(at: Timestamp) -> u64 {
    at.as_nanos() / 1_000
}

/// Converts microseconds from a script to a time.
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

        // The reply takes 10 ms, and the server reads its clock after 9 ms.
        let sent = Instant::now();
        advance(Duration::from_millis(10)).await;
        clock.learn(server + Duration::from_millis(9), sent);
        assert_eq!(clock.now(), server + Duration::from_millis(19));

        // A faster reply gives a better estimate, which is lower. The clock stands still at the
        // last returned time until the estimate has passed it.
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
