//! The renewal of a pass, beside the application and a little beyond.

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use tokio::time::{Sleep, sleep, timeout};
use waiting_room_core::{Pass, Timestamp};

use super::outage::BoxFuture;

/// The renewal of a pass, from the question to the fresh pass or to none.
///
/// It costs the response nothing as long as the store answers before the application does. A
/// response that is ready sooner waits for as long as a healthy store takes, since a visitor whose
/// pass is due is to keep the whole session from this request on. Only a pass that is about to end
/// is worth waiting longer, for this may be its last chance.
pub(crate) struct PassRenewal {
    asked: Option<BoxFuture<Option<Pass>>>,
    renewed: Option<Pass>,
    patience: Duration,
    end: Option<Pin<Box<Sleep>>>,
}

impl PassRenewal {
    /// For so long each response waits: several round trips to a healthy store.
    const PATIENCE: Duration = Duration::from_millis(3);
    /// For so long a response waits whose pass ends with it; at half of its life, a sixteenth.
    const LAST_PATIENCE: Duration = Duration::from_millis(250);
    /// For so long a renewal goes on that nobody waits for.
    const LEFT_BEHIND: Duration = Duration::from_secs(1);

    pub(crate) fn new(asked: BoxFuture<Option<Pass>>, pass: &Pass, now: Timestamp) -> Self {
        let lifetime = pass.expires_at.since(pass.last_check_in).max(Duration::from_nanos(1));
        let share = now.since(pass.last_check_in).div_duration_f64(lifetime).min(1.0);
        let patience = Self::LAST_PATIENCE.mul_f64(share.powi(4)).max(Self::PATIENCE);
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
    /// go on by itself, and the next request of the visitor finds the fresh pass. Without a
    /// runtime there is no waiting, and the next request tries again.
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
