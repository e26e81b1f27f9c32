//! Rate limits: the requests that they allow, the headers that they write, and their exceptions.

use std::{net::SocketAddr, time::Duration};

use http::{Method, Request};
use tower_waiting_room::{
    Key, Quota, RateLimit, WaitingRoomConfig,
    config::{Enforcement, WaitingRoomConfigBuilder},
    rate::{Algorithm, OverLimit, RateHeaders, Refusals},
    request::{MissingKey, PeerAddr},
};

use crate::support::{House, Seen};

fn limits() -> WaitingRoomConfigBuilder {
    WaitingRoomConfig::builder("api")
}

/// Ten requests a minute from each address.
fn ten() -> RateLimit {
    RateLimit::per_ip(Quota::per_minute(10))
}

fn from(peer: &str, request: http::request::Builder) -> Request<String> {
    let peer: SocketAddr = format!("{peer}:40000").parse().unwrap();
    request.extension(PeerAddr(peer)).body(String::new()).unwrap()
}

async fn get(house: &House, peer: &str) -> Seen {
    house.send(from(peer, Request::get("/"))).await
}

async fn allowed(house: &House, peer: &str, times: u32) -> u32 {
    let mut allowed = 0;
    for _ in 0..times {
        allowed += u32::from(get(house, peer).await.is_inside());
    }
    allowed
}

#[tokio::test]
async fn each_address_has_its_own_limit_and_retry_time() {
    let house = House::new(limits().rate_limit(ten()));
    assert_eq!(allowed(&house, "192.0.2.1", 12).await, 10);
    assert_eq!(allowed(&house, "192.0.2.2", 1).await, 1);
    let refused = get(&house, "192.0.2.1").await;
    assert_eq!(refused.status, 429);
    assert_eq!(refused.reason, "refused:rate:per_ip");
    assert_eq!(refused.header("retry-after"), Some("6"));
    assert_eq!(refused.json()["violated-policies"], serde_json::json!(["per_ip"]));
    house.advance(5);
    assert!(!get(&house, "192.0.2.1").await.is_inside());
    house.advance(1);
    assert!(get(&house, "192.0.2.1").await.is_inside());
}

#[tokio::test]
async fn a_response_reports_the_remaining_quota_and_its_growth() {
    let house = House::new(limits().rate_limit(ten()));
    let seen = get(&house, "192.0.2.1").await;
    assert_eq!(seen.header("x-ratelimit-limit"), Some("10"));
    assert_eq!(seen.header("x-ratelimit-remaining"), Some("9"));
    assert_eq!(seen.header("x-ratelimit-reset"), Some("1700000006"));
    assert_eq!(seen.header("ratelimit"), None);
    let house = House::new(limits().rate_limit(ten()).rate_headers(RateHeaders::Combined));
    let seen = get(&house, "192.0.2.1").await;
    assert_eq!(seen.header("x-ratelimit-remaining"), Some("9"));
    assert_eq!(seen.header("ratelimit-policy"), Some(r#""per_ip";q=10;w=60"#));
    let list = r#""per_ip";r=9;t=6;wr-limit=10;wr-remaining=9;wr-reset=6"#;
    assert_eq!(seen.header("ratelimit"), Some(list));
    assert_eq!(seen.header("x-ratelimit-retry-after"), None);
    assert_eq!(seen.reason, "admitted");
}

#[tokio::test]
async fn a_refusal_by_an_own_limit_charges_nothing_to_the_shared_one() {
    let own = RateLimit::per_ip(Quota::per_minute(1));
    let house =
        House::new(limits().rate_limit(RateLimit::global(Quota::per_minute(5))).rate_limit(own));
    assert_eq!(allowed(&house, "192.0.2.1", 20).await, 1);
    for peer in ["192.0.2.2", "192.0.2.3", "192.0.2.4", "192.0.2.5"] {
        assert_eq!(allowed(&house, peer, 1).await, 1, "{peer}");
    }
    let sixth = get(&house, "192.0.2.6").await;
    assert_eq!(sixth.reason, "refused:rate:service");
    assert_eq!(allowed(&house, "192.0.2.6", 1).await, 0);
}

#[tokio::test]
async fn a_limit_applies_to_its_methods_and_paths_in_every_notation() {
    let login = RateLimit::new("login", Quota::per_minute(1), Key::address())
        .methods([Method::POST])
        .path_prefix("/login");
    let house = House::new(limits().rate_limit(login));
    let post = |path: &str| from("192.0.2.1", Request::post(path));
    assert!(house.send(post("/login")).await.is_inside());
    assert!(!house.send(post("/login/2")).await.is_inside());
    for sly in ["/x/../login", "/%6cogin", "//login", "/x/..%2flogin"] {
        assert!(!house.send(post(sly)).await.is_inside(), "{sly}");
    }
    for other in ["/x%2flogin", "/api/v4/projects/group%2Fname", "//x", "/login/../x"] {
        let is_login = other.starts_with("/login");
        assert_eq!(house.send(post(other)).await.is_inside(), !is_login, "{other}");
    }
    assert!(house.send(post("/caf%C3%A9.html")).await.is_inside());
    assert!(house.send(post("/other")).await.is_inside());
    let get = from("192.0.2.1", Request::get("/login"));
    let seen = house.send(get).await;
    assert!(seen.is_inside());
    assert_eq!(seen.header("ratelimit"), None);
}

#[tokio::test]
async fn a_tier_has_its_own_quota_and_the_same_memory() {
    let limit = ten().tier(Quota::per_minute(20), |head| head.headers().contains_key("x-gold"));
    let house = House::new(limits().rate_limit(limit).rate_headers(RateHeaders::Combined));
    assert_eq!(allowed(&house, "192.0.2.1", 10).await, 10);
    let seen = get(&house, "192.0.2.1").await;
    assert_eq!(
        (seen.status.as_u16(), seen.header("ratelimit-policy")),
        (429, Some(r#""per_ip";q=10;w=60"#))
    );
    let gold = || from("192.0.2.1", Request::get("/").header("x-gold", "1"));
    let seen = house.send(gold()).await;
    assert_eq!(seen.header("ratelimit-policy"), Some(r#""per_ip";q=20;w=60"#));
    // The smaller quota is used up. In the same memory, so is the larger one.
    assert_eq!(seen.status, 429);
    house.advance(3);
    assert!(house.send(gold()).await.is_inside());
}

#[tokio::test]
async fn a_request_costs_the_amount_that_a_closure_returns() {
    let cost = |head: &tower_waiting_room::request::RequestHead<'_>| {
        head.uri().query().map_or(1, |query| query.parse().unwrap_or(1))
    };
    let house = House::new(limits().rate_limit(ten().cost_by(cost)));
    let get = |uri: &str| from("192.0.2.1", Request::get(uri));
    assert!(house.send(get("/?8")).await.is_inside());
    let refused = house.send(get("/?3")).await;
    assert_eq!(refused.header("retry-after"), Some("6"));
    assert!(house.send(get("/?2")).await.is_inside());
    assert!(house.send(get("/?0")).await.is_inside());
    let never = house.send(get("/?11")).await;
    assert_eq!((never.status.as_u16(), never.header("retry-after")), (429, None));
}

#[tokio::test]
async fn without_its_key_a_request_is_limited_by_address_bypassed_or_refused() {
    let by_key = |missing| {
        let limit = RateLimit::new("key", Quota::per_minute(1), Key::header("x-api-key"));
        House::new(limits().rate_limit(limit.missing_key(missing)))
    };
    let house = by_key(MissingKey::Address);
    assert_eq!(allowed(&house, "192.0.2.1", 3).await, 1);
    assert_eq!(allowed(&house, "192.0.2.2", 3).await, 1);
    let house = by_key(MissingKey::Bypass);
    assert_eq!(allowed(&house, "192.0.2.1", 3).await, 3);
    let house = by_key(MissingKey::Refuse);
    let refused = get(&house, "192.0.2.1").await;
    assert_eq!((refused.status.as_u16(), refused.header("retry-after")), (429, None));
}

#[tokio::test]
async fn requests_without_a_peer_address_share_no_limit_by_accident() {
    let house = House::new(limits().rate_limit(ten()));
    let stranger = house.send(Request::new(String::new())).await;
    assert_eq!(stranger.status, 500);
    let codes: Vec<_> = house
        .handle()
        .misconfigurations()
        .into_iter()
        .map(|misconfiguration| misconfiguration.code())
        .collect();
    assert_eq!(codes, ["peer_unknown"]);
    assert_eq!(allowed(&house, "192.0.2.1", 10).await, 10);
}

#[tokio::test]
async fn a_soft_limit_marks_and_a_shadow_limit_only_counts() {
    let soft = RateLimit::new("soft", Quota::per_minute(1), Key::address());
    let shadow = RateLimit::new("shadow", Quota::per_minute(0), Key::address());
    let house = House::new(
        limits()
            .rate_limit(soft.over_limit(OverLimit::Mark))
            .rate_limit(shadow.over_limit(OverLimit::Shadow)),
    );
    let seen = get(&house, "192.0.2.1").await;
    assert_eq!((seen.is_inside(), seen.header("x-over")), (true, None));
    let seen = get(&house, "192.0.2.1").await;
    assert_eq!((seen.is_inside(), seen.header("x-over")), (true, Some("soft")));
    assert_eq!(seen.header("ratelimit"), None);
}

#[tokio::test]
async fn a_cost_is_settled_or_given_back_by_the_application() {
    let house = House::new(limits().rate_limit(ten().cost(5).adjustable()));
    let spend = |cost: &str| from("192.0.2.1", Request::get("/").header("x-settle", cost));
    assert!(house.send(spend("refund")).await.is_inside());
    assert!(house.send(spend("per_ip=1")).await.is_inside());
    // Nine are left. The request takes five of them, and is settled to seven.
    assert!(house.send(spend("7")).await.is_inside());
    let refused = get(&house, "192.0.2.1").await;
    assert_eq!(refused.header("x-ratelimit-remaining"), Some("2"));
    assert_eq!(refused.header("retry-after"), Some("18"));
    // A cost that exceeds the quota leaves a debt, which has to be replenished first.
    house.advance(18);
    assert!(house.send(spend("25")).await.is_inside());
    assert_eq!(get(&house, "192.0.2.1").await.header("retry-after"), Some("150"));
}

#[tokio::test(start_paused = true)]
async fn a_leaky_queue_holds_requests_and_forgets_disconnected_ones() {
    let queue = RateLimit::new("queue", Quota::per_second(1).burst(3), Key::global())
        .algorithm(Algorithm::LeakyQueue);
    let house = House::new(limits().rate_limit(queue));
    let start = tokio::time::Instant::now();
    let (first, second) = tokio::join!(get(&house, "192.0.2.1"), get(&house, "192.0.2.2"));
    assert!(first.is_inside() && second.is_inside());
    assert_eq!(start.elapsed().as_secs(), 1);
    // The clock of the limits stands still, so the first two requests are still in the queue.
    let third = get(&house, "192.0.2.3");
    assert!(tokio::time::timeout(Duration::from_millis(1), third).await.is_err());
    assert!(get(&house, "192.0.2.4").await.is_inside());
    assert_eq!(get(&house, "192.0.2.5").await.header("retry-after"), Some("1"));
}

#[tokio::test(start_paused = true)]
async fn the_number_of_held_requests_is_bounded() {
    let queue = RateLimit::new("queue", Quota::per_second(1), Key::address())
        .algorithm(Algorithm::LeakyQueue);
    let queue = queue.quota(Quota::per_second(1).burst(2));
    let house = House::new(limits().rate_limit(queue).max_held_requests(1));
    assert!(get(&house, "192.0.2.1").await.is_inside());
    assert!(get(&house, "192.0.2.2").await.is_inside());
    let (held, refused) = tokio::join!(get(&house, "192.0.2.1"), get(&house, "192.0.2.2"));
    assert!(held.is_inside());
    assert_eq!((refused.status.as_u16(), refused.header("retry-after")), (429, Some("1")));
}

#[tokio::test]
async fn a_changed_limit_keeps_its_keys_and_caps_their_waits() {
    let house = House::new(limits().rate_limit(ten()));
    assert_eq!(allowed(&house, "192.0.2.1", 10).await, 10);
    let to = |quota: Quota| {
        let change =
            |limits: Vec<RateLimit>| limits.into_iter().map(|limit| limit.quota(quota)).collect();
        house.handle().limits().change(change)
    };
    to(Quota::per_minute(60)).unwrap();
    assert_eq!(allowed(&house, "192.0.2.1", 1).await, 0);
    house.advance(2);
    assert_eq!(allowed(&house, "192.0.2.1", 3).await, 2);
    let error = to(Quota::new(5, Duration::ZERO)).unwrap_err();
    assert_eq!(error.to_string(), "window is 0 s, expected at least 1 ms");
    assert_eq!(house.handle().limits().in_force().len(), 1);
}

#[tokio::test]
async fn bypassed_requests_are_not_counted() {
    let bypass = tower_waiting_room::request::Bypass::path("health", "/healthz");
    let house =
        House::new(limits().rate_limit(RateLimit::per_ip(Quota::per_minute(0))).bypass(bypass));
    assert!(house.send(from("192.0.2.1", Request::get("/healthz"))).await.is_inside());
    assert!(!get(&house, "192.0.2.1").await.is_inside());
}

#[tokio::test]
async fn a_path_with_detours_is_limited_like_the_plain_path() {
    let login = RateLimit::global(Quota::per_minute(0)).path("/login");
    let bypass = tower_waiting_room::request::Bypass::path_prefix("assets", "/assets/");
    let house = House::new(limits().rate_limit(login).bypass(bypass));
    let long = "/.".repeat(30_000);
    let detour = format!("/assets/%252e%252e/login{long}");
    let hidden = "/assets/..;/login";
    for path in ["/login/", "/login//", "/login/.", "/login;a", hidden, &long, &detour] {
        let seen = house.send(from("192.0.2.1", Request::get(path))).await;
        assert_eq!(seen.reason, "refused:rate:service", "{:.40}", path);
    }
    for path in ["/Login", "/logins", "/login/x"] {
        let seen = house.send(from("192.0.2.1", Request::get(path))).await;
        assert!(seen.is_inside(), "{path}");
    }
}

#[tokio::test]
async fn the_room_and_its_passes_are_behind_the_limits() {
    let house = House::new(crate::support::config().rate_limit(ten()));
    assert!(get(&house, "192.0.2.1").await.is_inside());
    let queued = get(&house, "192.0.2.2").await;
    assert_eq!(queued.reason, "queued:active_limit");
    assert_eq!(allowed(&house, "192.0.2.2", 10).await, 0);
    assert_eq!(get(&house, "192.0.2.2").await.reason, "refused:rate:per_ip");
}

#[tokio::test]
async fn a_room_that_is_suspended_leaves_the_limits_in_force() {
    let house =
        House::new(crate::support::config().rate_limit(RateLimit::per_ip(Quota::per_minute(1))));
    house.handle().room().unwrap().suspend().await.unwrap();
    let seen = get(&house, "192.0.2.1").await;
    assert_eq!((seen.is_inside(), &*seen.reason), (true, "bypass:suspended"));
    assert_eq!(seen.header("x-ratelimit-remaining"), Some("0"));
    assert_eq!(get(&house, "192.0.2.1").await.reason, "refused:rate:per_ip");
    assert!(get(&house, "192.0.2.2").await.is_inside());
}

#[tokio::test]
async fn a_ticket_is_never_too_early_for_a_room_that_is_suspended() {
    let house = House::new(crate::support::config());
    assert!(crate::support::Visitor::default().get(&house).await.is_inside());
    let mut waiting = crate::support::Visitor::default();
    assert!(!waiting.get(&house).await.is_inside());
    house.handle().room().unwrap().suspend().await.unwrap();
    assert!(waiting.get(&house).await.is_inside());
}

#[tokio::test]
async fn a_limit_on_get_applies_to_head_too() {
    let limit = RateLimit::per_ip(Quota::per_minute(1)).methods([Method::GET]);
    let house = House::new(limits().rate_limit(limit));
    for expected in [1, 1, 1] {
        house.send(from("192.0.2.1", Request::head("/search"))).await;
        assert_eq!(house.forwarded(), expected);
    }
    assert!(house.send(from("192.0.2.1", Request::post("/search"))).await.is_inside());
}

#[tokio::test]
async fn a_refusal_by_several_limits_reports_the_binding_one() {
    let minute = RateLimit::new("minute", Quota::per_minute(1), Key::global());
    let hour = RateLimit::new("hour", Quota::per_hour(1), Key::global());
    let page = tower_waiting_room::respond::Page::template("{{ reason }}").unwrap();
    let house = House::new(limits().rate_limit(minute).rate_limit(hour).page(page));
    let ask = || from("192.0.2.1", Request::get("/").header("sec-fetch-mode", "navigate"));
    house.send(ask()).await;
    let refused = house.send(ask()).await;
    assert_eq!(refused.reason, "refused:rate:hour");
    assert_eq!(refused.body, "refused:rate:hour");
}

#[test]
fn a_change_may_read_the_limits_that_it_changes() {
    let house = House::new(limits().rate_limit(ten()));
    let (done, is_done) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let handle = house.handle();
        let look = |limits: Vec<RateLimit>| {
            assert_eq!(handle.limits().in_force().len(), limits.len());
            limits
        };
        handle.limits().change(look).unwrap();
        done.send(()).unwrap();
    });
    is_done.recv_timeout(Duration::from_secs(20)).expect("no deadlock");
}

#[test]
fn concurrent_changes_are_made_one_after_the_other() {
    let house = House::new(limits().rate_limit(ten()));
    let handle = house.handle();
    let add = |name: &'static str| {
        move |mut limits: Vec<RateLimit>| {
            limits.push(RateLimit::new(name, Quota::per_minute(1), Key::address()));
            limits
        }
    };
    let is_first = std::sync::atomic::AtomicBool::new(true);
    handle
        .limits()
        .change(|limits| {
            if is_first.swap(false, std::sync::atomic::Ordering::Relaxed) {
                let other = house.handle();
                let added = std::thread::spawn(move || other.limits().change(add("a")));
                added.join().unwrap().unwrap();
            }
            add("b")(limits)
        })
        .unwrap();
    let limits = handle.limits().in_force();
    assert_eq!(limits.iter().map(RateLimit::name).collect::<Vec<_>>(), ["per_ip", "a", "b"]);
}

#[tokio::test]
async fn a_log_that_counts_refusals_keeps_persistent_clients_out() {
    let strict =
        RateLimit::per_ip(Quota::per_minute(2)).algorithm(Algorithm::SlidingLog(Refusals::Count));
    let house = House::new(limits().rate_limit(strict));
    assert_eq!(allowed(&house, "192.0.2.1", 2).await, 2);
    house.advance(50);
    assert_eq!(allowed(&house, "192.0.2.1", 2).await, 0);
    house.advance(50);
    assert_eq!(allowed(&house, "192.0.2.1", 1).await, 0);
    house.advance(60);
    assert_eq!(allowed(&house, "192.0.2.1", 1).await, 1);
}

#[tokio::test(start_paused = true)]
async fn a_layer_in_shadow_mode_refuses_and_holds_no_request() {
    let queue = RateLimit::new("queue", Quota::per_minute(3), Key::address())
        .algorithm(Algorithm::LeakyQueue);
    for limit in [RateLimit::per_ip(Quota::per_minute(1)), queue] {
        let shadow = limits().rate_limit(limit).enforcement(Enforcement::Shadow);
        let house = House::new(shadow);
        let start = tokio::time::Instant::now();
        assert_eq!(allowed(&house, "192.0.2.1", 9).await, 9);
        assert!(start.elapsed().is_zero());
        let stranger = house.send(Request::new(String::new())).await;
        assert!(stranger.is_inside());
    }
}

#[test]
fn an_impossible_limit_is_refused_at_startup() {
    let named = |name: String| RateLimit::new(name, Quota::per_minute(1), Key::address());
    for (limit, message) in [
        (ten().max_keys(0), "max_keys is 0, expected at least 1"),
        (
            named("a b".to_owned()),
            "rate_limit is \"a b\" in the rule \"a b\", expected a name of printable ASCII \
             characters without spaces",
        ),
        (named("x".repeat(129)), "rate_limit is a name of 129 bytes, expected at most 128"),
        (
            ten().path("login"),
            "rate_limit is \"login\" in the rule \"per_ip\", expected a path that begins with '/'",
        ),
        (
            ten().algorithm(Algorithm::LeakyQueue).over_limit(OverLimit::Shadow),
            "over_limit is Shadow for the leaky queue \"per_ip\", expected Refuse: a queue must \
             refuse requests that it cannot hold",
        ),
        (
            (0..64).fold(ten(), |limit, _| limit.tier(Quota::per_minute(1), |_| true)),
            "quotas is 65, expected from 1 to 64",
        ),
    ] {
        assert_eq!(limits().rate_limit(limit).build().unwrap_err().to_string(), message);
    }
    let twice = limits().rate_limit(ten()).rate_limit(ten());
    let message = "rate_limit is \"per_ip\" twice, expected a different name for each limit";
    assert_eq!(twice.build().unwrap_err().to_string(), message);
    let held = limits().rate_limit(ten()).max_held_requests(0);
    let message = "max_held_requests is 0, expected at least 1";
    assert_eq!(held.build().unwrap_err().to_string(), message);
}

/// The same pass in three requests: in the cookie, behind a decoy with the same name, and in the
/// header.
fn copied(pass: &str, turn: u8) -> [http::request::Builder; 3] {
    let decoys = format!("__Host-wr-shop=x{turn}; __Host-wr-shop={pass}");
    [
        Request::get("/").header("cookie", format!("__Host-wr-shop={pass}")),
        Request::get("/").header("cookie", decoys),
        Request::get("/").header("waiting-room-token", format!("shop={pass}")),
    ]
}

#[tokio::test]
async fn all_copies_of_a_pass_share_one_limit() {
    let limit = RateLimit::new("visitor", Quota::per_hour(5), Key::visitor());
    let house = House::new(crate::support::config().rate_limit(limit));
    let first = house.send(from("192.0.2.1", Request::get("/"))).await;
    let pass = first.cookie().expect("it takes the one slot");
    let mut through = 0;
    for turn in 0..30 {
        for request in copied(&pass, turn) {
            let seen = house.send(from(&format!("198.51.100.{turn}"), request)).await;
            through += u32::from(seen.is_inside());
        }
    }
    assert_eq!(through, 5);
}

#[tokio::test]
async fn without_a_valid_pass_a_visitor_counts_by_address() {
    let limit = RateLimit::new("visitor", Quota::per_hour(2), Key::visitor());
    let with_room = crate::support::config().total_active_users(100).rate_limit(limit.clone());
    for house in [House::new(with_room), House::new(limits().rate_limit(limit))] {
        for forged in ["", "forged", "forged again"] {
            let cookie = format!("__Host-wr-shop={forged}");
            let seen =
                house.send(from("192.0.2.1", Request::get("/").header("cookie", cookie))).await;
            assert_eq!(seen.is_inside(), forged != "forged again", "{forged}");
        }
        assert!(get(&house, "192.0.2.2").await.is_inside());
        assert_eq!(house.send(Request::new(String::new())).await.status, 500);
    }
}
