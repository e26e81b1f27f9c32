//! A visitor with a pass, a limit and a gate at once, and the same protection by others.

use axum::Router;
use tower_waiting_room::WaitingRoomLayer;

use crate::{
    case::{Case, Group, Repeat},
    gate::{limit, shedding_and_timing_out},
    limits::{governor_with_headers, never_used_up},
    requests::{Template, drive_router, hello, runtime},
    visitors::{config, token},
};

/// Everything at once.
pub(crate) const TOGETHER: Group = Group::new(
    "together",
    &[
        Case { name: OURS, set_up: ours },
        Case { name: OTHERS, set_up: || sent_to(others(), "other=1") },
    ],
);

/// Our layer with a room, a limit per address with its headers, and a gate to the last byte.
fn ours() -> Repeat {
    let config = config().rate_limit(never_used_up()).concurrency(limit());
    let layer = WaitingRoomLayer::new(config.build().expect("the config is right"));
    let pass = runtime().block_on(token(&layer));
    sent_to(hello().layer(layer), &format!("__Host-wr-shop={pass}"))
}

/// The same without a room, by four layers.
fn others() -> Router {
    governor_with_headers(shedding_and_timing_out(hello()))
}

fn sent_to(router: Router, cookie: &str) -> Repeat {
    drive_router(router, Template::new([cookie]).with_peer())
}

pub(super) const OURS: &str = "+ ours: pass, limit with headers, gate";
pub(super) const OTHERS: &str = "+ tower_governor with headers, LoadShed, concurrency, timeout";
