//! The cost of the layer for a visitor with a valid pass, behind axum and without it.

use std::{hint::black_box, time::Duration};

use axum::{
    Router,
    body::Body,
    extract::Request,
    middleware::{Next, from_fn_with_state},
    response::IntoResponse,
};
use axum_extra::extract::cookie::{Cookie, Key, PrivateCookieJar};
use tower::{Layer, layer::layer_fn};
use tower_governor::{GovernorLayer, governor::GovernorConfigBuilder};
use tower_waiting_room::{WaitingRoomLayer, room::RoomMode};

use crate::{
    case::{Case, Group, Repeat},
    requests::{Template, drive, drive_router, hello, runtime},
    services::{Deciding, Forwarding, Ready},
    visitors::{config, cookie_of, token},
};

/// The bare router (the floor), two layers that do nothing, ours, and others.
pub(crate) const BEHIND_AXUM: Group = Group::new(
    "behind-axum",
    "A visitor with a valid pass, through axum's Router::layer",
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
    behind(hello().layer(layer.for_axum()), &format!("__Host-wr-shop={pass}"))
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
    let (layered, cookie) = rewriting(hello());
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

/// Sends requests with this cookie, among others, to a router.
fn behind(router: Router, cookie: &str) -> Repeat {
    drive_router(router, Template::new([cookie]).with_peer())
}

/// The bare service (the floor), two layers that do nothing, and ours.
pub(crate) const WITHOUT_AXUM: Group = Group::new(
    "without-axum",
    "A visitor with a valid pass, without axum",
    &[
        Case { name: "a ready service (the floor)", set_up: floor },
        Case { name: "+ a layer that forwards", set_up: forwarding_alone },
        Case { name: "+ a layer that decides, then forwards", set_up: deciding_alone },
        Case { name: "+ waiting room, valid pass", set_up: valid_pass },
        Case { name: "+ waiting room, three tickets and a pass", set_up: three_tickets },
        Case { name: "+ waiting room, suspended", set_up: suspended },
    ],
);

fn floor() -> Repeat {
    drive(Ready, Template::new(["other=1"]), || ())
}

fn forwarding_alone() -> Repeat {
    drive(layer_fn(Forwarding).layer(Ready), Template::new(["other=1"]), || ())
}

fn deciding_alone() -> Repeat {
    drive(layer_fn(Deciding).layer(Ready), Template::new(["other=1"]), || ())
}

fn valid_pass() -> Repeat {
    let layer = WaitingRoomLayer::new(config().build().expect("the config is right"));
    let pass = format!("__Host-wr-shop={}", runtime().block_on(token(&layer)));
    drive(layer.layer(Ready), Template::new([pass.as_str()]), || ())
}

/// Each request has the most tokens that the layer opens. A third of the difference to the case before
/// it is the cost of finding, decoding and opening a token.
fn three_tickets() -> Repeat {
    let layer = WaitingRoomLayer::new(config().build().expect("the config is right"));
    let tokens: Vec<String> = runtime().block_on(async {
        let mut tokens = Vec::new();
        for _ in 0..4 {
            tokens.push(format!("__Host-wr-shop={}", token(&layer).await));
        }
        // The first visitor has the only slot.
        tokens.rotate_left(1);
        tokens
    });
    drive(layer.layer(Ready), Template::new(tokens.iter().map(String::as_str)), || ())
}

fn suspended() -> Repeat {
    let config = config().mode(RoomMode::Suspended).build().expect("the config is right");
    let layer = WaitingRoomLayer::new(config);
    drive(layer.layer(Ready), Template::new(["other=1"]), || ())
}

/// Returns the router behind a middleware that rewrites a private cookie, and such a cookie.
fn rewriting(router: Router) -> (Router, String) {
    let key = Key::from(&[7; 64]);
    let response = PrivateCookieJar::new(key.clone()).add(session()).into_response();
    let value = cookie_of(&response).expect("the jar sets its only cookie");
    (router.layer(from_fn_with_state(key, rewrite)), format!("{NAME}={value}"))
}

async fn rewrite(jar: PrivateCookieJar, request: Request, next: Next) -> impl IntoResponse {
    let session = jar.get(NAME).expect("every request has the cookie");
    (jar.add(Cookie::new(NAME, session.value().to_owned())), next.run(request).await)
}

/// Returns a cookie as long as the content of a pass.
fn session() -> Cookie<'static> {
    Cookie::new(NAME, "0123456789abcdef0123456789abcdef0123456789abcdef")
}

const NAME: &str = "session-of-naive";

#[cfg(test)]
mod tests {
    use super::*;

    fn allocations(group: Group, name: &str) -> u64 {
        group.case(name).expect("it is in the group").allocations()
    }

    #[test]
    fn a_forwarding_layer_allocates_nothing_itself() {
        let of = |name| allocations(WITHOUT_AXUM, name);
        assert_eq!(of("a ready service (the floor)"), of("+ a layer that forwards"));
    }

    #[test]
    fn a_valid_pass_allocates_at_most_once_more_than_a_forwarding_layer() {
        let of = |name| allocations(BEHIND_AXUM, name);
        let forwarding = of("+ a layer that forwards");
        let ours = of("+ waiting room, valid pass");
        assert!(ours <= forwarding + 1, "{ours} against {forwarding}");
    }
}
