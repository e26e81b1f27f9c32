//! Requests that the limits allow, through an axum router.

use axum::Router;
use tower::layer::layer_fn;

use super::{
    routers::{Headers, governor, ours, resilience, two_of_ours},
    turns::Outcome::Allowed,
};
use crate::{
    case::{Case, Group, Repeat},
    setting::{Deciding, Forwarding, Template, drive_router, hello},
};

/// The bare router, the two layers that do nothing, ours, and others; the floor first.
pub(crate) const ADMITTED: Group = Group::new(
    "admitted",
    &[
        Case { name: "bare Router (the floor)", set_up: || sent_to(hello()) },
        Case { name: "+ a layer that forwards", set_up: forwarding },
        Case { name: "+ a layer that decides, then forwards", set_up: deciding },
        Case { name: "+ ours, a limit by IP, all headers", set_up: || limited(Headers::All) },
        Case { name: "+ ours, a limit by IP, no headers", set_up: || limited(Headers::None) },
        Case { name: "+ ours, two limits, all headers", set_up: || sent_to(two_of_ours()) },
        Case { name: "+ tower_governor, by IP", set_up: || governed(Headers::None) },
        Case { name: "+ tower_governor, by IP, use_headers", set_up: || governed(Headers::All) },
        Case { name: "+ tower-resilience, no key", set_up: || sent_to(resilience(Allowed)) },
    ],
);

fn forwarding() -> Repeat {
    sent_to(hello().layer(layer_fn(Forwarding)))
}

fn deciding() -> Repeat {
    sent_to(hello().layer(layer_fn(Deciding)))
}

fn limited(headers: Headers) -> Repeat {
    sent_to(ours(Allowed, headers))
}

fn governed(headers: Headers) -> Repeat {
    sent_to(governor(Allowed, headers))
}

fn sent_to(router: Router) -> Repeat {
    drive_router(router, Template::new(["other=1"]).with_peer())
}
