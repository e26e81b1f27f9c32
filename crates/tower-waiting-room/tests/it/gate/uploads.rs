//! Uploads that are slow while the application reads them.

use super::*;

use axum::body::Body;
use bytes::Bytes;
use futures_util::stream;
use tokio::{
    sync::mpsc,
    task::yield_now,
    time::{Instant, advance},
};
use tower_waiting_room::{config::Enforcement, request::BodyTooSlow};

const SECOND: Duration = Duration::from_secs(1);

/// A gate, and an application that reads the body. It answers with the length of the body, or with
/// 408 if the body is too slow.
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
                    assert!(source.is::<BodyTooSlow>(), "{error:?}");
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

/// A body with frames of a number of bytes each, which the test sends. It ends when its sender is
/// dropped.
fn upload() -> (mpsc::UnboundedSender<usize>, Body) {
    let (sender, receiver) = mpsc::unbounded_channel();
    let frames = stream::unfold(receiver, async |mut receiver| {
        let bytes: usize = receiver.recv().await?;
        Some((Ok::<_, Infallible>(Bytes::from(vec![b'x'; bytes])), receiver))
    });
    (sender, Body::from_stream(frames))
}

#[tokio::test(start_paused = true)]
async fn an_upload_keeps_its_permit_while_it_is_above_the_rate() {
    // Each upload sends frames of this many bytes after pauses of so many seconds, and is cut after
    // the given time.
    for (frames, cut_after) in [
        // Silence, and a byte a second.
        (vec![(0, 1)], Some(5)),
        (vec![(1, 1); 60], Some(5)),
        // Slow phones: 250 bytes a second, and as much in bursts.
        (vec![(1, 250); 600], None),
        (vec![(4, 2_500); 1].into_iter().chain(vec![(10, 2_500); 60]).collect(), None),
        // What a megabyte earns is bounded.
        (vec![(0, 1_000_000), (29, 1), (0, 1_000_000)], None),
        (vec![(0, 1_000_000), (31, 1)], Some(30)),
    ] {
        let uploads = Uploads::new(Concurrency::limit(1));
        let (sender, body) = upload();
        let begun = Instant::now();
        let sending = frames.clone();
        let sent = tokio::spawn(async move {
            for (pause, bytes) in sending {
                tokio::time::sleep(pause * SECOND).await;
                _ = sender.send(bytes);
            }
            if cut_after.is_some() {
                std::future::pending::<()>().await;
            }
        });
        let status = uploads.send(body).await.status();
        let expected = if cut_after.is_some() { 408 } else { 200 };
        assert_eq!(status, expected, "{frames:?}");
        if let Some(secs) = cut_after {
            assert_eq!(begun.elapsed().as_secs(), secs, "{frames:?}");
        }
        assert_eq!(uploads.in_flight(), 0);
        sent.abort();
    }
}

#[tokio::test(start_paused = true)]
async fn drips_beside_people_do_not_close_a_gate() {
    let uploads = Arc::new(Uploads::new(Concurrency::limit(64).queue(256)));
    // Each of 66 uploads sends a byte every 20 s, and 2 of those that were cut begin again each
    // second, as a limit of 120 requests a minute for their address allows.
    let pace = Arc::new(tokio::sync::Semaphore::new(66));
    for _ in 0..66 {
        let uploads = Arc::clone(&uploads);
        let pace = Arc::clone(&pace);
        tokio::spawn(async move {
            loop {
                pace.acquire().await.unwrap().forget();
                let (sender, body) = upload();
                let drip = async {
                    loop {
                        _ = sender.send(1);
                        tokio::time::sleep(20 * SECOND).await;
                    }
                };
                tokio::select! {
                    _ = uploads.send(body) => {}
                    () = drip => {}
                }
            }
        });
    }
    tokio::time::sleep(SECOND).await;
    assert_eq!(uploads.in_flight(), 64);
    for _ in 0..13 {
        pace.add_permits(20);
        tokio::time::sleep(10 * SECOND).await;
        assert_eq!(uploads.send(Body::empty()).await.status(), 200);
    }
}

#[tokio::test(start_paused = true)]
async fn time_in_which_the_application_does_not_read_is_not_counted() {
    let layer = Uploads::new(Concurrency::limit(1).min_rate(1_000)).layer;
    let (frames, body) = upload();
    let app = service_fn(async |request: Request<Body>| {
        let mut body = request.into_body();
        body.frame().await.unwrap().unwrap();
        tokio::time::sleep(60 * SECOND).await;
        assert!(body.frame().await.unwrap().is_ok());
        assert!(body.frame().await.is_none());
        Ok::<_, Infallible>(Response::new(String::new()))
    });
    frames.send(1).unwrap();
    frames.send(2).unwrap();
    drop(frames);
    let response = layer.layer(app).oneshot(Request::post("/").body(body).unwrap());
    assert_eq!(response.await.unwrap().status(), 200);
}

#[tokio::test(start_paused = true)]
async fn without_a_minimum_rate_a_body_may_take_any_time() {
    let patient = Uploads::new(Concurrency::limit(1).min_rate(None));
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
async fn of_several_gates_the_highest_rate_counts() {
    let any = Concurrency::limit(1).min_rate(None);
    let high = Concurrency::limit(1).name("high").path("/").min_rate(10_000);
    let config = WaitingRoomConfig::builder("works").concurrency(any).concurrency(high);
    let uploads = Uploads { layer: WaitingRoomLayer::new(config.build().unwrap()) };
    let (frames, body) = upload();
    let slow = tokio::spawn(uploads.send(body));
    for _ in 0..11 {
        tokio::time::sleep(SECOND).await;
        _ = frames.send(5_000);
    }
    assert!(slow.is_finished(), "half of the rate is enough for 10 s");
    assert_eq!(slow.await.unwrap().status(), 408);
}
