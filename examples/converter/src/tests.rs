use std::{
    future::{Future, poll_fn},
    pin::pin,
    sync::{Arc, Mutex, mpsc},
    task::Poll,
};

use axum::{body::Body, http::Request, response::Response};
use image::RgbImage;
use tokio::task::yield_now;
use tower::ServiceExt;
use tower_waiting_room::WaitingRoomHandle;

use super::*;

fn jpeg(width: u32, height: u32) -> Vec<u8> {
    let mut encoded = Cursor::new(Vec::new());
    RgbImage::new(width, height).write_to(&mut encoded, ImageFormat::Jpeg).unwrap();
    encoded.into_inner()
}

async fn send(app: Router, body: impl Into<Body>) -> Response {
    app.oneshot(Request::post("/convert").body(body.into()).unwrap()).await.unwrap()
}

fn in_flight(handle: &WaitingRoomHandle) -> u32 {
    handle.gates()[0].snapshots()[0].in_flight
}

#[tokio::test]
async fn a_picture_comes_out_at_half_the_size() {
    let response = send(app(gate(1).unwrap()), jpeg(96, 64)).await;
    assert_eq!(response.status(), StatusCode::OK);
    assert_eq!(response.headers()[header::CONTENT_TYPE], "image/jpeg");
    let converted = axum::body::to_bytes(response.into_body(), MAX_BYTES).await.unwrap();
    let picture = image::load_from_memory(&converted).unwrap();
    assert_eq!((picture.width(), picture.height()), (48, 32));
}

#[tokio::test]
async fn malformed_or_oversized_input_is_a_client_error() {
    let app = app(gate(1).unwrap());
    for body in [b"no picture".to_vec(), jpeg(MAX_EDGE + 1, 8)] {
        let response = send(app.clone(), body).await;
        assert_eq!(response.status(), StatusCode::UNPROCESSABLE_ENTITY);
    }
    let response = send(app, vec![0; MAX_BYTES + 1]).await;
    assert_eq!(response.status(), StatusCode::PAYLOAD_TOO_LARGE);
}

#[tokio::test]
async fn a_client_that_disconnects_does_not_free_the_core_of_its_work() {
    // The work ends when this test sends a message.
    let (end, ended) = mpsc::channel::<()>();
    let ended = Arc::new(Mutex::new(ended));
    let work = move |Extension(permit): Extension<PermitHandle>| async move {
        compute(permit, move || ended.lock().unwrap().recv()).await.map(drop)
    };
    let gate = gate(1).unwrap();
    let handle = gate.handle();
    let app = Router::new().route("/convert", post(work)).layer(gate);
    {
        let mut request = pin!(send(app, ""));
        let polled = poll_fn(|cx| Poll::Ready(request.as_mut().poll(cx))).await;
        assert!(polled.is_pending());
    }
    assert_eq!(in_flight(&handle), 1);
    end.send(()).unwrap();
    while in_flight(&handle) > 0 {
        yield_now().await;
    }
}
