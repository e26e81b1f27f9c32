//! Several rooms in front of one service, by host and path.

use std::{convert::Infallible, sync::Arc};

use http::{Request, StatusCode};
use http_body_util::BodyExt;
use tower::{Layer, ServiceBuilder, ServiceExt, limit::ConcurrencyLimitLayer, service_fn};
use tower_waiting_room::{
    ConfigError, Quota, RateLimit, WaitingRoomConfig, WaitingRoomLayer,
    config::{Enforcement, WaitingRoomConfigBuilder},
    respond::reason_of,
    room::Push,
    routes::{Route, WaitingRooms},
    token::CookieSettings,
};

use crate::support::key;

fn room(name: &str) -> WaitingRoomConfigBuilder {
    WaitingRoomConfig::builder(name)
        .total_active_users(1)
        .keys(tower_waiting_room::KeyRing::new(key(1)))
}

fn layer(config: WaitingRoomConfigBuilder) -> WaitingRoomLayer {
    WaitingRoomLayer::new(config.build().unwrap())
}

fn shop_and_sale() -> WaitingRooms {
    WaitingRooms::builder()
        .room([Route::path("/shop")], layer(room("shop")))
        .room([Route::path("/shop/sale/"), Route::host("sale.example")], layer(room("sale")))
        .build()
        .unwrap()
}

/// A client that stores all cookies.
#[derive(Default)]
struct Client(Vec<(String, String)>);

/// The status, the reason and the path that the application saw.
type Seen = (StatusCode, String, String);

impl Client {
    async fn get(&mut self, rooms: &WaitingRooms, uri: &str) -> Seen {
        let cookies: Vec<_> =
            self.0.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let request = Request::get(uri).header("cookie", cookies.join("; ")).body(String::new());
        let app = service_fn(|request: Request<String>| {
            let path = request.uri().path().to_owned();
            std::future::ready(Ok::<_, Infallible>(http::Response::new(path)))
        });
        let response = rooms.layer(app).oneshot(request.unwrap()).await.unwrap();
        for line in response.headers().get_all("set-cookie") {
            let pair = line.to_str().unwrap().split(';').next().unwrap();
            let (name, value) = pair.split_once('=').unwrap();
            self.0.retain(|(other, _)| other != name);
            self.0.push((name.to_owned(), value.to_owned()));
        }
        let reason =
            reason_of(&response).map_or_else(|| "admitted".to_owned(), ToString::to_string);
        let status = response.status();
        let body = response.into_body().collect().await.unwrap().to_bytes();
        (status, reason, String::from_utf8(body.to_vec()).unwrap())
    }
}

#[tokio::test]
async fn each_room_counts_its_own_visitors_and_sets_its_own_cookie() {
    let rooms = shop_and_sale();
    let mut ann = Client::default();
    assert_eq!(ann.get(&rooms, "/shop").await.1, "admitted:slot");
    assert_eq!(ann.get(&rooms, "/shop/sale/1").await.1, "admitted:slot");
    let names: Vec<_> = ann.0.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["__Host-wr-shop", "__Host-wr-sale"]);
    // Both passes are valid, each in its own room, and no token is replaced by the other room.
    for path in ["/shop/2", "/shop/sale/2", "http://sale.example/"] {
        assert_eq!(ann.get(&rooms, path).await.1, "admitted", "{path}");
    }
    let mut bob = Client::default();
    for (path, reason) in [
        ("/shop", "queued:active_limit"),
        ("/shop/sale", "queued:active_limit"),
        ("http://sale.example/shop", "queued:early"),
    ] {
        assert_eq!(bob.get(&rooms, path).await.1, reason, "{path}");
    }
}

#[tokio::test]
async fn a_pass_of_one_room_does_not_open_another() {
    let rooms = shop_and_sale();
    let mut ann = Client::default();
    let mut eve = Client::default();
    assert_eq!(ann.get(&rooms, "/shop").await.1, "admitted:slot");
    assert_eq!(eve.get(&rooms, "/shop/sale/").await.1, "admitted:slot");
    // The pass of the sale is sent under the name of the cookie of the shop.
    eve.0[0].0 = "__Host-wr-shop".to_owned();
    assert_eq!(eve.get(&rooms, "/shop").await.1, "queued:active_limit");
}

#[tokio::test]
async fn a_pass_does_not_open_another_room_through_an_ambiguous_path() {
    let rooms = shop_and_sale();
    let mut ann = Client::default();
    let mut eve = Client::default();
    assert_eq!(ann.get(&rooms, "/shop").await.1, "admitted:slot");
    assert_eq!(eve.get(&rooms, "/shop/sale/").await.1, "admitted:slot");
    for path in ["/shop/sale/../checkout", "/shop/sale/..%2fcheckout", "/shop/sale/%252e%252e/x"] {
        let (status, reason, body) = eve.get(&rooms, path).await;
        assert_eq!((status, &*reason), (StatusCode::BAD_REQUEST, "refused:ambiguous_route"));
        let document: serde_json::Value = serde_json::from_str(&body).unwrap();
        assert_eq!(document["reason"], "refused:ambiguous_route");
    }
    // A path that stays in the room is forwarded as it was sent.
    assert_eq!(eve.get(&rooms, "/shop/sale/a/../b").await.2, "/shop/sale/a/../b");
}

#[tokio::test]
async fn in_shadow_mode_an_ambiguous_path_is_forwarded_and_reported() {
    let shadow = |name| layer(room(name).enforcement(Enforcement::Shadow));
    let rooms = WaitingRooms::builder()
        .room([Route::path("/shop")], shadow("shop"))
        .room([Route::path("/shop/sale/")], shadow("sale"))
        .build()
        .unwrap();
    let (status, reason, path) = Client::default().get(&rooms, "/shop/sale/../x").await;
    assert_eq!((status, &*path), (StatusCode::OK, "/shop/sale/../x"));
    assert_eq!(reason, "refused:ambiguous_route");
}

#[tokio::test]
async fn a_room_in_shadow_mode_does_not_open_a_room_that_is_not() {
    let rooms = WaitingRooms::builder()
        .room([Route::path("/shop")], layer(room("shop")))
        .room([Route::path("/shop/sale/")], layer(room("sale").enforcement(Enforcement::Shadow)))
        .build()
        .unwrap();
    let (status, reason, _) = Client::default().get(&rooms, "/shop/sale/../checkout").await;
    assert_eq!((status, &*reason), (StatusCode::BAD_REQUEST, "refused:ambiguous_route"));
}

#[tokio::test]
async fn a_request_of_no_room_is_forwarded_unchanged() {
    let rooms = shop_and_sale();
    let mut ann = Client::default();
    for path in ["/", "/assets/shop", "http://other.example/x"] {
        let (status, reason, _) = ann.get(&rooms, path).await;
        assert_eq!((status, &*reason), (StatusCode::OK, "admitted"), "{path}");
    }
    assert!(ann.0.is_empty());
}

#[tokio::test]
async fn a_request_of_no_room_waits_for_the_inner_service() {
    let rooms = shop_and_sale();
    let limit = Arc::new(tokio::sync::Semaphore::new(1));
    let app = service_fn(|_: Request<String>| async {
        Ok::<_, Infallible>(http::Response::new(String::new()))
    });
    let limited = tower::limit::GlobalConcurrencyLimitLayer::with_semaphore(Arc::clone(&limit));
    let service = ServiceBuilder::new()
        .layer(rooms)
        .layer(limited)
        .layer(ConcurrencyLimitLayer::new(8))
        .service(app);
    let permit = limit.acquire().await.unwrap();
    let mut waiting = tokio_test::task::spawn(service.oneshot(Request::new(String::new())));
    tokio_test::assert_pending!(waiting.poll());
    drop(permit);
    assert!(waiting.is_woken());
    assert_eq!(waiting.await.unwrap().status(), StatusCode::OK);
}

#[tokio::test]
async fn rooms_without_visitors_may_have_only_limits() {
    let limits = |name| {
        let limit = RateLimit::global(Quota::per_minute(1));
        layer(WaitingRoomConfig::builder(name).rate_limit(limit))
    };
    let rooms = WaitingRooms::builder()
        .room([Route::path("/a/")], limits("a"))
        .room([Route::path("/b/")], limits("b"))
        .build()
        .unwrap();
    let mut ann = Client::default();
    for (path, reason) in [
        ("/a/", "admitted"),
        ("/b/", "admitted"),
        ("/a/x", "refused:rate:service"),
        ("/b", "refused:rate:service"),
        ("/c", "admitted"),
    ] {
        assert_eq!(ann.get(&rooms, path).await.1, reason, "{path}");
    }
}

#[test]
fn contradictory_rooms_are_refused_with_both_names() {
    let error = |rooms: Result<WaitingRooms, ConfigError>| rooms.unwrap_err().to_string();
    let one = || WaitingRooms::builder().room([Route::path("/shop/")], layer(room("shop")));
    assert_eq!(
        error(WaitingRooms::builder().build()),
        "rooms is empty, expected at least one room"
    );
    assert_eq!(
        error(one().room([], layer(room("sale"))).build()),
        "routes is empty in the room \"sale\", expected at least one route",
    );
    assert_eq!(
        error(one().room([Route::path("/shop/")], layer(room("sale"))).build()),
        "route is */shop/ in the room \"sale\", expected another route than in the room \"shop\"",
    );
    assert_eq!(
        error(one().room([Route::path("/x")], layer(room("shop"))).build()),
        "room is \"shop\", expected a name that no other room has; one room may have several routes",
    );
    let same = CookieSettings::new().name("__Host-wr-shop");
    assert_eq!(
        error(one().room([Route::path("/x")], layer(room("sale").cookie(same))).build()),
        "cookie_name is \"__Host-wr-shop\" in the room \"sale\", expected another cookie than in \
         the room \"shop\"",
    );
    for (route, field) in [
        (Route::path("shop"), "route.path"),
        (Route::path("/a%20b"), "route.path"),
        (Route::path("/a/../b"), "route.path"),
        (Route::host("shop.example:80"), "route.host"),
        (Route::host("").below("/x"), "route.host"),
    ] {
        let text = error(one().room([route], layer(room("sale"))).build());
        assert!(text.starts_with(field) && text.contains("\"sale\""), "{text}");
    }
    for (config, path) in [
        (room("sale").push(Push::at("/streams")), "push.path is \"/streams\""),
        (room("sale").leave_path("/shop/leave"), "leave_path is \"/shop/leave\""),
    ] {
        let rooms = one().room([Route::path("/sale/")], layer(config));
        let text = error(rooms.build());
        assert!(text.starts_with(path) && text.contains("\"sale\""), "{text}");
    }
    let inside = room("sale").push(Push::at("/sale/streams")).leave_path("/sale/leave");
    assert!(one().room([Route::path("/sale/")], layer(inside)).build().is_ok());
    let host = |host| WaitingRooms::builder().room([Route::host(host)], layer(room("a")));
    let twice = host("a.example").room([Route::host("A.example").below("/")], layer(room("b")));
    assert!(error(twice.build()).starts_with("route is A.example/"));
}
