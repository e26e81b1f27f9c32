//! The part of a request with which a value of the file is compared.

use http::Method;

use super::*;

/// A house with these descriptors, none of which has a key that the code registers.
fn house(descriptors: &str) -> House {
    let rules = Rules::new(&format!("domain: api\ndescriptors:\n{descriptors}"));
    House::new(rules.config())
}

/// Whether a request from this address is admitted.
async fn is_let_in(house: &House, peer: &str) -> bool {
    let peer = SocketAddr::new(peer.parse().unwrap(), 40_000);
    let request = Request::get("/").extension(PeerAddr(peer));
    house.send(request.body(String::new()).unwrap()).await.is_inside()
}

async fn may_get(house: &House, uri: &str) -> bool {
    send(house, Request::get(uri)).await.is_inside()
}

const NOTHING: &str = "rate_limit: { unit: minute, requests_per_unit: 0 }";

#[tokio::test]
async fn a_named_address_is_the_whole_address_and_not_its_network() {
    let house =
        house(&format!("  - {{ key: remote_address, value: '2001:db8::bad:1', {NOTHING} }}\n"));
    assert!(!is_let_in(&house, "2001:db8::bad:1").await);
    assert!(is_let_in(&house, "2001:db8::bad:2").await);

    let mapped = self::house(&format!(
        "  - {{ key: remote_address, value: '::ffff:203.0.113.7', {NOTHING} }}\n"
    ));
    assert!(!is_let_in(&mapped, "203.0.113.7").await);
    assert!(is_let_in(&mapped, "203.0.113.8").await);
}

#[tokio::test]
async fn a_named_network_is_every_address_in_it() {
    let house =
        house(&format!("  - {{ key: remote_address, value: 203.0.113.0/24, {NOTHING} }}\n"));
    assert!(!is_let_in(&house, "203.0.113.9").await);
    assert!(!is_let_in(&house, "::ffff:203.0.113.9").await);
    assert!(is_let_in(&house, "203.0.114.9").await);
}

#[tokio::test]
async fn every_network_that_contains_an_address_shields_it_from_the_default() {
    let house = house(
        "  - { key: remote_address, rate_limit: { unit: minute, requests_per_unit: 1 } }
  - { key: remote_address, value: 10.0.0.0/8, rate_limit: { unit: minute, requests_per_unit: 5 } }
  - { key: remote_address, value: 10.1.0.0/16, rate_limit: { unit: minute, requests_per_unit: 2 } }
",
    );
    let mut narrow = 0;
    let mut wide = 0;
    for _ in 0..9 {
        narrow += u32::from(is_let_in(&house, "10.1.0.1").await);
    }
    for _ in 0..9 {
        wide += u32::from(is_let_in(&house, "10.2.0.1").await);
    }
    assert_eq!((narrow, wide), (2, 3), "the narrow network has used 2 of the wide one's 5");
    assert!(is_let_in(&house, "192.0.2.1").await);
    assert!(!is_let_in(&house, "192.0.2.1").await, "others have the limit of every address");
}

#[tokio::test]
async fn a_path_in_a_file_is_as_strict_as_in_code() {
    for sly in ["/login", "/%6cogin", "//login", "/x/../login"] {
        let house = house(&format!("  - {{ key: path, value: /login, {NOTHING} }}\n"));
        assert!(!may_get(&house, sly).await, "{sly}");
    }
}

#[tokio::test]
async fn a_path_with_a_star_covers_all_paths_below_it() {
    let paths = "[/reports/*, /export]";
    for (path, is_let_in) in [
        ("/reports/2027", false),
        ("/reports", false),
        ("/x/../reports/2027", false),
        ("/export", false),
        ("/exports", true),
        ("/reporters", true),
    ] {
        let house = house(&format!("  - {{ key: path, value: {paths}, {NOTHING} }}\n"));
        assert_eq!(may_get(&house, path).await, is_let_in, "{path}");
    }
}

/// By default, such a request is not limited.
#[tokio::test]
async fn a_request_without_a_key_may_be_refused_by_a_rule() {
    let some = |missing: &str| {
        let limit = format!("unit: minute, requests_per_unit: 1, missing_key: {missing}");
        format!("  - {{ key: header.x-plan, rate_limit: {{ {limit} }} }}\n")
    };
    for (missing, is_let_in) in
        [("bypass", [true, true]), ("address", [true, false]), ("refuse", [false; 2])]
    {
        let house = house(&some(missing));
        let seen = [may_get(&house, "/").await, may_get(&house, "/").await];
        assert_eq!(seen, is_let_in, "{missing}");
    }
}

#[tokio::test]
async fn an_ambiguous_path_escapes_no_limit_through_an_unlimited_sibling() {
    let house = house(&format!(
        "  - {{ key: path, {NOTHING} }}
  - {{ key: path, value: /health, rate_limit: {{ unlimited: true }} }}\n"
    ));
    assert!(may_get(&house, "/health").await);
    for sly in ["/x", "/x/../health", "/x/..%2fhealth", "//health"] {
        assert!(!may_get(&house, sly).await, "{sly}");
    }
}

#[tokio::test]
async fn a_named_method_is_limited_apart_from_the_others() {
    let house = house(&format!(
        "  - {{ key: method, {NOTHING} }}
  - {{ key: method, value: GET, rate_limit: {{ unlimited: true }} }}\n"
    ));
    for (method, is_let_in) in [(Method::GET, true), (Method::POST, false), (Method::PUT, false)] {
        let seen = send(&house, Request::builder().method(&method).uri("/")).await;
        assert_eq!(seen.is_inside(), is_let_in, "{method}");
    }
}

#[tokio::test]
async fn a_named_header_is_compared_byte_by_byte() {
    let house = house(&format!("  - {{ key: header.x-plan, value: free, {NOTHING} }}\n"));
    for (plan, is_let_in) in [("free", false), ("Free", true), ("free2", true)] {
        let seen = send(&house, Request::get("/").header("x-plan", plan)).await;
        assert_eq!(seen.is_inside(), is_let_in, "{plan}");
    }
}
