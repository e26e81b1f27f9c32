//! A room, and the tokens of its visitors.

use std::time::Duration;

use http::{Request, Response, header};
use tower::{Layer, ServiceExt};
use tower_waiting_room::{
    KeyRing, TokenKey, WaitingRoomConfig, WaitingRoomLayer, config::WaitingRoomConfigBuilder,
};

use crate::{
    requests::{Peer, peer},
    services::Ready,
};

/// The configuration of a room with one slot, and with sessions that need no renewal during a
/// measurement.
pub(crate) fn config() -> WaitingRoomConfigBuilder {
    WaitingRoomConfig::builder("shop")
        .total_active_users(1)
        .session_duration(Duration::from_secs(24 * 60 * 60))
        .keys(KeyRing::new(TokenKey::from_bytes([1; TokenKey::LEN])))
}

/// Returns the token of a new visitor: a pass while a slot is free, and then a ticket.
pub(crate) async fn token(layer: &WaitingRoomLayer) -> String {
    token_at(layer, peer([127, 0, 0, 1])).await
}

/// Returns the token of a new visitor with this address.
pub(crate) async fn token_at(layer: &WaitingRoomLayer, peer: Peer) -> String {
    let request = Request::get("/").extension(peer).body(()).expect("the request is well formed");
    let Ok(response) = layer.layer(Ready).oneshot(request).await;
    cookie_of(&response).expect("the room has slots or a line")
}

/// Returns the value of the first cookie that a response sets.
pub(crate) fn cookie_of<B>(response: &Response<B>) -> Option<String> {
    let line = response.headers().get(header::SET_COOKIE)?.to_str().ok()?;
    let (_, value) = line.split(';').next()?.split_once('=')?;
    Some(value.to_owned())
}
