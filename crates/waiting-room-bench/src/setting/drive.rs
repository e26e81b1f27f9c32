//! Requests sent to a service one after another, without a network.

use std::{fmt::Debug, hint::black_box};

use axum::{Router, body::Body, routing::get};
use http::{Request, Response};
use tokio::runtime::{Builder, Runtime};
use tower::{Service, ServiceExt};

use super::request::Template;
use crate::case::Repeat;

/// Sends clones of one request to a service, and wants each answered with its status.
pub(crate) fn drive<S, B, R>(mut service: S, template: Template, body: fn() -> B) -> Repeat
where
    S: Service<Request<B>, Response = Response<R>, Error: Debug> + 'static,
    B: 'static,
{
    let (runtime, status) = (runtime(), template.status());
    Repeat::new(move |times| {
        runtime.block_on(async {
            for _ in 0..times {
                let request = template.request(body());
                let service = service.ready().await.expect("no service here fails");
                let response = service.call(request).await.expect("no service here fails");
                assert_eq!(response.status(), status, "the case measures something else");
                black_box(response);
            }
        });
    })
}

/// The same to a router, after the first thousand: a layer may look at these more closely.
pub(crate) fn drive_router(router: Router, template: Template) -> Repeat {
    // As `axum::serve` does: otherwise the layers are put around the handler for every request.
    let mut repeat = drive(router.with_state::<()>(()), template, Body::empty);
    repeat.run(1_024);
    repeat
}

/// The smallest application that says something.
pub(crate) fn hello() -> Router {
    Router::new().route("/", get(|| async { "Hello, world!" }))
}

/// A runtime on this thread.
pub(crate) fn runtime() -> Runtime {
    Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("the machine has what a runtime needs")
}
