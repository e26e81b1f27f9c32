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

use arc_swap::ArcSwap;
use redis::RedisResult;
use tokio::time::timeout;

/// A connection that all calls of a node share, until it is replaced.
///
/// A connection whose other end has vanished without a word looks like one to a slow server, and for
/// ever. So a node that gets no answers opens another, if it was told how.
pub(crate) struct Connections<C> {
    current: ArcSwap<C>,
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
        Arc::new(Self { current: ArcSwap::from_pointee(connection), open: None })
    }

    /// One that is opened now, and others when they are needed.
    pub(crate) async fn opened<F>(
        open: impl Fn() -> F + Send + Sync + 'static,
    ) -> RedisResult<Arc<Self>>
    where
        F: Future<Output = RedisResult<C>> + Send + 'static,
    {
        let first = timeout(Self::FIRST_PATIENCE, open()).await;
        let current = first.map_err(|_| std::io::Error::from(std::io::ErrorKind::TimedOut))??;
        let current = ArcSwap::from_pointee(current);
        let open: Open<C> = Box::new(move || Box::pin(open()));
        Ok(Arc::new(Self { current, open: Some(open) }))
    }

    pub(crate) fn current(&self) -> C {
        self.current.load().as_ref().clone()
    }

    /// Opens another connection for all calls from now on; keeps this one if that fails. Says
    /// whether there is another.
    pub(crate) async fn replace(&self) -> bool {
        let Some(open) = &self.open else { return false };
        match timeout(Self::PATIENCE, open()).await {
            Ok(Ok(connection)) => {
                self.current.store(Arc::new(connection));
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

impl<C> fmt::Debug for Connections<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connections")
            .field("can_open", &self.open.is_some())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
