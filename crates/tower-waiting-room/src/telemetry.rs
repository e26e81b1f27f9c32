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
//!
//! A recorder of metrics has to be installed before the first request.

use std::sync::Arc;

use waiting_room_core::{Reason, StoreError};

use crate::token::OpenError;

/// Reports for one room.
#[derive(Clone, Debug)]
pub(crate) struct Telemetry {
    room: Arc<str>,
    /// The counter of valid passes, found once: it is the one that every request increments.
    #[cfg(feature = "metrics")]
    passes: Arc<std::sync::OnceLock<metrics::Counter>>,
}

impl Telemetry {
    pub(crate) fn new(room: Arc<str>) -> Self {
        Self {
            room,
            #[cfg(feature = "metrics")]
            passes: Arc::default(),
        }
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
        if *reason == Reason::AdmittedPass {
            self.passes.get_or_init(|| self.verdicts(reason)).increment(1);
        } else {
            self.verdicts(reason).increment(1);
        }
    }

    #[cfg(feature = "metrics")]
    fn verdicts(&self, reason: &Reason) -> metrics::Counter {
        metrics::counter!(
            "waiting_room_verdicts_total",
            "room" => Arc::clone(&self.room),
            "reason" => reason.to_string(),
        )
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
