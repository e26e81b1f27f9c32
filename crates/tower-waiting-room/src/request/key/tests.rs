use std::net::{IpAddr, SocketAddr};

use http::Request;
use waiting_room_core::{VisitorId, rate::KeyHasher};

use super::*;
use crate::request::{Callers, ClientIp, Findings, PeerAddr};

fn hash(key: &Key, request: http::request::Builder) -> Option<KeyHash> {
    let hasher = KeyHasher::new([3, 1, 4, 1]);
    let request = request.body(()).unwrap();
    key.hash(&Caller { head: (&request).into(), hasher: &hasher, visitor: None })
}

fn get(uri: &str) -> http::request::Builder {
    Request::get(uri)
}

fn from(peer: &str) -> http::request::Builder {
    let peer = SocketAddr::new(peer.parse().unwrap(), 40_000);
    get("/").extension(PeerAddr(peer))
}

#[test]
fn requests_share_a_key_if_they_share_every_part_of_it() {
    let key = Key::header("x-api-key").and(Key::path());
    let with = |value: &str, uri| hash(&key, get(uri).header("x-api-key", value));
    assert_eq!(with("a", "/x?1"), with("a", "/x?2"));
    assert_ne!(with("a", "/x"), with("b", "/x"));
    assert_ne!(with("a", "/x"), with("a", "/y"));
    assert_eq!(hash(&key, get("/x")), None);
    // The order of the parts matters, and so does the boundary between two parts.
    let reversed = Key::path().and(Key::header("x-api-key"));
    assert_ne!(hash(&reversed, get("/x").header("x-api-key", "/x")), None);
    let cookies = Key::cookie("a").and(Key::cookie("b"));
    let both = |line| hash(&cookies, get("/").header("cookie", line));
    assert_ne!(both("a=1; b=23"), both("a=12; b=3"));
    // Only the beginning of a long value counts, so no client chooses the cost of its key.
    let [short, long] = [MAX_LEN, 2 * MAX_LEN].map(|len| with(&"x".repeat(len), "/"));
    assert_eq!(short, long);
}

#[test]
fn an_address_counts_by_its_network() {
    let of = |peer| hash(&Key::address(), from(peer));
    assert_ne!(of("192.0.2.1"), of("192.0.2.2"));
    assert_eq!(of("2001:db8::1"), of("2001:db8::ffff"));
    assert_ne!(of("2001:db8::1"), of("2001:db8:0:1::1"));
    assert_eq!(of("::ffff:192.0.2.1"), of("192.0.2.1"));
    assert_eq!(hash(&Key::address(), get("/")), None);
}

#[test]
fn the_proxies_and_the_path_are_parsed_once_per_request() {
    let callers = Callers::new(ClientIp::peer());
    let findings = Findings::default();
    let first = from("192.0.2.1").uri("/a/../b").body(()).unwrap();
    let head = RequestHead::new(&first, &callers.client_ip, Some(&findings));
    assert_eq!(head.client_ip(), Some(IpAddr::from([192, 0, 2, 1])));
    assert!(!head.readings(head.uri().path(), |readings| readings.is_clear()));
    // Cached values are not computed again, so reusing the findings for a second request returns
    // the values of the first.
    let second = from("192.0.2.2").body(()).unwrap();
    let head = RequestHead::new(&second, &callers.client_ip, Some(&findings));
    assert_eq!(head.client_ip(), Some(IpAddr::from([192, 0, 2, 1])));
    assert!(!head.readings(head.uri().path(), |readings| readings.is_clear()));
    assert_eq!(
        Key::address().hash(&callers.of(head, None)),
        Key::address().hash(
            &callers
                .of(RequestHead::new(&first, &callers.client_ip, Some(&Findings::default())), None)
        )
    );
    // Outside a layer nothing is cached.
    assert_eq!(RequestHead::from(&second).client_ip(), Some(IpAddr::from([192, 0, 2, 2])));
}

#[cfg(feature = "axum")]
#[test]
fn the_connect_info_of_axum_provides_the_peer() {
    let peer: SocketAddr = "192.0.2.1:40000".parse().unwrap();
    let request = get("/").extension(axum::extract::ConnectInfo(peer));
    assert_eq!(hash(&Key::address(), request), hash(&Key::address(), from("192.0.2.1")));
}

#[cfg(feature = "tonic")]
#[test]
fn the_connect_info_of_tonic_provides_the_peer() {
    use tonic::transport::server::TcpConnectInfo;

    let tonics = |remote_addr| TcpConnectInfo { local_addr: None, remote_addr };
    let request = get("/").extension(tonics(Some("192.0.2.1:40000".parse().unwrap())));
    assert_eq!(hash(&Key::address(), request), hash(&Key::address(), from("192.0.2.1")));
    let request = from("192.0.2.1").extension(tonics(None));
    assert_eq!(hash(&Key::address(), request), hash(&Key::address(), from("192.0.2.1")));
}

#[test]
fn a_cookie_is_found_by_its_whole_name() {
    let key = Key::cookie("id");
    let with = |line: &str| hash(&key, get("/").header("cookie", line));
    assert_eq!(with("a=b; id=1"), with("id=1;x"));
    assert_eq!(with("xid=1; id2=1; id"), None);
    assert_ne!(with("id=1"), with("id=2"));
    let two_lines = get("/").header("cookie", "a=b").header("cookie", "id=1");
    assert_eq!(hash(&key, two_lines), with("id=1"));
}

#[test]
fn bytes_that_are_not_text_are_a_key_too() {
    let value = http::HeaderValue::from_bytes(b"id=\xff\xfe").unwrap();
    assert!(hash(&Key::header("x"), get("/").header("x", &value)).is_some());
    assert!(hash(&Key::cookie("id"), get("/").header("cookie", value)).is_some());
}

#[test]
fn a_part_is_displayed_with_the_name_that_files_give_to_it() {
    for name in ["header.x-api-key", "cookie.id"].into_iter().chain(Part::BUILT_IN) {
        assert_eq!(Part::named(name).unwrap().to_string(), name);
    }
    assert_eq!(Key::global(), Key::from(vec![Part::named("everyone").unwrap()]));
    for name in ["", "user", "header.", "header.a b", "cookie.", "query.x"] {
        assert_eq!(Part::named(name), None, "{name}");
    }
}

#[test]
fn a_meaningless_key_is_refused() {
    for (key, message) in [
        (
            Key::header("x key"),
            "key is \"x key\" in the limit \"l\", expected the name of a header",
        ),
        (Key::cookie(""), "key is \"\" in the limit \"l\", expected the name of a cookie"),
        (Key::from_fn("", |_| None), "key is \"\" in the limit \"l\", expected a name"),
    ] {
        assert_eq!(key.validate("l").unwrap_err().to_string(), message);
    }
    let longest = (1..8).fold(Key::path(), |key, _| key.and(Key::method()));
    assert_eq!(longest.validate("l"), Ok(()));
    let long = longest.and(Key::method());
    assert!(long.validate("l").unwrap_err().to_string().ends_with("expected at most 8 parts"));
}

#[test]
fn a_key_is_forgeable_if_any_part_of_it_is() {
    for made_up in [Key::cookie("id"), Key::header("x-id"), Key::method(), Key::path()] {
        assert!(made_up.can_be_made_up());
        for other in [Key::address(), Key::visitor(), Key::global()] {
            let both = made_up.clone().and(other);
            assert!(both.can_be_made_up() && !both.is_by_address(), "{both}");
        }
    }
    let by_address = Key::address().and(Key::global());
    assert!(!by_address.can_be_made_up() && by_address.is_by_address());
    assert!(!Key::visitor().can_be_made_up() && Key::visitor().is_by_address());
    assert!(!Key::global().can_be_made_up());
}

#[test]
fn a_visitor_counts_by_its_pass_and_all_others_by_address() {
    let hasher = KeyHasher::new([3, 1, 4, 1]);
    let of = |peer: &str, visitor: Option<u128>| {
        let request = from(peer).body(()).unwrap();
        let visitor = visitor.map(VisitorId::new);
        Key::visitor().hash(&Caller { head: (&request).into(), hasher: &hasher, visitor })
    };
    assert_eq!(of("192.0.2.1", Some(1)), of("192.0.2.2", Some(1)));
    assert_ne!(of("192.0.2.1", Some(1)), of("192.0.2.1", Some(2)));
    assert_ne!(of("192.0.2.1", None), of("192.0.2.2", None));
    assert_eq!(of("192.0.2.1", None), hash(&Key::address(), from("192.0.2.1")));
    assert_eq!(hash(&Key::visitor(), get("/")), None);
}

#[test]
fn a_key_with_a_valid_pass_needs_no_address() {
    let hasher = KeyHasher::new([3, 1, 4, 1]);
    let request = get("/").body(()).unwrap();
    let found = |key: Key, visitor: Option<u128>| {
        let visitor = visitor.map(VisitorId::new);
        let caller = Caller { head: (&request).into(), hasher: &hasher, visitor };
        key.find(MissingKey::Address, &caller)
    };
    for key in [Key::visitor(), Key::visitor().and(Key::path())] {
        assert!(matches!(found(key.clone(), Some(1)), Found::Key(_)), "{key}");
        assert!(matches!(found(key.clone(), None), Found::Stranger), "{key}");
    }
    let by_address = Key::visitor().and(Key::address());
    assert!(matches!(found(by_address, Some(1)), Found::Stranger));
}

#[test]
fn two_parts_are_equal_if_they_read_the_same_value() {
    let by = || Part::By("id".into(), std::sync::Arc::new(|_| None));
    let part = |name| Part::named(name).unwrap();
    let parts = ["header.a", "header.b", "cookie.a", "cookie.b"].into_iter();
    let parts: Vec<_> = parts.chain(Part::BUILT_IN).map(part).chain([by(), by()]).collect();
    for (i, one) in parts.iter().enumerate() {
        for (j, other) in parts.iter().enumerate() {
            assert_eq!(*one == other.clone(), i == j, "{one} and {other}");
        }
    }
    assert_eq!(part("header.a"), part("header.A"));
}

#[test]
fn a_key_is_constant_if_nothing_in_it_varies() {
    assert!(Key::global().is_constant());
    assert!(!Key::global().and(Key::method()).is_constant());
    assert!(!Key::address().is_constant());
}
