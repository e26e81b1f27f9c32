//! Requests through an axum router.

use std::{hint::black_box, time::Duration};

use axum::{Router, body::Body};
use tower::layer::layer_fn;
use tower_governor::{GovernorLayer, governor::GovernorConfigBuilder};
use tower_waiting_room::WaitingRoomLayer;

use super::cookie_jar;
use crate::{
    case::{Case, Group, Repeat},
    setting::{Deciding, Forwarding, Template, config, drive_router, hello, runtime, token},
};

/// The bare router, the two layers that do nothing, ours, and others; the floor first.
pub(crate) const BEHIND_AXUM: Group = Group::new(
    "behind-axum",
    &[
        Case { name: "bare Router (the floor)", set_up: || behind(hello(), "other=1") },
        Case { name: "+ a layer that forwards", set_up: forwarding },
        Case { name: "+ a layer that decides, then forwards", set_up: deciding },
        Case { name: "+ waiting room, valid pass", set_up: waiting_room },
        Case { name: "+ tower_governor, peer IP, 1 key", set_up: governor },
        Case { name: "+ PrivateCookieJar, read and rewrite", set_up: private_cookie_jar },
        Case { name: "the request alone: cloned and dropped", set_up: request_alone },
    ],
);

fn forwarding() -> Repeat {
    behind(hello().layer(layer_fn(Forwarding)), "other=1")
}

fn deciding() -> Repeat {
    behind(hello().layer(layer_fn(Deciding)), "other=1")
}

fn waiting_room() -> Repeat {
    let config = config().build().expect("the config is right");
    let layer = WaitingRoomLayer::new(config);
    let pass = runtime().block_on(token(&layer));
    behind(hello().layer(layer), &format!("__Host-wr-shop={pass}"))
}

fn governor() -> Repeat {
    // A quota that no benchmark exhausts.
    let config = GovernorConfigBuilder::default()
        .period(Duration::from_nanos(1))
        .burst_size(u32::MAX)
        .finish()
        .expect("neither the period nor the burst is zero");
    behind(hello().layer(GovernorLayer::new(config)), "other=1")
}

fn private_cookie_jar() -> Repeat {
    let (layered, cookie) = cookie_jar::rewriting(hello());
    behind(layered, &cookie)
}

fn request_alone() -> Repeat {
    let template = Template::new(["other=1"]).with_peer();
    Repeat::new(move |times| {
        for _ in 0..times {
            black_box(template.request(Body::empty()));
        }
    })
}

/// Sends requests with this cookie among others to a router.
fn behind(router: Router, cookie: &str) -> Repeat {
    drive_router(router, Template::new([cookie]).with_peer())
}
