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
    browsers::{Preferences, dozen, made_up},
    case::{Case, Group, Repeat},
    limits::bare,
    requests::{Template, drive_router, runtime},
};

/// The floor, ours, and others.
pub(crate) const REFUSED: Group = Group::new(
    "gate-refused",
    "Refused by a gate that is full, through axum's Router::layer",
    &[
        Case {
            name: "a layer answering 429, no body (the floor)",
            set_up: || drive_router(bare(), refused(StatusCode::TOO_MANY_REQUESTS)),
        },
        Case {
            name: "ours, all headers and a problem document",
            set_up: || full(ours(busy(), only_one()), refused(StatusCode::TOO_MANY_REQUESTS)),
        },
        Case { name: "ours, to a dozen browsers", set_up: || to_clients(dozen()) },
        Case { name: "ours, to made-up Accept headers", set_up: || to_clients(made_up()) },
        Case {
            name: "tower's limit, LoadShed",
            set_up: || full(shedding(busy(), 1), refused(StatusCode::SERVICE_UNAVAILABLE)),
        },
        Case {
            name: "tower-resilience bulkhead, reject_when_full",
            set_up: || {
                let router = bulkhead(busy(), 1, |options| options.reject_when_full());
                full(router, refused(StatusCode::SERVICE_UNAVAILABLE))
            },
        },
    ],
);

/// Returns an application that never answers.
pub(crate) fn busy() -> Router {
    Router::new().route("/", get(pending::<()>))
}

fn only_one() -> Concurrency {
    Concurrency::limit(1).queue(0)
}

fn to_clients(clients: impl Iterator<Item = Preferences>) -> Repeat {
    let template = Template::new(["other=1"]).of_clients(clients);
    full(ours(busy(), only_one()), template.answered(StatusCode::TOO_MANY_REQUESTS).with_peer())
}

/// Sends requests to a router in which one request runs, and no other may.
fn full(router: Router, template: Template) -> Repeat {
    let router = router.with_state::<()>(());
    let mut running = Box::pin(router.clone().oneshot(Request::new(Body::empty())));
    let runtime = runtime();
    let timers = runtime.enter();
    let is_over = running.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready();
    drop(timers);
    assert!(!is_over, "the case measures something else");
    let mut repeat = drive_router(router, template);
    Repeat::new(move |times| {
        repeat.run(times);
        // The running request holds its permit as long as others are sent.
        let _ = &running;
    })
}

fn refused(status: StatusCode) -> Template {
    Template::new(["other=1"]).of_a_program().answered(status).with_peer()
}
