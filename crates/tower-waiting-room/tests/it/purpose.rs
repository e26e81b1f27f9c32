//! What browsers state about why they send a request (Fetch Metadata, `Sec-Purpose` and its
//! relatives), and what newcomers get for it.

use http::{Method, Request, StatusCode, request::Builder};
use tower_waiting_room::{
    config::{Enforcement, WaitingRoomConfigBuilder},
    room::{QueueingMethod, RoomMode},
};

use crate::support::{House, Visitor, config};

const SITES: [&str; 5] = ["cross-site", "none", "same-origin", "same-site", "future"];

fn roomy() -> WaitingRoomConfigBuilder {
    config().total_active_users(20)
}

/// A request with these Fetch Metadata; an empty value leaves the header out.
fn fetch(site: &str, mode: &str, dest: &str) -> Builder {
    let lines = [("sec-fetch-site", site), ("sec-fetch-mode", mode), ("sec-fetch-dest", dest)];
    let lines = lines.into_iter().filter(|(_, value)| !value.is_empty());
    lines.fold(Request::get("/"), |request, (name, value)| request.header(name, value))
}

fn call() -> Builder {
    fetch("same-origin", "cors", "empty")
}

/// Sends a newcomer's request to an empty room. Returns the reason and the number of sessions, and
/// checks that a token is set only where the room has decided about a visitor.
async fn first(request: Builder) -> (String, u32) {
    let house = House::new(roomy());
    let seen = Visitor::default().send(&house, request).await;
    assert_eq!(seen.cookie().is_some(), seen.reason != "refused:not_a_visit");
    (seen.reason, house.active().await)
}

#[tokio::test]
async fn every_value_of_fetch_metadata_gets_a_newcomer_a_slot_a_ticket_or_nothing() {
    let slot = ("admitted:slot".to_owned(), 1);
    let ticket = ("queued:cookie_test".to_owned(), 0);
    let nothing = ("refused:not_a_visit".to_owned(), 0);
    let visits = [
        ("navigate", "document"),
        ("navigate", ""),
        ("navigate", "empty"),
        ("", "document"),
        ("", ""),
    ];
    let frames = ["embed", "fencedframe", "frame", "iframe", "object"];
    let frames = frames.into_iter().flat_map(|dest| [("navigate", dest), ("", dest)]);
    let calls = [("cors", "empty"), ("same-origin", "empty"), ("websocket", "empty")];
    let calls = calls.into_iter().chain([("cors", ""), ("webtransport", "empty"), ("", "empty")]);
    let calls = calls.chain([("cors", "json"), ("nested-navigate", ""), ("navigate", "future")]);
    let parts = "audio audioworklet font image manifest paintworklet report script \
                 serviceworker sharedworker speculationrules style text track video webidentity \
                 worker xslt future";
    let parts = parts
        .split(' ')
        .flat_map(|dest| ["cors", "no-cors", "same-origin", ""].map(|mode| (mode, dest)));
    let parts = parts.chain([("no-cors", "empty"), ("no-cors", ""), ("no-cors", "json")]);
    let visits = visits.into_iter().map(|values| (values, &slot));
    let tickets = calls.chain(frames).map(|values| (values, &ticket));
    let parts: Vec<_> = parts.map(|values| (values, &nothing)).collect();
    for ((mode, dest), expected) in visits.chain(tickets).chain(parts) {
        for site in SITES {
            let seen = first(fetch(site, mode, dest)).await;
            assert_eq!(seen, *expected, "{site} {mode:?} {dest:?}");
        }
        // Clients that are not browsers, such as Node's fetch, do not state the site.
        assert_eq!(first(fetch("", mode, dest)).await, slot, "{mode:?} {dest:?}");
    }
}

#[tokio::test]
async fn a_speculative_request_is_no_visit_and_all_other_headers_say_nothing() {
    let visit = || fetch("none", "navigate", "document");
    for (name, value) in [
        ("sec-purpose", "prefetch"),
        ("sec-purpose", "prefetch;prerender"),
        ("sec-purpose", "prefetch;anonymous-client-ip"),
        ("sec-purpose", "Prefetch ; prerender"),
        ("purpose", "prefetch"),
        ("purpose", "preview"),
        ("x-purpose", "preview"),
        ("x-moz", "prefetch"),
        ("service-worker", "script"),
    ] {
        for request in [visit(), Request::get("/")] {
            let seen = first(request.header(name, value)).await;
            assert_eq!(seen, ("refused:not_a_visit".to_owned(), 0), "{name}: {value}");
        }
    }
    for (name, value) in [
        ("sec-purpose", ""),
        ("sec-purpose", "prefetching"),
        ("sec-purpose", "visit;prefetch"),
        ("purpose", "research"),
        ("x-moz", "livebookmarks"),
        ("service-worker", "worker"),
        ("service-worker-navigation-preload", "true"),
        ("sec-fetch-user", "?1"),
        ("sec-fetch-storage-access", "none"),
        ("upgrade-insecure-requests", "1"),
        ("origin", "null"),
        ("upgrade", "websocket"),
    ] {
        for request in [visit(), Request::get("/")] {
            let seen = first(request.header(name, value)).await;
            assert_eq!(seen, ("admitted:slot".to_owned(), 1), "{name}: {value}");
        }
    }
}

#[tokio::test]
async fn a_websocket_of_another_origin_returns_its_ticket_first() {
    let open =
        || Request::get("/").header("host", "shop.example").header("sec-websocket-version", "13");
    for (origin, reason) in [
        ("https://elsewhere.example", "queued:cookie_test"),
        ("null", "queued:cookie_test"),
        ("https://shop.example", "admitted:slot"),
    ] {
        assert_eq!(first(open().header("origin", origin)).await.0, reason, "{origin}");
    }
    assert_eq!(first(open()).await.0, "admitted:slot");
}

#[tokio::test]
async fn six_parallel_first_calls_of_an_app_take_one_slot() {
    let house = House::new(roomy());
    let mut app = Visitor::default();
    for _ in 0..6 {
        let seen = Visitor::default().send(&house, call()).await;
        assert_eq!(
            (seen.status, seen.header("retry-after")),
            (StatusCode::TOO_MANY_REQUESTS, Some("1"))
        );
        app.cookie = seen.cookie();
    }
    assert_eq!((house.active().await, house.forwarded()), (0, 0));
    house.advance(1);
    // The browser kept the cookie of the last answer, and the app repeats its calls in parallel.
    for _ in 0..6 {
        let mut same = app.clone();
        assert!(same.send(&house, call()).await.is_inside());
    }
    assert_eq!(house.active().await, 1);
}

#[tokio::test]
async fn pages_of_other_sites_keep_no_visitor_out() {
    let house = House::new(roomy());
    let mut people: Vec<Visitor> = vec![Visitor::default(); 20];
    for (number, person) in people.iter_mut().enumerate() {
        for dest in ["image", "style", "video", "iframe", "empty"].repeat(50) {
            let mode = if dest == "iframe" { "navigate" } else { "no-cors" };
            Visitor::default().send(&house, fetch("cross-site", mode, dest)).await;
        }
        for _ in 0..50 {
            Visitor::default().send(&house, call()).await;
        }
        // A link in a mail, in a search result or on another site.
        let site = SITES[number % SITES.len()];
        assert!(person.send(&house, fetch(site, "navigate", "document")).await.is_inside());
    }
    assert_eq!(house.active().await, 20);
    // With a pass, everything that the browser asks for is served.
    for (mode, dest) in [("no-cors", "image"), ("cors", "empty"), ("navigate", "iframe")] {
        assert!(people[0].send(&house, fetch("same-origin", mode, dest)).await.is_inside());
    }
    let prefetch = fetch("same-origin", "navigate", "document").header("sec-purpose", "prefetch");
    assert!(people[0].send(&house, prefetch).await.is_inside());
}

#[tokio::test]
async fn clients_that_keep_no_cookies_are_not_browsers() {
    let by_header = call().header("waiting-room-token", "");
    let grpc = call().header("content-type", "application/grpc");
    for request in [by_header, grpc] {
        assert_eq!(first_by_header(request).await, ("admitted:slot".to_owned(), 1));
    }
    let identity = |head: &tower_waiting_room::request::RequestHead<'_>| {
        head.headers().get("x-user")?.to_str().ok().map(str::to_owned)
    };
    let house = House::new(roomy().identity(identity));
    for _ in 0..6 {
        assert!(Visitor::default().send(&house, call().header("x-user", "ana")).await.is_inside());
    }
    assert_eq!(house.active().await, 1);
    // A room that makes no visitor wait has nothing to save.
    let house = House::new(config().queueing_method(QueueingMethod::Passthrough));
    assert!(Visitor::default().send(&house, call()).await.is_inside());
    assert!(Visitor::default().send(&house, fetch("none", "no-cors", "image")).await.is_inside());
}

async fn first_by_header(request: Builder) -> (String, u32) {
    let house = House::new(roomy());
    let seen = Visitor::default().send(&house, request).await;
    (seen.reason, house.active().await)
}

#[tokio::test]
async fn in_shadow_mode_a_picture_is_served_and_takes_no_slot() {
    let house = House::new(roomy().enforcement(Enforcement::Shadow));
    let seen = Visitor::default().send(&house, fetch("cross-site", "no-cors", "image")).await;
    assert!(seen.is_inside());
    assert_eq!((&*seen.reason, house.active().await), ("refused:not_a_visit", 0));
}

#[tokio::test]
async fn robots_txt_is_never_queued_and_takes_no_slot() {
    for mode in [RoomMode::Auto, RoomMode::QueueAll, RoomMode::Drain] {
        let house = House::new(config().mode(mode));
        let mut waiting = Visitor::default();
        if mode != RoomMode::Auto {
            waiting.get(&house).await;
            house.advance(3);
        }
        for method in [Method::GET, Method::HEAD] {
            let robots = || Request::builder().method(method.clone()).uri("/robots.txt");
            for request in [robots(), robots().header("sec-fetch-site", "none")] {
                let seen = waiting.send(&house, request).await;
                assert_eq!((seen.is_inside(), &*seen.reason), (true, "bypass:robots"));
            }
        }
        assert_eq!(house.active().await, 0);
        for other in ["/robots.txt/", "/a/robots.txt", "/Robots.txt", "/%72obots.txt"] {
            let seen = Visitor::default().send(&house, Request::get(other)).await;
            assert_ne!(seen.reason, "bypass:robots", "{other}");
        }
        let post = Visitor::default().send(&house, Request::post("/robots.txt")).await;
        assert_ne!(post.reason, "bypass:robots");
    }
}
