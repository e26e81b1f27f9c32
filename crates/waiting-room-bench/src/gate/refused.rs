//! Requests that a gate refuses at once because it is full, through an axum router.

use std::{
    future::{Future, pending},
    task::{Context, Waker},
};

use axum::{Router, body::Body, extract::Request, routing::get};
use http::StatusCode;
use tower::ServiceExt;
use tower_waiting_room::Concurrency;

use super::routers::{bulkhead, ours, shedding};
use crate::{
    case::{Case, Group, Repeat},
    limits::REFUSING,
    requests::{Template, drive_router, runtime},
};

/// The floor, ours, and others.
pub(crate) const REFUSED: Group = Group::new(
    "gate-refused",
    &[
        Case {
            name: "a layer answering 429, no body (the floor)",
            set_up: || drive_router((REFUSING[0].app)(), refused(StatusCode::TOO_MANY_REQUESTS)),
        },
        Case {
            name: OURS,
            set_up: || {
                full(ours(busy(), Concurrency::limit(1).queue(0)), StatusCode::TOO_MANY_REQUESTS)
            },
        },
        Case {
            name: "tower's limit, LoadShed",
            set_up: || full(shedding(busy(), 1), StatusCode::SERVICE_UNAVAILABLE),
        },
        Case {
            name: "tower-resilience bulkhead, reject_when_full",
            set_up: || {
                let router = bulkhead(busy(), 1, |options| options.reject_when_full());
                full(router, StatusCode::SERVICE_UNAVAILABLE)
            },
        },
    ],
);

/// Returns an application that never answers.
pub(super) fn busy() -> Router {
    Router::new().route("/", get(pending::<()>))
}

/// Sends requests to a router in which one request runs, and no other may.
fn full(router: Router, status: StatusCode) -> Repeat {
    let router = router.with_state::<()>(());
    let mut running = Box::pin(router.clone().oneshot(Request::new(Body::empty())));
    let runtime = runtime();
    let timers = runtime.enter();
    let is_over = running.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready();
    drop(timers);
    assert!(!is_over, "the case measures something else");
    let mut repeat = drive_router(router, refused(status));
    Repeat::new(move |times| {
        repeat.run(times);
        // The running request holds its permit as long as others are sent.
        let _ = &running;
    })
}

fn refused(status: StatusCode) -> Template {
    Template::new(["other=1"]).of_a_program().answered(status).with_peer()
}

pub(super) const OURS: &str = "ours, all headers and a problem document";
