//! Several gates that cover one request.

use super::*;

use std::{
    sync::mpsc::RecvTimeoutError,
    task::{Context, Waker},
};

use tower_waiting_room::{Key, time::ManualClock};

fn nested() -> WaitingRoomConfigBuilder {
    WaitingRoomConfig::builder("works")
        .rate_headers(RateHeaders::Combined)
        .concurrency(Concurrency::limit(2).queue(0).name("all"))
        .concurrency(Concurrency::limit(1).queue(0).name("slow").path("/slow"))
        .concurrency(
            Concurrency::limit(1).queue(4).name("tenant").for_each(Key::header("x-tenant")),
        )
}

fn of(tenant: &str, path: &str) -> Request<String> {
    Request::get(path).header("x-tenant", tenant).body(String::new()).unwrap()
}

#[tokio::test(start_paused = true)]
async fn waiting_for_the_permit_of_a_tenant_holds_no_shared_permit() {
    let works = Works::of(nested());
    let mut held = Vec::new();
    for _ in 0..3 {
        held.push(tokio::spawn(works.send(of("ann", "/"))));
        tokio::task::yield_now().await;
    }
    let mut bob = pin!(works.send(of("bob", "/")));
    assert!(is_waiting(bob.as_mut()).await);
    assert_eq!(works.running.load(Ordering::Relaxed), 2);
    let refused = works.send(of("carol", "/")).await;
    assert_eq!(refused.status, 429);
    assert!(refused.header("ratelimit-policy").unwrap().starts_with("\"all\";"));
}

#[tokio::test(start_paused = true)]
async fn a_refusal_by_one_gate_returns_the_permits_of_the_others() {
    let works = Works::of(nested());
    let mut first = pin!(works.send(of("ann", "/slow")));
    assert!(is_waiting(first.as_mut()).await);
    let refused = works.send(of("bob", "/slow")).await;
    assert!(refused.header("ratelimit-policy").unwrap().starts_with("\"slow\";"));
    let mut again = pin!(works.send(of("bob", "/")));
    assert!(is_waiting(again.as_mut()).await);
    assert_eq!(works.running.load(Ordering::Relaxed), 2);
}

#[tokio::test(start_paused = true)]
async fn a_gate_of_a_tenant_is_there_only_while_it_has_a_request() {
    let works = Works::of(nested());
    let handle = works.layer.handle();
    let tenants = || handle.gate("tenant").unwrap().snapshots();
    works.finish(1_000);
    for tenant in 0..1_000 {
        assert_eq!(works.send(of(&tenant.to_string(), "/")).await.status, 200);
    }
    assert_eq!(tenants().len(), 0);
    let works = Works::of(nested());
    let requests: Vec<_> = (0..5).map(|_| tokio::spawn(works.send(of("ann", "/")))).collect();
    tokio::task::yield_now().await;
    requests.iter().for_each(tokio::task::JoinHandle::abort);
    tokio::task::yield_now().await;
    let handle = works.layer.handle();
    assert!(handle.gate("tenant").unwrap().snapshots().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_request_without_a_tenant_and_an_address_is_refused() {
    let works = Works::of(nested());
    let refused = works.get().await;
    assert_eq!((refused.status, &*refused.reason), (500, "refused:address_unknown"));
}

#[tokio::test(start_paused = true)]
async fn a_new_tenant_is_refused_while_the_gates_are_drained() {
    let works = Works::of(nested());
    works.layer.handle().drain_gates(DrainQueue::Serve, Duration::from_secs(1)).await;
    assert_eq!(works.send(of("ann", "/")).await.status, 503);
}

/// New tenants arrive on two threads while a third one changes the limit of all tenants' gates. A
/// wrong order of locks would deadlock here: then no thread goes on, however long it is given.
#[test]
fn new_tenants_neither_wait_for_nor_delay_a_change_of_the_limit() {
    let (goes_on, news) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let works = Works::of(nested());
        let handle = works.layer.handle();
        std::thread::scope(|scope| {
            for thread in 0..2 {
                let works = &works;
                let goes_on = goes_on.clone();
                scope.spawn(move || {
                    for tenant in 0..10_000 {
                        let request = of(&format!("{thread}-{tenant}"), "/");
                        let mut cx = Context::from_waker(Waker::noop());
                        _ = pin!(works.send(request)).poll(&mut cx);
                        goes_on.send(0).unwrap();
                    }
                });
            }
            for limit in 1..10_000 {
                handle.gate("tenant").unwrap().set_limit(limit).unwrap();
                goes_on.send(1).unwrap();
            }
        });
    });
    let mut steps = [0; 2];
    let over = loop {
        match news.recv_timeout(Duration::from_secs(30)) {
            Ok(kind) => steps[kind] += 1,
            Err(over) => break over,
        }
    };
    assert_eq!(over, RecvTimeoutError::Disconnected, "no thread goes on after {steps:?}");
    assert_eq!(steps, [20_000, 9_999]);
}

#[tokio::test(start_paused = true)]
async fn drained_gates_serve_requests_that_wait_for_the_permit_of_a_tenant() {
    let works = Works::of(nested());
    let requests: Vec<_> = (0..3).map(|_| tokio::spawn(works.send(of("ann", "/")))).collect();
    tokio::task::yield_now().await;
    let handle = works.layer.handle();
    let short = Duration::from_millis(10);
    assert_eq!(handle.drain_gates(DrainQueue::Serve, short).await, 3);
    works.finish(3);
    for request in requests {
        assert_eq!(request.await.unwrap().status, 200);
    }
}

#[tokio::test(start_paused = true)]
async fn a_tenant_that_was_drained_leaves_nothing_behind() {
    let works = Works::of(nested());
    let request = tokio::spawn(works.send(of("ann", "/")));
    tokio::task::yield_now().await;
    works.finish(1);
    let handle = works.layer.handle();
    assert_eq!(handle.drain_gates(DrainQueue::Serve, Duration::from_secs(1)).await, 0);
    assert_eq!(request.await.unwrap().status, 200);
    handle.open_gates();
    assert!(handle.gate("tenant").unwrap().snapshots().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_client_deadline_covers_all_gates_together() {
    let queue = || Concurrency::limit(1).queue(4);
    let config = WaitingRoomConfig::builder("works")
        .concurrency(queue().name("all"))
        .concurrency(queue().name("tenant").for_each(Key::header("x-tenant")));
    let built = config.clone().build().unwrap();
    let clock = ManualClock::default();
    let layer = WaitingRoomLayer::with_clock(built, clock.clone());
    let works = Works { layer, ..Works::of(config) };
    let started = tokio::time::Instant::now();
    let mut ann = pin!(works.send(of("ann", "/")));
    let mut bob = pin!(works.send(of("bob", "/")));
    assert!(is_waiting(ann.as_mut()).await && is_waiting(bob.as_mut()).await);
    let mut hurried = of("ann", "/");
    hurried.headers_mut().insert("grpc-timeout", "300m".parse().unwrap());
    let hurried = tokio::spawn(works.send(hurried));
    tokio::time::sleep(Duration::from_millis(200)).await;
    clock.advance(Duration::from_millis(200));
    works.finish(1);
    ann.await;
    // Ann's permit is free now, so the hurried request waits at the gate for all, behind Bob's.
    assert!(is_waiting(bob.as_mut()).await);
    assert_eq!(hurried.await.unwrap().reason, "refused:gate_timeout");
    assert_eq!(started.elapsed(), Duration::from_millis(300));
}

#[tokio::test(start_paused = true)]
async fn a_layer_applied_twice_takes_one_permit_and_reports_it() {
    let layer = Works::new(one()).layer;
    let app = service_fn(|_: Request<String>| async {
        Ok::<_, Infallible>(Response::new(String::new()))
    });
    let twice = layer.layer(layer.layer(app));
    let response = twice.oneshot(Request::new(String::new())).await.unwrap();
    assert_eq!(response.status(), 200);
    drop(response);
    let handle = layer.handle();
    assert_eq!(handle.gates()[0].snapshots()[0].in_flight, 0);
    let found =
        handle.misconfigurations().into_iter().map(|misconfiguration| misconfiguration.code());
    assert_eq!(found.collect::<Vec<_>>(), ["counted_twice"]);
}

#[tokio::test(start_paused = true)]
async fn a_handle_keeps_the_permits_of_an_outer_layer_too() {
    let layers = [(); 2].map(|()| Works::new(one()).layer);
    let kept = Arc::new(std::sync::Mutex::new(None));
    let app = service_fn({
        let kept = Arc::clone(&kept);
        move |request: Request<String>| {
            *kept.lock().unwrap() =
                request.extensions().get::<tower_waiting_room::gate::PermitHandle>().cloned();
            std::future::ready(Ok::<_, Infallible>(Response::new(String::new())))
        }
    });
    let both = layers[0].layer(layers[1].layer(app));
    drop(both.oneshot(Request::new(String::new())).await.unwrap());
    let in_flight =
        || layers.each_ref().map(|layer| layer.handle().gates()[0].snapshots()[0].in_flight);
    assert_eq!(in_flight(), [1, 1]);
    drop(kept.lock().unwrap().take());
    assert_eq!(in_flight(), [0, 0]);
}

#[tokio::test(start_paused = true)]
async fn in_shadow_mode_the_permits_of_the_gates_before_a_refusal_are_held() {
    let closed = Concurrency::limit(0).queue(0).name("closed").path("/slow");
    let config = WaitingRoomConfig::builder("works")
        .concurrency(Concurrency::limit(2).name("each").for_each(Key::header("x-tenant")))
        .concurrency(closed)
        .enforcement(tower_waiting_room::config::Enforcement::Shadow);
    let works = Works::of(config);
    let mut running = pin!(works.send(of("ann", "/slow")));
    assert!(is_waiting(running.as_mut()).await);
    assert_eq!(works.running.load(Ordering::Relaxed), 1);
    let handle = works.layer.handle();
    let in_flight = |name: &str| {
        let gates = handle.gate(name).unwrap().snapshots();
        gates.iter().map(|gate| gate.in_flight).sum::<u32>()
    };
    assert_eq!((in_flight("each"), in_flight("closed")), (1, 0));
}
