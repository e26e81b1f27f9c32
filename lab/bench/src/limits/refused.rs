//! Requests that a limit refuses, through an axum router.

use std::{convert::Infallible, future::ready};

use axum::{
    Router,
    body::Body,
    extract::Request,
    middleware::{Next, from_fn},
    response::Response,
};
use http::StatusCode;
use tower::{ServiceExt, layer::layer_fn, service_fn};

use super::{
    routers::{self, Headers},
    turns::Outcome,
};
use crate::{
    browsers::{Preferences, dozen, made_up},
    case::{Case, Group, Repeat},
    requests::{Template, drive_router, hello, runtime},
};

/// The floor, ours, and others.
pub(crate) const REFUSED: Group = Group::new(
    "refused",
    "Refused by a limit, through axum's Router::layer",
    &[
        Case { name: "a layer answering 429, no body (the floor)", set_up: || to_program(bare()) },
        Case {
            name: "axum::middleware::from_fn answering 429",
            set_up: || to_program(by_function()),
        },
        Case { name: "ours, all headers and a problem document", set_up: || to_program(ours()) },
        Case { name: "tower_governor, by IP", set_up: || to_program(governor(Headers::None)) },
        Case {
            name: "tower_governor, by IP, use_headers",
            set_up: || to_program(governor(Headers::All)),
        },
        Case { name: "tower-resilience, no key", set_up: || to_program(resilience()) },
        Case { name: "ours, to a browser: the page", set_up: || sent(ours(), Template::new([""])) },
        Case { name: "ours, to a dozen browsers", set_up: || to_clients(dozen()) },
        Case { name: "ours, to made-up Accept headers", set_up: || to_clients(made_up()) },
        Case { name: "ours, to a program with 100 headers", set_up: || to_many_headers(ours()) },
        Case { name: "a layer answering 429 to the same", set_up: || to_many_headers(bare()) },
    ],
);

fn to_program(router: Router) -> Repeat {
    sent(router, Template::new(["other=1"]).of_a_program())
}

fn to_clients(clients: impl Iterator<Item = Preferences>) -> Repeat {
    sent(ours(), Template::new(["other=1"]).of_clients(clients))
}

fn to_many_headers(router: Router) -> Repeat {
    sent(router, Template::new(["other=1"]).of_a_program().with_many_headers())
}

/// Returns an application behind a layer that only answers 429.
pub(crate) fn bare() -> Router {
    let refuse = |_: Request| {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::TOO_MANY_REQUESTS;
        ready(Ok::<_, Infallible>(response))
    };
    hello().layer(layer_fn(move |_| service_fn(refuse)))
}

fn by_function() -> Router {
    hello().layer(from_fn(|_: Request, _: Next| ready(StatusCode::TOO_MANY_REQUESTS)))
}

fn ours() -> Router {
    used_up(routers::ours(Outcome::Refused, Headers::All))
}

fn governor(headers: Headers) -> Router {
    used_up(routers::governor(hello(), Outcome::Refused, headers))
}

fn resilience() -> Router {
    used_up(routers::resilience(Outcome::Refused))
}

/// Sends the one request that the limit allows.
fn used_up(router: Router) -> Router {
    let router = router.with_state::<()>(());
    let request = Template::new(["other=1"]).with_peer().request(Body::empty());
    let sending = router.clone().oneshot(request);
    let first = std::thread::spawn(|| runtime().block_on(sending)).join();
    let Ok(Ok(response)) = first else { unreachable!("an application here cannot fail") };
    assert_eq!(response.status(), StatusCode::OK, "the first request is allowed");
    router
}

fn sent(router: Router, template: Template) -> Repeat {
    drive_router(router, template.answered(StatusCode::TOO_MANY_REQUESTS).with_peer())
}

#[cfg(test)]
mod tests {
    use http::header;

    use super::*;

    #[test]
    fn every_browser_and_every_made_up_client_gets_the_page() {
        let router = ours();
        for (number, client) in dozen().chain(made_up().take(3)).enumerate() {
            let template = Template::new(["other=1"]).of_clients([client]).with_peer();
            let asked = router.clone().oneshot(template.request(Body::empty()));
            let Ok(response) = runtime().block_on(asked);
            let form = response.headers().get(header::CONTENT_TYPE).expect("it has a body");
            assert_eq!(form, "text/html; charset=utf-8", "client {number}");
        }
    }
}
