//! The current connection of a node, its replacement, and the node's circuit breaker.
//!
//! All calls of a node share one multiplexed connection. The node distinguishes two kinds of
//! failure:
//!
//! - The connection is dead although the server is healthy. Calls then fail or time out, and
//!   [`Connections::replace`] opens another connection.
//! - The server is unreachable. After five failures in a row, the [`Breaker`] opens, and calls fail
//!   without being sent until a background task has received a reply.
//!
//! An overload of this node is not a failure of the server: the node then has more calls than the
//! server can process in time. [`Breaker::overdue`] distinguishes an overload from a failure,
//! because the failure policy of the layer must not apply to an overload. Otherwise, a flood of
//! requests could lift the limits.

use std::{
    fmt,
    future::Future,
    pin::Pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use arc_swap::ArcSwapOption;
use redis::{RedisError, RedisResult};
use tokio::{
    pin,
    task::yield_now,
    time::{Instant, timeout},
};
use waiting_room_core::{
    ConfigError, StoreError,
    error::{ConfigErrorKind, StoreErrorKind},
};

use crate::sync::unpoisoned;

/// The connection that all calls of a node share, and the means to replace it.
///
/// A connection whose peer has vanished without closing it cannot be distinguished from a
/// connection to a slow server, however long a call waits. A node whose calls get no replies
/// therefore opens another connection, if the application has supplied a way to open connections.
pub(crate) struct Connections<C> {
    /// The current connection, or `None` until the server has been reached.
    current: ArcSwapOption<C>,
    /// The function that opens a connection, or `None` if the application has supplied a
    /// connection.
    open: Option<Open<C>>,
}

type Open<C> = Box<dyn Fn() -> Opening<C> + Send + Sync>;
type Opening<C> = Pin<Box<dyn Future<Output = RedisResult<C>> + Send>>;

/// A circuit breaker, which stops calls to a server after several failures in a row.
///
/// ```text
///            the fifth failure in a row
///   closed ──────────────────────────────► open
///     ▲                                      │  a background task sends probes;
///     └──────────────────────────────────────┘  no call of a visitor is sent
///            the first reply to anything
/// ```
///
/// The counter guards no other data, so accesses to it are relaxed.
#[derive(Debug, Default)]
pub(crate) struct Breaker {
    /// The number of failures since the last reply.
    failures: AtomicU32,
    /// The time since which calls have failed because this node was late, without any reply.
    late_since: Mutex<Option<Instant>>,
}

/// The backoff between attempts to open another connection. A successful poll resets the backoff.
#[derive(Debug, Default)]
pub(crate) struct Reopening {
    /// The pause before the next attempt, or zero before the first attempt.
    pause: Duration,
    /// The time at which the last attempt began.
    last: Option<Instant>,
}

impl<C: Clone> Connections<C> {
    /// The maximum time that opening the first connection may take.
    const FIRST_PATIENCE: Duration = Duration::from_secs(5);
    /// The maximum time that opening a replacement may take.
    const PATIENCE: Duration = Duration::from_secs(1);

    /// Uses the given connection forever. The application has to supply a connection that
    /// reconnects by itself.
    pub(crate) fn only(connection: C) -> Arc<Self> {
        Arc::new(Self { current: ArcSwapOption::from_pointee(connection), open: None })
    }

    /// Opens a connection now, and a replacement whenever one is needed.
    ///
    /// If the server cannot be reached within 5 s, the node starts without a connection, and
    /// [`replace`](Self::replace) opens the first one later.
    ///
    /// # Errors
    ///
    /// Returns an error if the server was reached and refuses the connection, because it would also
    /// refuse the next attempt.
    pub(crate) async fn opened<F>(
        open: impl Fn() -> F + Send + Sync + 'static,
    ) -> Result<Arc<Self>, StoreError>
    where
        F: Future<Output = RedisResult<C>> + Send + 'static,
    {
        let first = match timeout(Self::FIRST_PATIENCE, open()).await {
            Ok(Ok(connection)) => Some(connection),
            Ok(Err(error)) if !is_of_the_way(&error) => return Err(unavailable(&error)),
            Ok(Err(_)) | Err(_) => None,
        };
        let current = ArcSwapOption::from_pointee(first);
        let open: Open<C> = Box::new(move || Box::pin(open()));
        Ok(Arc::new(Self { current, open: Some(open) }))
    }

    /// Returns the current connection.
    ///
    /// # Errors
    ///
    /// Returns an error if the server has not been reached yet.
    pub(crate) fn current(&self) -> Result<C, StoreError> {
        match &*self.current.load() {
            Some(connection) => Ok(connection.as_ref().clone()),
            None => Err(StoreError::new(StoreErrorKind::Unavailable).with_source(NOT_REACHED)),
        }
    }

    /// Opens another connection for all calls from now on, and returns whether it was opened.
    ///
    /// If opening the connection fails, or takes longer than a second, the old connection stays in
    /// use. Calls in flight finish on the connection on which they were sent.
    pub(crate) async fn replace(&self) -> bool {
        let Some(open) = &self.open else { return false };
        match timeout(Self::PATIENCE, open()).await {
            Ok(Ok(connection)) => {
                self.current.store(Some(Arc::new(connection)));
                return true;
            }
            Ok(Err(error)) => tracing::debug!(%error, "cannot reconnect to the store"),
            Err(_) => tracing::debug!("reconnecting to the store timed out"),
        }
        false
    }
}

impl Reopening {
    /// Returns whether an attempt is due. If so, records the attempt and doubles the pause before
    /// the next attempt.
    pub(crate) fn is_due(&mut self) -> bool {
        let is_due = self.last.is_none_or(|last| last.elapsed() >= self.pause);
        if is_due {
            self.last = Some(Instant::now());
            self.pause = (self.pause * 2).clamp(SHORTEST_PAUSE, LONGEST_PAUSE);
        }
        is_due
    }

    /// Returns how long to wait after a failed call before checking the connection.
    pub(crate) fn pause(&self) -> Duration {
        self.pause.max(BREATH)
    }
}

impl Breaker {
    /// The number of failures in a row that opens the breaker.
    const OPENS_AFTER: u32 = 5;

    /// Creates a breaker that is open, for a server that has not been reached yet.
    pub(crate) const fn opened() -> Self {
        Self { failures: AtomicU32::new(Self::OPENS_AFTER), late_since: Mutex::new(None) }
    }

    /// Returns the error for a call that has waited too long in the queue of this node.
    ///
    /// The error is [`Busy`](StoreErrorKind::Busy) while the server answers, because the queue is
    /// then too long, and [`Timeout`](StoreErrorKind::Timeout) if the last call has failed. The
    /// failure policy of the layer applies only to `Timeout`.
    pub(crate) fn overdue(&self) -> StoreError {
        StoreError::new(match self.failures.load(Ordering::Relaxed) {
            0 => StoreErrorKind::Busy,
            _ => StoreErrorKind::Timeout,
        })
    }

    /// Returns the error for a call that finds the queue of this node full.
    pub(crate) fn crowded_out(&self) -> StoreError {
        self.overdue().with_source(TOO_MANY_WAIT)
    }

    /// Returns whether calls fail without being sent.
    pub(crate) fn is_open(&self) -> bool {
        self.failures.load(Ordering::Relaxed) >= Self::OPENS_AFTER
    }

    /// Returns whether an error does not count as a failure of the server, because this node was
    /// late. After [`LONGEST_LAG`] without any reply, the server counts as silent anyway.
    /// Otherwise, a node that is always late would never notice that its server is gone.
    pub(crate) fn excuses(&self, error: &StoreError) -> bool {
        if error.kind() != StoreErrorKind::Busy {
            return false;
        }
        let since = *unpoisoned(self.late_since.lock()).get_or_insert_with(Instant::now);
        since.elapsed() < LONGEST_LAG
    }

    /// Records a reply, and returns whether the reply has closed the breaker.
    pub(crate) fn succeeded(&self) -> bool {
        *unpoisoned(self.late_since.lock()) = None;
        self.failures.swap(0, Ordering::Relaxed) >= Self::OPENS_AFTER
    }

    /// Records a failure, and returns whether the failure has opened the breaker.
    pub(crate) fn failed(&self) -> bool {
        self.failures.fetch_add(1, Ordering::Relaxed) + 1 == Self::OPENS_AFTER
    }
}

/// Awaits a reply until the deadline, and longer if this node is itself late.
///
/// A node that is flooded with requests may be late to read a reply that has arrived in time. The
/// server therefore counts as silent only once the runtime has polled its sockets [`TURNS`] more
/// times in a row without being late itself. A turn that takes [`LATE`] or longer proves nothing
/// about the server, and restarts the count.
///
/// The Redis client has a timeout of its own, which may expire on a late node before the node has
/// read the reply. Such a call has failed because of this node, and not because of the server.
///
/// # Errors
///
/// Returns the error of the call. If no reply arrives, returns a [`Timeout`](StoreErrorKind::Timeout)
/// error no later than [`LONGEST_LAG`] after the deadline, or a [`Busy`](StoreErrorKind::Busy) error
/// if the client has given up while this node was late.
pub(crate) async fn answered<T>(
    deadline: Duration,
    asked: impl Future<Output = Result<T, StoreError>>,
) -> Result<T, StoreError> {
    pin!(asked);
    let sent = Instant::now();
    let mut answer = timeout(deadline, &mut asked).await;
    let overdue = Instant::now();
    let mut in_time = 0;
    let mut was_late = overdue - sent >= deadline + LATE;
    while answer.is_err() && in_time < TURNS && overdue.elapsed() < LONGEST_LAG {
        let turn = Instant::now();
        yield_now().await;
        answer = timeout(TURN, &mut asked).await;
        let is_late = turn.elapsed() >= LATE;
        in_time = if is_late { 0 } else { in_time + 1 };
        was_late |= is_late;
    }
    match answer {
        Ok(Err(error)) if error.kind() == StoreErrorKind::Timeout && was_late => {
            Err(StoreError::new(StoreErrorKind::Busy).with_source(error))
        }
        Ok(answer) => answer,
        Err(_) => Err(StoreError::new(StoreErrorKind::Timeout)),
    }
}

/// Returns how long a caller waits for its reply, given the deadline of a script.
///
/// On a node that is not late, a caller waits longer than [`answered`] does, even if each of its
/// four turns takes nearly 4 ms. When a script fails, its callers therefore receive the script's
/// error.
pub(crate) fn patience(deadline: Duration) -> Duration {
    deadline + deadline / 4 + 4 * TURNS * TURN
}

/// Returns whether an error at the start of a node means that the server is unreachable or not
/// ready yet.
///
/// Any other error comes from a server that is running and refuses the node, for example because of
/// a wrong password. The server would refuse the node again, so the node reports the error instead
/// of starting.
pub(crate) fn is_away(error: &StoreError) -> bool {
    let source = std::error::Error::source(error);
    let said = source.and_then(|source| source.downcast_ref::<RedisError>());
    let is_silent = error.kind() == StoreErrorKind::Timeout;
    is_silent || said.map_or(error.kind() == StoreErrorKind::Unavailable, is_of_the_way)
}

/// Returns whether an error comes from the network, or from a server that is starting.
fn is_of_the_way(error: &RedisError) -> bool {
    error.is_io_error() || error.code().is_some_and(|code| STARTING.contains(&code))
}

/// Wraps an error of the Redis client.
pub(crate) fn unavailable(error: &RedisError) -> StoreError {
    let kind =
        if error.is_timeout() { StoreErrorKind::Timeout } else { StoreErrorKind::Unavailable };
    StoreError::new(kind).with_source(error.clone())
}

/// Checks that a server does not evict keys, given its `maxmemory` in bytes and its
/// `maxmemory-policy`.
///
/// A server without a bound on its memory, whose `maxmemory` is 0, evicts nothing under any policy.
///
/// # Errors
///
/// Returns an error if the server may evict keys, and with them sessions, places or the state of a
/// limit.
pub(crate) fn check_eviction(memory: &str, policy: &str) -> Result<(), StoreError> {
    if memory != "0" && policy != "noeviction" {
        let expected = "noeviction, because evicting a key would lift a limit";
        let kind = ConfigErrorKind::Contradicts;
        return Err(ConfigError::new(kind, "maxmemory-policy", policy, expected).into());
    }
    Ok(())
}

impl<C> fmt::Debug for Connections<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connections")
            .field("can_open", &self.open.is_some())
            .finish_non_exhaustive()
    }
}

/// The number of runtime turns within which a call is written and its reply is read and handed
/// over.
const TURNS: u32 = 4;
/// The length of a turn, which is the resolution of tokio's timer and long enough to poll the
/// sockets.
const TURN: Duration = Duration::from_millis(1);
/// If a turn takes this long or longer, the node itself counts as late.
const LATE: Duration = Duration::from_millis(4);
/// The maximum time that a late node waits for a reply after the deadline.
const LONGEST_LAG: Duration = Duration::from_secs(10);

/// The pause after the first attempt to reconnect, which doubles with each further attempt.
const SHORTEST_PAUSE: Duration = Duration::from_millis(10);
/// The longest pause between two attempts to reconnect.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
/// The shortest time between a failure and the check of the connection, so that the failures of all
/// calls on a broken connection cause only one check.
const BREATH: Duration = Duration::from_millis(1);

/// The maximum total time for loading the scripts and opening or joining the room.
pub(crate) const CONNECT_DEADLINE: Duration = Duration::from_secs(5);

const NOT_REACHED: &str = "the store has not been reached yet";
/// The error codes of a server or a cluster that is not ready yet.
const STARTING: [&str; 4] = ["CLUSTERDOWN", "LOADING", "MASTERDOWN", "TRYAGAIN"];
const TOO_MANY_WAIT: &str = "too many calls of this node are waiting for the store";

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_silent_server_is_given_up_soon_after_the_deadline() {
        let asked = tokio::time::Instant::now();
        let deadline = Duration::from_millis(50);
        let error = answered::<()>(deadline, std::future::pending()).await.unwrap_err();
        assert_eq!(error.kind(), StoreErrorKind::Timeout);
        assert!(asked.elapsed() >= deadline && asked.elapsed() < patience(deadline));
    }

    #[tokio::test(start_paused = true)]
    async fn a_late_node_does_not_mistake_its_impatient_client_for_a_silent_server() {
        let deadline = Duration::from_millis(50);
        let gives_up = async |after, late| {
            tokio::time::sleep(after).await;
            tokio::time::advance(late).await;
            Err::<(), _>(StoreError::new(StoreErrorKind::Timeout))
        };
        for (after, late, kind) in [
            (deadline / 2, Duration::ZERO, StoreErrorKind::Timeout),
            (deadline + TURN / 2, Duration::ZERO, StoreErrorKind::Timeout),
            (deadline + TURN / 2, LATE, StoreErrorKind::Busy),
            (deadline / 2, deadline, StoreErrorKind::Busy),
        ] {
            let error = answered(deadline, gives_up(after, late)).await.unwrap_err();
            assert_eq!(error.kind(), kind, "after {after:?} and {late:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn reconnecting_starts_at_once_and_backs_off_up_to_a_second() {
        let mut reopening = Reopening::default();
        let mut pauses = Vec::new();
        for _ in 0..10 {
            let since = Instant::now();
            while !reopening.is_due() {
                tokio::time::advance(Duration::from_millis(1)).await;
            }
            pauses.push(since.elapsed().as_millis());
        }
        assert_eq!(pauses, [0, 10, 20, 40, 80, 160, 320, 640, 1_000, 1_000]);
    }

    #[test]
    fn a_call_that_waits_too_long_blames_the_server_only_while_it_is_silent() {
        let breaker = Breaker::default();
        assert_eq!(breaker.overdue().kind(), StoreErrorKind::Busy);
        assert_eq!(breaker.crowded_out().kind(), StoreErrorKind::Busy);
        breaker.failed();
        assert_eq!(breaker.overdue().kind(), StoreErrorKind::Timeout);
        breaker.succeeded();
        assert_eq!(breaker.overdue().kind(), StoreErrorKind::Busy);
    }

    #[tokio::test(start_paused = true)]
    async fn a_late_node_notices_after_a_while_that_its_server_never_answers() {
        let breaker = Breaker::default();
        let late = StoreError::new(StoreErrorKind::Busy);
        assert!(breaker.excuses(&late));
        tokio::time::advance(LONGEST_LAG / 2).await;
        assert!(breaker.excuses(&late) && !breaker.succeeded());
        tokio::time::advance(LONGEST_LAG / 2).await;
        assert!(breaker.excuses(&late), "there was a reply in the meantime");
        tokio::time::advance(LONGEST_LAG).await;
        assert!(!breaker.excuses(&late));
        assert!(!breaker.excuses(&StoreError::new(StoreErrorKind::Timeout)));
    }

    #[test]
    fn five_failures_in_a_row_open_the_breaker_and_one_answer_closes_it() {
        let breaker = Breaker::default();
        (0..4).for_each(|_| assert!(!breaker.failed()));
        assert!(!breaker.succeeded());
        (0..4).for_each(|_| assert!(!breaker.failed()));
        assert!(!breaker.is_open() && breaker.failed() && breaker.is_open());
        assert!(!breaker.failed());
        assert!(breaker.succeeded() && !breaker.is_open());
    }
}
