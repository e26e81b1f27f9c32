//! A server that shuts down: first the gate is drained, then axum closes the remaining connections.

use std::{future::IntoFuture, time::Duration};

use axum::{
    Router,
    http::{StatusCode, header},
};
use tests::Process;
use tokio::{sync::oneshot, time};
use tower_waiting_room::gate::DrainQueue;

use super::{
    handles::{connect, echoes, sockets},
    works::{PATIENCE, layer},
    *,
};

/// A server that shuts down when it is signalled.
struct GoingDown {
    works: Works,
    signal: oneshot::Sender<()>,
    /// Receives the number of requests that still hold a permit at the deadline of the drain.
    left: oneshot::Receiver<u32>,
    /// Receives a message when axum has closed every connection.
    closed: oneshot::Receiver<()>,
}

impl GoingDown {
    fn open(limit: u32, queue: DrainQueue, deadline: Duration) -> Self {
        let layer = layer(gate(limit));
        let floor = Floor::new();
        let app = Router::new().route("/work", floor.work()).route("/stream", floor.stream());
        let app = sockets(app, &floor).layer(layer.clone());
        let (signal, signalled) = oneshot::channel();
        let (is_left, left) = oneshot::channel();
        let (is_closed, closed) = oneshot::channel();
        let handle = layer.handle();
        let shutdown = async move {
            signalled.await.unwrap();
            is_left.send(handle.drain_gates(queue, deadline).await).unwrap();
        };
        let process = Process::start(async move |listener| {
            axum::serve(listener, app)
                .with_graceful_shutdown(shutdown)
                .into_future()
                .await
                .unwrap();
            is_closed.send(()).unwrap();
        });
        Self { works: Works::of(process, layer.handle(), floor), signal, left, closed }
    }
}

#[tokio::test]
async fn a_shutdown_finishes_streams_and_sockets_and_refuses_newcomers() {
    let GoingDown { works, signal, mut left, closed } =
        GoingDown::open(2, DrainQueue::Serve, PATIENCE);
    let mut socket = connect(&works, "/held").await;
    let stream = Wire::Http1.crowd([works.url("/stream")]);
    works.has(2, 0).await;
    let queued = Wire::Http2.crowd([works.url("/work")]);
    works.has(2, 1).await;
    signal.send(()).unwrap();
    works.drains().await;

    for (wire, close) in [(Wire::Http1, Some("close")), (Wire::Http2, None)] {
        let refused = wire.client().get(works.url("/work")).send().await.unwrap();
        assert_eq!(refused.status(), StatusCode::SERVICE_UNAVAILABLE, "{wire:?}");
        let connection = refused.headers().get(header::CONNECTION);
        assert_eq!(connection.map(|value| value.to_str().unwrap()), close, "{wire:?}");
    }
    echoes(&mut socket).await;
    // The stream ends, and the waiting request is admitted after it.
    works.finish(2);
    finished(stream, "begun done").await;
    finished(queued, "done").await;
    works.has(1, 0).await;
    assert!(left.try_recv().is_err(), "the socket still holds its permit");
    echoes(&mut socket).await;
    socket.close(None).await.unwrap();
    assert_eq!(time::timeout(PATIENCE, left).await.unwrap(), Ok(0));
    assert_eq!(time::timeout(PATIENCE, closed).await.unwrap(), Ok(()));
    assert!(Wire::Http1.client().get(works.url("/work")).send().await.unwrap_err().is_connect());
}

#[tokio::test]
async fn a_shutdown_that_times_out_reports_the_remaining_requests() {
    let GoingDown { works, signal, left, closed } =
        GoingDown::open(1, DrainQueue::Refuse, Duration::from_millis(200));
    let mut socket = connect(&works, "/held").await;
    let queued = tokio::spawn(Wire::Http1.client().get(works.url("/work")).send());
    works.has(1, 1).await;
    signal.send(()).unwrap();
    let refused = queued.await.unwrap().unwrap();
    assert_eq!(refused.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(refused.headers()[header::CONNECTION], "close");
    assert_eq!(time::timeout(PATIENCE, left).await.unwrap(), Ok(1));
    // axum does not track upgraded connections.
    assert_eq!(time::timeout(PATIENCE, closed).await.unwrap(), Ok(()));
    echoes(&mut socket).await;
}
