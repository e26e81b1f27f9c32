//! The time for which a permit is held.

use super::*;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use tokio::sync::mpsc;
use tower::Service;
use tower_waiting_room::gate::{PermitHandle, ReleaseAt};

const SECOND: Duration = Duration::from_secs(1);
static FRAME: &str = match std::str::from_utf8(&[b'x'; 65_536]) {
    Ok(frame) => frame,
    Err(_) => panic!("ASCII"),
};

/// A body with frames that the test sends.
struct Frames(mpsc::UnboundedReceiver<&'static str>);

impl Body for Frames {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut std::task::Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0.poll_recv(cx).map(|text| text.map(|text| Ok(Frame::data(text.into()))))
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(7)
    }
}

/// A layer with this gate, and an application that immediately answers with a body of [`Frames`].
fn streaming(
    concurrency: Concurrency,
) -> (WaitingRoomLayer, mpsc::UnboundedSender<&'static str>, impl AsyncFn() -> Option<ResponseOf>) {
    let config = WaitingRoomConfig::builder("works").concurrency(concurrency).build().unwrap();
    let layer = WaitingRoomLayer::new(config);
    let (sender, receiver) = mpsc::unbounded_channel();
    let body = Arc::new(std::sync::Mutex::new(Some(Frames(receiver))));
    let service = {
        let layer = layer.clone();
        move || {
            let body = Arc::clone(&body);
            let app = service_fn(move |_: Request<()>| {
                let body = body.lock().unwrap().take().unwrap();
                std::future::ready(Ok::<_, Infallible>(Response::new(body)))
            });
            layer.layer(app)
        }
    };
    let send = async move || {
        let response = service().oneshot(Request::new(())).await.unwrap();
        Some(response)
    };
    (layer, sender, send)
}

type ResponseOf = Response<tower_waiting_room::service::ResponseBody<Frames>>;

fn in_flight(layer: &WaitingRoomLayer) -> u32 {
    layer.handle().gates()[0].snapshots()[0].in_flight
}

#[tokio::test(start_paused = true)]
async fn the_permit_is_held_to_the_end_of_the_body() {
    let (layer, frames, send) = streaming(Concurrency::limit(1));
    let mut body = pin!(send().await.unwrap().into_body());
    assert_eq!(body.size_hint().exact(), Some(7));
    frames.send("a").unwrap();
    assert!(body.frame().await.is_some());
    assert_eq!(in_flight(&layer), 1);
    drop(frames);
    assert!(body.frame().await.is_none());
    assert_eq!(in_flight(&layer), 0);
}

#[tokio::test(start_paused = true)]
async fn dropping_the_body_frees_the_permit() {
    let (layer, _frames, send) = streaming(Concurrency::limit(1));
    let response = send().await.unwrap();
    assert_eq!(in_flight(&layer), 1);
    drop(response);
    assert_eq!(in_flight(&layer), 0);
}

#[tokio::test(start_paused = true)]
async fn release_at_the_head_frees_the_permit_with_the_head() {
    let (layer, _frames, send) = streaming(Concurrency::limit(1).release_at(ReleaseAt::Head));
    let _response = send().await.unwrap();
    assert_eq!(in_flight(&layer), 0);
}

#[tokio::test(start_paused = true)]
async fn a_reader_that_stops_loses_the_permit_and_one_that_waits_does_not() {
    let (layer, frames, send) = streaming(Concurrency::limit(1));
    let mut body = pin!(send().await.unwrap().into_body());
    frames.send("an event").unwrap();
    assert!(body.frame().await.is_some());
    // The server has asked for the next frame, which the application does not have yet, as in a
    // stream of events.
    for _ in 0..100 {
        assert!(is_waiting(pin!(body.frame())).await);
        tokio::time::sleep(60 * SECOND).await;
        assert_eq!(in_flight(&layer), 1);
        frames.send("an event").unwrap();
        assert!(body.frame().await.is_some());
    }
    // Now the server does not ask for the next frame.
    tokio::time::sleep(4 * SECOND).await;
    assert_eq!(in_flight(&layer), 1);
    tokio::time::sleep(5 * SECOND).await;
    assert_eq!(in_flight(&layer), 0);
    // The response itself is not interrupted.
    frames.send("c").unwrap();
    assert!(body.frame().await.is_some());
}

#[tokio::test(start_paused = true)]
async fn a_slow_reader_keeps_the_permit_while_it_is_above_the_rate() {
    // Each reader takes a frame of so many bytes after each pause, in milliseconds. It loses the
    // permit within the given seconds.
    for (bytes, pause, lost_within) in [
        (1, 10, Some(8..=13)),
        (1, 1_000, Some(5..=9)),
        (240, 1_250, Some(20..=40)),
        (300, 1_000, None),
        (65_536, 4_900, None),
        (65_536, 9_000, Some(5..=9)),
        (65_536, 10, None),
    ] {
        let (layer, frames, send) = streaming(Concurrency::limit(1));
        let mut body = pin!(send().await.unwrap().into_body());
        let begun = tokio::time::Instant::now();
        let mut lost = None;
        while begun.elapsed() < 600 * SECOND && lost.is_none() {
            frames.send(&FRAME[..bytes]).unwrap();
            assert!(body.frame().await.is_some());
            tokio::time::sleep(Duration::from_millis(pause)).await;
            lost = (in_flight(&layer) == 0).then(|| begun.elapsed().as_secs());
        }
        let is_expected = match (&lost_within, lost) {
            (Some(range), Some(lost)) => range.contains(&lost),
            (None, None) => true,
            (Some(_), None) | (None, Some(_)) => false,
        };
        assert!(is_expected, "{bytes} bytes each {pause} ms: {lost:?}, expected {lost_within:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn time_in_which_the_process_is_stopped_does_not_count() {
    let (layer, frames, send) = streaming(Concurrency::limit(1));
    let mut body = pin!(send().await.unwrap().into_body());
    frames.send("a").unwrap();
    assert!(body.frame().await.is_some());
    tokio::task::yield_now().await;
    // The clock advances in one step, and no task runs in between.
    tokio::time::advance(60 * SECOND).await;
    tokio::time::sleep(3 * SECOND).await;
    assert_eq!(in_flight(&layer), 1);
    tokio::time::sleep(6 * SECOND).await;
    assert_eq!(in_flight(&layer), 0);
}

#[tokio::test]
async fn no_permit_is_held_beyond_the_longest_hold() {
    tokio::time::pause();
    let clock = tower_waiting_room::time::ManualClock::default();
    let concurrency = Concurrency::limit(2).max_hold(Duration::from_secs(60));
    let config = WaitingRoomConfig::builder("works").concurrency(concurrency).build().unwrap();
    let layer = WaitingRoomLayer::with_clock(config, clock.clone());
    let app = service_fn(|_: Request<()>| std::future::pending::<Result<Response<String>, ()>>());
    let mut response = pin!(layer.layer(app).oneshot(Request::new(())));
    assert!(is_waiting(response.as_mut()).await);
    // Permits that come and go do not make the layer forget the one that is held.
    for _ in 0..1_000 {
        assert!(is_waiting(pin!(layer.layer(app).oneshot(Request::new(())))).await);
    }
    for (secs, expected) in [(30, 1), (45, 0)] {
        clock.advance(Duration::from_secs(secs));
        tokio::time::sleep(Duration::from_secs(secs)).await;
        assert_eq!(layer.handle().gates()[0].snapshots()[0].in_flight, expected);
    }
}

#[tokio::test(start_paused = true)]
async fn the_permit_is_held_as_long_as_the_handle() {
    let config = WaitingRoomConfig::builder("works").concurrency(Concurrency::limit(1));
    let layer = WaitingRoomLayer::new(config.build().unwrap());
    let kept = Arc::new(std::sync::Mutex::new(None));
    let app = service_fn({
        let kept = Arc::clone(&kept);
        move |request: Request<()>| {
            *kept.lock().unwrap() = request.extensions().get::<PermitHandle>().cloned();
            std::future::ready(Ok::<_, Infallible>(Response::new(String::new())))
        }
    });
    let response = layer.layer(app).oneshot(Request::new(())).await.unwrap();
    drop(response);
    assert_eq!(in_flight(&layer), 1);
    let drained = layer.handle().drain_gates(DrainQueue::Serve, Duration::from_secs(1)).await;
    assert_eq!(drained, 1);
    drop(kept.lock().unwrap().take());
    assert_eq!(in_flight(&layer), 0);
}

#[tokio::test(start_paused = true)]
async fn a_handle_that_outlives_the_body_is_not_a_stalled_reader() {
    for is_read_to_the_end in [true, false] {
        let config = WaitingRoomConfig::builder("works").concurrency(Concurrency::limit(1));
        let layer = WaitingRoomLayer::new(config.build().unwrap());
        let kept = Arc::new(std::sync::Mutex::new(None));
        let app = service_fn({
            let kept = Arc::clone(&kept);
            move |request: Request<()>| {
                *kept.lock().unwrap() = request.extensions().get::<PermitHandle>().cloned();
                let (sender, receiver) = mpsc::unbounded_channel();
                for text in ["a", "b"] {
                    sender.send(text).unwrap();
                }
                std::future::ready(Ok::<_, Infallible>(Response::new(Frames(receiver))))
            }
        });
        let mut body = layer.layer(app).oneshot(Request::new(())).await.unwrap().into_body();
        assert!(body.frame().await.is_some());
        while is_read_to_the_end && body.frame().await.is_some() {}
        drop(body);
        tokio::time::sleep(60 * SECOND).await;
        assert_eq!(in_flight(&layer), 1, "read to the end: {is_read_to_the_end}");
        drop(kept.lock().unwrap().take());
        assert_eq!(in_flight(&layer), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn an_application_that_panics_frees_the_permit() {
    let config = WaitingRoomConfig::builder("works").concurrency(Concurrency::limit(1));
    let layer = WaitingRoomLayer::new(config.build().unwrap());
    let app = service_fn(|_: Request<()>| async {
        assert_eq!(1, 2, "on purpose");
        Ok::<_, Infallible>(Response::new(String::new()))
    });
    let request = layer.layer(app).oneshot(Request::new(()));
    assert!(tokio::spawn(request).await.unwrap_err().is_panic());
    assert_eq!(in_flight(&layer), 0);
}

/// The work of an application, which notes how many requests are running when it is dropped.
struct Work {
    layer: WaitingRoomLayer,
    answer: Option<Response<String>>,
    seen: Arc<AtomicU32>,
}

impl Future for Work {
    type Output = Result<Response<String>, Infallible>;

    fn poll(mut self: Pin<&mut Self>, _: &mut std::task::Context<'_>) -> Poll<Self::Output> {
        self.answer.take().map_or(Poll::Pending, |answer| Poll::Ready(Ok(answer)))
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        self.seen.store(in_flight(&self.layer), Ordering::Relaxed);
    }
}

#[tokio::test]
async fn the_permit_outlives_the_work() {
    for is_answered in [false, true] {
        let config = WaitingRoomConfig::builder("works").concurrency(Concurrency::limit(1));
        let layer = WaitingRoomLayer::new(config.build().unwrap());
        let seen = Arc::new(AtomicU32::new(u32::MAX));
        let app = service_fn(|_: Request<()>| Work {
            layer: layer.clone(),
            answer: is_answered.then(Response::default),
            seen: Arc::clone(&seen),
        });
        // `oneshot` would drop the future itself once it is ready.
        let mut request = Box::pin(layer.layer(app).call(Request::new(())));
        let polled = std::future::poll_fn(|cx| Poll::Ready(request.as_mut().poll(cx))).await;
        assert_eq!(polled.is_ready(), is_answered);
        drop(polled);
        drop(request);
        assert_eq!(seen.load(Ordering::Relaxed), 1, "answered: {is_answered}");
        assert_eq!(in_flight(&layer), 0);
    }
}

#[test]
fn a_stalled_reader_is_noticed_after_another_runtime_has_ended() {
    let config = WaitingRoomConfig::builder("works").concurrency(Concurrency::limit(2));
    let layer = WaitingRoomLayer::new(config.build().unwrap());
    let mut bodies = Vec::new();
    for expected in [1, 0] {
        let runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = { runtime }.enable_time().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let (sender, receiver) = mpsc::unbounded_channel();
            sender.send("a").unwrap();
            let body = Arc::new(std::sync::Mutex::new(Some(Frames(receiver))));
            let app = service_fn(move |_: Request<()>| {
                let body = body.lock().unwrap().take().unwrap();
                std::future::ready(Ok::<_, Infallible>(Response::new(body)))
            });
            let response = layer.layer(app).oneshot(Request::new(())).await.unwrap();
            let mut body = response.into_body();
            assert!(body.frame().await.is_some());
            bodies.push((sender, body));
            if expected == 0 {
                tokio::time::sleep(9 * SECOND).await;
            }
        });
        assert_eq!(in_flight(&layer), expected);
    }
}
