//! Takes the place of `body.rs` without the feature `axum`. No type of body is known then that
//! could be rebuilt after a part of it was read, so no body is read, timed or drained.

use std::task::{Context, Poll};

use http::Request;

/// Never reports that a client has disconnected.
pub(crate) struct DisconnectProbe;

impl DisconnectProbe {
    pub(crate) const fn new(_bound: usize) -> Self {
        Self
    }

    #[expect(clippy::unused_self, reason = "that of `body.rs` has state")]
    pub(crate) const fn poll<B>(&mut self, _body: &mut B, _cx: &mut Context<'_>) -> Poll<()> {
        Poll::Pending
    }

    #[expect(clippy::unused_self, reason = "that of `body.rs` has frames to return")]
    pub(crate) const fn give_back<B>(&mut self, _body: &mut B) {}
}

/// Does nothing: the server decides about the rest of the body of a refused request.
pub(crate) const fn linger<B>(_request: &mut Request<B>) {}

/// Does nothing: a client that stops sending is left to a timeout of the server.
pub(crate) const fn bound_reads<B>(_body: &mut B, _timeout: std::time::Duration) {}
