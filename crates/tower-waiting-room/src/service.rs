//! The Tower service, its response future, and its response body.
//!
//! [`WaitingRoom`] pairs the inner service with the state that all services of a layer share, and
//! has no other state. All waiting happens in [`ResponseFuture`], so `call` returns immediately and
//! needs no runtime. [`ResponseBody`] holds the permits of a request until the response has been
//! sent.

use std::{
    fmt,
    sync::Arc,
    task::{Context, Poll},
};

use http::{Request, Response};
use tower_service::Service;

#[cfg(feature = "axum")]
pub use crate::for_axum::{ForAxum, ForAxumFuture};
use crate::pipeline::Pipeline;
pub use crate::{body::ResponseBody, future::ResponseFuture};

/// A service behind a waiting room, created by a [`WaitingRoomLayer`](crate::WaitingRoomLayer).
///
/// The service is always ready, and readiness reserves no capacity. A verdict depends on the
/// request, so the layer obtains the verdict in `call` or later, and drives the inner service to
/// readiness only for requests that are forwarded. An inner service that is not ready therefore
/// delays only forwarded requests, and never the layer's own answers.
///
/// The error type is that of the inner service. A visitor who waits or is refused gets a response,
/// not an error. Clones of the service share the room, the limits and the gates.
pub struct WaitingRoom<S> {
    inner: S,
    pipeline: Arc<Pipeline>,
}

impl<S> WaitingRoom<S> {
    pub(crate) const fn new(inner: S, pipeline: Arc<Pipeline>) -> Self {
        Self { inner, pipeline }
    }
}

impl<S, B, ResBody> Service<Request<B>> for WaitingRoom<S>
where
    S: Service<Request<B>, Response = Response<ResBody>> + Clone,
    B: 'static,
{
    type Response = Response<ResponseBody<ResBody>>;
    type Error = S::Error;
    type Future = ResponseFuture<S, B>;

    /// Always returns `Ready`, without polling the inner service. Capacity that was reserved here,
    /// before the request is known, would be wasted on every request that is not forwarded. `call`
    /// polls the inner service only for a request that is forwarded, and if the inner service is
    /// not ready, the request waits in its own future.
    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        ResponseFuture::new(&self.pipeline, &mut self.inner, request)
    }
}

impl<S: Clone> Clone for WaitingRoom<S> {
    fn clone(&self) -> Self {
        Self { inner: self.inner.clone(), pipeline: Arc::clone(&self.pipeline) }
    }
}

impl<S: fmt::Debug> fmt::Debug for WaitingRoom<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WaitingRoom").field("inner", &self.inner).finish_non_exhaustive()
    }
}
