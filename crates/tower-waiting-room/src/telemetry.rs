//! What is reported, and under which names.
//!
//! | what | name | fields |
//! |---|---|---|
//! | event, `DEBUG` (`TRACE` for a valid pass) | `verdict` | `room`, `reason` |
//! | event, `DEBUG` | `tokens rejected` | `room`, `tokens`, the last `error` |
//! | event, `WARN` | `store failed` | `room`, `error` |
//! | field of the current span, if it has one | `waiting_room.reason` | |
//! | counter (feature `metrics`) | `waiting_room_verdicts_total` | `room`, `reason` |
//! | counter (feature `metrics`) | `waiting_room_tokens_rejected_total` | `room`, `error` |
//! | counter (feature `metrics`) | `waiting_room_store_failures_total` | `room` |

use std::sync::Arc;

use waiting_room_core::{Reason, StoreError};

use crate::token::OpenError;

/// Reports for one room.
#[derive(Clone, Debug)]
pub(crate) struct Telemetry {
    room: Arc<str>,
}

impl Telemetry {
    pub(crate) const fn new(room: Arc<str>) -> Self {
        Self { room }
    }

    /// A request was decided.
    pub(crate) fn verdict(&self, reason: &Reason) {
        let room = &*self.room;
        if *reason == Reason::AdmittedPass {
            tracing::trace!(room, %reason, "verdict");
        } else {
            tracing::debug!(room, %reason, "verdict");
        }
        let span = tracing::Span::current();
        if !span.is_disabled() {
            span.record("waiting_room.reason", tracing::field::display(reason));
        }
        #[cfg(feature = "metrics")]
        metrics::counter!(
            "waiting_room_verdicts_total",
            "room" => Arc::clone(&self.room),
            "reason" => reason.to_string(),
        )
        .increment(1);
    }

    /// So many tokens of a request were not opened. Never an error to the client.
    pub(crate) fn rejected(&self, tokens: usize, error: OpenError) {
        let (room, error) = (&*self.room, error.as_str());
        tracing::debug!(room, tokens, error, "tokens rejected");
        #[cfg(feature = "metrics")]
        metrics::counter!(
            "waiting_room_tokens_rejected_total",
            "room" => Arc::clone(&self.room),
            "error" => error,
        )
        .increment(tokens as u64);
    }

    /// The store could not decide.
    pub(crate) fn store_failed(&self, error: &StoreError) {
        let room = &*self.room;
        tracing::warn!(room, error = error as &dyn std::error::Error, "store failed");
        #[cfg(feature = "metrics")]
        metrics::counter!("waiting_room_store_failures_total", "room" => Arc::clone(&self.room))
            .increment(1);
    }
}
