//! Nineteen defects that other limiters have, or had when this was written. There is one test for
//! each, named after the crate in which the defect was found.

use std::{convert::Infallible, net::SocketAddr, time::Duration};

use axum::{Router, body::Body, extract::ConnectInfo, routing::get};
use http::{Request, Response, StatusCode};
use tower::{Layer, Service, ServiceExt, limit::ConcurrencyLimitLayer, service_fn};
use tower_test::mock;
use tower_waiting_room::{
    ClientIp, Key, Quota, RateLimit, TrustedProxies, WaitingRoomConfig, WaitingRoomLayer,
    config::WaitingRoomConfigBuilder,
    rate::{Algorithm, RateHeaders},
    request::PeerAddr,
};

use crate::support::{House, Seen};

/// The address of a trusted proxy.
const PROXY: [u8; 4] = [10, 0, 0, 1];

fn limits(limit: RateLimit) -> WaitingRoomConfigBuilder {
    WaitingRoomConfig::builder("api").rate_limit(limit).rate_headers(RateHeaders::Combined)
}

fn layer(limit: RateLimit) -> WaitingRoomLayer {
    WaitingRoomLayer::new(limits(limit).build().unwrap())
}

/// One request a minute from each address, as trusted proxies report it.
fn behind_proxies(from: fn(TrustedProxies) -> ClientIp) -> House {
    let ours = TrustedProxies::networks(["10.0.0.0/8"]).unwrap();
    House::new(limits(RateLimit::per_ip(Quota::per_minute(1))).client_ip(from(ours)))
}

fn by(peer: [u8; 4], request: http::request::Builder) -> Request<String> {
    request.extension(PeerAddr(SocketAddr::from((peer, 40_000)))).body(String::new()).unwrap()
}

/// Sends four requests with header lines that are made from a number, and returns how many were
/// admitted.
async fn let_through<const N: usize>(
    house: &House,
    peer: [u8; 4],
    lines: fn(u8) -> [(&'static str, String); N],
) -> usize {
    let mut inside = 0;
    for number in 1..=4 {
        let request = lines(number)
            .into_iter()
            .fold(Request::get("/"), |request, (name, value)| request.header(name, value));
        inside += usize::from(house.send(by(peer, request)).await.is_inside());
    }
    inside
}

async fn ask(house: &House) -> Seen {
    house.send(by([192, 0, 2, 1], Request::get("/"))).await
}

#[tokio::test]
async fn tower_governor_sends_retry_after_0_below_a_second_and_no_reset() {
    let house = House::new(limits(RateLimit::per_ip(Quota::per_second(5).burst(1))));
    assert!(ask(&house).await.is_inside());
    let refused = ask(&house).await;
    assert_eq!(refused.header("retry-after"), Some("1"));
    assert_eq!(refused.header("x-ratelimit-reset"), Some("1700000001"));
}

#[tokio::test]
async fn tower_governor_trusts_the_leftmost_address() {
    let house = behind_proxies(ClientIp::x_forwarded_for);
    let forged = |n| [("x-forwarded-for", format!("9.9.9.{n}, 203.0.113.7"))];
    assert_eq!(let_through(&house, PROXY, forged).await, 1);
}

#[tokio::test]
async fn tower_governor_keeps_every_key_until_the_user_sweeps() {
    // Twenty times as many keys as the table holds. The bound on memory is tested in core.
    let house = House::new(limits(RateLimit::per_ip(Quota::per_minute(1)).max_keys(100)));
    assert!(ask(&house).await.is_inside());
    for number in 0..2_000_u16 {
        let [high, low] = number.to_be_bytes();
        house.send(by([198, 18, high, low], Request::get("/"))).await;
    }
    // A flood of other keys does not make the limit forget a client that is over it.
    assert!(!ask(&house).await.is_inside());
}

#[tokio::test]
async fn axum_governor_trusts_the_leftmost_element_of_forwarded() {
    let house = behind_proxies(ClientIp::forwarded);
    let forged = |n| [("forwarded", format!("for=9.9.9.{n}, for=203.0.113.7"))];
    assert_eq!(let_through(&house, PROXY, forged).await, 1);
}

#[tokio::test]
async fn axum_governor_skips_an_address_with_a_port() {
    let house = behind_proxies(ClientIp::x_forwarded_for);
    let forged = |n| [("x-forwarded-for", format!("7.7.7.{n}, 203.0.113.7:5555"))];
    assert_eq!(let_through(&house, PROXY, forged).await, 1);
    let unreadable = |n| [("x-forwarded-for", format!("7.7.7.{n}, who-knows"))];
    assert_eq!(let_through(&house, PROXY, unreadable).await, 1);
}

#[tokio::test]
async fn axum_governor_tries_one_header_after_the_other() {
    let house = behind_proxies(ClientIp::forwarded);
    let forged = |n| {
        [
            ("x-forwarded-for", format!("7.7.7.{n}")),
            ("x-real-ip", format!("7.7.7.{n}")),
            ("forwarded", "for=203.0.113.7".to_owned()),
        ]
    };
    assert_eq!(let_through(&house, PROXY, forged).await, 1);
    let only_forged =
        |n| [("x-forwarded-for", format!("7.7.7.{n}")), ("x-real-ip", format!("7.7.7.{n}"))];
    assert_eq!(let_through(&house, PROXY, only_forged).await, 1);
}

#[tokio::test]
async fn axum_governor_rounds_a_wait_of_almost_two_seconds_down_to_one() {
    let quota = Quota::new(1, Duration::from_millis(1_900));
    let house = House::new(limits(RateLimit::per_ip(quota)));
    ask(&house).await;
    let refused = ask(&house).await;
    assert_eq!(refused.header("retry-after"), Some("2"));
    let list = r#""per_ip";r=0;t=2;wr-limit=1;wr-remaining=0;wr-reset=2"#;
    assert_eq!(refused.header("ratelimit"), Some(list));
}

#[tokio::test]
async fn axum_governor_charges_the_first_limit_for_refusals_of_the_second() {
    let shared = RateLimit::global(Quota::per_minute(2));
    let house = House::new(limits(shared).rate_limit(RateLimit::per_ip(Quota::per_minute(1))));
    for _ in 0..20 {
        ask(&house).await;
    }
    assert!(house.send(by([192, 0, 2, 2], Request::get("/"))).await.is_inside());
}

#[tokio::test]
async fn axum_governor_gives_one_limit_the_name_of_another() {
    let wide = RateLimit::global(Quota::per_minute(100));
    let house = House::new(limits(wide).rate_limit(RateLimit::per_ip(Quota::per_minute(3))));
    let seen = ask(&house).await;
    let list = seen.header("ratelimit").unwrap();
    assert!(list.contains(r#""service";r=99"#) && list.contains(r#""per_ip";r=2"#), "{list}");
    assert_eq!(seen.header("x-ratelimit-limit"), Some("3"));
    assert_eq!(seen.header("x-ratelimit-remaining"), Some("2"));
}

#[tokio::test]
async fn axum_governor_axum_gcra_and_throttle_kit_call_a_service_that_is_not_ready() {
    let inner = service_fn(async |_: Request<String>| {
        Ok::<_, Infallible>(Response::new("inside".to_owned()))
    });
    let limited = layer(RateLimit::global(Quota::per_minute(10)));
    let mut service = limited.layer(ConcurrencyLimitLayer::new(1).layer(inner));
    for _ in 0..3 {
        let clone = service.clone();
        let request = || Request::new(String::new());
        service.ready().await.unwrap().call(request()).await.unwrap();
        clone.oneshot(request()).await.unwrap();
    }
}

#[tokio::test]
async fn throttle_kit_reads_only_the_first_line_and_no_ports() {
    let house = behind_proxies(ClientIp::x_forwarded_for);
    let two_lines = |n| {
        [("x-forwarded-for", format!("9.9.9.{n}")), ("x-forwarded-for", "203.0.113.7".to_owned())]
    };
    assert_eq!(let_through(&house, PROXY, two_lines).await, 1);
    // A port in the address does not merge clients: each has a limit of its own.
    let clients = |n| [("x-forwarded-for", format!("203.0.113.{}:5555", 10 + n))];
    assert_eq!(let_through(&house, PROXY, clients).await, 4);
}

#[tokio::test]
async fn axum_gcra_allows_one_more_after_a_long_time() {
    let house = House::new(limits(RateLimit::per_ip(Quota::per_minute(3))));
    for _ in 0..3 {
        let mut inside = 0;
        for _ in 0..10 {
            inside += u32::from(ask(&house).await.is_inside());
        }
        assert_eq!(inside, 3);
        house.advance(86_400);
    }
}

#[tokio::test]
async fn axum_gcra_cannot_read_ipv6_and_trusts_eight_headers_from_any_peer() {
    let house = behind_proxies(ClientIp::x_forwarded_for);
    let networks = |n| [("x-forwarded-for", format!("2001:db8:0:{n}::1"))];
    assert_eq!(let_through(&house, PROXY, networks).await, 4);
    let stranger = [198, 51, 100, 9];
    let forged = |n| {
        [
            ("x-forwarded-for", format!("9.9.9.{n}")),
            ("x-real-ip", format!("9.9.9.{n}")),
            ("cf-connecting-ip", format!("9.9.9.{n}")),
            ("true-client-ip", format!("9.9.9.{n}")),
            ("fly-client-ip", format!("9.9.9.{n}")),
            ("x-client-ip", format!("9.9.9.{n}")),
            ("x-cluster-client-ip", format!("9.9.9.{n}")),
            ("forwarded", format!("for=9.9.9.{n}")),
        ]
    };
    assert_eq!(let_through(&house, stranger, forged).await, 1);
}

#[tokio::test]
async fn throttlecrab_allows_more_than_its_burst_after_a_while() {
    let house = House::new(limits(RateLimit::per_ip(Quota::per_second(1).burst(10))));
    assert!(ask(&house).await.is_inside());
    house.advance(8);
    let mut inside = 0;
    for _ in 0..30 {
        inside += u32::from(ask(&house).await.is_inside());
    }
    assert_eq!(inside, 10);
}

#[tokio::test(start_paused = true)]
async fn tower_resilience_serves_waiting_requests_in_no_order() {
    let queue = RateLimit::new("queue", Quota::new(20, Duration::from_secs(2)), Key::global());
    let house = House::new(limits(queue.algorithm(Algorithm::LeakyQueue)));
    let served = std::sync::Mutex::new(Vec::new());
    let waiters = (0..20).map(|number| {
        let house = &house;
        let served = &served;
        async move {
            assert!(ask(house).await.is_inside());
            served.lock().unwrap().push(number);
        }
    });
    futures_util::future::join_all(waiters).await;
    assert_eq!(*served.lock().unwrap(), (0..20).collect::<Vec<_>>());
}

#[test]
fn governor_keeps_a_million_keys_that_were_seen_once() {
    use waiting_room_core::{Limiter, Timestamp, rate::KeyHasher};

    let limiter = Limiter::new(Algorithm::Gcra, &[Quota::per_second(1)], 10_000).unwrap();
    let hasher = KeyHasher::new([3, 1, 4, 1]);
    for number in 0..1_000_000_u64 {
        // Each key is charged once, a thousand of them in a second. By the end, most quotas are
        // whole again, and their keys may be forgotten.
        let now = Timestamp::from_millis(1_000_000 + number);
        assert!(limiter.charge(hasher.hash(&number), 0, 1, now).is_ok());
    }
    assert!(limiter.len() <= 2 * limiter.max_keys());
}

/// Sends requests to clones of a router, as a server does that clones its service for each
/// connection. Returns how many were admitted.
async fn allowed_by_clones(app: Router) -> usize {
    let peer = ConnectInfo(SocketAddr::from(([192, 0, 2, 1], 40_000)));
    let mut allowed = 0;
    for _ in 0..50 {
        let request = Request::get("/").extension(peer).body(Body::empty()).unwrap();
        let response = app.clone().oneshot(request).await.unwrap();
        allowed += usize::from(response.status() == StatusCode::OK);
    }
    allowed
}

#[tokio::test]
async fn tower_limits_nothing_in_axum_where_every_connection_has_its_own_clone() {
    let limited = layer(RateLimit::per_ip(Quota::per_minute(5)));
    let app = Router::new().route("/", get(|| async { "inside" })).layer(limited);
    assert_eq!(allowed_by_clones(app).await, 5);
}

#[tokio::test]
async fn tower_has_one_limit_for_each_request_on_a_method_router() {
    let limited = layer(RateLimit::per_ip(Quota::per_minute(5)));
    let app = Router::new().route("/", get(|| async { "inside" }).layer(limited));
    assert_eq!(allowed_by_clones(app).await, 5);
}

#[tokio::test]
async fn tower_sheds_whenever_the_service_is_not_ready() {
    let (inner, mut handle) = mock::pair::<Request<()>, Response<String>>();
    handle.allow(0);
    let service = layer(RateLimit::global(Quota::per_minute(10))).layer(inner);
    let mut call = tokio_test::task::spawn(service.oneshot(Request::new(())));
    // The service is not ready and the limit is not reached, so the request waits.
    tokio_test::assert_pending!(call.poll());
    handle.allow(1);
    tokio_test::assert_pending!(call.poll());
    let (_, respond) = handle.next_request().await.unwrap();
    respond.send_response(Response::new(String::new()));
    let response = tokio_test::assert_ready!(call.poll()).unwrap();
    assert_eq!(response.status(), StatusCode::OK);
}
