//! The application behind the waiting room.

use axum::{
    Router,
    extract::ws::{WebSocket, WebSocketUpgrade},
    http::{Method, Uri},
    response::{Html, IntoResponse, Response},
    routing::{any, get},
};

/// An application that says what it was asked for, so that a test sees what got through to it.
///
/// `/leave` ends the session of who asks, and `/echo` is a WebSocket.
pub fn application() -> Router {
    Router::new().route("/leave", get(leave)).route("/echo", any(echo)).fallback(inside)
}

async fn inside(method: Method, uri: Uri, body: String) -> Html<String> {
    // The icon is there so that browsers do not ask for one.
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
