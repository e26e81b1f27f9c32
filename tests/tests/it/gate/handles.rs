//! Permits that the application keeps for longer than its response.

use axum::{
    Extension, Router,
    extract::ws::{WebSocket, WebSocketUpgrade},
    http::{Request, StatusCode, Version},
    response::Response,
    routing::{any, get},
};
use futures_util::{SinkExt, StreamExt};
use tests::until;
use tokio::{net::TcpStream, runtime::Handle, task, time};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async, tungstenite::Message};
use tower_waiting_room::gate::PermitHandle;

use super::{works::PATIENCE, *};

#[tokio::test]
async fn a_socket_that_keeps_the_handle_holds_its_permit_until_it_closes() {
    let works = Works::open(gate(1), sockets);
    let mut socket = connect(&works, "/held").await;
    let next = Wire::Http1.crowd([works.url("/quick")]);
    works.has(1, 1).await;
    echoes(&mut socket).await;
    assert_eq!(works.gate().queued, 1);
    socket.close(None).await.unwrap();
    finished(next, "quick").await;
    works.has(0, 0).await;
}

#[tokio::test]
async fn a_socket_that_is_cut_off_frees_the_permit_that_it_keeps() {
    let works = Works::open(gate(1), sockets);
    let socket = connect(&works, "/held").await;
    let next = Wire::Http1.crowd([works.url("/quick")]);
    works.has(1, 1).await;
    drop(socket);
    finished(next, "quick").await;
    works.has(0, 0).await;
}

#[tokio::test]
async fn a_socket_that_does_not_keep_the_handle_holds_no_permit() {
    let works = Works::open(gate(1), sockets);
    let mut socket = connect(&works, "/free").await;
    works.has(0, 0).await;
    finished(Wire::Http1.crowd([works.url("/quick")]), "quick").await;
    echoes(&mut socket).await;
}

/// Over HTTP/2 a WebSocket is a stream of a connection (RFC 8441), and its handshake is answered
/// with 200.
#[tokio::test]
async fn a_socket_over_http_2_holds_its_permit_by_the_handle_too() {
    let works = Works::open(gate(1), sockets);
    let stream = TcpStream::connect(("localhost", works.port())).await.unwrap();
    let (client, connection) = h2::client::handshake(stream).await.unwrap();
    let connection = task::spawn(connection);
    let mut client = client.ready().await.unwrap();
    until("sockets", async || client.is_extended_connect_protocol_enabled().then_some(())).await;
    let mut connect = async |path| {
        let request = Request::connect(works.url(path)).version(Version::HTTP_2);
        let request = request.header("sec-websocket-version", "13");
        let request = request.extension(h2::ext::Protocol::from("websocket")).body(()).unwrap();
        let (response, sender) = client.send_request(request, false).unwrap();
        let response = time::timeout(PATIENCE, response).await.unwrap().unwrap();
        assert_eq!(response.status(), StatusCode::OK);
        (response, sender)
    };
    let _free = connect("/free").await;
    works.has(0, 0).await;
    let (_held, mut sender) = connect("/held").await;
    let next = Wire::Http1.crowd([works.url("/quick")]);
    works.has(1, 1).await;
    sender.send_reset(h2::Reason::CANCEL);
    finished(next, "quick").await;
    works.has(0, 0).await;
    assert!(!connection.is_finished());
}

#[tokio::test]
async fn work_on_another_thread_holds_the_permit_when_its_request_is_gone() {
    for wire in [Wire::Http1, Wire::Http2] {
        let works = Works::open(gate(1), convert);
        let mut request = wire.crowd([works.url("/convert")]);
        works.floor().has(2).await;
        request.abort_all();
        // The future of the handler is dropped, but the work continues.
        works.floor().has(1).await;
        let next = wire.crowd([works.url("/quick")]);
        works.has(1, 1).await;
        works.finish(1);
        finished(next, "quick").await;
        works.has(0, 0).await;
        while request.join_next().await.is_some() {}
    }
}

/// Adds `/held`, a socket that keeps the permit, and `/free`, one that does not. Both echo
/// messages.
pub(super) fn sockets(app: Router, _: &Floor) -> Router {
    let held = async |upgrade: WebSocketUpgrade, Extension(permit): Extension<PermitHandle>| {
        answers(upgrade, Some(permit))
    };
    let free = async |upgrade: WebSocketUpgrade| answers(upgrade, None);
    app.route("/held", any(held)).route("/free", any(free))
}

pub(super) type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

pub(super) async fn connect(works: &Works, path: &str) -> Socket {
    let address = works.url(path).replace("http:", "ws:");
    connect_async(address).await.unwrap().0
}

pub(super) async fn echoes(socket: &mut Socket) {
    socket.send(Message::text("hello")).await.unwrap();
    assert_eq!(socket.next().await.unwrap().unwrap(), Message::text("hello"));
}

fn answers(upgrade: WebSocketUpgrade, permit: Option<PermitHandle>) -> Response {
    upgrade.on_upgrade(async move |mut socket: WebSocket| {
        let _permit = permit;
        while let Some(Ok(message)) = socket.recv().await {
            if socket.send(message).await.is_err() {
                return;
            }
        }
    })
}

/// Adds `/convert`, which works on a thread that cannot be stopped. It is on the floor twice: as
/// the request, and as the work.
fn convert(app: Router, floor: &Floor) -> Router {
    let floor = floor.clone();
    let convert = async move |Extension(permit): Extension<PermitHandle>| {
        let _request = floor.enter();
        let work = floor.enter();
        let end = floor.finished();
        let runtime = Handle::current();
        let converting = task::spawn_blocking(move || {
            runtime.block_on(end);
            drop((work, permit));
        });
        converting.await.unwrap();
        "converted"
    };
    app.route("/convert", get(convert))
}
