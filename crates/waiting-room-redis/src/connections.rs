//! The connection in use, its replacement, and the circuit breaker of a node.
//!
//! All calls of a node share one multiplexed connection. Two kinds of failure are kept apart:
//!
//! - The connection is dead although the server is well. A call then fails or times out, and
//!   [`Connections::replace`] opens another connection.
//! - The server is away. After five failures in a row the [`Breaker`] opens, and calls fail without
//!   being sent until a background task has received a reply.
//!
//! A third kind is no failure of the server: this node has more calls than the server decides in
//! time. [`Breaker::overdue`] distinguishes it from the others, because the failure policy of the
//! layer must not apply to it: a flood could otherwise lift the limits.

use std::{
    fmt,
    future::Future,
    pin::Pin,
    sync::{
        Arc,
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

/// The connection that all calls of a node share, until it is replaced.
///
/// A connection whose peer has vanished without closing it cannot be told from one to a slow
/// server, however long a call waits. So a node whose calls get no replies opens another
/// connection, if it knows how.
pub(crate) struct Connections<C> {
    /// `None` until the server has been reached.
    current: ArcSwapOption<C>,
    /// `None` if the application has supplied a connection instead of a way to open one.
    open: Option<Open<C>>,
}

type Open<C> = Box<dyn Fn() -> Opening<C> + Send + Sync>;
type Opening<C> = Pin<Box<dyn Future<Output = RedisResult<C>> + Send>>;

/// A circuit breaker: stops sending calls to a server that has failed several in a row.
///
/// ```text
///            the fifth failure in a row
///   closed ──────────────────────────────► open
///     ▲                                      │  a background task sends probes;
///     └──────────────────────────────────────┘  no call of a visitor is sent
///            the first reply to anything
/// ```
///
/// The counter guards no other data, so its accesses are relaxed.
#[derive(Debug, Default)]
pub(crate) struct Breaker {
    /// Failures since the last reply.
    failures: AtomicU32,
}

impl<C: Clone> Connections<C> {
    /// The longest time that the first connection may take to open.
    const FIRST_PATIENCE: Duration = Duration::from_secs(5);
    /// The longest time that a replacement may take to open.
    const PATIENCE: Duration = Duration::from_secs(1);

    /// Uses this connection for ever; the application supplies one that reconnects by itself.
    pub(crate) fn only(connection: C) -> Arc<Self> {
        Arc::new(Self { current: ArcSwapOption::from_pointee(connection), open: None })
    }

    /// Opens a connection now, and others whenever they are needed.
    ///
    /// If the server cannot be reached within 5 s, the node starts without a connection, and
    /// [`replace`](Self::replace) opens the first one later.
    ///
    /// # Errors
    ///
    /// The server was reached and refuses the connection, as it would the next time too.
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

    /// Returns the connection in use.
    ///
    /// # Errors
    ///
    /// The server has not been reached yet.
    pub(crate) fn current(&self) -> Result<C, StoreError> {
        match &*self.current.load() {
            Some(connection) => Ok(connection.as_ref().clone()),
            None => Err(StoreError::new(StoreErrorKind::Unavailable).with_source(NOT_REACHED)),
        }
    }

    /// Opens another connection for all calls from now on, and returns whether that succeeded.
    ///
    /// If it fails, or takes longer than a second, the old connection stays in use. Calls in flight
    /// finish on the connection on which they were sent.
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

impl Breaker {
    /// The number of failures in a row that opens the breaker.
    const OPENS_AFTER: u32 = 5;

    /// Creates a breaker that is open, for a server that has not been reached yet.
    pub(crate) const fn opened() -> Self {
        Self { failures: AtomicU32::new(Self::OPENS_AFTER) }
    }

    /// Returns the error for a call that has waited too long in the queue of this node.
    ///
    /// It is [`Busy`](StoreErrorKind::Busy) while the server answers, since then the queue is too
    /// long, and [`Timeout`](StoreErrorKind::Timeout) if the last call has failed. The failure
    /// policy of the layer applies to the second only.
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

    /// Whether calls fail without being sent.
    pub(crate) fn is_open(&self) -> bool {
        self.failures.load(Ordering::Relaxed) >= Self::OPENS_AFTER
    }

    /// Records a reply. Returns whether it has closed the breaker.
    pub(crate) fn succeeded(&self) -> bool {
        self.failures.swap(0, Ordering::Relaxed) >= Self::OPENS_AFTER
    }

    /// Records a failure. Returns whether it has opened the breaker.
    pub(crate) fn failed(&self) -> bool {
        self.failures.fetch_add(1, Ordering::Relaxed) + 1 == Self::OPENS_AFTER
    }
}

/// Awaits a reply until the deadline, and a little longer if this node is itself late.
///
/// A node that is flooded with requests may read a reply late that has arrived in time. So the
/// server counts as silent only once the runtime has polled its sockets [`TURNS`] more times in a
/// row without being late itself. A turn that takes longer than [`LATE`] proves nothing about the
/// server, and the count starts again.
///
/// # Errors
///
/// [`Timeout`](StoreErrorKind::Timeout), at the latest [`LONGEST_LAG`] after the deadline.
pub(crate) async fn answered<T>(
    deadline: Duration,
    asked: impl Future<Output = T>,
) -> Result<T, StoreError> {
    pin!(asked);
    let mut answer = timeout(deadline, &mut asked).await;
    let (overdue, mut in_time) = (Instant::now(), 0);
    while answer.is_err() && in_time < TURNS && overdue.elapsed() < LONGEST_LAG {
        let turn = Instant::now();
        yield_now().await;
        answer = timeout(TURN, &mut asked).await;
        in_time = if turn.elapsed() < LATE { in_time + 1 } else { 0 };
    }
    answer.map_err(|_| StoreError::new(StoreErrorKind::Timeout))
}

/// Returns how long a caller waits for its reply, given the deadline of a script.
///
/// It is longer than [`answered`] waits on a node that is not late, four turns of less than 4 ms
/// each included. So when a script fails, its callers receive the script's own error.
pub(crate) fn patience(deadline: Duration) -> Duration {
    deadline + deadline / 4 + 4 * TURNS * TURN
}

/// Whether an error at the start of a node means that the server is away: it was not reached, or is
/// not ready yet.
///
/// Any other error comes from a server that is there and refuses the node, for example because of a
/// wrong password. It would refuse again, so the node reports the error instead of starting.
pub(crate) fn is_away(error: &StoreError) -> bool {
    let source = std::error::Error::source(error);
    let said = source.and_then(|source| source.downcast_ref::<RedisError>());
    let is_silent = error.kind() == StoreErrorKind::Timeout;
    is_silent || said.map_or(error.kind() == StoreErrorKind::Unavailable, is_of_the_way)
}

/// Whether an error is one of the network, or of a server that is starting.
fn is_of_the_way(error: &RedisError) -> bool {
    error.is_io_error() || error.code().is_some_and(|code| STARTING.contains(&code))
}

/// Wraps an error of the client.
pub(crate) fn unavailable(error: &RedisError) -> StoreError {
    StoreError::new(StoreErrorKind::Unavailable).with_source(error.clone())
}

/// Checks that a server evicts no keys, given its `maxmemory` in bytes and its `maxmemory-policy`.
///
/// A server without a bound on its memory, for which `maxmemory` is 0, evicts nothing under any
/// policy.
///
/// # Errors
///
/// The server may evict keys, and with them sessions, places or the state of a limit.
pub(crate) fn check_eviction(memory: &str, policy: &str) -> Result<(), StoreError> {
    if memory != "0" && policy != "noeviction" {
        let expected = "noeviction: evicting a key would lift a limit";
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

/// The turns of the runtime within which a call is written, its reply read and handed over.
const TURNS: u32 = 4;
/// The length of a turn: the resolution of tokio's timer, and enough for a poll of the sockets.
const TURN: Duration = Duration::from_millis(1);
/// A turn that takes at least this long shows that the node itself was late.
const LATE: Duration = Duration::from_millis(4);
/// The longest time that a late node waits for a reply after its deadline.
const LONGEST_LAG: Duration = Duration::from_secs(10);

/// The longest time that loading the scripts and opening or joining the room may take together.
pub(crate) const CONNECT_DEADLINE: Duration = Duration::from_secs(5);

const NOT_REACHED: &str = "it has not been reached yet";
/// The error codes of a server or a cluster that is not ready yet.
const STARTING: [&str; 4] = ["CLUSTERDOWN", "LOADING", "MASTERDOWN", "TRYAGAIN"];
const TOO_MANY_WAIT: &str = "too many calls of this node wait for it";

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_silent_server_is_given_up_soon_after_the_deadline() {
        let asked = tokio::time::Instant::now();
        let deadline = Duration::from_millis(50);
        let error = answered(deadline, std::future::pending::<()>()).await.unwrap_err();
        assert_eq!(error.kind(), StoreErrorKind::Timeout);
        assert!(asked.elapsed() >= deadline && asked.elapsed() < patience(deadline));
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

    #[test]
    fn five_failures_in_a_row_open_it_and_one_answer_closes_it() {
        let breaker = Breaker::default();
        (0..4).for_each(|_| assert!(!breaker.failed()));
        assert!(!breaker.succeeded());
        (0..4).for_each(|_| assert!(!breaker.failed()));
        assert!(!breaker.is_open() && breaker.failed() && breaker.is_open());
        assert!(!breaker.failed());
        assert!(breaker.succeeded() && !breaker.is_open());
    }
}
