//! Defects of other rate limiters. Each defect lets a client choose its key, or gives all clients
//! the same key.

use super::*;

#[test]
fn the_leftmost_entry_is_not_the_client() {
    for forged in ["9.9.9.1", "9.9.9.2", "10.0.0.7", "::1"] {
        assert_eq!(by_xff(&[&format!("{forged}, 8.8.8.8")]), "8.8.8.8", "{forged}");
        assert_eq!(by_xff(&[&format!("{forged}, 8.8.8.8, 10.0.0.2")]), "8.8.8.8", "{forged}");
    }
}

#[test]
fn the_first_line_alone_is_not_the_header() {
    for forged in ["9.9.9.1", "9.9.9.2", "10.0.0.7"] {
        assert_eq!(by_xff(&[forged, "8.8.8.8"]), "8.8.8.8", "{forged}");
        assert_eq!(by_xff(&[forged, "8.8.8.8", "10.0.0.2"]), "8.8.8.8", "{forged}");
    }
}

#[test]
fn the_last_line_alone_is_not_the_header_either() {
    assert_eq!(by_xff(&["9.9.9.9, 8.8.8.8", "10.0.0.3, 10.0.0.2"]), "8.8.8.8");
}

#[test]
fn the_leftmost_element_of_forwarded_is_not_the_client() {
    for forged in ["for=9.9.9.1", "for=9.9.9.2", "for=10.0.0.7", "for=\"[::1]\"", "for=\"x"] {
        assert_eq!(by_forwarded(&[&format!("{forged}, for=8.8.8.8")]), "8.8.8.8", "{forged}");
        assert_eq!(by_forwarded(&[forged, "for=8.8.8.8"]), "8.8.8.8", "{forged}");
    }
}

#[test]
fn an_entry_with_a_port_is_an_address_and_is_not_skipped() {
    for forged in ["7.7.7.1", "7.7.7.2", "10.0.0.7"] {
        assert_eq!(by_xff(&[&format!("{forged}, 8.8.4.4:5555")]), "8.8.4.4", "{forged}");
    }
    assert_eq!(by_xff(&["8.8.4.4:5555"]), "8.8.4.4", "the proxy's address is not shared");
}

#[test]
fn there_is_no_other_header_to_fall_back_on() {
    let mut all = headers(FORWARDED, &["for=8.8.8.8"]);
    all.insert(XFF, HeaderValue::from_static("9.9.9.9"));
    all.insert("x-real-ip", HeaderValue::from_static("9.9.9.8"));
    let found = |source: ClientIp| source.find(Some(ip(BALANCER)), &all).unwrap().to_string();
    assert_eq!(found(ClientIp::forwarded(ours())), "8.8.8.8");
    assert_eq!(found(ClientIp::header("true-client-ip", ours())), BALANCER);
    all.remove(FORWARDED);
    let found = ClientIp::forwarded(ours()).find(Some(ip(BALANCER)), &all);
    assert_eq!(found, Some(ip(BALANCER)));
}

#[test]
fn an_ipv6_address_in_x_real_ip_is_not_cut_at_its_colons() {
    let source = ClientIp::header("X-Real-IP", ours());
    assert_eq!(client(&source, "x-real-ip", &["2001:db8::7"]), "2001:db8::7");
    assert_eq!(by_xff(&["2001:db8::7"]), "2001:db8::7");
}

#[test]
fn two_proxies_do_not_merge_all_clients_into_the_inner_proxy() {
    assert_eq!(by_xff(&["8.8.8.8, 10.0.0.2"]), "8.8.8.8");
    let two = ClientIp::x_forwarded_for(TrustedProxies::hops(2));
    assert_eq!(client(&two, XFF, &["9.9.9.9, 8.8.8.8, 10.0.0.2"]), "8.8.8.8");
}
