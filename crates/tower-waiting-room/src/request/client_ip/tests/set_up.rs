//! Setups that are refused, and setups that are reported as misconfigurations.

use super::*;

#[test]
fn networks_are_given_as_addresses_or_by_prefix() {
    for (cidr, inside, outside) in [
        ("10.0.0.0/8", "10.255.255.255", "11.0.0.0"),
        ("192.0.2.7", "192.0.2.7", "192.0.2.8"),
        ("::1", "::1", "::2"),
        ("2001:db8::/32", "2001:db8:ffff::1", "2001:db9::"),
        ("::ffff:192.0.2.7", "192.0.2.7", "192.0.2.6"),
        ("0.0.0.0/0", "255.255.255.255", "2001:db8::1"),
        ("::/0", "2001:db8::1", "192.0.2.7"),
    ] {
        let trusted = TrustedProxies::networks([cidr]).unwrap();
        assert!(trusted.covers_peer(ip(inside)), "{cidr} {inside}");
        assert!(!trusted.covers_peer(ip(outside)), "{cidr} {outside}");
    }
}

#[test]
fn every_trusted_network_counts_in_any_order() {
    let cidrs = [
        "2001:db8::/32",
        "10.1.2.0/24",
        "192.0.2.0/24",
        "10.0.0.0/8",
        "172.16.0.0/12",
        "10.1.0.0/16",
    ];
    let trusted = TrustedProxies::networks(cidrs).unwrap();
    for inside in
        ["10.0.0.0", "10.1.2.3", "10.200.0.1", "172.31.255.255", "192.0.2.0", "2001:db8::"]
    {
        assert!(trusted.covers_peer(ip(inside)), "{inside}");
    }
    for outside in
        ["9.255.255.255", "11.0.0.0", "172.32.0.0", "192.0.3.0", "::", "2001:db9::", "ffff::"]
    {
        assert!(!trusted.covers_peer(ip(outside)), "{outside}");
    }
}

#[test]
fn private_networks_are_those_that_are_not_routed() {
    let private = TrustedProxies::private();
    for inside in [
        "127.0.0.1",
        "10.9.9.9",
        "172.16.0.1",
        "172.31.0.1",
        "192.168.0.1",
        "169.254.1.1",
        "::1",
        "fe80::1",
        "febf::1",
        "fc00::1",
        "fdff::1",
    ] {
        assert!(private.covers_peer(ip(inside)), "{inside}");
    }
    for outside in
        ["8.8.8.8", "172.32.0.1", "100.64.0.1", "::2", "fec0::1", "2001:db8::1", "0.0.0.0"]
    {
        assert!(!private.covers_peer(ip(outside)), "{outside}");
    }
    assert!(!private.covers_everyone());
}

#[test]
fn a_malformed_network_is_refused() {
    let form = "an address or a network, such as 10.0.0.0/8";
    for (cidr, expected) in [
        ("", form),
        ("proxy.internal", form),
        ("10.0.0.0/33", form),
        ("10.0.0.0/+8", form),
        ("10.0.0.0/", form),
        ("10.0.0.0/8/8", form),
        ("10.0.0/8", form),
        (" 10.0.0.1", form),
        ("fe80::%eth0/64", form),
        ("::ffff:10.0.0.0/8", form),
        ("10.0.0.1/8", "the address 10.0.0.1 or the network 10.0.0.0/8"),
        ("2001:db8::1/32", "the address 2001:db8::1 or the network 2001:db8::/32"),
    ] {
        let error = TrustedProxies::networks(["127.0.0.1", cidr]).unwrap_err();
        let message = format!("trusted_proxies is {cidr:?}, expected {expected}");
        assert_eq!(error.to_string(), message);
    }
    let error = TrustedProxies::networks([]).unwrap_err();
    assert_eq!(error.to_string(), "trusted_proxies is empty, expected at least one network");
}

#[test]
fn a_contradictory_source_is_refused() {
    let hops = |count| ClientIp::forwarded(TrustedProxies::hops(count));
    for (source, message) in [
        (ClientIp::peer().ipv6_prefix(0), "ipv6_prefix is 0, expected 1 to 128"),
        (ClientIp::peer().ipv6_prefix(129), "ipv6_prefix is 129, expected 1 to 128"),
        (hops(0), "trusted_proxies is 0 hops, expected 1 to 32 hops"),
        (hops(33), "trusted_proxies is 33 hops, expected 1 to 32 hops"),
        (
            ClientIp::header("x real ip", ours()),
            "client_ip is \"x real ip\", expected the name of a header",
        ),
    ] {
        assert_eq!(source.validate().unwrap_err().to_string(), message);
        // Even a source that is refused must not panic.
        let _ = source.find(Some(ip(BALANCER)), &headers(XFF, &["8.8.8.8"]));
        let _ = source.network(ip("2001:db8::1"));
    }
    for source in
        [ClientIp::peer().ipv6_prefix(1), ClientIp::peer().ipv6_prefix(128), hops(1), hops(32)]
    {
        assert_eq!(source.validate(), Ok(()), "{source:?}");
    }
}

#[test]
fn trusting_every_peer_or_counting_single_ipv6_addresses_is_reported() {
    use Misconfiguration::{EveryoneTrusted, RawIpv6Key};
    let lint = |source: ClientIp| source.lint().collect::<Vec<_>>();
    let trusting = |cidrs: &[&str]| {
        lint(ClientIp::forwarded(TrustedProxies::networks(cidrs.iter().copied()).unwrap()))
    };
    assert_eq!(trusting(&["10.0.0.0/8", "::1"]), []);
    assert_eq!(trusting(&["10.0.0.0/8", "0.0.0.0/0"]), [EveryoneTrusted]);
    assert_eq!(trusting(&["::/0"]), [EveryoneTrusted]);
    assert_eq!(trusting(&["::ffff:0:0/96"]), [EveryoneTrusted]);
    assert_eq!(trusting(&["128.0.0.0/1", "0.0.0.0/1"]), [EveryoneTrusted]);
    assert_eq!(lint(ClientIp::forwarded(TrustedProxies::hops(1))), []);
    assert_eq!(lint(ClientIp::peer()), []);
    assert_eq!(lint(ClientIp::peer().ipv6_prefix(128)), [RawIpv6Key]);
    assert_eq!(lint(ClientIp::peer().ipv6_prefix(65)), [RawIpv6Key]);
}

#[test]
fn a_request_that_contradicts_the_configuration_is_reported() {
    use Misconfiguration::{ForwardedHeaderIgnored, HeaderRepeated};
    let suspect = |source: &ClientIp, peer, name, lines: &[&str]| {
        source.suspect(Some(ip(peer)), &headers(name, lines))
    };
    let stranger = "192.0.2.1";
    let ignored = Some(ForwardedHeaderIgnored);
    let peer = ClientIp::peer();
    assert_eq!(suspect(&peer, stranger, "accept", &["*/*"]), None);
    for name in FORWARDING {
        assert_eq!(suspect(&peer, stranger, name, &["x"]), ignored, "{name}");
    }
    let xff = ClientIp::x_forwarded_for(ours());
    assert_eq!(suspect(&xff, stranger, XFF, &["8.8.8.8"]), ignored);
    assert_eq!(suspect(&xff, BALANCER, FORWARDED, &["for=8.8.8.8"]), ignored);
    assert_eq!(suspect(&xff, BALANCER, XFF, &["9.9.9.9", "8.8.8.8"]), None);
    assert_eq!(suspect(&xff, "::ffff:10.0.0.1", XFF, &["8.8.8.8"]), None);
    // A proxy may hide the addresses of its clients.
    for hidden in ["", "unknown", "_secret", "8.8.8.8, shop"] {
        assert_eq!(suspect(&xff, BALANCER, XFF, &[hidden]), ignored, "{hidden}");
    }
    let forwarded = ClientIp::forwarded(ours());
    for hidden in ["for=unknown", "for=_secret", "by=10.0.0.1"] {
        assert_eq!(suspect(&forwarded, BALANCER, FORWARDED, &[hidden]), ignored, "{hidden}");
    }
    assert_eq!(suspect(&forwarded, BALANCER, FORWARDED, &["for=_x, for=8.8.8.8"]), None);
    let real = ClientIp::header("X-Real-IP", ours());
    assert_eq!(suspect(&real, BALANCER, "x-real-ip", &["8.8.8.8"]), None);
    assert_eq!(
        suspect(&real, BALANCER, "x-real-ip", &["9.9.9.9", "8.8.8.8"]),
        Some(HeaderRepeated)
    );
    assert_eq!(suspect(&real, BALANCER, "x-real-ip", &["unknown"]), ignored);
    assert_eq!(suspect(&real, stranger, "x-real-ip", &["9.9.9.9", "8.8.8.8"]), ignored);
    let both = {
        let mut both = headers(XFF, &["8.8.8.8"]);
        both.insert("x-real-ip", HeaderValue::from_static("8.8.8.8"));
        both
    };
    assert_eq!(real.suspect(Some(ip(BALANCER)), &both), None);
}
