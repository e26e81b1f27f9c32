//! Requests that a gate admits at once, through an axum router.

use axum::Router;
use tower::layer::layer_fn;
use tower_waiting_room::{Concurrency, Hold};

use super::{
    routers::{bulkhead, ours, shedding, tower},
    sources::ENOUGH,
};
use crate::{
    case::{Case, Group, Repeat},
    setting::{Deciding, Forwarding, Template, drive_router, hello},
};

/// The bare router, the two layers that do nothing, ours, and others; the floor first.
pub(crate) const ADMITTED: Group = Group::new(
    "gate-admitted",
    &[
        Case { name: "bare Router (the floor)", set_up: || sent_to(hello()) },
        Case { name: FORWARDS, set_up: || sent_to(hello().layer(layer_fn(Forwarding))) },
        Case { name: DECIDES, set_up: || sent_to(hello().layer(layer_fn(Deciding))) },
        Case { name: OURS, set_up: || sent_to(ours(hello(), limit())) },
        Case { name: "+ ours, held to the head", set_up: || sent_to(ours(hello(), to_head())) },
        Case { name: "+ tower's limit", set_up: || sent_to(tower(hello(), ENOUGH)) },
        Case { name: "+ tower's limit, LoadShed", set_up: || sent_to(shedding(hello(), ENOUGH)) },
        Case {
            name: "+ tower-resilience bulkhead",
            set_up: || sent_to(bulkhead(hello(), ENOUGH, |options| options)),
        },
    ],
);

fn limit() -> Concurrency {
    Concurrency::limit(ENOUGH)
}

fn to_head() -> Concurrency {
    limit().hold(Hold::Head)
}

fn sent_to(router: Router) -> Repeat {
    drive_router(router, Template::new(["other=1"]).with_peer())
}

pub(super) const FORWARDS: &str = "+ a layer that forwards";
pub(super) const DECIDES: &str = "+ a layer that decides, then forwards";
pub(super) const OURS: &str = "+ ours";
