//! The renewal of a pass, beside the application and a little beyond.

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use tokio::time::{Sleep, sleep, timeout};
use waiting_room_core::Pass;

use super::outage::BoxFuture;

/// The renewal of a pass, from the question to the fresh pass or to none.
///
/// It costs the response nothing as long as the store answers before the application does. A
/// response that is ready sooner waits for the store, as long as a decision of it may take: the
/// visitor of a pass that is due keeps the whole session from this request on, and the next request
/// may come when the old pass has run out.
pub(crate) struct PassRenewal {
    asked: Option<BoxFuture<Option<Pass>>>,
    renewed: Option<Pass>,
    patience: Duration,
    end: Option<Pin<Box<Sleep>>>,
}

impl PassRenewal {
    /// How long the response waits whose pass lasts for a whole session without the renewal: several
    /// round trips to a store nearby.
    pub(super) const SHORT_PATIENCE: Duration = Duration::from_millis(3);
    /// How long the response waits whose pass ends before a whole session is over. A store with a
    /// shorter deadline of its own gives up sooner.
    pub(super) const PATIENCE: Duration = Duration::from_millis(250);
    /// How long a renewal goes on that no response waits for.
    const LEFT_BEHIND: Duration = Duration::from_secs(1);

    pub(super) const fn new(asked: BoxFuture<Option<Pass>>, patience: Duration) -> Self {
        Self { asked: Some(asked), renewed: None, patience, end: None }
    }

    /// Goes on while the application works.
    pub(crate) fn advance(&mut self, cx: &mut Context<'_>) {
        if let Some(asked) = &mut self.asked
            && let Poll::Ready(renewed) = asked.as_mut().poll(cx)
        {
            self.renewed = renewed;
            self.asked = None;
        }
    }

    /// Waits for the store when the application has answered. Out of patience, it lets the renewal
    /// go on by itself: the next request of the visitor finds the fresh pass on this node, and the
    /// session in the store on any other. Without a runtime there is no waiting, and the next request
    /// tries again.
    pub(crate) fn poll_end(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        self.advance(cx);
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

    /// The fresh pass, if there is one by now.
    pub(crate) const fn renewed(&self) -> Option<Pass> {
        self.renewed
    }
}
