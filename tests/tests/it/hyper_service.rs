//! The layer on a plain Tower service that hyper serves, without axum.

use std::{
    convert::Infallible,
    sync::{Arc, Mutex},
};

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use http_body_util::{
    BodyExt, Full,
    channel::{Channel, Sender},
    combinators::BoxBody,
};
use hyper_util::{
    rt::{TokioExecutor, TokioIo},
    server::conn::auto,
    service::TowerToHyperService,
};
use tests::{Process, Visitor, config, until};
use tokio::net::TcpListener;
use tower::{Layer, service_fn};
use tower_waiting_room::{WaitingRoomHandle, WaitingRoomLayer};

type Body = BoxBody<Bytes, Infallible>;
type Senders = Arc<Mutex<Vec<Sender<Bytes, Infallible>>>>;

/// `/stream` answers with a body whose sender is stored; all other paths answer with ten bytes.
fn serve() -> (Process, WaitingRoomHandle, Senders) {
    let layer = WaitingRoomLayer::new(config().build().unwrap());
    let handle = layer.handle();
    let senders = Senders::default();
    let kept = Arc::clone(&senders);
    let service = layer.layer(service_fn(move |request: Request<_>| {
        std::future::ready(Ok::<_, Infallible>(answer(&request, &kept)))
    }));
    let process = Process::start(async move |listener: TcpListener| {
        while let Ok((stream, _)) = listener.accept().await {
            let service = TowerToHyperService::new(service.clone());
            tokio::spawn(async move {
                let server = auto::Builder::new(TokioExecutor::new());
                server.serve_connection(TokioIo::new(stream), service).await
            });
        }
    });
    (process, handle, senders)
}

fn answer<B>(request: &Request<B>, senders: &Senders) -> Response<Body> {
    if request.uri().path() != "/stream" {
        return Response::new(Full::new(Bytes::from_static(b"ten bytes!")).boxed());
    }
    let (sender, body) = Channel::new(1);
    senders.lock().unwrap().push(sender);
    Response::new(body.boxed())
}

fn origin(process: &Process) -> String {
    format!("http://localhost:{}", process.port())
}

#[tokio::test]
async fn the_length_of_a_body_is_still_known_in_front_of_the_room() {
    let (process, handle, _) = serve();
    let ann = Visitor::at(&origin(&process));
    let seen = ann.get("/").await;
    assert_eq!((seen.body.as_str(), seen.header("content-length")), ("ten bytes!", Some("10")));
    assert_eq!(seen.header("transfer-encoding"), None);
    let seen = ann.send(Method::HEAD, "/").await;
    assert_eq!((seen.body.as_str(), seen.header("content-length")), ("", Some("10")));

    handle.room().unwrap().queue_all().await.unwrap();
    let waiting = Visitor::at(&origin(&process)).get("/").await;
    assert_eq!(waiting.status, StatusCode::TOO_MANY_REQUESTS);
    let length = waiting.header("content-length").map(str::to_owned);
    assert_eq!(length, Some(waiting.body.len().to_string()));
}

#[tokio::test]
async fn a_stream_arrives_piece_by_piece() {
    let (process, _, senders) = serve();
    let mut response = reqwest::get(format!("{}/stream", origin(&process))).await.unwrap();
    assert_eq!(response.content_length(), None);
    let mut sender = until("the service answers", async || senders.lock().unwrap().pop()).await;
    for piece in ["one", "two", "three"] {
        sender.send_data(Bytes::from_static(piece.as_bytes())).await.unwrap();
        assert_eq!(response.chunk().await.unwrap().unwrap(), piece);
    }
    drop(sender);
    assert_eq!(response.chunk().await.unwrap(), None);
}
