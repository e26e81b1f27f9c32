//! A room, and visitors who get their tokens at its door like everybody else.

use std::time::Duration;

use http::{Request, Response, header};
use tower::{Layer, ServiceExt};
use tower_waiting_room::{
    KeyRing, Store, TokenKey, WaitingRoomConfig, WaitingRoomConfigBuilder, WaitingRoomLayer,
};

use super::ready::Ready;

/// A room with one slot, and sessions so long that no pass is due for renewal while it is measured.
pub(crate) fn config() -> WaitingRoomConfigBuilder {
    WaitingRoomConfig::builder("shop")
        .total_active_users(1)
        .session_duration(Duration::from_secs(24 * 60 * 60))
        .keys(KeyRing::new(key(1)))
}

/// A key that every process of a benchmark knows.
pub(crate) fn key(byte: u8) -> TokenKey {
    TokenKey::from_bytes([byte; TokenKey::LEN])
}

/// The token that a new visitor gets: a pass as long as there is a slot, then a ticket.
pub(crate) async fn token<St: Store>(layer: &WaitingRoomLayer<St>) -> String {
    let request = Request::get("/").body(()).expect("the request is well formed");
    let Ok(response) = layer.layer(Ready).oneshot(request).await;
    cookie_of(&response).expect("the room has slots or a line")
}

/// The value of the first cookie that a response sets.
pub(crate) fn cookie_of<B>(response: &Response<B>) -> Option<String> {
    let line = response.headers().get(header::SET_COOKIE)?.to_str().ok()?;
    let (_, value) = line.split(';').next()?.split_once('=')?;
    Some(value.to_owned())
}
