//! Set-ups that are allowed but probably not intended: each is detected, and reported once.

use std::{convert::Infallible, net::SocketAddr, time::Duration};

use http::{Request, Response};
use tower::{Layer, ServiceExt, service_fn};
use tower_waiting_room::{
    ClientIp, Concurrency, Key, Quota, RateLimit, TrustedProxies, WaitingRoomConfig,
    WaitingRoomLayer,
    config::WaitingRoomConfigBuilder,
    gate::{Discipline, Tenants},
    request::{Bypass, PeerAddr},
    room::Shares,
};

fn limited(limit: RateLimit) -> WaitingRoomConfigBuilder {
    WaitingRoomConfig::builder("api").rate_limit(limit)
}

fn per_ip() -> RateLimit {
    RateLimit::per_ip(Quota::per_minute(10))
}

fn get() -> http::request::Builder {
    Request::get("/").extension(PeerAddr(SocketAddr::from(([192, 0, 2, 1], 40_000))))
}

/// The codes that are reported after these requests.
async fn found<const N: usize>(
    config: WaitingRoomConfigBuilder,
    requests: [http::request::Builder; N],
) -> Vec<&'static str> {
    let layer = WaitingRoomLayer::new(config.build().unwrap());
    for request in requests {
        let app = service_fn(async |_: Request<()>| Ok::<_, Infallible>(Response::new(())));
        layer.layer(app).oneshot(request.body(()).unwrap()).await.unwrap();
    }
    layer
        .handle()
        .misconfigurations()
        .into_iter()
        .map(|misconfiguration| misconfiguration.code())
        .collect()
}

#[tokio::test]
async fn a_correct_setup_reports_nothing() {
    let ours = TrustedProxies::networks(["192.0.2.0/24"]).unwrap();
    let config = limited(per_ip())
        .rate_limit(RateLimit::new("key", Quota::per_minute(5), Key::header("x-api-key")))
        .client_ip(ClientIp::x_forwarded_for(ours));
    let proxied = get().header("x-forwarded-for", "203.0.113.7").header("x-api-key", "k");
    assert_eq!(found(config, [proxied]).await, [""; 0]);
}

#[tokio::test]
async fn a_bypass_rule_by_network_reports_an_unknown_address() {
    let config = || WaitingRoomConfig::builder("shop").total_active_users(5);
    let office = || Bypass::network("office", "192.0.2.0/24");
    assert_eq!(found(config().bypass(office()), [Request::get("/")]).await, ["peer_unknown"]);
    assert_eq!(found(config().bypass(office()), [get()]).await, [""; 0]);
    let without = config().shares(Shares::Off);
    assert_eq!(found(without, [Request::get("/")]).await, [""; 0]);
}

#[tokio::test]
async fn misconfigurations_visible_at_startup_are_reported_then() {
    let everyone = TrustedProxies::networks(["0.0.0.0/0"]).unwrap();
    let config = limited(per_ip()).client_ip(ClientIp::x_forwarded_for(everyone));
    assert_eq!(found(config, []).await, ["everyone_trusted"]);
    let config = limited(per_ip()).client_ip(ClientIp::peer().ipv6_prefix(128));
    assert_eq!(found(config, []).await, ["raw_ipv6_key"]);
    let config = limited(RateLimit::per_ip(Quota::per_minute(0)));
    assert_eq!(found(config, []).await, ["zero_limit"]);
    let by_cookie = RateLimit::new("session", Quota::per_minute(5), Key::cookie("session"));
    assert_eq!(found(limited(by_cookie.clone()), []).await, ["no_ip_limit"]);
    assert_eq!(found(limited(by_cookie).rate_limit(per_ip()), []).await, [""; 0]);
}

#[tokio::test]
async fn a_forgeable_key_needs_a_guard_for_every_request() {
    let limit = |key| RateLimit::new("key", Quota::per_minute(5), key);
    for key in [
        Key::path(),
        Key::method(),
        Key::header("x-api-key").and(Key::path()),
        Key::address().and(Key::path()),
        Key::address().and(Key::cookie("id")),
        Key::visitor().and(Key::header("x-id")),
    ] {
        assert_eq!(found(limited(limit(key)), []).await, ["no_ip_limit"]);
    }
    for key in [Key::global(), Key::visitor(), Key::address().and(Key::global())] {
        assert_eq!(found(limited(limit(key)), []).await, [""; 0]);
    }
    let per_path = RateLimit::new("each", Quota::per_minute(5), Key::address().and(Key::path()));
    for guard in [
        per_ip().path("/login"),
        per_ip().methods([http::Method::POST]),
        per_ip().over_limit(tower_waiting_room::rate::OverLimit::Shadow),
        per_path,
    ] {
        let config = limited(limit(Key::cookie("session"))).rate_limit(guard);
        assert_eq!(found(config, []).await, ["no_ip_limit"]);
    }
}

#[tokio::test]
async fn limits_without_addresses_report_no_unknown_address() {
    let service = || limited(RateLimit::global(Quota::per_minute(10)));
    let forwarded = get().header("x-forwarded-for", "203.0.113.7");
    assert_eq!(found(service(), [Request::get("/"), forwarded]).await, [""; 0]);
    // A request without the key is limited by its address, unless the limit states otherwise.
    let by_key = || RateLimit::new("key", Quota::per_minute(5), Key::from_fn("user", |_| None));
    assert_eq!(found(limited(by_key()), [Request::get("/")]).await, ["peer_unknown"]);
    let bypass = by_key().missing_key(tower_waiting_room::request::MissingKey::Bypass);
    assert_eq!(found(limited(bypass), [Request::get("/")]).await, [""; 0]);
}

#[tokio::test]
async fn misconfigurations_shown_by_requests_are_reported_once() {
    let forwarded = || get().header("x-forwarded-for", "203.0.113.7");
    assert_eq!(
        found(limited(per_ip()), [forwarded(), forwarded()]).await,
        ["forwarded_header_ignored"]
    );
    let ours = TrustedProxies::networks(["192.0.2.0/24"]).unwrap();
    let config = limited(per_ip()).client_ip(ClientIp::header("x-real-ip", ours));
    let twice = get().header("x-real-ip", "203.0.113.7").header("x-real-ip", "203.0.113.8");
    assert_eq!(found(config, [twice]).await, ["header_repeated"]);
    assert_eq!(found(limited(per_ip()), [Request::get("/")]).await, ["peer_unknown"]);
}

#[tokio::test]
async fn a_request_that_passes_one_layer_twice_is_reported() {
    let layer = WaitingRoomLayer::new(limited(per_ip()).build().unwrap());
    let another = WaitingRoomLayer::new(limited(per_ip()).build().unwrap());
    let app = service_fn(async |_: Request<()>| Ok::<_, Infallible>(Response::new(())));
    let codes = || layer.handle().misconfigurations().len();
    let once = layer.layer(another.layer(app));
    once.clone().oneshot(get().body(()).unwrap()).await.unwrap();
    assert_eq!(codes(), 0);
    layer.layer(once).oneshot(get().body(()).unwrap()).await.unwrap();
    assert_eq!(layer.handle().misconfigurations()[0].code(), "counted_twice");
}

#[tokio::test]
async fn a_room_applied_twice_admits_a_visitor_once_and_reports_it() {
    let config = WaitingRoomConfig::builder("shop").total_active_users(9).build().unwrap();
    let layer = WaitingRoomLayer::new(config);
    let app = service_fn(async |_: Request<()>| Ok::<_, Infallible>(Response::new(())));
    for _ in 0..3 {
        let twice = layer.layer(layer.layer(app));
        let response = twice.oneshot(get().body(()).unwrap()).await.unwrap();
        assert_eq!(response.status(), 200);
    }
    assert_eq!(layer.handle().room().unwrap().snapshot().await.unwrap().active, 3);
    let codes: Vec<_> = layer
        .handle()
        .misconfigurations()
        .iter()
        .map(|misconfiguration| misconfiguration.code())
        .collect();
    assert_eq!(codes, ["counted_twice"]);
}

#[tokio::test]
async fn a_gate_by_address_reports_an_unknown_address() {
    let by_address = Concurrency::limit(9).for_each(Key::address());
    let config = || WaitingRoomConfig::builder("api").concurrency(by_address.clone());
    assert_eq!(found(config(), [get()]).await, [""; 0]);
    assert_eq!(found(config(), [Request::get("/")]).await, ["peer_unknown"]);
}

#[tokio::test]
async fn a_wait_that_outlasts_clients_is_reported_by_discipline() {
    let gate = |secs| Concurrency::limit(9).max_wait(Duration::from_secs(secs));
    let fair = |secs| gate(secs).fair_by(Key::address(), Tenants::Each);
    let by_class = |secs| gate(secs).classes([1, 0], Duration::from_secs(1), |_| 0);
    let newest_first = Discipline::AdaptiveLifo { interval: Duration::from_millis(100) };
    for (gate, codes) in [
        (gate(14), vec![]),
        (gate(15), vec!["long_max_wait"]),
        (gate(14).discipline(newest_first), vec![]),
        (gate(14).discipline(Discipline::Fifo), vec![]),
        (fair(1), vec![]),
        (fair(2), vec!["long_max_wait"]),
        (by_class(1), vec![]),
        (by_class(2), vec!["long_max_wait"]),
    ] {
        let config = WaitingRoomConfig::builder("api").concurrency(gate.clone());
        assert_eq!(found(config, []).await, codes, "{gate:?}");
    }
}

#[tokio::test]
async fn a_gate_by_forgeable_key_needs_another_gate_behind_it() {
    let by = |key| Concurrency::limit(9).name("each").for_each(key);
    let with = |each: Key, other| {
        let config = WaitingRoomConfig::builder("api").concurrency(by(each));
        found(config.concurrency(other), [])
    };
    let header = || Key::header("x-api-key");
    let alone = WaitingRoomConfig::builder("api").concurrency(by(header()));
    assert_eq!(found(alone, []).await, ["no_common_gate"]);
    let all = || Concurrency::limit(64);
    for open in [all().path("/a"), Concurrency::limit(None), all().for_each(Key::path())] {
        assert_eq!(with(header(), open).await, ["no_common_gate"]);
    }
    for guard in [all(), all().for_each(Key::address()), all().for_each(Key::global())] {
        assert_eq!(with(header(), guard).await, [""; 0]);
    }
    let user = Key::from_fn("user", |_| None);
    for each in [user, Key::visitor()] {
        assert_eq!(with(each, all().path("/a")).await, [""; 0]);
    }
    let both = header().and(Key::address());
    assert_eq!(with(both, all().path("/a")).await, ["no_common_gate"]);
}

/// A request from a host in this /32 network.
fn from(network: u16, host: u16) -> http::request::Builder {
    let address = std::net::Ipv6Addr::new(0x2a00, network, host, 0, 0, 0, 0, 1);
    Request::get("/").extension(PeerAddr(SocketAddr::from((address, 40_000))))
}

/// The smallest table distinguishes 64 networks, so one in 64 other networks shares a count with the flood. Only
/// two of them ask at each table, since newcomers displace each other too.
#[tokio::test]
async fn a_flood_refuses_its_network_and_one_in_64_others_and_is_reported() {
    let app = service_fn(async |_: Request<()>| Ok::<_, Infallible>(Response::new(())));
    let mut refused = 0;
    for _ in 0..512 {
        let config = limited(RateLimit::per_ip(Quota::per_day(2)).max_keys(64));
        let layer = WaitingRoomLayer::new(config.build().unwrap());
        let status = async |request: http::request::Builder| {
            layer.layer(app).oneshot(request.body(()).unwrap()).await.unwrap().status().as_u16()
        };
        assert_eq!(layer.handle().misconfigurations(), []);
        for host in 0..128 {
            _ = (status(from(1, host)).await, status(from(1, host)).await);
        }
        let told = layer.handle().misconfigurations();
        let told = told.iter().map(|misconfiguration| misconfiguration.code()).collect::<Vec<_>>();
        assert_eq!(told, ["max_keys_exceeded"]);
        assert_eq!(status(from(1, 5_000)).await, 429);
        for network in [2, 3] {
            refused += u32::from(status(from(network, 0)).await != 200);
        }
    }
    // 16 of 1 024 are expected. Either bound is missed by chance in one of five million runs.
    println!("{refused} of 1024 other networks were refused");
    assert!((1..=39).contains(&refused), "{refused} of 1024");
}
