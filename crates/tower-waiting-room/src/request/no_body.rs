//! In the place of `body.rs` without the feature `axum`: no body can be put together again once it
//! was read, so none is.

use std::task::{Context, Poll};

use http::Request;

/// Finds no client that leaves.
pub(crate) struct DisconnectProbe;

impl DisconnectProbe {
    pub(crate) const fn new(_bound: usize) -> Self {
        Self
    }

    #[expect(clippy::unused_self, reason = "the other one has something to read")]
    pub(crate) const fn poll<B>(&mut self, _body: &mut B, _cx: &mut Context<'_>) -> Poll<()> {
        Poll::Pending
    }

    #[expect(clippy::unused_self, reason = "the other one has something to give back")]
    pub(crate) const fn give_back<B>(&mut self, _body: &mut B) {}
}

/// Leaves the body to the server.
pub(crate) const fn linger<B>(_request: &mut Request<B>) {}

/// Leaves the body as it is.
pub(crate) const fn bound_reads<B>(_body: &mut B, _timeout: std::time::Duration) {}
