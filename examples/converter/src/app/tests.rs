use std::{
    future::{Future, poll_fn},
    pin::pin,
    sync::mpsc,
    task::Poll,
};

use axum::{body::Body, http::Request, response::Response};
use tokio::{task::yield_now, time::Instant};
use tower::ServiceExt;
use tower_waiting_room::{WaitingRoomHandle, gate::DrainQueue};

use super::*;

const SECOND: Duration = Duration::from_secs(1);

fn converter(limit: u32) -> (Router, WaitingRoomHandle, Arc<Order>) {
    let gate = gate(limit, 8, 60 * SECOND).unwrap();
    let order = Arc::new(Order::default());
    let handle = gate.handle();
    (app(Pace::restless(limit), &order, Some(gate)), handle, order)
}

async fn send(app: Router, path: &'static str, body: impl Into<Body>) -> Response {
    let request = Request::post(path).body(body.into()).unwrap();
    app.oneshot(request).await.unwrap()
}

fn in_flight(handle: &WaitingRoomHandle) -> u32 {
    handle.gates()[0].snapshots()[0].in_flight
}

/// Lets other tasks run until no permit is held.
async fn idle(handle: &WaitingRoomHandle) {
    while in_flight(handle) > 0 {
        yield_now().await;
    }
}

#[tokio::test]
async fn a_picture_is_converted_and_other_input_is_a_client_error() {
    let (app, handle, _) = converter(1);
    let converted = send(app.clone(), CONVERT, picture::source(96, 64).unwrap()).await;
    assert_eq!(converted.status(), StatusCode::OK);
    assert_eq!(converted.headers()[header::CONTENT_TYPE], "image/jpeg");
    drop(converted);
    idle(&handle).await;
    assert_eq!(send(app, CONVERT, "no picture").await.status(), StatusCode::UNPROCESSABLE_ENTITY);
}

#[tokio::test]
async fn requests_are_admitted_in_order_of_arrival() {
    let (app, _, order) = converter(2);
    let source = Bytes::from(picture::source(96, 64).unwrap());
    let crowd: Vec<_> =
        (0..8).map(|_| tokio::spawn(send(app.clone(), CONVERT, source.clone()))).collect();
    for response in crowd {
        assert_eq!(response.await.unwrap().status(), StatusCode::OK);
    }
    assert_eq!(order.of_those_let_in().overtaken, 0);
}

#[tokio::test]
async fn a_client_that_disconnects_does_not_free_the_core_of_its_work() {
    // The work ends when this test sends a message.
    let (end, ended) = mpsc::channel::<()>();
    let gate = gate(1, 8, 60 * SECOND).unwrap();
    let handle = gate.handle();
    let ended = Arc::new(std::sync::Mutex::new(ended));
    let work = move |Extension(permit): Extension<PermitHandle>| {
        let ended = Arc::clone(&ended);
        let held = Held { permit: Some(permit), since: Instant::now(), pace: Pace::restless(1) };
        async move {
            _ = compute(held, move || ended.lock().unwrap().recv()).await;
        }
    };
    let app = Router::new().route(CONVERT, post(work)).layer(gate);
    {
        let mut request = pin!(send(app, CONVERT, ""));
        let polled = poll_fn(|cx| Poll::Ready(request.as_mut().poll(cx))).await;
        assert!(polled.is_pending());
    }
    assert_eq!(in_flight(&handle), 1);
    end.send(()).unwrap();
    idle(&handle).await;
}

#[tokio::test(start_paused = true)]
async fn a_permit_rests_after_the_client_has_its_answer() {
    let gate = gate(1, 8, 60 * SECOND).unwrap();
    let order = Arc::new(Order::default());
    let handle = gate.handle();
    // A tenth of one core, so a permit rests nine times as long as it works.
    let app = app(Pace::new(10, 1), &order, Some(gate));
    drop(send(app, CONVERT, picture::source(96, 64).unwrap()).await);
    let since = Instant::now();
    assert_eq!(in_flight(&handle), 1);
    assert_eq!(handle.drain_gates(DrainQueue::Serve, 3_600 * SECOND).await, 0);
    assert!(since.elapsed() > Duration::from_millis(1), "{:?}", since.elapsed());
}
