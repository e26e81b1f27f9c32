//! What clients of each kind get while they wait.

use http::{Method, Request, StatusCode};
use tower_waiting_room::{ClientKind, DebugHeader, Page};

use crate::support::{House, Seen, Visitor, config};

async fn full() -> House {
    let house = House::new(config());
    house.handle().queue_all().await.unwrap();
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
    for name in ["accept", "cookie", "sec-fetch-mode", "sec-fetch-dest"] {
        assert!(vary.split(", ").any(|other| other == name), "{name} in {vary:?}");
    }
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
async fn a_navigation_is_refreshed_by_itself_and_a_form_is_not_swallowed() {
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
async fn head_gets_the_head_alone() {
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
async fn the_reason_is_told_in_a_header_only_where_it_is_wanted() {
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
async fn the_page_and_the_statuses_are_the_users() {
    let template = "{{ room }}: {{ message.headline }}";
    let house = House::new(
        config()
            .page(Page::template(template).unwrap())
            .status(ClientKind::Navigation, StatusCode::ACCEPTED),
    );
    house.handle().queue_all().await.unwrap();
    let seen = Visitor::default().send(&house, navigation()).await;
    assert_eq!(seen.status, StatusCode::ACCEPTED);
    assert!(seen.body.starts_with("shop: "), "{}", seen.body);
}
