//! Reports on the visits to a room: tokens, admissions, the accuracy of estimates, sessions, push
//! streams, and the failures of the room's store.
//!
//! A node observes a visit from the visitor's own ticket and pass, so the figures need no call to the
//! store. The sums over all nodes are the figures of the room.

use std::time::Duration;

use waiting_room_core::{Pass, StoreError, Ticket};

use super::{Telemetry, counts::VisitorWait, table};

/// How a push stream ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StreamEnd {
    /// The client has disconnected.
    Disconnected,
    /// The stream has reached its longest lifetime, and the client connects again.
    Lifetime,
    /// The visitor has lost its place, or may not have one.
    Refused,
    /// The application has ended all streams.
    Shutdown,
    /// The client does not read.
    Slow,
    /// It was the visitor's turn.
    Turn,
}

impl StreamEnd {
    /// Returns the name in metrics and logs.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Disconnected => "disconnected",
            Self::Lifetime => "lifetime",
            Self::Refused => "refused",
            Self::Shutdown => "shutdown",
            Self::Slow => "slow",
            Self::Turn => "turn",
        }
    }
}

impl Telemetry {
    /// Reports that a visitor received its first ticket.
    pub(crate) fn touched(&self) {
        self.0.first_touches.increment(|| self.counter(table::FIRST_TOUCHES, []));
    }

    /// Reports that a session began. `ticket` is the ticket that the visitor presented, unless the
    /// ticket had lapsed or there was none.
    pub(crate) fn admitted(&self, pass: &Pass, ticket: Option<&Ticket>) {
        self.0.admissions.increment(|| self.counter(table::ADMITTED, []));
        let Some(Ticket { first_seen, promised_wait, .. }) = ticket else { return };
        let since = *first_seen;
        let until = pass.accepted_at;
        let promised = *promised_wait;
        self.0.waits.push(VisitorWait { since, until, promised });
        let wait = until.since(since);
        self.histogram(table::WAIT, []).record(wait);
        let Some(promised) = promised else { return };
        // The promise is in whole seconds, so a fraction of a second does not count as a delay.
        let actual = Duration::from_secs(wait.as_secs());
        let waited = if actual > promised { "longer" } else { "shorter" };
        self.histogram(table::ESTIMATE_ERROR, [("waited", waited.into())])
            .record(actual.abs_diff(promised));
    }

    /// Reports that the application ended a session after this time.
    pub(crate) fn session_ended(&self, after: Duration) {
        self.histogram(table::SESSION, []).record(after);
    }

    /// Reports the end of a push stream.
    pub(crate) fn stream_ended(&self, end: StreamEnd) {
        let outcome = end.as_str();
        tracing::debug!(room = self.room(), outcome, "push stream ended");
        self.counter(table::PUSH_STREAMS_ENDED, [("outcome", outcome.into())]).increment(1);
    }

    /// Reports how many tokens of one request were rejected, and the error for the last of them.
    ///
    /// The client receives no error. The request is then handled with another of its tokens, or
    /// like a request without a token.
    pub(crate) fn rejected(&self, tokens: usize, error: &'static str) {
        tracing::debug!(room = self.room(), tokens, error, "tokens rejected");
        self.counter(table::TOKENS_REJECTED, [("error", error.into())]).increment(tokens as u64);
    }

    /// Reports that the store of the room has stopped answering. Call this method once per outage.
    pub(crate) fn store_is_away(&self, error: &StoreError) {
        let error = error as &dyn std::error::Error;
        tracing::warn!(room = self.room(), error, "the store does not answer");
    }

    /// Reports that the store of the room answers again after an outage.
    pub(crate) fn store_answers(&self) {
        tracing::info!(room = self.room(), "the store answers again");
    }

    /// Reports that the store failed to decide on a request, so the failure policy applies instead.
    pub(crate) fn store_failed(&self, error: &StoreError, policy: &'static str) {
        let error = error as &dyn std::error::Error;
        tracing::debug!(room = self.room(), policy, error, "store failed");
        self.counter(table::STORE_FAILURES, [("policy", policy.into())]).increment(1);
    }
}
