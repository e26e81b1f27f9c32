//! The renewal of a pass while the application handles the request.
//!
//! ```text
//!  the pass is due ─► advance: polled with the application ─► the store answers first: fresh pass
//!                        │
//!                        ▼ the application answers first
//!                     poll_end: the response waits for up to `patience` ─► fresh pass
//!                        │
//!                        ▼ out of patience
//!                     left behind: continues in a task for up to 1 s; no fresh pass is sent
//! ```
//!
//! The response is delayed only if the store is slower than the application, and then only for a
//! bounded time. A renewal without an outcome is not an error, because the old pass stays valid
//! until it expires, and the next request tries again.

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use tokio::time::{Sleep, sleep, timeout};
use waiting_room_core::Pass;

use super::outage::BoxFuture;

/// A renewal in progress, and its outcome.
///
/// A response that is ready before the store answers is held back for a while, because this request
/// prolongs the visitor's session. Without the fresh pass, the visitor's next request might arrive
/// after the old pass has expired.
///
/// # Cancel safety
///
/// Dropping this value abandons the renewal, although the store may already have renewed the
/// session. The visitor's next request with a pass that is due starts a new renewal.
pub(crate) struct PassRenewal {
    /// The call to the store, or `None` once the call has returned, has been handed to a task or
    /// has been dropped. The output of the call is `None` if the session has ended or the store has
    /// failed.
    asked: Option<BoxFuture<Option<Pass>>>,
    /// The fresh pass, once the store has returned it.
    renewed: Option<Pass>,
    /// The time for which the response waits for the store after the application has answered.
    patience: Duration,
    /// The timer for `patience`, created only in the rare case that the response has to wait.
    end: Option<Pin<Box<Sleep>>>,
}

impl PassRenewal {
    /// The patience for a pass that lasts for a whole session even without this renewal, for
    /// example if the renewal is due only because the key was replaced. This patience is enough for
    /// several round trips to a nearby store.
    pub(super) const SHORT_PATIENCE: Duration = Duration::from_millis(3);
    /// The patience for a pass that expires before a whole session is over. A store with a shorter
    /// deadline ends the wait sooner.
    pub(super) const PATIENCE: Duration = Duration::from_millis(250);
    /// The time for which a renewal continues after the response has been sent without the fresh
    /// pass.
    const LEFT_BEHIND: Duration = Duration::from_secs(1);

    /// Creates a renewal that has not been polled yet.
    pub(super) const fn new(asked: BoxFuture<Option<Pass>>, patience: Duration) -> Self {
        Self { asked: Some(asked), renewed: None, patience, end: None }
    }

    /// Polls the store without waiting for it. Call this method whenever the application is polled.
    pub(crate) fn advance(&mut self, cx: &mut Context<'_>) {
        if let Some(asked) = &mut self.asked
            && let Poll::Ready(renewed) = asked.as_mut().poll(cx)
        {
            self.renewed = renewed;
            self.asked = None;
        }
    }

    /// Waits for the store after the application has answered, for up to `patience`.
    ///
    /// If the store does not answer within `patience`, the renewal continues in a separate task.
    /// The outcome is not lost: the visitor's next request finds the fresh pass on this node or, if
    /// another node receives it, the prolonged session in the store. Without a tokio runtime there
    /// is neither a timer nor a task, so the renewal is abandoned at once, and the next request
    /// tries again.
    pub(crate) fn poll_end(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        self.advance(cx);
        // The call is taken out first. Each return below that does not put the call back ends the
        // renewal, either by dropping the call or by handing it to a task.
        let Some(asked) = self.asked.take() else { return Poll::Ready(()) };
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return Poll::Ready(()) };
        let end = self.end.get_or_insert_with(|| Box::pin(sleep(self.patience)));
        if end.as_mut().poll(cx).is_ready() {
            runtime.spawn(timeout(Self::LEFT_BEHIND, asked));
            return Poll::Ready(());
        }
        self.asked = Some(asked);
        Poll::Pending
    }

    /// Returns the fresh pass, if the store has returned one by now.
    pub(crate) const fn renewed(&self) -> Option<Pass> {
        self.renewed
    }
}
