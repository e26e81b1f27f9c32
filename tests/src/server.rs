//! A waiting room in front of an application, on a real port.

use std::time::Duration;

use axum::{
    Router,
    extract::ws::{WebSocket, WebSocketUpgrade},
    http::{Method, Uri},
    response::{Html, IntoResponse, Response},
    routing::{any, get},
};
use tower_waiting_room::{
    KeyRing, TokenKey, WaitingRoomConfig, WaitingRoomHandle, WaitingRoomLayer,
    config::WaitingRoomConfigBuilder, room::RoomSnapshot, token::CookieSettings,
};

use crate::{Process, Visitor, until};

/// A room for one visitor at a time, whose session lasts for ten minutes. Other visitors check in
/// every two or three seconds. `/about` bypasses the room.
///
/// The cookie is `wr-shop`, without `Secure`, so that clients send it over plain HTTP.
pub fn config() -> WaitingRoomConfigBuilder {
    WaitingRoomConfig::builder("shop")
        .total_active_users(1)
        .session_duration(Duration::from_secs(600))
        .refresh_interval(Duration::from_secs(2))
        .cookie(CookieSettings::new().insecure())
        .keys(KeyRing::new(TokenKey::from_bytes([7; TokenKey::LEN])))
        .bypass(tower_waiting_room::request::Bypass::path("about", "/about"))
}

/// A server with a room.
#[derive(Debug)]
pub struct House {
    process: Process,
    handle: WaitingRoomHandle,
}

impl House {
    /// Opens a house with this configuration.
    #[must_use]
    pub fn open(config: WaitingRoomConfigBuilder) -> Self {
        Self::open_at(0, config, |app| app)
    }

    /// Opens a house on the given port (0 for any free one), with `outer` around the room.
    #[must_use]
    pub fn open_at(
        port: u16,
        config: WaitingRoomConfigBuilder,
        outer: impl FnOnce(Router) -> Router,
    ) -> Self {
        let layer = WaitingRoomLayer::new(config.build().unwrap());
        Self::of(port, layer.clone(), outer(application().layer(layer)))
    }

    /// Opens a house whose `app` already contains `layer`.
    #[must_use]
    pub fn of(port: u16, layer: WaitingRoomLayer, app: Router) -> Self {
        let process = Process::start_at(port, async |listener| {
            axum::serve(listener, app).await.unwrap();
        });
        Self { process, handle: layer.handle() }
    }

    /// A full house, and the visitor who has the only slot.
    pub async fn full(config: WaitingRoomConfigBuilder) -> (Self, Visitor) {
        let house = Self::open(config);
        let guest = house.guest().await;
        (house, guest)
    }

    /// A visitor who was admitted.
    pub async fn guest(&self) -> Visitor {
        let guest = Visitor::of(self);
        let first = guest.get("/").await;
        assert!(first.is_inside(), "there should be a slot: {first:?}");
        guest
    }

    /// The URL of `path` in this house.
    #[must_use]
    pub fn url(&self, path: &str) -> String {
        format!("http://localhost:{}{path}", self.port())
    }

    /// The port of the server.
    #[must_use]
    pub const fn port(&self) -> u16 {
        self.process.port()
    }

    /// The operator's handle.
    #[must_use]
    pub const fn handle(&self) -> &WaitingRoomHandle {
        &self.handle
    }

    /// The current numbers of the room.
    pub async fn snapshot(&self) -> RoomSnapshot {
        self.handle.room().unwrap().snapshot().await.unwrap()
    }

    /// Returns when this number of visitors have a place in the line.
    pub async fn has_waiting(&self, visitors: u32) {
        until(&format!("{visitors} in line"), async || {
            (self.snapshot().await.waiting == visitors).then_some(())
        })
        .await;
    }

    /// Returns when this number of visitors are active.
    pub async fn has_active(&self, visitors: u32) {
        until(&format!("{visitors} inside"), async || {
            (self.snapshot().await.active == visitors).then_some(())
        })
        .await;
    }

    /// Stops the server. The state of the room is lost.
    pub async fn close(self) {
        self.process.stop().await;
    }
}

impl Visitor {
    /// A visitor of this house who has not sent a request yet.
    #[must_use]
    pub fn of(house: &House) -> Self {
        Self::at(&house.url(""))
    }
}

/// An application that echoes the request, so that a test sees what reached it.
///
/// `/leave` ends the session of the visitor, and `/echo` is a WebSocket.
pub fn application() -> Router {
    Router::new().route("/leave", get(leave)).route("/echo", any(echo)).fallback(inside)
}

async fn inside(method: Method, uri: Uri, body: String) -> Html<String> {
    // The page declares an icon, so that browsers do not request one.
    Html(format!(
        "<!doctype html><html lang=en><title>Inside</title><link rel=icon href=\"data:,\">\
         <h1 id=inside>inside</h1><p id=asked>{method} {uri}</p><p id=sent>{body}</p>"
    ))
}

async fn leave() -> Response {
    ([("waiting-room-command", "revoke")], "Goodbye.").into_response()
}

async fn echo(upgrade: WebSocketUpgrade) -> Response {
    upgrade.on_upgrade(async |mut socket: WebSocket| {
        while let Some(Ok(message)) = socket.recv().await {
            if socket.send(message).await.is_err() {
                return;
            }
        }
    })
}
