//! Reports on push streams: how they end, and how many are open.

#[cfg(feature = "metrics")]
use std::sync::Arc;

use super::Telemetry;
#[cfg(feature = "metrics")]
use super::table;

/// How a push stream ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StreamEnd {
    /// The client has disconnected.
    Disconnected,
    /// The longest time for which a stream is open is over, and the client connects again.
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
    /// Reports the end of a push stream.
    pub(crate) fn stream_ended(&self, end: StreamEnd) {
        let room = &*self.room;
        let outcome = end.as_str();
        tracing::debug!(room, outcome, "push stream ended");
        #[cfg(feature = "metrics")]
        metrics::counter!(
            table::PUSH_STREAMS_ENDED.name,
            "room" => Arc::clone(&self.room),
            "outcome" => outcome,
        )
        .increment(1);
    }

    /// Sets the gauge of open push streams.
    #[cfg(feature = "metrics")]
    pub(crate) fn push_gauge(&self, open: usize) {
        let open = u32::try_from(open).unwrap_or(u32::MAX);
        metrics::gauge!(table::PUSH_STREAMS.name, "room" => Arc::clone(&self.room))
            .set(f64::from(open));
    }
}
