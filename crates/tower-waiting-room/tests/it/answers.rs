//! The answers that clients of each kind get while they wait.

use std::net::SocketAddr;

use http::{Method, Request, Response, StatusCode};
use tower_waiting_room::{
    ClientIp, Concurrency, Quota, RateLimit, Reason, TrustedProxies,
    config::{DebugHeader, WaitingRoomConfigBuilder},
    request::{Bypass, PeerAddr, RequestHead},
    respond::{Answer, ClientKind, Page},
    room::QueueingMethod,
};

use crate::support::{House, Seen, Visitor, config};

async fn full() -> House {
    let house = House::new(config());
    house.handle().room().unwrap().queue_all().await.unwrap();
    house
}

fn navigation() -> http::request::Builder {
    Request::get("/")
        .header("accept", "text/html,application/xhtml+xml,*/*;q=0.8")
        .header("sec-fetch-mode", "navigate")
        .header("sec-fetch-dest", "document")
}

#[track_caller]
fn check_common(seen: &Seen) {
    assert_eq!(seen.header("cache-control"), Some("no-store"));
    assert!(seen.header("retry-after").unwrap().parse::<u64>().unwrap() >= 1);
    let vary: Vec<_> = seen.headers.get_all("vary").iter().map(|v| v.to_str().unwrap()).collect();
    let vary = vary.join(", ").to_lowercase();
    let is_for_program =
        seen.header("content-type").is_some_and(|content_type| content_type.contains("json"));
    for name in ["accept", "cookie", "sec-fetch-mode", "sec-fetch-dest"] {
        let is_named = vary.split(", ").any(|other| other == name);
        assert_eq!(is_named, !is_for_program, "{name} in {vary:?}");
    }
    // No request here has an `Origin`.
    assert_eq!(seen.header("access-control-expose-headers"), None);
}

#[tokio::test]
async fn each_kind_of_client_gets_its_own_form_and_status() {
    let house = full().await;
    for (accept, status, content_type) in [
        ("application/json", 429, "application/json"),
        ("application/problem+json", 429, "application/problem+json"),
        ("text/plain", 429, "text/plain; charset=utf-8"),
        ("text/html", 503, "text/html; charset=utf-8"),
        ("application/json;q=0.1, text/plain", 429, "text/plain; charset=utf-8"),
        ("*/*", 429, "application/json"),
    ] {
        let seen =
            Visitor::default().send(&house, Request::get("/").header("accept", accept)).await;
        assert_eq!(seen.status, status, "{accept}");
        assert_eq!(seen.header("content-type"), Some(content_type), "{accept}");
        assert!(!seen.body.is_empty());
        check_common(&seen);
    }
}

#[tokio::test]
async fn a_navigation_refreshes_and_a_form_is_not_swallowed() {
    let house = full().await;
    let page = Visitor::default().send(&house, navigation()).await;
    assert_eq!(page.header("refresh"), page.header("retry-after"));
    assert_eq!(page.status, StatusCode::SERVICE_UNAVAILABLE);

    let form = navigation().method(Method::POST).header("content-type", "text/plain");
    let page = Visitor::default().send(&house, form).await;
    assert_eq!(page.header("refresh"), None);
    assert!(page.status.is_server_error());
    assert!(page.cookie().is_some(), "the place is kept all the same");
    assert_eq!(house.forwarded(), 0);
}

#[tokio::test]
async fn a_head_request_gets_no_body() {
    let house = full().await;
    let seen = Visitor::default().send(&house, navigation().method(Method::HEAD)).await;
    assert_eq!((seen.status.as_u16(), seen.body.as_str()), (503, ""));
    check_common(&seen);
}

#[tokio::test]
async fn a_grpc_client_gets_a_status_in_its_own_protocol() {
    let house = full().await;
    let call = Request::post("/shop.Shop/Buy").header("content-type", "application/grpc");
    let seen = Visitor::default().send(&house, call).await;
    assert_eq!(seen.status, StatusCode::OK);
    assert_eq!(seen.header("grpc-status"), Some("8"));
    assert!(seen.header("grpc-retry-pushback-ms").unwrap().parse::<u64>().unwrap() >= 1_000);
}

#[tokio::test]
async fn the_reason_is_sent_in_a_header_only_if_enabled() {
    let house = House::new(config().debug_header(DebugHeader::On));
    let mut ann = Visitor::default();
    assert_eq!(ann.get(&house).await.header("waiting-room-reason"), Some("admitted:slot"));
    assert_eq!(ann.get(&house).await.header("waiting-room-reason"), Some("admitted:pass"));
    let seen = Visitor::default().get(&house).await;
    assert_eq!(seen.header("waiting-room-reason"), Some("queued:active_limit"));
    let seen = Visitor::default().get(&full().await).await;
    assert_eq!(seen.header("waiting-room-reason"), None);
}

#[tokio::test]
async fn the_page_and_the_statuses_are_configurable() {
    let template = "{{ room }}: {{ message.headline }}";
    let house = House::new(
        config()
            .page(Page::template(template).unwrap())
            .status(ClientKind::Navigation, StatusCode::ACCEPTED),
    );
    house.handle().room().unwrap().queue_all().await.unwrap();
    let seen = Visitor::default().send(&house, navigation()).await;
    assert_eq!(seen.status, StatusCode::ACCEPTED);
    assert!(seen.body.starts_with("shop: "), "{}", seen.body);
}

#[tokio::test]
async fn no_page_asks_search_engines_to_forget_the_address() {
    let house = House::new(config().status(ClientKind::Navigation, StatusCode::OK));
    house.handle().room().unwrap().queue_all().await.unwrap();
    let seen = Visitor::default().send(&house, navigation()).await;
    assert_eq!((seen.status, seen.header("x-robots-tag")), (StatusCode::OK, None));
    assert!(!seen.body.contains("noindex"));
}

/// A configuration with an error envelope of the API's own for refusals.
fn enveloped() -> WaitingRoomConfigBuilder {
    let proxies = TrustedProxies::networks(["192.0.2.0/24"]).unwrap();
    config().client_ip(ClientIp::x_forwarded_for(proxies)).refusal(envelope)
}

/// An envelope that contains what the closure was given.
fn envelope(answer: &Answer, request: &RequestHead<'_>) -> Option<Response<String>> {
    if request.uri().path() == "/plain" {
        return None;
    }
    let status = if answer.reason == Reason::RefusedGateFull {
        504
    } else if matches!(answer.reason, Reason::RefusedRate(_)) {
        200
    } else {
        answer.status.as_u16()
    };
    let kind = answer.kind.as_str();
    let ip = request.client_ip().map(|ip| ip.to_string()).unwrap_or_default();
    let body = format!("{kind} {ip} {}", answer.reason);
    let response = Response::builder().status(status).header("x-envelope", "1");
    response.header("grpc-message", "enveloped").body(body).ok()
}

async fn ask(house: &House, path: &str, headers: &[(&str, &str)]) -> Seen {
    let mut request = Request::get(path)
        .extension(PeerAddr(SocketAddr::from(([192, 0, 2, 1], 40_000))))
        .header("x-forwarded-for", "198.51.100.7");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    house.send(request.body(String::new()).unwrap()).await
}

#[tokio::test]
async fn a_closure_shapes_refusals_for_every_kind_of_client() {
    let limited = enveloped().rate_limit(RateLimit::per_ip(Quota::per_minute(0)));
    let house = House::new(limited);
    for (kind, headers) in [
        ("json", [("accept", "application/json")]),
        ("navigation", [("accept", "text/html")]),
        ("problem", [("accept", "application/problem+json")]),
        ("text", [("accept", "text/plain")]),
    ] {
        let seen = ask(&house, "/", &headers).await;
        assert_eq!(seen.body, format!("{kind} 198.51.100.7 refused:rate:per_ip"));
        assert_eq!(seen.status, 429, "no refusal looks like a success");
        assert_eq!(seen.header("x-envelope"), Some("1"));
        assert_eq!(seen.header("cache-control"), Some("no-store"));
        assert_eq!(seen.header("x-ratelimit-remaining"), Some("0"));
    }
    let grpc = ask(&house, "/", &[("content-type", "application/grpc")]).await;
    assert_eq!((grpc.status.as_u16(), &*grpc.body), (200, ""));
    assert_eq!(grpc.header("grpc-status"), Some("8"));
    assert_eq!(grpc.header("grpc-message"), Some("enveloped"));
    assert_eq!(grpc.header("content-type"), Some("application/grpc"));

    let plain = ask(&house, "/plain", &[("accept", "application/json")]).await;
    assert_eq!(plain.json()["reason"], "refused:rate:per_ip");
    let poll = ask(&house, "/", &[("waiting-room-poll", "1")]).await;
    assert_eq!(poll.json()["waitingRoom"]["reason"], "refused:rate:per_ip");
}

#[tokio::test]
async fn a_closure_shapes_refusals_of_gate_and_room_but_not_the_waiting_page() {
    let house = House::new(enveloped().concurrency(Concurrency::limit(0).queue(0)));
    let seen = ask(&house, "/", &[]).await;
    assert_eq!((seen.status.as_u16(), &*seen.body), (504, "json 198.51.100.7 refused:gate_full"));
    assert!(seen.cookie().is_some(), "its pass goes out with the refusal");

    let house = House::new(enveloped().waiting(envelope));
    house.handle().room().unwrap().queue_all().await.unwrap();
    let seen = ask(&house, "/", &[]).await;
    assert_eq!((seen.status.as_u16(), &*seen.body), (429, "json 198.51.100.7 queue_all"));
    assert!(seen.header("retry-after").is_some() && seen.cookie().is_some());
    let page = ask(&house, "/", &[("accept", "text/html")]).await;
    assert!(page.body.starts_with("<!doctype html>") && page.header("x-envelope").is_none());
}

#[tokio::test]
async fn a_closure_for_refusals_leaves_the_answers_to_waiting_programs_as_they_are() {
    let house = House::new(enveloped());
    house.handle().room().unwrap().queue_all().await.unwrap();
    let seen = ask(&house, "/", &[]).await;
    assert_eq!(seen.json()["waitingRoom"]["reason"], "queue_all");
    assert_eq!(seen.header("x-envelope"), None);
}

#[tokio::test]
async fn a_closure_reads_the_seconds_of_the_retry_after_header() {
    let seconds = |answer: &Answer, _: &RequestHead<'_>| {
        let body = answer.retry_after()?.as_secs().to_string();
        Response::builder().status(answer.status).body(body).ok()
    };
    let limit = RateLimit::global(Quota::per_second(2).burst(1));
    let house = House::new(config().rate_limit(limit).refusal(seconds).waiting(seconds));
    house.handle().room().unwrap().queue_all().await.unwrap();
    for reason in ["queue_all", "refused:rate:service"] {
        let seen = ask(&house, "/", &[]).await;
        assert_eq!((&*seen.reason, Some(&*seen.body)), (reason, seen.header("retry-after")));
        assert_ne!(seen.body, "0");
    }
}

#[tokio::test]
async fn a_closure_shapes_rare_refusals_too() {
    let house = House::new(enveloped());
    Visitor::default().get(&house).await;
    let mut ann = Visitor::default();
    let mut seen = ann.get(&house).await;
    for _ in 0..100 {
        seen = ann.get(&house).await;
    }
    assert!(seen.body.ends_with(" refused:too_often"), "{}", seen.body);
    assert_eq!((seen.status.as_u16(), seen.header("x-envelope")), (429, Some("1")));

    // The peer of this request is unknown.
    let limited = enveloped().rate_limit(RateLimit::per_ip(Quota::per_minute(9)));
    let seen = Visitor::default().get(&House::new(limited)).await;
    assert_eq!((seen.status.as_u16(), seen.header("x-envelope")), (500, Some("1")));
    assert!(seen.body.ends_with(" refused:address_unknown"), "{}", seen.body);
}

#[tokio::test]
async fn a_network_is_bypassed_by_the_address_behind_a_trusted_proxy() {
    let proxies = TrustedProxies::networks(["192.0.2.0/24"]).unwrap();
    let config = config()
        .client_ip(ClientIp::x_forwarded_for(proxies))
        .bypass(Bypass::network("office", "198.51.100.0/24"));
    let house = House::new(config);
    Visitor::default().get(&house).await;
    let seen = ask(&house, "/", &[]).await;
    assert!(seen.is_inside(), "{}", seen.body);
    assert_eq!(seen.reason, "bypass:office");
    // A client cannot name the address itself.
    let forged = Request::get("/")
        .extension(PeerAddr(SocketAddr::from(([203, 0, 113, 9], 40_000))))
        .header("x-forwarded-for", "198.51.100.7");
    assert!(!house.send(forged.body(String::new()).unwrap()).await.is_inside());
}

#[tokio::test]
async fn refusals_of_every_stage_are_one_document() {
    let gate = config().total_active_users(99).concurrency(Concurrency::limit(0).queue(0));
    let limit = config().rate_limit(RateLimit::global(Quota::per_minute(0)));
    let room = config().queueing_method(QueueingMethod::Reject);
    for (config, reason) in
        [(gate, "refused:gate_full"), (limit, "refused:rate:service"), (room, "refused:reject")]
    {
        let house = House::new(config);
        ask(&house, "/", &[]).await;
        for accept in ["*/*", "application/json", "application/problem+json"] {
            let seen = ask(&house, "/", &[("accept", accept)]).await;
            assert_eq!(seen.header("content-type"), Some("application/problem+json"), "{reason}");
            let document = seen.json();
            assert_eq!(document["reason"], reason);
            assert_eq!(document["status"], seen.status.as_u16());
            assert_eq!(document.get("waitingRoom").is_some(), reason == "refused:reject");
            for member in ["type", "title", "detail"] {
                assert!(document[member].is_string(), "{reason}: {member}");
            }
        }
    }
}

#[tokio::test]
async fn no_answer_of_the_layer_redirects() {
    let gate = config().total_active_users(99).concurrency(Concurrency::limit(0).queue(0));
    let limit = config().rate_limit(RateLimit::global(Quota::per_minute(0)));
    let reject = config().queueing_method(QueueingMethod::Reject);
    let template = config().page(Page::template("{{ room }}").unwrap());
    let houses = [
        full().await,
        House::new(gate),
        House::new(limit),
        House::new(reject),
        House::new(template),
    ];
    let paths = [
        "//evil.example/",
        "/%2f%2fevil.example/",
        "/%5cevil.example/",
        "/?next=//evil.example/&url=https%3A%2F%2Fevil.example",
        "/?redirect_uri=%5C%5Cevil.example",
    ];
    let kinds = ["*/*", "application/json", "text/event-stream", "text/html", "text/plain"];
    let mut refreshed = 0;
    for house in &houses {
        // The only slot of a room is taken.
        Visitor::default().get(house).await;
        for (path, accept) in paths.iter().flat_map(|path| kinds.map(|kind| (path, kind))) {
            for method in [Method::GET, Method::HEAD, Method::POST] {
                let request = Request::builder().method(method).uri(*path).header("accept", accept);
                let request = request
                    .header("host", "evil.example")
                    .header("x-forwarded-host", "evil.example")
                    .header("referer", "https://evil.example/");
                let seen = Visitor::default().send(house, request).await;
                let answer = format!("{path}, {accept}: {} {:?}", seen.status, seen.headers);
                assert!(!seen.is_inside() && !seen.status.is_redirection(), "{answer}");
                assert!(seen.header("location").is_none(), "{answer}");
                // A `Refresh` header without an address loads the same page again.
                let refresh = seen.header("refresh").unwrap_or("1");
                refreshed += u32::from(seen.header("refresh").is_some());
                assert!(refresh.bytes().all(|byte| byte.is_ascii_digit()), "{answer}");
                let all = format!("{:?} {}", seen.headers, seen.body);
                assert!(!all.contains("evil.example"), "{all}");
            }
        }
    }
    assert!(refreshed > 0, "some of the answers are pages that load themselves again");
}
