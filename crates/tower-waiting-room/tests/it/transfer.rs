//! Links with which a waiting visitor continues on another device.

use http::{Request, StatusCode, request::Builder};
use tower_waiting_room::{
    Quota, RateLimit, WaitingRoomConfig,
    config::{DebugHeader, Enforcement, WaitingRoomConfigBuilder},
    room::{Push, RoomMode},
};

use crate::support::{House, Seen, Visitor, config, foreign_posts, post};

fn transferable() -> WaitingRoomConfigBuilder {
    config().debug_header(DebugHeader::On).transfer_path("/transfer").leave_path("/leave")
}

/// Asks for a link.
fn asking() -> Builder {
    post("/transfer")
}

fn with(link: &str) -> Builder {
    asking().header("waiting-room-transfer", link)
}

/// A GET of a program.
fn get() -> Builder {
    Request::get("/").header("accept", "application/json")
}

fn position(seen: &Seen) -> Option<u64> {
    seen.json()["waitingRoom"]["position"].as_u64()
}

/// A full room, and two visitors in its line, who have just checked in.
async fn line(config: WaitingRoomConfigBuilder) -> (House, Visitor, Visitor, Visitor) {
    let house = House::new(config);
    let [mut inside, mut ann, mut ben] = [(); 3].map(|()| Visitor::default());
    assert!(inside.get(&house).await.is_inside());
    ann.queue(&house).await;
    ben.queue(&house).await;
    house.advance(27);
    ann.get(&house).await;
    ben.get(&house).await;
    (house, inside, ann, ben)
}

/// The token of a link to the visitor's place.
async fn link(house: &House, visitor: &mut Visitor) -> String {
    let seen = visitor.send(house, asking()).await;
    assert_eq!((seen.status, &*seen.reason), (StatusCode::OK, "transferred"));
    assert_eq!(seen.header("cache-control"), Some("no-store"));
    assert_eq!(seen.header("content-type"), Some("application/json"));
    assert_eq!(seen.json()["validForSeconds"], 300);
    seen.json()["transfer"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_place_continues_on_another_device_and_takes_one_slot() {
    let (house, mut inside, mut ann, mut ben) = line(transferable()).await;
    let token = link(&house, &mut ann).await;
    let mut phone = Visitor::default();
    let taken = phone.send(&house, with(&token)).await;
    assert_eq!((taken.status, &*taken.reason), (StatusCode::NO_CONTENT, "transferred"));
    assert_eq!((&*taken.body, taken.header("cache-control")), ("", Some("no-store")));
    // The ticket is not due earlier than the original, and there is one place.
    let early = phone.send(&house, get()).await;
    assert_eq!((&*early.reason, position(&early)), ("queued:early", Some(1)));
    house.advance(27);
    assert_eq!(position(&phone.send(&house, get()).await), Some(1));
    assert_eq!(position(&ben.send(&house, get()).await), Some(2));
    assert_eq!(house.handle().room().unwrap().snapshot().await.unwrap().waiting, 2);

    assert_eq!(inside.send(&house, Request::post("/leave")).await.reason, "left");
    house.advance(27);
    assert!(phone.get(&house).await.is_inside());
    // The first device enters with the session of the same visitor.
    assert!(ann.get(&house).await.is_inside());
    assert_eq!(house.active().await, 1);
    assert!(!ben.get(&house).await.is_inside());
    assert_eq!(house.forwarded(), 3);
}

#[tokio::test]
async fn a_device_takes_the_place_of_a_link_in_exchange_for_its_own() {
    let (house, _, mut ann, mut ben) = line(transferable()).await;
    let token = link(&house, &mut ann).await;
    assert_eq!(ben.send(&house, with(&token)).await.status, StatusCode::NO_CONTENT);
    assert_eq!(position(&ben.send(&house, get()).await), Some(1));
}

#[tokio::test]
async fn a_link_never_replaces_a_better_place() {
    let (house, _, mut ann, mut ben) = line(transferable()).await;
    let token = link(&house, &mut ben).await;
    let seen = ann.send(&house, with(&token)).await;
    assert_eq!((seen.status, seen.cookie()), (StatusCode::NO_CONTENT, None));
    assert_eq!(position(&ann.send(&house, get()).await), Some(1));
}

#[tokio::test]
async fn a_link_that_is_opened_without_a_wait_leaves_no_token_in_the_address() {
    for (opened, page) in
        [("/item?id=7&waiting-room-link", "./item?id=7#"), ("/a/b/?waiting-room-link", "./#")]
    {
        for mode in [RoomMode::Auto, RoomMode::Suspended] {
            let house = House::new(transferable().mode(mode));
            let mut ann = Visitor::default();
            for _ in 0..2 {
                let seen = ann.send(&house, Request::get(opened)).await;
                let location = (seen.status, seen.header("location"));
                assert_eq!(location, (StatusCode::SEE_OTHER, Some(page)));
            }
            assert_eq!((ann.cookie.is_some(), house.forwarded()), (mode == RoomMode::Auto, 0));
            assert!(ann.get(&house).await.is_inside());
        }
    }
    let house = House::new(transferable());
    for path in ["/?a-waiting-room-link", "/?waiting-room-link&a"] {
        let mut ann = Visitor::default();
        assert!(ann.send(&house, Request::get(path)).await.is_inside());
        house.advance(100);
    }
}

#[tokio::test]
async fn a_program_without_cookies_gets_the_ticket_in_the_header() {
    let (house, _, mut ann, _) = line(transferable()).await;
    let token = link(&house, &mut ann).await;
    let request = with(&token).header("waiting-room-token", "shop=").body(String::new()).unwrap();
    let taken = house.send(request).await;
    assert_eq!((taken.status, taken.cookie()), (StatusCode::NO_CONTENT, None));
    let ticket = taken.header("waiting-room-token").unwrap();
    let next = get().header("waiting-room-token", ticket).body(String::new()).unwrap();
    assert_eq!(position(&house.send(next).await), Some(1));
}

#[tokio::test]
async fn a_link_is_no_ticket_and_a_ticket_is_no_link() {
    let (house, _, mut ann, _) = line(transferable()).await;
    let token = link(&house, &mut ann).await;
    let mut thief = Visitor { cookie: Some(token.clone()) };
    assert_eq!(position(&thief.send(&house, get()).await), None);
    let line = get().header("waiting-room-token", format!("shop={token}"));
    assert_eq!(position(&Visitor::default().send(&house, line).await), None);
    let seen = Visitor::default().send(&house, with(&ann.cookie.unwrap())).await;
    assert_eq!((seen.status, &*seen.reason), (StatusCode::FORBIDDEN, "refused:transfer_invalid"));
    assert_eq!(seen.cookie(), None);
}

#[tokio::test]
async fn a_link_expires_when_a_place_without_its_visitor_would() {
    let (house, mut inside, mut ann, mut ben) = line(transferable()).await;
    let token = link(&house, &mut ann).await;
    for _ in 0..11 {
        house.advance(27);
        assert!(inside.get(&house).await.is_inside());
        ann.get(&house).await;
        ben.get(&house).await;
    }
    house.advance(2);
    let mut phone = Visitor::default();
    assert_eq!(phone.send(&house, with(&token)).await.status, StatusCode::NO_CONTENT);
    // The place is found although the ticket of the link is older than that of the first device.
    assert_eq!(position(&phone.send(&house, get()).await), Some(1));
    house.advance(1);
    let late = Visitor::default().send(&house, with(&token)).await;
    assert_eq!(late.reason, "refused:transfer_invalid");
}

#[tokio::test]
async fn a_link_that_this_room_did_not_seal_is_void() {
    let (house, _, mut ann, _) = line(transferable()).await;
    let token = link(&house, &mut ann).await;
    let mut forged = token.clone().into_bytes();
    forged[60] ^= 1;
    let forged = String::from_utf8(forged).unwrap();
    let elsewhere = WaitingRoomConfig::builder("sale")
        .total_active_users(1)
        .keys(tower_waiting_room::KeyRing::new(crate::support::key(1)))
        .debug_header(DebugHeader::On)
        .transfer_path("/transfer");
    let sale = House::new(elsewhere);
    assert_eq!(
        Visitor::default().send(&sale, with(&token)).await.reason,
        "refused:transfer_invalid"
    );
    for token in [forged, String::new(), "shop".to_owned(), "a".repeat(1 << 20)] {
        let seen = Visitor::default().send(&house, with(&token)).await;
        assert_eq!(
            (seen.status, &*seen.reason, seen.cookie()),
            (StatusCode::FORBIDDEN, "refused:transfer_invalid", None)
        );
    }
    assert_eq!(house.forwarded(), 1);
}

#[tokio::test]
async fn only_a_visitor_with_a_place_gets_a_link() {
    let (house, mut inside, ..) = line(transferable()).await;
    let refused = "refused:transfer_invalid";
    assert_eq!(inside.send(&house, asking()).await.reason, refused);
    assert_eq!(Visitor::default().send(&house, asking()).await.reason, refused);
    let mut newcomer = Visitor::default();
    newcomer.get(&house).await;
    assert_eq!(newcomer.send(&house, asking()).await.reason, refused);
    assert_eq!(house.forwarded(), 1);
}

#[tokio::test]
async fn a_link_of_a_departed_visitor_begins_at_the_back() {
    let (house, _, mut ann, mut ben) = line(transferable()).await;
    let token = link(&house, &mut ann).await;
    let leave = Request::post("/leave").header("host", "shop.example");
    assert_eq!(ann.send(&house, leave).await.reason, "left");
    let mut phone = Visitor::default();
    phone.send(&house, with(&token)).await;
    house.advance(27);
    assert_ne!(position(&phone.send(&house, get()).await), Some(1));
    assert_eq!(position(&ben.send(&house, get()).await), Some(1));
}

#[tokio::test]
async fn a_link_to_the_place_of_another_person_has_no_effect() {
    let identified = transferable().identity(|head| {
        let login = head.headers().get("x-login")?;
        Some(login.to_str().ok()?.to_owned())
    });
    let house = House::new(identified);
    assert!(Visitor::default().get(&house).await.is_inside());
    let mut ann = Visitor::default();
    let by = |request: Builder, login: &str| request.header("x-login", login);
    ann.send(&house, by(get(), "ann")).await;
    house.advance(27);
    assert_eq!(position(&ann.send(&house, by(get(), "ann")).await), Some(1));
    let seen = ann.send(&house, by(asking(), "ann")).await;
    let token = seen.json()["transfer"].as_str().unwrap().to_owned();
    let eve = Visitor::default().send(&house, by(with(&token), "eve")).await;
    assert_eq!((&*eve.reason, eve.cookie()), ("refused:transfer_invalid", None));
    let phone = Visitor::default().send(&house, by(with(&token), "ann")).await;
    assert_eq!(phone.status, StatusCode::NO_CONTENT);
}

#[tokio::test]
async fn a_page_of_another_origin_neither_gets_a_link_nor_gives_one() {
    let (house, _, mut ann, _) = line(transferable()).await;
    let token = link(&house, &mut ann).await;
    for request in foreign_posts("/transfer") {
        let request = request.header("accept", "application/json");
        let seen = ann.clone().send(&house, request).await;
        assert!(seen.json()["transfer"].is_null(), "{}", seen.body);
    }
    for request in foreign_posts("/transfer") {
        let request = request.header("waiting-room-transfer", &token);
        assert_ne!(Visitor::default().send(&house, request).await.reason, "transferred");
    }
}

#[tokio::test]
async fn links_of_one_place_are_rate_limited() {
    let (house, _, mut ann, _) = line(transferable()).await;
    let token = link(&house, &mut ann).await;
    let mut made = Vec::new();
    let mut used = Vec::new();
    for _ in 0..100 {
        made.push(ann.clone().send(&house, asking()).await.reason);
    }
    assert_eq!((&*made[0], &**made.last().unwrap()), ("transferred", "refused:too_often"));
    house.advance(10);
    for _ in 0..100 {
        used.push(Visitor::default().send(&house, with(&token)).await.reason);
    }
    assert_eq!((&*used[0], &**used.last().unwrap()), ("transferred", "refused:too_often"));
}

#[tokio::test]
async fn requests_without_a_valid_link_are_rate_limited_too() {
    let (house, ..) = line(transferable()).await;
    let mut newcomer = Visitor::default();
    newcomer.get(&house).await;
    for request in [asking, || with("x")] {
        house.advance(10);
        let mut reasons = Vec::new();
        for _ in 0..100 {
            reasons.push(newcomer.clone().send(&house, request()).await.reason);
        }
        assert_eq!(
            (&*reasons[0], &**reasons.last().unwrap()),
            ("refused:transfer_invalid", "refused:too_often")
        );
    }
}

#[tokio::test]
async fn a_device_that_is_inside_stays_inside() {
    let (house, mut inside, mut ann, _) = line(transferable()).await;
    let token = link(&house, &mut ann).await;
    let seen = inside.send(&house, with(&token)).await;
    assert_eq!((seen.status, seen.cookie()), (StatusCode::NO_CONTENT, None));
    assert!(inside.get(&house).await.is_inside());
}

#[tokio::test]
async fn a_place_that_has_lapsed_gets_no_link() {
    let (house, _, mut ann, _) = line(transferable()).await;
    house.advance(299);
    assert_eq!(ann.send(&house, asking()).await.json()["validForSeconds"], 1);
    house.advance(1);
    assert_eq!(ann.send(&house, asking()).await.reason, "refused:transfer_invalid");
}

#[tokio::test]
async fn only_a_post_to_the_path_is_a_transfer() {
    let house = House::new(transferable());
    for request in [Request::get("/transfer"), Request::post("/transfer/")] {
        assert!(Visitor::default().send(&house, request).await.is_inside());
        house.advance(200);
    }
    // Without the option, the path belongs to the application, and so it does where nobody waits.
    assert!(Visitor::default().send(&House::new(config()), asking()).await.is_inside());
    let shadow = House::new(transferable().enforcement(Enforcement::Shadow));
    assert!(Visitor::default().send(&shadow, asking()).await.is_inside());
    let suspended = House::new(transferable().mode(RoomMode::Suspended));
    assert!(Visitor::default().send(&suspended, asking()).await.is_inside());
}

#[tokio::test]
async fn limits_apply_to_a_device_with_a_link() {
    let limit = RateLimit::global(Quota::per_minute(1).burst(1));
    let house = House::new(transferable().rate_limit(limit));
    let refused = Visitor::default().send(&house, with("x")).await;
    assert_eq!(refused.reason, "refused:transfer_invalid");
    let limited = Visitor::default().send(&house, with("x")).await;
    assert_eq!(limited.status, StatusCode::TOO_MANY_REQUESTS);
}

#[tokio::test]
async fn the_page_offers_a_link_only_if_there_is_a_path() {
    let page = |config| async {
        let (house, _, mut ann, _) = line(config).await;
        house.advance(1);
        ann.send(&house, Request::get("/").header("accept", "text/html")).await.body
    };
    let with = page(transferable()).await;
    assert!(with.contains("data-transfer=\"&#x2f;transfer\"") && with.contains("id=\"offer\""));
    let without = page(config()).await;
    assert!(!without.contains("data-transfer=") && !without.contains("id=\"offer\""));
}

#[test]
fn a_path_that_browsers_would_change_is_refused() {
    let error = |config: WaitingRoomConfigBuilder| config.build().unwrap_err().to_string();
    assert_eq!(
        error(config().transfer_path("/a").leave_path("/a")),
        "transfer_path is /a, expected a path other than leave_path"
    );
    let push = config().push(Push::at("/a"));
    assert_eq!(
        error(push.transfer_path("/a")),
        "transfer_path is /a, expected a path other than push.path"
    );
    // A browser would resolve these to another host, or to another path.
    for path in ["//evil/transfer", "/\\evil", "/a/../b", "/./b", "/a\"b", "/", "transfer"] {
        let expected = "a path that browsers do not change: / and then letters, digits and /-._~";
        let expected = format!("transfer_path is {path:?}, expected {expected}");
        assert_eq!(error(config().transfer_path(path)), expected);
    }
    let limit = RateLimit::global(Quota::per_minute(1));
    assert_eq!(
        error(WaitingRoomConfig::builder("shop").rate_limit(limit).transfer_path("/transfer")),
        "transfer_path is a path, expected total_active_users, because visitors wait only in a room"
    );
}
