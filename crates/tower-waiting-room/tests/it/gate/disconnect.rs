//! Clients that disconnect while their request waits.

use super::*;

use axum::body::Body;
use bytes::Bytes;
use futures_util::{StreamExt, stream};

fn send(
    layer: &WaitingRoomLayer,
    request: Request<Body>,
) -> impl Future<Output = Response<tower_waiting_room::service::ResponseBody<String>>> + use<> {
    let app = service_fn(|request: Request<Body>| async move {
        let hint = http_body::Body::size_hint(request.body()).exact();
        assert!(!http_body::Body::is_end_stream(request.body()));
        let body = request.into_body().collect().await.unwrap().to_bytes();
        let text = format!("{} of {hint:?}", String::from_utf8_lossy(&body));
        Ok::<_, Infallible>(Response::new(text))
    });
    let response = layer.layer(app).oneshot(request);
    async { response.await.unwrap() }
}

fn layer(concurrency: Concurrency) -> WaitingRoomLayer {
    WaitingRoomLayer::new(
        WaitingRoomConfig::builder("works").concurrency(concurrency).build().unwrap(),
    )
}

fn queued(layer: &WaitingRoomLayer) -> u32 {
    layer.handle().gates()[0].snapshots()[0].queued
}

#[tokio::test(start_paused = true)]
async fn a_client_that_aborts_its_upload_leaves_the_queue() {
    let layer = layer(Concurrency::limit(0));
    let frames = vec![Ok(Bytes::from("begun")), Err(std::io::Error::other("reset"))];
    let request = Request::post("/").body(Body::from_stream(stream::iter(frames))).unwrap();
    let response = send(&layer, request).await;
    assert_eq!(reason_of(&response).unwrap().to_string(), "refused:gate_cancelled");
    assert_eq!(queued(&layer), 0);
}

#[tokio::test(start_paused = true)]
async fn bytes_read_while_waiting_come_first_and_count() {
    let layer = layer(Concurrency::limit(0));
    let request = Request::post("/").body(Body::from("a whole body")).unwrap();
    let mut response = pin!(send(&layer, request));
    assert!(is_waiting(response.as_mut()).await);
    layer.handle().gate("gate").unwrap().set_limit(1).unwrap();
    let body = response.await.into_body().collect().await.unwrap().to_bytes();
    assert_eq!(body, "a whole body of Some(12)");
}

#[tokio::test(start_paused = true)]
async fn reading_ahead_is_bounded_and_off_with_expect_continue() {
    let counted = |concurrency: Concurrency, expect: bool| async move {
        let layer = layer(concurrency);
        let read = Arc::new(AtomicU32::new(0));
        let frames = {
            let read = Arc::clone(&read);
            stream::iter(0..100).map(move |_| {
                read.fetch_add(1, Ordering::Relaxed);
                Ok::<_, Infallible>(Bytes::from_static(&[b'x'; 100]))
            })
        };
        let mut request = Request::post("/");
        if expect {
            request = request.header("expect", "100-continue");
        }
        let request = request.body(Body::from_stream(frames)).unwrap();
        let mut response = pin!(send(&layer, request));
        assert!(is_waiting(response.as_mut()).await);
        let while_waiting = read.load(Ordering::Relaxed);
        layer.handle().gate("gate").unwrap().set_limit(1).unwrap();
        let body = response.await.into_body().collect().await.unwrap().to_bytes();
        assert_eq!(body.len(), 10_000 + " of None".len());
        while_waiting
    };
    assert_eq!(counted(Concurrency::limit(0).watched_bytes(1_000), false).await, 10);
    assert_eq!(counted(Concurrency::limit(0), true).await, 0);
    assert_eq!(counted(Concurrency::limit(0).watched_bytes(0), false).await, 0);
}

#[tokio::test(start_paused = true)]
async fn the_rest_of_a_refused_upload_is_read_for_a_bounded_time() {
    let layer = layer(Concurrency::limit(0).queue(0));
    let refused = |version, headers: &[(&'static str, &'static str)], frames: usize| {
        let left = Arc::new(());
        let body = {
            let left = Arc::clone(&left);
            let frames = stream::iter((0..frames).map(|_| Ok::<_, Infallible>("frame")));
            // The body never ends, so a reader without a bound would never stop.
            frames.chain(stream::pending()).map(move |frame| (&left, frame).1)
        };
        // A server of HTTP/1 takes a request for one with a body by this header (RFC 9112 section
        // 6.3).
        let framing = ("transfer-encoding", "chunked");
        let mut request = Request::post("/").version(version).header(framing.0, framing.1);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let response = send(&layer, request.body(Body::from_stream(body)).unwrap());
        async move {
            assert_eq!(response.await.status(), 429);
            left
        }
    };
    let is_kept = |left: &Arc<()>| Arc::strong_count(left) == 2;
    let upload = refused(http::Version::HTTP_11, &[], 3).await;
    tokio::time::sleep(Duration::from_secs(4)).await;
    assert!(is_kept(&upload));
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert!(!is_kept(&upload));

    assert!(!is_kept(&refused(http::Version::HTTP_2, &[], 3).await));
    assert!(!is_kept(&refused(http::Version::HTTP_11, &[("expect", "100-continue")], 3).await));
    let endless = refused(http::Version::HTTP_11, &[], usize::MAX).await;
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert!(!is_kept(&endless), "sixteen megabytes are enough");
}

/// A few bytes of a larger buffer, as a server slices them from what it has read.
struct Cut {
    bytes: Vec<u8>,
    _read: Arc<()>,
}

impl AsRef<[u8]> for Cut {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

#[tokio::test(start_paused = true)]
async fn a_kept_byte_does_not_keep_its_whole_buffer() {
    let layer = layer(Concurrency::limit(0));
    let read = Arc::new(());
    let frames = {
        let read = Arc::clone(&read);
        let cut = move |_| {
            let read = Cut { bytes: vec![b'x'; 8_192], _read: Arc::clone(&read) };
            Bytes::from_owner(read).slice(..1)
        };
        stream::iter(0..100).map(cut).map(Ok::<_, Infallible>).chain(stream::pending())
    };
    let request = Request::post("/").body(Body::from_stream(frames)).unwrap();
    let mut response = pin!(send(&layer, request));
    assert!(is_waiting(response.as_mut()).await);
    assert_eq!(Arc::strong_count(&read), 1);
}

#[tokio::test(start_paused = true)]
async fn a_finished_body_is_not_polled_again() {
    let layer = layer(Concurrency::limit(0));
    let mut frames = vec![None, Some("whole")];
    let frames = stream::poll_fn(move |_| {
        Poll::Ready(frames.pop().expect("polled after its end").map(Ok::<_, Infallible>))
    });
    let request = Request::post("/").body(Body::from_stream(frames)).unwrap();
    let mut response = pin!(send(&layer, request));
    assert!(is_waiting(response.as_mut()).await);
    layer.handle().gate("gate").unwrap().set_limit(1).unwrap();
    let body = response.await.into_body().collect().await.unwrap().to_bytes();
    assert_eq!(body, "whole of Some(5)");
}
