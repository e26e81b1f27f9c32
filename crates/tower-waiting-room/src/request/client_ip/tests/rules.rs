//! The eight rules that determine the client's address, and their bounds.

use super::*;

#[test]
fn rule_1_headers_of_an_untrusted_peer_are_ignored() {
    let stranger = Some(ip("192.0.2.1"));
    let all = headers(XFF, &["9.9.9.9"]);
    for source in [
        ClientIp::x_forwarded_for(ours()),
        ClientIp::forwarded(ours()),
        ClientIp::header(XFF, ours()),
        ClientIp::peer(),
    ] {
        assert_eq!(source.find(stranger, &all), stranger, "{source:?}");
    }
    assert_eq!(ClientIp::default().find(Some(ip(BALANCER)), &all), Some(ip(BALANCER)));
}

#[test]
fn rule_2_a_single_value_header_has_one_value() {
    let source = ClientIp::header("CF-Connecting-IP", ours());
    for (lines, found) in [
        (&["8.8.8.8"] as &[_], "8.8.8.8"),
        (&[" 2001:db8::7 "], "2001:db8::7"),
        (&["8.8.8.8:80"], "8.8.8.8"),
        (&[], BALANCER),
        (&[""], BALANCER),
        (&["unknown"], BALANCER),
        (&["9.9.9.9, 8.8.8.8"], BALANCER),
        (&["9.9.9.9", "8.8.8.8"], BALANCER),
        (&["8.8.8.8", "8.8.8.8"], BALANCER),
    ] {
        assert_eq!(client(&source, "cf-connecting-ip", lines), found, "{lines:?}");
    }
}

#[test]
fn rule_2_the_port_that_cloudfront_adds_is_no_part_of_the_address() {
    let source = ClientIp::header("CloudFront-Viewer-Address", ours());
    for (line, found) in [
        ("198.51.100.10:46532", "198.51.100.10"),
        ("2001:db8::1:46532", "2001:db8::1"),
        ("2001:db8::1:4653", "2001:db8::1"),
        ("[2001:db8::1]:443", "2001:db8::1"),
        ("198.51.100.10", BALANCER),
        ("198.51.100.10:80:80", BALANCER),
    ] {
        assert_eq!(client(&source, "cloudfront-viewer-address", &[line]), found, "{line}");
    }
    let plain = ClientIp::header("X-Real-IP", ours());
    assert_eq!(client(&plain, "x-real-ip", &["2001:db8::1:4653"]), "2001:db8::1:4653");
}

#[test]
fn rule_3_the_first_untrusted_hop_from_the_right_over_all_lines_is_the_client() {
    for (lines, found) in [
        (&[] as &[_], BALANCER),
        (&["8.8.8.8"], "8.8.8.8"),
        (&["9.9.9.9, 8.8.8.8 ,10.0.0.3,\t10.0.0.2"], "8.8.8.8"),
        (&["9.9.9.9", "8.8.8.8", "10.0.0.3, 10.0.0.2"], "8.8.8.8"),
        (&["9.9.9.9, 8.8.8.8", "2001:db8:aaaa::2"], "8.8.8.8"),
        (&["10.0.0.4, 10.0.0.3", "10.0.0.2"], "10.0.0.4"),
    ] {
        assert_eq!(by_xff(lines), found, "{lines:?}");
        let elements: Vec<String> = lines.iter().map(|line| as_elements(line)).collect();
        let elements: Vec<&str> = elements.iter().map(String::as_str).collect();
        assert_eq!(by_forwarded(&elements), found, "{elements:?}");
    }
}

fn as_elements(nodes: &str) -> String {
    let element = |node: &str| format!("by=\"a,\\\"b\";For=\"{}\"", node.trim());
    nodes.split(',').map(element).collect::<Vec<_>>().join(" , ")
}

#[test]
fn rule_4_a_malformed_address_ends_the_walk_at_the_last_hop() {
    for nonsense in [
        "unknown",
        "_hidden",
        "",
        "8.8.8",
        "08.8.8.8",
        "fe80::1%1",
        "[fe80::1%1]:80",
        "[8.8.8.8]",
        "8.8.8.8:",
        "8.8.8.8:+80",
        "8.8.8.8:123456",
        "8.8.8.8:80:80",
        "[::1",
        "::1]",
        "[::1]80",
        "localhost",
        "8.8.8.8/32",
        "\u{e9}",
        "8.8.8.8 9.9.9.9",
        "\"8.8.8.8\"",
    ] {
        assert_eq!(by_xff(&[&format!("9.9.9.9, {nonsense}")]), BALANCER, "{nonsense}");
        assert_eq!(by_xff(&["9.9.9.9", nonsense]), BALANCER, "{nonsense}");
        assert_eq!(by_xff(&[&format!("9.9.9.9,{nonsense}, 10.0.0.2")]), "10.0.0.2", "{nonsense}");
        assert_eq!(by_xff(&["9.9.9.9", nonsense, "10.0.0.2"]), "10.0.0.2", "{nonsense}");
    }
    let long = |len| by_xff(&[&format!("8.8.8.8:_{}", "x".repeat(len - "8.8.8.8:_".len()))]);
    assert_eq!([long(64), long(65), long(66)], ["8.8.8.8", BALANCER, BALANCER]);
}

#[test]
fn rule_4_an_element_without_a_for_parameter_ends_the_walk() {
    for nonsense in [
        "",
        "by=8.8.8.8",
        "for=unknown",
        "for=_hidden",
        "for=\"_hidden:80\"",
        "for",
        "for=",
        "=8.8.8.8",
        "for=8.8.8.8;for=9.9.9.9",
        "for=\"8.8.8.8",
        "for=8.8.8.8\"",
        "for=8.8.8.8;by=a\"b",
        "for=\"8.8.8.8\"x",
        "for=\"8.8.8.8\" by=x",
        "for =8.8.8.8",
        "for=8.8.8.8;by",
        "for=\"8.8.8.\\8\"",
        "for=8.8.8.8;\"by=x",
        "for=\\\"8.8.8.8\"",
        "for=\"[fe80::1%25eth0]\"",
    ] {
        let joined = format!("for=9.9.9.9, {nonsense}, for=10.0.0.2");
        assert_eq!(by_forwarded(&[&joined]), "10.0.0.2", "{nonsense}");
        assert_eq!(by_forwarded(&["for=9.9.9.9", nonsense]), BALANCER, "{nonsense}");
    }
}

#[test]
fn rule_5_every_usual_notation_of_an_address_is_read() {
    for (node, found) in [
        ("8.8.8.8", "8.8.8.8"),
        ("8.8.8.8:5678", "8.8.8.8"),
        ("8.8.8.8:_hidden", "8.8.8.8"),
        ("2001:db8::1", "2001:db8::1"),
        ("2001:DB8:0:0::0001", "2001:db8::1"),
        ("[2001:db8::1]", "2001:db8::1"),
        ("[2001:db8::1]:1234", "2001:db8::1"),
        ("::", "::"),
        ("::1", "::1"),
        ("2001:0db8:1111:2222:3333:4444:255.255.255.255", "2001:db8:1111:2222:3333:4444:ffff:ffff"),
    ] {
        assert_eq!(by_xff(&[node]), found);
        for element in [
            format!("for=\"{node}\""),
            format!("FOR=\"{node}\" ; proto=https"),
            format!("proto=https;; for={node};"),
            format!("by=\"a,b;for=9.9.9.9\\\\\";for={node};host=\"x\\\"\""),
        ] {
            assert_eq!(by_forwarded(&[&element]), found, "{element}");
        }
    }
}

#[test]
fn rule_5_at_most_32_entries_are_read() {
    let proxies = |count: usize| vec!["10.0.0.9"; count].join(", ");
    for (chain, found) in [
        (format!("8.8.8.8, {}", proxies(31)), "8.8.8.8"),
        (format!("8.8.8.8, {}", proxies(32)), "10.0.0.9"),
        (format!("8.8.8.8, {}", proxies(10_000)), "10.0.0.9"),
    ] {
        assert_eq!(by_xff(&[&chain]), found);
        let lines: Vec<&str> = chain.split(", ").collect();
        assert_eq!(by_xff(&lines), found);
    }
}

#[test]
fn rule_5_at_most_a_kibibyte_is_read() {
    let hop = "10.0.0.2";
    for (padding, found) in [(1008, "8.8.8.8"), (1009, hop), (9999, hop)] {
        let padding = " ".repeat(padding);
        assert_eq!(by_xff(&[&format!("8.8.8.8{padding},{hop}")]), found);
    }
    for (padding, found) in [(1009, "8.8.8.8"), (1010, hop), (1016, hop), (1017, BALANCER)] {
        let padding = " ".repeat(padding);
        assert_eq!(by_xff(&["8.8.8.8", &format!("{padding}{hop}")]), found);
        assert_eq!(by_xff(&["8.8.8.8", &format!("{hop}{padding}")]), found);
    }
    let ignored = "9".repeat(100_000);
    assert_eq!(by_xff(&[&format!("{ignored}, 8.8.8.8, {hop}")]), "8.8.8.8");
}

#[test]
fn rule_6_a_chain_shorter_than_the_hops_is_not_stretched() {
    let hops = |count| ClientIp::x_forwarded_for(TrustedProxies::hops(count));
    for (count, lines, found) in [
        (1, &["9.9.9.9, 8.8.8.8"] as &[_], "8.8.8.8"),
        (1, &["9.9.9.9", "8.8.8.8"], "8.8.8.8"),
        (2, &["9.9.9.9, 8.8.8.8, 192.0.2.1"], "8.8.8.8"),
        (2, &["9.9.9.9, 8.8.8.8", "192.0.2.1"], "8.8.8.8"),
        (1, &[], BALANCER),
        (2, &["8.8.8.8"], BALANCER),
        (3, &["9.9.9.9", "8.8.8.8"], BALANCER),
        (1, &["8.8.8.8, unknown"], BALANCER),
        (2, &["8.8.8.8, unknown"], BALANCER),
        (2, &["8.8.8.8, unknown, 192.0.2.1"], "192.0.2.1"),
        (3, &["8.8.8.8, unknown, 192.0.2.1"], "192.0.2.1"),
    ] {
        assert_eq!(client(&hops(count), XFF, lines), found, "{count} {lines:?}");
    }
}

#[test]
fn rule_7_an_address_is_ipv4_by_its_bits_and_not_by_its_notation() {
    let found = |peer| ClientIp::peer().find(Some(ip(peer)), &HeaderMap::new()).unwrap();
    for (given, same) in [
        ("::ffff:8.8.8.8", "8.8.8.8"),
        ("::ffff:808:808", "8.8.8.8"),
        ("0:0:0:0:0:FFFF:8.8.8.8", "8.8.8.8"),
        ("2001:db8::1.2.3.4", "2001:db8::102:304"),
        ("::1.2.3.4", "::102:304"),
        ("64:ff9b::8.8.8.8", "64:ff9b::808:808"),
    ] {
        assert_eq!(found(given), ip(same));
        assert_eq!(by_xff(&[given]), ip(same).to_string());
        assert_eq!(by_xff(&[&format!("[{given}]:80, ::ffff:10.0.0.2")]), ip(same).to_string());
    }
    let mapped = TrustedProxies::networks(["::ffff:10.0.0.0/104"]).unwrap();
    let source = ClientIp::x_forwarded_for(mapped);
    assert_eq!(
        source.find(Some(ip("::ffff:10.0.0.1")), &headers(XFF, &["8.8.8.8"])),
        Some(ip("8.8.8.8"))
    );
    assert_eq!(client(&source, XFF, &["8.8.8.8, 10.255.0.2"]), "8.8.8.8");
    assert_eq!(client(&source, XFF, &["8.8.8.8, 11.0.0.2"]), "11.0.0.2");
}

#[test]
fn rule_7_an_ipv6_network_is_one_client() {
    let address = "2001:db8:1:2:3:4:5:6";
    for (bits, key) in [
        (1, "::"),
        (48, "2001:db8:1::"),
        (56, "2001:db8:1::"),
        (64, "2001:db8:1:2::"),
        (127, "2001:db8:1:2:3:4:5:6"),
        (128, address),
    ] {
        assert_eq!(ClientIp::peer().ipv6_prefix(bits).network(ip(address)), ip(key), "{bits}");
        assert_eq!(ClientIp::peer().ipv6_prefix(bits).network(ip("8.8.8.8")), ip("8.8.8.8"));
    }
    assert_eq!(ClientIp::peer().network(ip(address)), ip("2001:db8:1:2::"));
    assert_eq!(ClientIp::peer().network(ip("::ffff:8.8.8.8")), ip("8.8.8.8"));
    assert_eq!(ClientIp::peer().ipv6_prefix(1).network(ip("ffff::1")), ip("8000::"));
}

#[test]
fn rule_8_without_a_peer_there_is_no_client() {
    let all = headers(XFF, &["8.8.8.8"]);
    for source in [
        ClientIp::peer(),
        ClientIp::x_forwarded_for(ours()),
        ClientIp::x_forwarded_for(TrustedProxies::hops(1)),
        ClientIp::header(XFF, TrustedProxies::hops(1)),
    ] {
        assert_eq!(source.find(None, &all), None);
        assert_eq!(source.suspect(None, &all), Some(Misconfiguration::PeerUnknown));
    }
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
