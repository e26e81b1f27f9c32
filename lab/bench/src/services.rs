//! Services to which layers are applied, and layers that do nothing.

use std::{
    convert::Infallible,
    future::{self, ready},
    mem,
    task::{Context, Poll},
};

use http::{Request, Response};
use tower::{Service, util::Oneshot};

/// A service that answers at once, with an empty response.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ready;

impl Service<Request<()>> for Ready {
    type Response = Response<()>;
    type Error = Infallible;
    type Future = future::Ready<Result<Response<()>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<()>) -> Self::Future {
        ready(Ok(Response::new(())))
    }
}

/// A layer that forwards every request.
#[derive(Clone, Debug)]
pub(crate) struct Forwarding<S>(pub(crate) S);

impl<R, S: Service<R>> Service<R> for Forwarding<S> {
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.0.poll_ready(cx)
    }

    fn call(&mut self, request: R) -> S::Future {
        self.0.call(request)
    }
}

/// A layer that forwards every request, in the way of one that decides about it first: it is always
/// ready, and drives a clone of the inner service to readiness after the decision.
#[derive(Clone, Debug)]
pub(crate) struct Deciding<S>(pub(crate) S);

impl<R, S: Service<R> + Clone> Service<R> for Deciding<S> {
    type Response = S::Response;
    type Error = S::Error;
    type Future = Oneshot<S, R>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: R) -> Self::Future {
        let clone = self.0.clone();
        Oneshot::new(mem::replace(&mut self.0, clone), request)
    }
}
