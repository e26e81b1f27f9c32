//! Shares of the line: a client that keeps many cookies gets no more places than its network may
//! have.

use std::net::{IpAddr, SocketAddr};

use http::{Request, request::Builder};
use tower_waiting_room::{
    ClientIp, KeyRing, StoreFailure, TrustedProxies,
    config::{DebugHeader, Enforcement, Misconfiguration, WaitingRoomConfigBuilder},
    request::PeerAddr,
    room::{MemoryStore, Shares},
    time::{ManualClock, Timestamp},
};

use crate::support::{House, Seen, Visitor, config, key, on_store};

fn shares(places: Shares) -> WaitingRoomConfigBuilder {
    config().shares(places)
}

fn from(address: &str) -> Builder {
    let address: IpAddr = address.parse().unwrap();
    Request::get("/").extension(PeerAddr(SocketAddr::from((address, 1_000))))
}

/// A house with its only slot taken.
async fn full(config: WaitingRoomConfigBuilder) -> House {
    let house = House::new(config);
    assert!(Visitor::default().send(&house, from("203.0.113.99")).await.is_inside());
    house
}

/// A client gets a ticket, and shows it when it is due.
async fn comes(house: &House, request: impl Fn() -> Builder) -> (Visitor, Seen) {
    let mut client = Visitor::default();
    let first = client.send(house, request()).await;
    assert_eq!(first.reason, "queued:active_limit");
    house.clock.advance(std::time::Duration::from_secs(2));
    let second = client.send(house, request()).await;
    (client, second)
}

async fn waiting(house: &House) -> u32 {
    house.handle().room().unwrap().snapshot().await.unwrap().waiting
}

#[tokio::test]
async fn a_client_with_a_cookie_jar_fills_no_more_than_the_share_of_its_network() {
    let house = full(shares(Shares::Limit(20)).line_capacity(100)).await;
    // One client keeps each ticket separately.
    let mut clients = vec![Visitor::default(); 200];
    for client in &mut clients {
        client.send(&house, from("192.0.2.1")).await;
        assert!(client.cookie.is_some(), "the first touch gets a ticket");
    }
    // Another client keeps none.
    for _ in 0..200 {
        Visitor::default().send(&house, from("192.0.2.1")).await;
    }
    assert_eq!(waiting(&house).await, 0);
    house.advance(2);
    let mut refused = 0;
    for client in &mut clients {
        let seen = client.send(&house, from("192.0.2.1")).await;
        if seen.reason == "refused:network_full" {
            assert_eq!((seen.status.as_u16(), seen.cookie().is_some()), (429, true));
            assert!(seen.header("retry-after").unwrap().parse::<u64>().unwrap() >= 2);
            refused += 1;
        }
    }
    assert_eq!((waiting(&house).await, refused), (20, 180));
    // A visitor of another network gets a place, right behind these 20.
    let (_, seen) = comes(&house, || from("192.0.2.2").header("accept", "application/json")).await;
    assert_eq!(seen.json()["waitingRoom"]["position"], 21, "{seen:?}");
    assert_eq!(waiting(&house).await, 21);
}

#[tokio::test]
async fn one_ipv6_network_counts_once_and_two_count_twice() {
    let house = full(shares(Shares::Limit(1))).await;
    assert_eq!(comes(&house, || from("2001:db8:1:1::1")).await.1.reason, "queued:active_limit");
    for other in ["2001:db8:1:1::2", "2001:db8:1:1:ffff:ffff:ffff:ffff"] {
        assert_eq!(comes(&house, || from(other)).await.1.reason, "refused:network_full");
    }
    assert_eq!(comes(&house, || from("2001:db8:1:2::1")).await.1.reason, "queued:active_limit");
    // An IPv4 address is the same network in both notations.
    assert_eq!(comes(&house, || from("192.0.2.1")).await.1.reason, "queued:active_limit");
    assert_eq!(comes(&house, || from("::ffff:192.0.2.1")).await.1.reason, "refused:network_full");
}

#[tokio::test]
async fn a_network_is_that_of_the_client_behind_its_proxies() {
    let proxies = TrustedProxies::networks(["10.0.0.0/8"]).unwrap();
    let client_ip = ClientIp::x_forwarded_for(proxies);
    let house = full(shares(Shares::Limit(1)).client_ip(client_ip)).await;
    let by_proxy = |client: &'static str| {
        comes(&house, move || from("10.0.0.1").header("x-forwarded-for", client))
    };
    assert_eq!(by_proxy("192.0.2.1").await.1.reason, "queued:active_limit");
    assert_eq!(by_proxy("192.0.2.2").await.1.reason, "queued:active_limit");
    assert_eq!(by_proxy("8.8.8.8, 192.0.2.1").await.1.reason, "refused:network_full");
}

#[tokio::test]
async fn clients_of_an_unknown_network_are_not_counted() {
    let house = full(shares(Shares::Limit(1)).line_capacity(100)).await;
    let private = ["10.0.0.1", "100.64.0.1", "169.254.0.1", "fd00::1", "fe80::1"];
    for private in private {
        let forwarded = || from(private).header("x-forwarded-for", "192.0.2.1");
        // An unknown address, a proxy on this machine, and a private proxy that is not configured.
        assert_eq!(comes(&house, || Request::get("/")).await.1.reason, "queued:active_limit");
        assert_eq!(comes(&house, || from("127.0.0.1")).await.1.reason, "queued:active_limit");
        assert_eq!(comes(&house, || from("::1")).await.1.reason, "queued:active_limit");
        assert_eq!(comes(&house, forwarded).await.1.reason, "queued:active_limit");
    }
    assert_eq!(waiting(&house).await, 20);
    // Without a forwarding header, a private address is that of a client.
    assert_eq!(comes(&house, || from("10.0.0.1")).await.1.reason, "queued:active_limit");
    assert_eq!(comes(&house, || from("10.0.0.1")).await.1.reason, "refused:network_full");
    assert_eq!(house.handle().misconfigurations(), [Misconfiguration::PeerUnknown]);
    // A client with a public address that claims to be a proxy is counted, and is reported.
    let claims = || from("192.0.2.7").header("x-forwarded-for", "198.51.100.1");
    assert_eq!(comes(&house, claims).await.1.reason, "queued:active_limit");
    assert_eq!(comes(&house, claims).await.1.reason, "refused:network_full");
    let expected = [Misconfiguration::PeerUnknown, Misconfiguration::ForwardedHeaderIgnored];
    assert_eq!(house.handle().misconfigurations(), expected);
}

/// The setup of a server without connect info, behind a proxy that is configured.
#[tokio::test]
async fn a_limit_on_places_says_that_it_has_no_effect_without_connect_info() {
    let proxies = TrustedProxies::networks(["127.0.0.0/8"]).unwrap();
    let client_ip = ClientIp::x_forwarded_for(proxies);
    let forwarded = || Request::get("/").header("x-forwarded-for", "203.0.113.9");
    for places in [Shares::Limit(1), Shares::Shadow(1)] {
        let house = House::new(shares(places).client_ip(client_ip.clone()));
        assert!(Visitor::default().send(&house, forwarded()).await.is_inside());
        assert_eq!(house.handle().misconfigurations(), [Misconfiguration::PeerUnknown]);
    }
    let house = House::new(shares(Shares::Off).client_ip(client_ip));
    assert!(Visitor::default().send(&house, forwarded()).await.is_inside());
    assert_eq!(house.handle().misconfigurations(), []);
}

#[tokio::test]
async fn in_shadow_the_share_is_counted_and_refuses_no_request() {
    let house = full(shares(Shares::Shadow(1)).debug_header(DebugHeader::On)).await;
    assert_eq!(comes(&house, || from("192.0.2.1")).await.1.reason, "queued:active_limit");
    let (mut client, over) = comes(&house, || from("192.0.2.1")).await;
    assert_eq!(over.reason, "queued:network_full");
    assert_eq!(over.header("waiting-room-reason"), Some("queued:network_full"));
    assert_eq!(waiting(&house).await, 2);
    house.advance(27);
    assert_eq!(client.send(&house, from("192.0.2.1")).await.reason, "queued:active_limit");
}

#[tokio::test]
async fn in_a_room_in_shadow_the_share_is_stated_and_the_request_goes_on() {
    let shadow = shares(Shares::Limit(1)).enforcement(Enforcement::Shadow);
    let house = House::new(shadow);
    for expected in ["admitted:slot", "queued:active_limit", "refused:network_full"] {
        let mut client = Visitor::default();
        let first = client.send(&house, from("192.0.2.1")).await;
        assert!(first.is_inside(), "{first:?}");
        house.advance(2);
        let second = client.send(&house, from("192.0.2.1")).await;
        let is_passed = expected == "admitted:slot";
        assert!(second.is_inside() && (is_passed || second.reason == expected), "{second:?}");
    }
}

#[tokio::test]
async fn a_network_that_gives_a_place_back_gets_another_at_the_back() {
    let house = House::new(shares(Shares::Limit(1)));
    let mut inside = Visitor::default();
    assert!(inside.send(&house, from("203.0.113.99")).await.is_inside());
    let (mut first, _) = comes(&house, || from("192.0.2.1")).await;
    let mut reserve = Visitor::default();
    reserve.send(&house, from("192.0.2.1")).await;
    house.advance(1);
    let (mut other, _) = comes(&house, || from("192.0.2.2")).await;
    let seen = reserve.send(&house, from("192.0.2.1")).await;
    assert_eq!(seen.reason, "refused:network_full");
    let end = || from("203.0.113.99").header("x-end", "1");
    assert!(inside.send(&house, end()).await.is_inside());
    house.advance(20);
    assert!(first.send(&house, from("192.0.2.1")).await.is_inside());
    let json = || from("192.0.2.1").header("accept", "application/json");
    house.advance(6);
    assert_eq!(other.send(&house, from("192.0.2.2")).await.reason, "queued:active_limit");
    let seen = reserve.send(&house, json()).await;
    assert_eq!(seen.json()["waitingRoom"]["position"], 2, "{seen:?}");
}

#[tokio::test]
async fn nodes_with_the_same_keys_agree_on_the_network_of_an_address() {
    let clock = ManualClock::new(Timestamp::from_secs(1_700_000_000));
    let one = || shares(Shares::Limit(1));
    let rules = one().build().unwrap().room().unwrap().clone();
    let store = MemoryStore::with_clock(rules, clock.clone()).unwrap();
    let node = |keys: KeyRing| {
        let config = one().keys(keys).build().unwrap();
        let layer = on_store(config, store.clone(), StoreFailure::Wait);
        House::with_store(layer, clock.clone())
    };
    let house = node(KeyRing::new(key(1)));
    assert!(Visitor::default().send(&house, from("203.0.113.99")).await.is_inside());
    assert_eq!(comes(&house, || from("192.0.2.1")).await.1.reason, "queued:active_limit");
    let same = node(KeyRing::new(key(1)).also_opens(key(2)));
    assert_eq!(comes(&same, || from("192.0.2.1")).await.1.reason, "refused:network_full");
    let other = node(KeyRing::new(key(2)).also_opens(key(1)));
    assert_eq!(comes(&other, || from("192.0.2.1")).await.1.reason, "queued:active_limit");
}

#[tokio::test]
async fn an_operator_changes_the_share_while_the_room_is_in_use() {
    let house = full(shares(Shares::Limit(1))).await;
    comes(&house, || from("192.0.2.1")).await;
    assert_eq!(comes(&house, || from("192.0.2.1")).await.1.reason, "refused:network_full");
    let two = Shares::Limit(2);
    house.handle().room().unwrap().change(|rules| rules.shares(two)).await.unwrap();
    assert_eq!(comes(&house, || from("192.0.2.1")).await.1.reason, "queued:active_limit");
    assert_eq!(comes(&house, || from("192.0.2.1")).await.1.reason, "refused:network_full");
    let none = Shares::Limit(0);
    let wrong = house.handle().room().unwrap().change(|rules| rules.shares(none)).await;
    let cause = std::error::Error::source(&wrong.unwrap_err()).unwrap().to_string();
    assert_eq!(cause, "shares is 0, expected at least 1");
}

#[tokio::test]
async fn a_network_that_holds_more_than_its_share_and_a_family_is_reported_while_others_wait() {
    let office = Shares::Limit(11);
    for (share, slots, is_reported) in
        [(Shares::Auto, 10, false), (Shares::Auto, 11, true), (office, 11, false)]
    {
        let house = House::new(shares(share).total_active_users(slots));
        for _ in 0..slots {
            assert!(Visitor::default().send(&house, from("192.0.2.1")).await.is_inside());
        }
        let reported = async || {
            house.handle().room().unwrap().snapshot().await.unwrap();
            house.handle().misconfigurations().contains(&Misconfiguration::OneNetwork)
        };
        assert!(!reported().await, "no visitor waits");
        comes(&house, || from("198.51.100.1")).await;
        assert_eq!(reported().await, is_reported, "{share:?} of {slots}");
    }
}

/// Lets two visitors of one address take both slots and renew them while a visitor of another
/// network waits. Returns the cookies of the two, which outlive the pass by one lifetime of it, and
/// whether the other is inside once their first passes are over.
async fn yields(config: WaitingRoomConfigBuilder) -> (Vec<String>, bool) {
    let house = House::new(config.total_active_users(2));
    let mut inside = [Visitor::default(), Visitor::default()];
    for visitor in &mut inside {
        assert!(visitor.send(&house, from("192.0.2.1")).await.is_inside());
    }
    let (mut other, _) = comes(&house, || from("198.51.100.1")).await;
    house.advance(18);
    other.send(&house, from("198.51.100.1")).await;
    let mut cookies = Vec::new();
    for visitor in &mut inside {
        let seen = visitor.send(&house, from("192.0.2.1")).await;
        assert!(seen.is_inside());
        cookies.push(seen.header("set-cookie").unwrap().to_owned());
    }
    house.advance(71);
    (cookies, other.send(&house, from("198.51.100.1")).await.is_inside())
}

#[tokio::test]
async fn a_session_above_the_share_of_its_network_yields_and_its_cookie_says_when() {
    let (cookies, is_inside) = yields(shares(Shares::Limit(1))).await;
    assert!(is_inside && cookies[0].contains("Max-Age=180"), "{cookies:?}");
    assert!(cookies[1].contains("Max-Age=140"), "{cookies:?}");
    let (cookies, is_inside) = yields(shares(Shares::Off)).await;
    assert!(!is_inside && cookies[1].contains("Max-Age=180"), "{cookies:?}");
}
