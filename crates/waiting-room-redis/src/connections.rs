//! The connection in use, how to get another, and whether to ask the server at all.

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
use waiting_room_core::{ConfigError, ConfigErrorKind, StoreError, StoreErrorKind};

/// A connection that all calls of a node share, until it is replaced.
///
/// A connection whose other end has vanished without a word looks like one to a slow server, and for
/// ever. So a node that gets no answers opens another, if it was told how.
pub(crate) struct Connections<C> {
    /// None before the server has been reached.
    current: ArcSwapOption<C>,
    open: Option<Open<C>>,
}

type Open<C> = Box<dyn Fn() -> Opening<C> + Send + Sync>;
type Opening<C> = Pin<Box<dyn Future<Output = RedisResult<C>> + Send>>;

/// Keeps requests from a server that has not answered some in a row.
///
/// It is closed again by the first answer to anything, which a task in the background asks for, and
/// not by sacrificing a visitor's request.
#[derive(Debug, Default)]
pub(crate) struct Breaker {
    failures: AtomicU32,
}

impl<C: Clone> Connections<C> {
    /// The first connection is opened within this time, or not at all.
    const FIRST_PATIENCE: Duration = Duration::from_secs(5);
    /// Another connection is opened if it does not take longer than this.
    const PATIENCE: Duration = Duration::from_secs(1);

    /// This one, for ever.
    pub(crate) fn only(connection: C) -> Arc<Self> {
        Arc::new(Self { current: ArcSwapOption::from_pointee(connection), open: None })
    }

    /// One that is opened now, or once the server is there; and others when they are needed.
    ///
    /// # Errors
    ///
    /// The server is there and refuses the connection, which it will do the next time as well.
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

    /// The connection in use, if the server has been reached.
    pub(crate) fn current(&self) -> Result<C, StoreError> {
        match &*self.current.load() {
            Some(connection) => Ok(connection.as_ref().clone()),
            None => Err(StoreError::new(StoreErrorKind::Unavailable).with_source(NOT_REACHED)),
        }
    }

    /// Opens another connection for all calls from now on; keeps this one if that fails. Says
    /// whether there is another.
    pub(crate) async fn replace(&self) -> bool {
        let Some(open) = &self.open else { return false };
        match timeout(Self::PATIENCE, open()).await {
            Ok(Ok(connection)) => {
                self.current.store(Some(Arc::new(connection)));
                return true;
            }
            Ok(Err(error)) => tracing::debug!(%error, "no other connection to the store"),
            Err(_) => tracing::debug!("another connection to the store takes too long"),
        }
        false
    }
}

impl Breaker {
    /// So many calls fail in a row before the others are spared.
    const OPENS_AFTER: u32 = 5;

    /// One of a server that has not been reached yet.
    pub(crate) const fn opened() -> Self {
        Self { failures: AtomicU32::new(Self::OPENS_AFTER) }
    }

    /// What a call fails with that has waited in the queue of this node for too long: whether the
    /// server is silent, or the queue is long.
    pub(crate) fn overdue(&self) -> StoreError {
        StoreError::new(match self.failures.load(Ordering::Relaxed) {
            0 => StoreErrorKind::Busy,
            _ => StoreErrorKind::Timeout,
        })
    }

    /// What a call fails with for which there is no room in the queue of this node.
    pub(crate) fn crowded_out(&self) -> StoreError {
        self.overdue().with_source(TOO_MANY_WAIT)
    }

    pub(crate) fn is_open(&self) -> bool {
        self.failures.load(Ordering::Relaxed) >= Self::OPENS_AFTER
    }

    /// Takes note of an answer. Returns whether it is the first after failures enough.
    pub(crate) fn succeeded(&self) -> bool {
        self.failures.swap(0, Ordering::Relaxed) >= Self::OPENS_AFTER
    }

    /// Takes note of a failure. Returns whether the others are spared from now on.
    pub(crate) fn failed(&self) -> bool {
        self.failures.fetch_add(1, Ordering::Relaxed) + 1 == Self::OPENS_AFTER
    }
}

/// What is asked, if the server answers before the deadline.
///
/// A node that is flooded with requests is late to read an answer which has come in time. So the
/// server counts as silent only once the runtime has looked at its sockets some more times without
/// being late itself; a turn that comes late says nothing about the server.
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

/// How long a call waits for its answer: the script that it shares says first that it has failed.
pub(crate) fn patience(deadline: Duration) -> Duration {
    deadline + deadline / 4 + 4 * TURNS * TURN
}

/// Whether a server is away, by what was said when a node started: it is not reached, or not ready. What
/// a server refuses that is there, it refuses the next time as well.
pub(crate) fn is_away(error: &StoreError) -> bool {
    let source = std::error::Error::source(error);
    let said = source.and_then(|source| source.downcast_ref::<RedisError>());
    let is_silent = error.kind() == StoreErrorKind::Timeout;
    is_silent || said.map_or(error.kind() == StoreErrorKind::Unavailable, is_of_the_way)
}

/// Whether an error is of the way to the server, or of a server that starts.
fn is_of_the_way(error: &RedisError) -> bool {
    error.is_io_error() || error.code().is_some_and(|code| STARTING.contains(&code))
}

pub(crate) fn unavailable(error: &RedisError) -> StoreError {
    StoreError::new(StoreErrorKind::Unavailable).with_source(error.clone())
}

/// Checks that a server of so much memory evicts nothing.
pub(crate) fn check_eviction(memory: &str, policy: &str) -> Result<(), StoreError> {
    if memory != "0" && policy != "noeviction" {
        let expected = "noeviction: a key that is evicted is a limit that is forgotten";
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

/// In so many turns of the runtime an answer is sent, read and handed over.
const TURNS: u32 = 4;
/// The shortest time in which the runtime looks at its sockets.
const TURN: Duration = Duration::from_millis(1);
/// A turn that takes longer was late.
const LATE: Duration = Duration::from_millis(4);
/// A runtime that is late for longer than this leaves no doubt to the server's benefit.
const LONGEST_LAG: Duration = Duration::from_secs(10);

/// The scripts are loaded, and the room is opened or joined, within this time or not at all.
pub(crate) const CONNECT_DEADLINE: Duration = Duration::from_secs(5);

const NOT_REACHED: &str = "it has not been reached yet";
/// What a server says that is not ready yet.
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
