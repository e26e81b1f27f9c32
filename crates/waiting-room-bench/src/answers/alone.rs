//! Answers to those who wait, without a network: what the layer itself does for each.

use http::StatusCode;
use tower::Layer;

use super::rooms::{full_room, still_room};
use crate::{
    case::{Case, Group, Repeat},
    setting::{Ready, Template, drive, runtime},
};

/// The answers that are asked for over loopback as well.
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

/// What a program asks for, and what a browser does.
pub(super) const JSON: &str = "application/json";
pub(super) const HTML: &str = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";

/// The statuses that they are answered with.
pub(super) const DATA: StatusCode = StatusCode::TOO_MANY_REQUESTS;
pub(super) const PAGE: StatusCode = StatusCode::SERVICE_UNAVAILABLE;
