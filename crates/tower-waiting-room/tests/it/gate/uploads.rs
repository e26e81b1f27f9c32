//! Uploads that stall while the application reads them.

use super::*;

use axum::body::Body;
use bytes::Bytes;
use futures_util::stream;
use tokio::{sync::mpsc, task::yield_now, time::advance};
use tower_waiting_room::{config::Enforcement, request::BodyReadTimeout};

const SECOND: Duration = Duration::from_secs(1);

/// A gate, and an application that reads the body. It answers with the length of the body, or with
/// 408 if the body has stalled.
struct Uploads {
    layer: WaitingRoomLayer,
}

impl Uploads {
    fn new(concurrency: Concurrency) -> Self {
        let config = WaitingRoomConfig::builder("works").concurrency(concurrency).build().unwrap();
        Self { layer: WaitingRoomLayer::new(config) }
    }

    fn send(&self, body: Body) -> impl Future<Output = Response<()>> + use<> {
        let app = service_fn(async |request: Request<Body>| {
            let read = request.into_body().collect().await;
            Ok::<_, Infallible>(match read {
                Ok(read) => Response::new(format!("{} bytes", read.to_bytes().len())),
                Err(error) => {
                    let source = std::error::Error::source(&error).unwrap();
                    assert!(source.is::<BodyReadTimeout>(), "{error:?}");
                    let mut response = Response::new(source.to_string());
                    *response.status_mut() = http::StatusCode::REQUEST_TIMEOUT;
                    response
                }
            })
        });
        let response = self.layer.layer(app).oneshot(Request::post("/").body(body).unwrap());
        async { response.await.unwrap().map(drop) }
    }

    fn in_flight(&self) -> u32 {
        self.layer.handle().gates()[0].snapshots()[0].in_flight
    }
}

/// A body with frames that the test sends. It ends when its sender is dropped.
fn upload() -> (mpsc::UnboundedSender<&'static str>, Body) {
    let (sender, receiver) = mpsc::unbounded_channel();
    let frames = stream::unfold(receiver, async |mut receiver| {
        let frame = receiver.recv().await?;
        Some((Ok::<_, Infallible>(Bytes::from(frame)), receiver))
    });
    (sender, Body::from_stream(frames))
}

#[tokio::test(start_paused = true)]
async fn a_silent_upload_holds_its_permit_for_30_seconds_by_default() {
    let uploads = Uploads::new(Concurrency::limit(1));
    let (frames, body) = upload();
    frames.send("be").unwrap();
    let stalled = tokio::spawn(uploads.send(body));
    yield_now().await;
    advance(29 * SECOND).await;
    yield_now().await;
    assert_eq!(uploads.in_flight(), 1);
    advance(2 * SECOND).await;
    yield_now().await;
    assert!(stalled.is_finished(), "after 31 s");
    assert_eq!(stalled.await.unwrap().status(), 408);
    assert_eq!(uploads.in_flight(), 0);
    assert_eq!(uploads.send(Body::empty()).await.status(), 200);
}

#[tokio::test(start_paused = true)]
async fn each_frame_has_the_whole_timeout_and_a_slow_upload_arrives() {
    let uploads = Uploads::new(Concurrency::limit(1).body_read_timeout(4 * SECOND));
    let (frames, body) = upload();
    let slow = tokio::spawn(uploads.send(body));
    for _ in 0..5 {
        yield_now().await;
        advance(3 * SECOND).await;
        frames.send("frame").unwrap();
    }
    drop(frames);
    assert_eq!(slow.await.unwrap().status(), 200);
    assert_eq!(uploads.in_flight(), 0);
}

#[tokio::test(start_paused = true)]
async fn time_in_which_the_application_does_not_read_is_not_counted() {
    let layer = Uploads::new(Concurrency::limit(1).body_read_timeout(4 * SECOND)).layer;
    let (frames, body) = upload();
    let app = service_fn(async |request: Request<Body>| {
        let mut body = request.into_body();
        body.frame().await.unwrap().unwrap();
        tokio::time::sleep(60 * SECOND).await;
        assert!(body.frame().await.unwrap().is_ok());
        assert!(body.frame().await.is_none());
        Ok::<_, Infallible>(Response::new(String::new()))
    });
    frames.send("one").unwrap();
    frames.send("two").unwrap();
    drop(frames);
    let response = layer.layer(app).oneshot(Request::post("/").body(body).unwrap());
    assert_eq!(response.await.unwrap().status(), 200);
}

#[tokio::test(start_paused = true)]
async fn without_a_timeout_or_a_gate_a_body_may_take_any_time() {
    let patient = Uploads::new(Concurrency::limit(1).body_read_timeout(None));
    let (_frames, body) = upload();
    let waiting = tokio::spawn(patient.send(body));
    yield_now().await;
    advance(3_600 * SECOND).await;
    yield_now().await;
    assert_eq!((waiting.is_finished(), patient.in_flight()), (false, 1));
    waiting.abort();
}

#[tokio::test(start_paused = true)]
async fn in_shadow_mode_no_body_ends_early() {
    let config = WaitingRoomConfig::builder("works").concurrency(Concurrency::limit(1));
    let config = config.enforcement(Enforcement::Shadow).build().unwrap();
    let uploads = Uploads { layer: WaitingRoomLayer::new(config) };
    let (_frames, body) = upload();
    let waiting = tokio::spawn(uploads.send(body));
    yield_now().await;
    advance(3_600 * SECOND).await;
    yield_now().await;
    assert!(!waiting.is_finished());
    waiting.abort();
}

#[tokio::test(start_paused = true)]
async fn of_several_gates_the_shortest_timeout_counts() {
    let long = Concurrency::limit(1).body_read_timeout(None);
    let short = Concurrency::limit(1).name("short").path("/").body_read_timeout(2 * SECOND);
    let config = WaitingRoomConfig::builder("works").concurrency(long).concurrency(short);
    let uploads = Uploads { layer: WaitingRoomLayer::new(config.build().unwrap()) };
    let (_frames, body) = upload();
    let stalled = tokio::spawn(uploads.send(body));
    yield_now().await;
    advance(3 * SECOND).await;
    yield_now().await;
    assert!(stalled.is_finished(), "after 3 s");
    assert_eq!(stalled.await.unwrap().status(), 408);
}
