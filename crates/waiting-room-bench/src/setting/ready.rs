//! The application where there is nothing but the layer to be measured.

use std::{
    convert::Infallible,
    future::{self, ready},
    task::{Context, Poll},
};

use http::{Request, Response};
use tower::Service;

/// Answers at once, with nothing.
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
