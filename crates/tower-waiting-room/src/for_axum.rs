//! A layer for axum, whose responses have axum's own body.
//!
//! axum's router boxes the body of a response unless it has the type [`axum::body::Body`]. A
//! [`ResponseBody`] has another type, although most responses hold no permit and therefore need no
//! wrapper. [`ForAxum`] takes the body out of the wrapper again where that is possible:
//!
//! ```text
//!  ResponseBody<Body> ─┬─ the application's body without permits ─► that body
//!                      ├─ an answer from the layer ───────────────► a body with its bytes
//!                      └─ permits, or a push stream ──────────────► a body that boxes the wrapper
//! ```

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll, ready},
};

use axum::body::Body;
use http::{Request, Response};
use pin_project_lite::pin_project;
use tower_layer::Layer;
use tower_service::Service;

use crate::body::ResponseBody;

/// A layer of this crate for axum, and the service that it creates.
///
/// The responses have axum's own body, which axum's router does not box. The service inside the layer
/// has to answer with that body as well. Otherwise the layer behaves like the one inside it. A layer without this wrapper works in axum too, but costs one
/// more allocation for each response.
///
/// ```
/// use axum::{Router, routing::get};
/// use tower_waiting_room::{WaitingRoomConfig, WaitingRoomLayer};
///
/// let config = WaitingRoomConfig::builder("shop").total_active_users(200).build()?;
/// let layer = WaitingRoomLayer::new(config).for_axum();
/// let app: Router = Router::new().route("/", get(|| async { "hello" })).layer(layer);
/// # let _ = app;
/// # Ok::<(), tower_waiting_room::ConfigError>(())
/// ```
#[derive(Clone, Debug)]
pub struct ForAxum<T>(T);

impl<T> ForAxum<T> {
    /// Wraps a layer.
    pub(crate) const fn new(layer: T) -> Self {
        Self(layer)
    }
}

impl<S, L: Layer<S>> Layer<S> for ForAxum<L> {
    type Service = ForAxum<L::Service>;

    fn layer(&self, inner: S) -> Self::Service {
        ForAxum(self.0.layer(inner))
    }
}

impl<T, B> Service<Request<B>> for ForAxum<T>
where
    T: Service<Request<B>, Response = Response<ResponseBody<Body>>>,
{
    type Response = Response<Body>;
    type Error = T::Error;
    type Future = ForAxumFuture<T::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.0.poll_ready(cx)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        ForAxumFuture { inner: self.0.call(request) }
    }
}

pin_project! {
    /// The future of a response from a service in [`ForAxum`].
    ///
    /// # Cancel safety
    ///
    /// Dropping the future has the same effect as dropping the future inside it.
    #[derive(Debug)]
    pub struct ForAxumFuture<F> {
        #[pin]
        inner: F,
    }
}

impl<F, E> Future for ForAxumFuture<F>
where
    F: Future<Output = Result<Response<ResponseBody<Body>>, E>>,
{
    type Output = Result<Response<Body>, E>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let response = ready!(self.project().inner.poll(cx))?;
        Poll::Ready(Ok(response.map(Body::from)))
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use bytes::Bytes;
    use http::StatusCode;
    use http_body::Body as _;
    use http_body_util::BodyExt;
    use tower::{ServiceExt, service_fn};

    use super::*;
    use crate::{Concurrency, Quota, RateLimit, WaitingRoomConfig, WaitingRoomLayer};

    /// The application: answers with `hello`.
    async fn hello(_: Request<Body>) -> Result<Response<Body>, Infallible> {
        Ok(Response::new(Body::from("hello")))
    }

    async fn answers(config: WaitingRoomConfig, requests: usize) -> Vec<Response<Body>> {
        let service = WaitingRoomLayer::new(config).for_axum().layer(service_fn(hello));
        let mut answers = Vec::new();
        for _ in 0..requests {
            answers.push(service.clone().oneshot(Request::new(Body::empty())).await.unwrap());
        }
        answers
    }

    async fn text(response: Response<Body>) -> Bytes {
        response.into_body().collect().await.unwrap().to_bytes()
    }

    #[tokio::test]
    async fn the_application_and_the_layer_answer_in_axums_body() {
        let limit = RateLimit::global(Quota::per_hour(1));
        let config = WaitingRoomConfig::builder("api").rate_limit(limit).build().unwrap();
        let [first, second] = answers(config, 2).await.try_into().unwrap();
        assert_eq!((first.status(), text(first).await), (StatusCode::OK, "hello".into()));
        assert_eq!(second.status(), StatusCode::TOO_MANY_REQUESTS);
        let length = second.body().size_hint().exact().unwrap();
        assert_eq!(text(second).await.len() as u64, length);
    }

    #[tokio::test]
    async fn a_body_holds_its_permit_until_its_end() {
        let config = WaitingRoomConfig::builder("api").concurrency(Concurrency::limit(1).queue(0));
        let service = WaitingRoomLayer::new(config.build().unwrap());
        let service = service.for_axum().layer(service_fn(hello));
        let status = || async {
            let answer = service.clone().oneshot(Request::new(Body::empty())).await.unwrap();
            (answer.status(), answer)
        };
        let (first, body) = status().await;
        assert_eq!(first, StatusCode::OK);
        assert_eq!(status().await.0, StatusCode::TOO_MANY_REQUESTS);
        drop(body);
        assert_eq!(status().await.0, StatusCode::OK);
    }
}
