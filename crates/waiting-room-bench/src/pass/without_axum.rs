//! Requests to a service that is always ready, so that nothing but the layer is in the way.

use tower::{Layer, layer::layer_fn};
use tower_waiting_room::{RoomSwitch, WaitingRoomLayer};

use crate::{
    case::{Case, Group, Repeat},
    setting::{Deciding, Forwarding, Ready, Template, config, drive, runtime, token},
};

/// The bare service, the two layers that do nothing, and ours; the floor first.
pub(crate) const WITHOUT_AXUM: Group = Group::new(
    "without-axum",
    &[
        Case { name: "a ready service (the floor)", set_up: floor },
        Case { name: "+ a layer that forwards", set_up: forwarding },
        Case { name: "+ a layer that decides, then forwards", set_up: deciding },
        Case { name: "+ waiting room, valid pass", set_up: valid_pass },
        Case { name: "+ waiting room, suspended", set_up: suspended },
    ],
);

fn floor() -> Repeat {
    drive(Ready, Template::new(["other=1"]), || ())
}

fn forwarding() -> Repeat {
    drive(layer_fn(Forwarding).layer(Ready), Template::new(["other=1"]), || ())
}

fn deciding() -> Repeat {
    drive(layer_fn(Deciding).layer(Ready), Template::new(["other=1"]), || ())
}

fn valid_pass() -> Repeat {
    let layer = WaitingRoomLayer::new(config().build().expect("the config is right"));
    let pass = format!("__Host-wr-shop={}", runtime().block_on(token(&layer)));
    drive(layer.layer(Ready), Template::new([pass.as_str()]), || ())
}

fn suspended() -> Repeat {
    let config = config().switch(RoomSwitch::Suspended).build().expect("the config is right");
    let layer = WaitingRoomLayer::new(config);
    drive(layer.layer(Ready), Template::new(["other=1"]), || ())
}
