//! Servers that do not report the address of a client to the layer.

use std::{
    fmt::Debug,
    net::SocketAddr,
    process::Command,
    sync::{Arc, Mutex},
};

use http::{Request, request::Builder};
use tower_waiting_room::{
    Concurrency, Key, Quota, RateLimit, WaitingRoomConfig,
    config::{Enforcement, Misconfiguration, WaitingRoomConfigBuilder},
    gate::Tenants,
    rate::RateHeaders,
    request::{MissingKey, PeerAddr},
};
use tracing::{
    Event, Subscriber,
    field::{Field, Visit},
};
use tracing_subscriber::{
    Registry,
    layer::{Context, Layer, SubscriberExt},
};

use crate::support::{House, Seen, with_subscriber};

fn api() -> WaitingRoomConfigBuilder {
    WaitingRoomConfig::builder("api")
}

fn per_ip() -> RateLimit {
    RateLimit::per_ip(Quota::per_minute(120).burst(20))
}

fn by_key() -> RateLimit {
    RateLimit::new("key", Quota::per_minute(5), Key::header("x-api-key"))
}

async fn send(house: &House, request: Builder) -> Seen {
    house.send(request.body(String::new()).unwrap()).await
}

async fn get(config: WaitingRoomConfigBuilder) -> Seen {
    send(&House::new(config), Request::get("/")).await
}

fn with_address(request: Builder) -> Builder {
    request.extension(PeerAddr(SocketAddr::from(([192, 0, 2, 1], 40_000))))
}

#[track_caller]
fn assert_misconfigured(seen: &Seen) {
    assert_eq!((seen.status.as_u16(), &*seen.reason), (500, "refused:address_unknown"));
    assert_no_numbers(seen);
}

/// Asserts that no header states a quota, its remainder, or a time to come back.
#[track_caller]
fn assert_no_numbers(seen: &Seen) {
    let of_limits = |name: &&str| name.contains("ratelimit") || *name == "retry-after";
    let told: Vec<_> = seen.headers.keys().map(|name| name.as_str()).filter(of_limits).collect();
    assert_eq!(told, [""; 0]);
}

#[tokio::test]
async fn a_limit_by_an_unknown_address_reports_a_misconfigured_server() {
    assert_misconfigured(&get(api().rate_limit(per_ip())).await);
    // The address is used in place of a key that is missing.
    assert_misconfigured(&get(api().rate_limit(by_key())).await);
    // Limits that need no address work as usual.
    assert!(get(api().rate_limit(RateLimit::global(Quota::per_minute(9)))).await.is_inside());
    assert!(get(api().rate_limit(by_key().missing_key(MissingKey::Bypass))).await.is_inside());
}

#[tokio::test]
async fn a_gate_by_an_unknown_address_reports_a_misconfigured_server() {
    let gate = |key| Concurrency::limit(9).for_each(key);
    assert_misconfigured(&get(api().concurrency(gate(Key::address()))).await);
    assert_misconfigured(&get(api().concurrency(gate(Key::header("x-tenant")))).await);
    let gate = gate(Key::header("x-tenant")).missing_key(MissingKey::Refuse);
    let refused = get(api().concurrency(gate)).await;
    assert_eq!((refused.status.as_u16(), &*refused.reason), (429, "refused:gate_unknown"));
}

#[tokio::test]
async fn a_misconfigured_server_is_not_reported_as_a_limit() {
    let gate = || Concurrency::limit(9).for_each(Key::address());
    for profile in [RateHeaders::Combined, RateHeaders::Draft7, RateHeaders::None] {
        let by_limit = api().rate_limit(RateLimit::global(Quota::per_minute(9)));
        let seen = get(by_limit.clone().rate_limit(per_ip()).rate_headers(profile)).await;
        assert_misconfigured(&seen);
        let seen = get(by_limit.concurrency(gate()).rate_headers(profile)).await;
        assert_misconfigured(&seen);
    }
}

#[tokio::test]
async fn nothing_is_charged_for_a_request_whose_address_is_unknown() {
    let service = RateLimit::global(Quota::per_minute(1));
    let house = House::new(api().rate_limit(service).rate_limit(per_ip()));
    assert_misconfigured(&send(&house, Request::get("/")).await);
    assert!(send(&house, with_address(Request::get("/"))).await.is_inside());
}

#[tokio::test]
async fn a_missing_address_does_not_escape_a_rule_for_one_address() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("limits.yaml");
    let rule = "domain: api\ndescriptors:\n  - key: path\n    value: /login\n    descriptors:\n      \
                - { key: remote_address, value: 192.0.2.7, \
                rate_limit: { unit: minute, requests_per_unit: 1 } }\n";
    std::fs::write(&path, rule).unwrap();
    let house = House::new(api().rate_limits_file(path));
    assert_misconfigured(&send(&house, Request::get("/login")).await);
    assert!(send(&house, Request::get("/")).await.is_inside(), "no rule concerns this path");
    assert!(send(&house, with_address(Request::get("/login"))).await.is_inside());
}

#[tokio::test]
async fn in_shadow_mode_an_unknown_address_refuses_no_request() {
    let seen = get(api().rate_limit(per_ip()).enforcement(Enforcement::Shadow)).await;
    assert_eq!((seen.is_inside(), &*seen.reason), (true, "refused:address_unknown"));
}

#[tokio::test]
async fn each_kind_of_client_reads_a_misconfiguration_in_its_own_form() {
    const MENDED_BY: &str = "into_make_service_with_connect_info::<SocketAddr>()";
    const SAID: &str = "This service is not set up correctly";
    let house = House::new(api().rate_limit(per_ip()));
    for (accept, content_type, is_mended) in [
        ("*/*", "application/problem+json", true),
        ("application/json", "application/problem+json", true),
        ("application/problem+json", "application/problem+json", true),
        ("text/plain", "text/plain; charset=utf-8", false),
        ("text/html", "text/html; charset=utf-8", false),
    ] {
        let seen = send(&house, Request::get("/").header("accept", accept)).await;
        assert_misconfigured(&seen);
        assert_eq!(seen.header("content-type"), Some(content_type), "{accept}");
        assert!(seen.body.contains(SAID), "{accept}: {}", seen.body);
        // Visitors of a site get no details about how it is built.
        assert_eq!(seen.body.contains(MENDED_BY), is_mended, "{accept}: {}", seen.body);
        assert_eq!(seen.body.contains("PeerAddr"), is_mended, "{accept}: {}", seen.body);
    }
    let problem = send(&house, Request::get("/")).await.json();
    assert_eq!(problem["type"], "about:blank");
    assert_eq!(problem["title"], "Internal Server Error");
    assert_eq!(problem["status"], 500);
    assert_eq!(problem.get("violated-policies"), None);

    let call = Request::post("/shop.Shop/Buy").header("content-type", "application/grpc");
    let seen = send(&house, call).await;
    assert_eq!((seen.status.as_u16(), &*seen.reason), (200, "refused:address_unknown"));
    assert_eq!(seen.header("grpc-status"), Some("13"), "INTERNAL");
    assert_eq!(seen.header("grpc-retry-pushback-ms"), Some("-1"));
    assert!(seen.header("grpc-message").unwrap().starts_with(SAID));
    assert_no_numbers(&seen);
}

#[tokio::test]
async fn a_missing_key_is_not_reported_as_an_exhausted_quota() {
    let house = House::new(api().rate_limit(by_key().missing_key(MissingKey::Refuse)));
    for (accept, content_type) in [
        ("*/*", "application/problem+json"),
        ("text/plain", "text/plain; charset=utf-8"),
        ("text/html", "text/html; charset=utf-8"),
    ] {
        let seen = send(&house, Request::get("/").header("accept", accept)).await;
        assert_eq!((seen.status.as_u16(), &*seen.reason), (429, "refused:key_missing:key"));
        assert_eq!(seen.header("content-type"), Some(content_type), "{accept}");
        assert_no_numbers(&seen);
        assert!(seen.body.contains("Something is missing from this request"), "{}", seen.body);
        assert!(!seen.body.contains("too fast"), "{}", seen.body);
    }
    let problem = send(&house, Request::get("/")).await.json();
    assert_eq!((&problem["type"], &problem["status"]), (&"about:blank".into(), &429.into()));
    assert!(problem["detail"].as_str().unwrap().contains("the limit \"key\""), "{problem}");
    assert!(send(&house, Request::get("/").header("x-api-key", "k")).await.is_inside());
}

/// Records events of the level `WARN` or above, with their level and fields.
#[derive(Clone, Default)]
struct Warned(Arc<Mutex<Vec<String>>>);

impl<S: Subscriber> Layer<S> for Warned {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let level = *event.metadata().level();
        if level <= tracing::Level::WARN {
            self.0.lock().unwrap().push(level.to_string());
            event.record(&mut self.clone());
        }
    }
}

impl Visit for Warned {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.lock().unwrap().push(format!("{field}={value:?}"));
    }
}

#[test]
fn a_subscriber_gets_one_error_with_the_remedy() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let warned = Warned::default();
    with_subscriber(Registry::default().with(warned.clone()), || {
        let house = House::new(api().rate_limit(per_ip()));
        for _ in 0..3 {
            runtime.block_on(send(&house, Request::get("/")));
        }
    });
    let hint = Misconfiguration::PeerUnknown.to_string();
    assert!(hint.contains("into_make_service_with_connect_info::<SocketAddr>()"), "{hint}");
    assert!(hint.contains("PeerAddr"), "{hint}");
    let hint = format!("hint={hint}");
    let expected =
        ["ERROR", "message=misconfigured", "room=\"api\"", "code=\"peer_unknown\"", &*hint];
    assert_eq!(*warned.0.lock().unwrap(), expected);
}

/// Runs in a process of its own, which the test below starts.
#[tokio::test]
#[ignore = "a part of the next test"]
async fn three_requests_to_each_of_two_layers_without_a_subscriber() {
    for room in ["first", "second"] {
        let house = House::new(WaitingRoomConfig::builder(room).rate_limit(per_ip()));
        for _ in 0..3 {
            assert_misconfigured(&send(&house, Request::get("/")).await);
        }
    }
}

#[test]
fn without_a_subscriber_each_layer_prints_the_remedy_once() {
    let part = "address::three_requests_to_each_of_two_layers_without_a_subscriber";
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "--ignored", "--nocapture", part])
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let said = String::from_utf8(output.stderr).unwrap();
    let line = |room| {
        let hint = Misconfiguration::PeerUnknown;
        format!("tower-waiting-room: peer_unknown in the room \"{room}\": {hint}\n")
    };
    assert_eq!(said, line("first") + &line("second"));
}

#[tokio::test]
async fn a_gate_with_turns_by_address_reports_that_addresses_are_unknown() {
    let closed = Concurrency::limit(0).queue(0).fair_by(Key::address(), Tenants::Each);
    let house = House::new(api().concurrency(closed));
    let is_found = || house.handle().misconfigurations().contains(&Misconfiguration::PeerUnknown);
    send(&house, with_address(Request::get("/"))).await;
    assert!(!is_found());
    assert_eq!(send(&house, Request::get("/")).await.reason, "refused:gate_full");
    assert!(is_found());
}
