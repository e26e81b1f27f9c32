//! The service: one request in, one future out.

use std::{
    fmt, mem,
    sync::Arc,
    task::{Context, Poll},
};

use http::{Request, Response};
use tower_service::Service;
use waiting_room_core::{MemoryStore, Store};

use crate::{body::ResponseBody, future::ResponseFuture, pipeline::Pipeline};

/// A service behind a waiting room. Made by [`WaitingRoomLayer`](crate::WaitingRoomLayer).
///
/// It is always ready and reserves nothing: who is let in is decided in `call`, where the request
/// is known, and only then is the inner service driven to readiness. Its error is the error of the
/// inner service; a visitor who waits gets a response.
pub struct WaitingRoom<S, St = MemoryStore> {
    inner: S,
    pipeline: Arc<Pipeline<St>>,
}

impl<S, St> WaitingRoom<S, St> {
    pub(crate) const fn new(inner: S, pipeline: Arc<Pipeline<St>>) -> Self {
        Self { inner, pipeline }
    }
}

impl<S, St, B, ResBody> Service<Request<B>> for WaitingRoom<S, St>
where
    S: Service<Request<B>, Response = Response<ResBody>> + Clone,
    St: Store,
    B: 'static,
{
    type Response = Response<ResponseBody<ResBody>>;
    type Error = S::Error;
    type Future = ResponseFuture<S, St, B>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        // Whatever readiness the inner service has gathered goes with this request.
        let clone = self.inner.clone();
        let inner = mem::replace(&mut self.inner, clone);
        ResponseFuture::new(Arc::clone(&self.pipeline), inner, request)
    }
}

impl<S: Clone, St> Clone for WaitingRoom<S, St> {
    fn clone(&self) -> Self {
        Self { inner: self.inner.clone(), pipeline: Arc::clone(&self.pipeline) }
    }
}

impl<S: fmt::Debug, St> fmt::Debug for WaitingRoom<S, St> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WaitingRoom").field("inner", &self.inner).finish_non_exhaustive()
    }
}
