//! Gates with an adaptive limit.

use super::*;

use std::sync::Mutex;

use tower_waiting_room::gate::{AdaptiveLimit, PermitHandle, PermitOutcome, Sample};

/// Records the outcomes that it observes, and lowers the limit by one each time.
#[derive(Clone, Debug)]
struct Listener {
    heard: Arc<Mutex<Vec<PermitOutcome>>>,
    limit: u32,
}

impl AdaptiveLimit for Listener {
    fn limit(&self) -> u32 {
        self.limit
    }

    fn observe(&mut self, sample: &Sample) -> u32 {
        self.heard.lock().unwrap().push(sample.outcome);
        self.limit -= 1;
        self.limit
    }
}

/// A limit that the test sets.
#[derive(Clone, Debug)]
struct Dial(Arc<AtomicU32>);

impl AdaptiveLimit for Dial {
    fn limit(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }

    fn observe(&mut self, _: &Sample) -> u32 {
        self.limit()
    }
}

/// Sends requests to an application that answers as their paths state. Returns the observed
/// outcomes and the limit afterwards.
async fn heard(paths: &[&'static str]) -> (Vec<PermitOutcome>, Option<u32>) {
    let listener = Listener { heard: Arc::default(), limit: 10 };
    let heard = Arc::clone(&listener.heard);
    let config = WaitingRoomConfig::builder("works").concurrency(Concurrency::adaptive(listener));
    let layer = WaitingRoomLayer::new(config.build().unwrap());
    let app = service_fn(|request: Request<()>| async move {
        let permit = request.extensions().get::<PermitHandle>().cloned().unwrap();
        let mut response = Response::new("whole".to_owned());
        match request.uri().path() {
            "/fails" => return Err("on purpose"),
            "/hangs" => std::future::pending().await,
            "/says-so" => permit.overloaded(),
            "/empty" => *response.body_mut() = String::new(),
            status => *response.status_mut() = status[1..].parse().unwrap(),
        }
        Ok(response)
    });
    for path in paths {
        let mut request = pin!(layer.layer(app).oneshot(Request::get(*path).body(()).unwrap()));
        let response = std::future::poll_fn(|cx| Poll::Ready(request.as_mut().poll(cx))).await;
        if let Poll::Ready(Ok(response)) = response {
            response.into_body().collect().await.unwrap();
        }
    }
    let heard = heard.lock().unwrap().clone();
    (heard, layer.handle().gates()[0].snapshots()[0].limit)
}

#[tokio::test(start_paused = true)]
async fn an_adaptive_limit_samples_completed_requests_only() {
    use PermitOutcome::{Done, Overloaded};
    let paths = ["/200", "/503", "/hangs", "/504", "/500", "/fails", "/says-so", "/empty"];
    let (heard, limit) = heard(&paths).await;
    assert_eq!(heard, [Done, Overloaded, Overloaded, Done, Overloaded, Done]);
    assert_eq!(limit, Some(4));
}

#[tokio::test]
async fn the_waiting_page_of_an_inner_room_is_no_overload() {
    let listener = Listener { heard: Arc::default(), limit: 10 };
    let heard = Arc::clone(&listener.heard);
    let outer = WaitingRoomConfig::builder("works").concurrency(Concurrency::adaptive(listener));
    let outer = WaitingRoomLayer::new(outer.build().unwrap());
    let inner = WaitingRoomConfig::builder("shop").total_active_users(1).build().unwrap();
    let inner = WaitingRoomLayer::new(inner);
    let app = service_fn(|_: Request<()>| async {
        Ok::<_, Infallible>(Response::new("whole".to_owned()))
    });
    let mut statuses = Vec::new();
    for _ in 0..2 {
        let request = Request::get("/").header("accept", "text/html").body(()).unwrap();
        let response = outer.layer(inner.layer(app)).oneshot(request).await.unwrap();
        statuses.push(response.status().as_u16());
        response.into_body().collect().await.unwrap();
    }
    assert_eq!(statuses, [200, 503]);
    assert_eq!(*heard.lock().unwrap(), [PermitOutcome::Done, PermitOutcome::Done]);
}

#[tokio::test]
async fn a_body_that_is_not_read_to_its_end_is_no_sample() {
    let listener = Listener { heard: Arc::default(), limit: 10 };
    let heard = Arc::clone(&listener.heard);
    let config = WaitingRoomConfig::builder("works").concurrency(Concurrency::adaptive(listener));
    let layer = WaitingRoomLayer::new(config.build().unwrap());
    let app = service_fn(|_: Request<()>| async {
        Ok::<_, Infallible>(Response::new("whole".to_owned()))
    });
    drop(layer.layer(app).oneshot(Request::new(())).await.unwrap());
    assert!(heard.lock().unwrap().is_empty());
    assert_eq!(layer.handle().gates()[0].snapshots()[0].in_flight, 0);
}

#[tokio::test]
async fn an_adaptive_limit_cannot_be_set_by_hand() {
    let listener = Listener { heard: Arc::default(), limit: 10 };
    let gate = || Concurrency::adaptive(listener.clone());
    let works = Works::new(gate());
    let error = works.layer.handle().gate("gate").unwrap().set_limit(3).unwrap_err();
    assert!(error.to_string().ends_with("adapts its own limit"), "{error}");
    let by_key = gate().for_each(tower_waiting_room::Key::path());
    let error = WaitingRoomConfig::builder("works").concurrency(by_key).build().unwrap_err();
    assert_eq!(error.field(), "for_each");
}

#[tokio::test]
async fn an_adapted_limit_applies_after_the_next_request() {
    let dial = Arc::new(AtomicU32::new(3));
    let works = Works::new(Concurrency::adaptive(Dial(Arc::clone(&dial))));
    works.finish(9);
    // `u32::MAX` stands for no limit. The gate must recognize it as unchanged as well.
    for (turned, limit) in [(7, Some(7)), (2, Some(2)), (u32::MAX, None), (5, Some(5))] {
        dial.store(turned, Ordering::Relaxed);
        works.get().await;
        assert_eq!(works.snapshot().limit, limit);
    }
}

#[tokio::test]
async fn a_limit_of_zero_lets_one_request_run_as_a_probe() {
    let dial = Arc::new(AtomicU32::new(0));
    let works = Works::new(Concurrency::adaptive(Dial(Arc::clone(&dial))));
    assert_eq!(works.snapshot().limit, Some(1));
    works.finish(9);
    works.get().await;
    assert_eq!(works.snapshot().limit, Some(1));
    dial.store(4, Ordering::Relaxed);
    works.get().await;
    assert_eq!(works.snapshot().limit, Some(4));
}
