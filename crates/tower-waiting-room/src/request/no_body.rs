//! Replaces `body.rs` if the `axum` feature is disabled. Without axum, there is no body type that
//! the layer can rebuild after reading part of a body, so bodies are not read ahead, timed or
//! drained.

use std::task::{Context, Poll};

use http::Request;

use super::min_rate::MinRate;

/// A probe that never reports a disconnected client.
pub(crate) struct DisconnectProbe;

impl DisconnectProbe {
    pub(crate) const fn new(_bound: usize) -> Self {
        Self
    }

    #[expect(clippy::unused_self, reason = "the probe in `body.rs` has state")]
    pub(crate) const fn poll<B>(&mut self, _body: &mut B, _cx: &mut Context<'_>) -> Poll<()> {
        Poll::Pending
    }

    #[expect(clippy::unused_self, reason = "the probe in `body.rs` has frames to return")]
    pub(crate) const fn give_back<B>(&mut self, _body: &mut B) {}
}

/// Does nothing. The server decides how to handle the rest of a refused request's body.
pub(crate) const fn linger<B>(_request: &mut Request<B>) {}

/// Does nothing. Only a timeout in the server can end the request of a client that sends slowly.
pub(crate) const fn bound_reads<B>(_body: &mut B, _min_rate: MinRate) {}

/// Returns false, because the layer cannot read any body.
pub(crate) const fn has_unread_body<B>(_body: &B) -> bool {
    false
}
