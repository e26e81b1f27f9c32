//! The renewal of a pass, concurrently with the application.
//!
//! ```text
//!  the pass is due ─► advance: polled with the application ─► the store answers first: fresh pass
//!                        │
//!                        ▼ the application answers first
//!                     poll_end: the response waits for up to `patience` ─► fresh pass
//!                        │
//!                        ▼ out of patience
//!                     left behind: goes on in a task for up to 1 s; the response has no fresh pass
//! ```
//!
//! The response is late only if the store is slower than the application, and then by a bounded
//! time. A renewal without an outcome is no error: the old pass stays valid until it expires, and
//! the next request tries again.

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use tokio::time::{Sleep, sleep, timeout};
use waiting_room_core::Pass;

use super::outage::BoxFuture;

/// A renewal under way, and its outcome.
///
/// A response that is ready before the store answers is held back for a while, because the session
/// of the visitor counts from this request on: without the fresh pass, the next request may arrive
/// when the old pass has expired.
///
/// # Cancel safety
///
/// Dropping it abandons the renewal. The store may have renewed the session nevertheless. The next
/// request of the visitor with a due pass starts a new one.
pub(crate) struct PassRenewal {
    /// The call of the store; `None` once it has returned or was left behind. Its output is `None`
    /// if the session is over or the store has failed.
    asked: Option<BoxFuture<Option<Pass>>>,
    /// The fresh pass, once the store has returned one.
    renewed: Option<Pass>,
    /// How long the response waits for the store after the application has answered.
    patience: Duration,
    /// The timer of `patience`. Created only if the response has to wait, which is rare.
    end: Option<Pin<Box<Sleep>>>,
}

impl PassRenewal {
    /// The patience for a pass that lasts for a whole session even without this renewal, which is
    /// for instance due only because the key was replaced. Several round trips to a store nearby.
    pub(super) const SHORT_PATIENCE: Duration = Duration::from_millis(3);
    /// The patience for a pass that expires before a whole session is over. A store with a shorter
    /// deadline of its own gives up sooner.
    pub(super) const PATIENCE: Duration = Duration::from_millis(250);
    /// The time for which a renewal continues after its response was sent without it.
    const LEFT_BEHIND: Duration = Duration::from_secs(1);

    /// A renewal that has not been polled yet.
    pub(super) const fn new(asked: BoxFuture<Option<Pass>>, patience: Duration) -> Self {
        Self { asked: Some(asked), renewed: None, patience, end: None }
    }

    /// Polls the store without waiting for it. Called whenever the application is polled.
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
    /// Out of patience, the renewal continues in a task of its own. Its outcome is not lost: the
    /// next request of the visitor finds the fresh pass on this node, and the prolonged session in
    /// the store on any other node. Without a tokio runtime there is neither timer nor task, so the
    /// renewal is abandoned at once, and the next request tries again.
    pub(crate) fn poll_end(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        self.advance(cx);
        // Taken out first: each return below that does not put the call back ends the renewal, by
        // dropping it or by handing it to a task.
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

    /// The fresh pass, if the store has returned one by now.
    pub(crate) const fn renewed(&self) -> Option<Pass> {
        self.renewed
    }
}
