//! WebSockets, whose handshake waits like any other request.

use futures_util::{SinkExt, StreamExt};
use http::{StatusCode, header};
use tests::{House, Visitor, config};
use tokio_tungstenite::{
    connect_async,
    tungstenite::{Error, Message, client::IntoClientRequest},
};
use tower_waiting_room::Concurrency;

#[tokio::test]
async fn a_handshake_is_refused_with_a_status_that_the_client_can_read() {
    let (house, _guest) = House::full(config()).await;
    let address = house.url("/echo").replace("http:", "ws:");
    let Err(Error::Http(refusal)) = connect_async(&address).await else { panic!("not refused") };
    assert_eq!(refusal.status(), StatusCode::TOO_MANY_REQUESTS);
    assert!(refusal.headers().contains_key(header::RETRY_AFTER));
    let body = String::from_utf8_lossy(refusal.body().as_deref().unwrap());
    assert!(body.contains("waitingRoom"), "{body}");
}

#[tokio::test]
async fn with_a_pass_the_upgrade_goes_through_and_holds_no_permit() {
    let house = House::open(config().concurrency(Concurrency::limit(1).queue(0)));
    let seen = Visitor::of(&house).get("/").await;
    let pass = seen.header("set-cookie").and_then(|line| line.split(';').next()).unwrap();
    let mut request = house.url("/echo").replace("http:", "ws:").into_client_request().unwrap();
    request.headers_mut().insert(header::COOKIE, pass.parse().unwrap());
    let (mut socket, response) = connect_async(request).await.unwrap();
    assert_eq!(response.status(), StatusCode::SWITCHING_PROTOCOLS);
    socket.send(Message::text("hello")).await.unwrap();
    assert_eq!(socket.next().await.unwrap().unwrap(), Message::text("hello"));
    // The gate bounds handshakes, not open connections.
    assert_eq!(house.handle().gates()[0].snapshots()[0].in_flight, 0);
    socket.send(Message::text("still open")).await.unwrap();
    assert_eq!(socket.next().await.unwrap().unwrap(), Message::text("still open"));
}
