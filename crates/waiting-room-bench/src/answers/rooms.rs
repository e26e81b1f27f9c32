//! Full rooms, and the answers of the layer to waiting visitors, without a network.

use std::time::Duration;

use anyhow::Result;
use http::StatusCode;
use tower::Layer;
use tower_waiting_room::{
    WaitingRoomLayer,
    time::{ManualClock, Timestamp},
};

use crate::{
    case::{Case, Group, Repeat},
    requests::{Template, drive, runtime},
    services::Ready,
    visitors::{config, token},
};

/// A full room.
#[derive(Debug)]
pub(super) struct FullRoom {
    pub(super) layer: WaitingRoomLayer,
    /// The pass that holds its only slot.
    pub(super) pass: String,
    /// A ticket of a waiting visitor.
    pub(super) ticket: String,
}

impl FullRoom {
    async fn new(layer: WaitingRoomLayer) -> Self {
        let (pass, ticket) = (token(&layer).await, token(&layer).await);
        Self { layer, pass, ticket }
    }
}

/// Creates a full room on the machine's clock, with a ticket that is not due for ten minutes.
pub(super) async fn full_room() -> Result<FullRoom> {
    let longest = Duration::from_secs(10 * 60);
    let config = config().refresh_interval(longest).place_retention(3 * longest).build()?;
    Ok(FullRoom::new(WaitingRoomLayer::new(config)).await)
}

/// Creates a full room whose clock stands still at a time when its ticket is due.
pub(super) async fn still_room() -> Result<FullRoom> {
    let clock = ManualClock::new(Timestamp::from_secs(1_700_000_000));
    let config = config().build()?;
    let layer = WaitingRoomLayer::with_clock(config, clock.clone());
    let interval = layer.handle().room().expect("there is a room").rules().refresh_interval();
    let room = FullRoom::new(layer).await;
    clock.advance(2 * interval);
    Ok(room)
}

/// The answers that are also measured over loopback.
pub(crate) const ALONE: Group = Group::new(
    "answers",
    &[
        Case { name: "JSON, early ticket", set_up: || early(JSON, DATA) },
        Case { name: "JSON, first touch", set_up: || first_touch(JSON, DATA) },
        Case { name: "JSON, check-in", set_up: check_in },
        Case { name: "HTML, early ticket", set_up: || early(HTML, PAGE) },
        Case { name: "HTML, first touch", set_up: || first_touch(HTML, PAGE) },
    ],
);

fn early(types: &'static str, status: StatusCode) -> Repeat {
    let room = runtime().block_on(full_room()).expect("the room can be made");
    let cookie = format!("__Host-wr-shop={}", room.ticket);
    let template = Template::new([cookie.as_str()]).accept(types, status);
    drive(room.layer.layer(Ready), template, || ())
}

fn first_touch(types: &'static str, status: StatusCode) -> Repeat {
    let room = runtime().block_on(full_room()).expect("the room can be made");
    let template = Template::new(["other=1"]).accept(types, status);
    drive(room.layer.layer(Ready), template, || ())
}

fn check_in() -> Repeat {
    let room = runtime().block_on(still_room()).expect("the room can be made");
    let cookie = format!("__Host-wr-shop={}", room.ticket);
    let template = Template::new([cookie.as_str()]).accept(JSON, DATA);
    drive(room.layer.layer(Ready), template, || ())
}

/// The types that a program accepts, and those that a browser accepts.
pub(super) const JSON: &str = "application/json";
pub(super) const HTML: &str = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";

/// The statuses of the answers to a program and to a browser.
pub(super) const DATA: StatusCode = StatusCode::TOO_MANY_REQUESTS;
pub(super) const PAGE: StatusCode = StatusCode::SERVICE_UNAVAILABLE;
