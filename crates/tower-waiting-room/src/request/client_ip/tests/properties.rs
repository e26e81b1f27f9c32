//! Properties that hold for all bytes that a client can send.

use proptest::{collection::vec, prelude::*};

use super::*;

/// Returns the lines after each proxy has appended an entry to the last line, or has added a line.
fn pass_on(sent: &[Vec<u8>], entries: &[(String, bool)]) -> Vec<Vec<u8>> {
    let mut lines = sent.to_vec();
    for (entry, own_line) in entries {
        match lines.last_mut() {
            Some(line) if !own_line => {
                line.extend_from_slice(b", ");
                line.extend_from_slice(entry.as_bytes());
            }
            _ => lines.push(entry.clone().into_bytes()),
        }
    }
    lines
}

fn from_bytes(name: &'static str, lines: &[Vec<u8>]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for line in lines {
        headers.append(name, HeaderValue::from_bytes(line).unwrap());
    }
    headers
}

/// Lines of bytes that HTTP allows, many of which have a special meaning in forwarding headers.
fn sent() -> impl Strategy<Value = Vec<Vec<u8>>> {
    let meant = || prop::sample::select(&b"\",;=\\ []:._%fFoOrR0123456789abc"[..]);
    let allowed = prop_oneof![32..127_u8, 128..=255_u8, Just(b'\t')];
    let words =
        prop::sample::select(&["for=", "10.0.0.5", "9.9.9.9", ", ", "\"", "[::1]", "\\"][..]);
    vec(
        prop_oneof![
            vec(prop_oneof![meant(), allowed], 0..60),
            vec(words, 0..12).prop_map(|words| words.concat().into_bytes()),
        ],
        0..4,
    )
}

fn stranger() -> impl Strategy<Value = IpAddr> {
    let v6 = any::<u64>()
        .prop_map(|low| Ipv6Addr::from_bits((0x2001_0db8_u128 << 96) | u128::from(low)));
    prop_oneof![
        any::<[u8; 3]>().prop_map(|[b, c, d]| IpAddr::from([203, b, c, d])),
        v6.prop_map(IpAddr::V6)
    ]
}

/// The addresses of a client and of the trusted proxies on the way to the layer, each as the next
/// hop sees it.
fn chain() -> impl Strategy<Value = (IpAddr, Vec<IpAddr>)> {
    (stranger(), vec(any::<[u8; 3]>().prop_map(|[b, c, d]| IpAddr::from([10, b, c, d])), 0..5))
}

fn node(address: IpAddr, port: Option<u16>) -> String {
    match (address, port) {
        (IpAddr::V6(address), Some(port)) => format!("[{address}]:{port}"),
        (address, Some(port)) => format!("{address}:{port}"),
        (address, None) => address.to_string(),
    }
}

/// The `Forwarded` element of a proxy that also passes on a host chosen by the client, quoted as
/// required.
fn element(address: IpAddr, port: Option<u16>, host: &str) -> String {
    let host = host.replace('\\', "\\\\").replace('"', "\\\"");
    format!("proto=https;for=\"{}\";host=\"{host}\"", node(address, port))
}

proptest! {
    #[test]
    fn entries_that_a_client_prepends_do_not_change_its_address(
        sent in sent(),
        (client, proxies) in chain(),
        ports in vec(any::<Option<u16>>(), 6),
        own_lines in vec(any::<bool>(), 6),
        host in "[\"\\\\,;= a-z]{0,12}",
    ) {
        let peer = Some(ip(BALANCER));
        let hops = TrustedProxies::hops(u8::try_from(proxies.len() + 1).unwrap());
        let seen = || [client].into_iter().chain(proxies.clone()).zip(ports.clone());
        let entries = |write: &dyn Fn(IpAddr, Option<u16>) -> String| {
            let entries = seen().map(|(address, port)| write(address, port));
            entries.zip(own_lines.clone()).collect::<Vec<_>>()
        };
        for trusted in [ours(), hops] {
            let lines = pass_on(&sent, &entries(&node));
            let found = ClientIp::x_forwarded_for(trusted.clone()).find(peer, &from_bytes(XFF, &lines));
            prop_assert_eq!(found, Some(client));

            let lines = pass_on(&sent, &entries(&|address, port| element(address, port, &host)));
            let found = ClientIp::forwarded(trusted).find(peer, &from_bytes(FORWARDED, &lines));
            prop_assert_eq!(found, Some(client));
        }
    }

    #[test]
    fn no_bytes_cause_a_panic_and_a_known_peer_stays_known(
        lines in sent(),
        peer in any::<Option<IpAddr>>(),
        address in any::<IpAddr>(),
        bits in any::<u8>(),
        hops in any::<u8>(),
    ) {
        for trusted in [TrustedProxies::hops(hops), TrustedProxies::networks(["0.0.0.0/0", "::/0"]).unwrap()] {
            for source in [
                ClientIp::peer(),
                ClientIp::x_forwarded_for(trusted.clone()),
                ClientIp::forwarded(trusted.clone()),
                ClientIp::header(XFF, trusted.clone()),
                ClientIp::header("CloudFront-Viewer-Address", trusted.clone()),
            ] {
                let source = source.ipv6_prefix(bits);
                let name = match &source.source {
                    Source::Report(report) if report.header == FORWARDED => FORWARDED,
                    Source::Report(Report { form: Form::AddressBeforePort, .. }) => {
                        "cloudfront-viewer-address"
                    }
                    Source::Misnamed(_) | Source::Peer | Source::Report(_) => XFF,
                };
                let headers = from_bytes(name, &lines);
                let found = source.find(peer, &headers);
                prop_assert_eq!(found.is_some(), peer.is_some());
                prop_assert_eq!(found.map(|found| found.to_canonical()), found);
                let network = source.network(address);
                prop_assert_eq!(source.network(network), network);
                let _ = source.suspect(peer, &headers);
            }
        }
    }

    #[test]
    fn the_walk_agrees_with_splitting_the_joined_lines(
        lines in vec(vec(prop::sample::select(&ENTRIES[..]), 1..4), 0..4),
    ) {
        let lines: Vec<Vec<u8>> = lines.iter().map(|entries| entries.join(",").into_bytes()).collect();
        let joined = lines.join(&b","[..]);
        let joined = String::from_utf8(joined).unwrap();
        let mut expected = ip(BALANCER);
        for entry in joined.rsplit(',') {
            let Ok(address) = entry.trim().parse::<IpAddr>() else { break };
            expected = address;
            if !entry.trim().starts_with("10.") {
                break;
            }
        }
        let found = ClientIp::x_forwarded_for(ours()).find(Some(ip(BALANCER)), &from_bytes(XFF, &lines));
        prop_assert_eq!(found, Some(expected));
    }
}

const ENTRIES: [&str; 8] =
    ["10.0.0.2", " 10.0.0.3", "10.9.0.4 ", " 8.8.8.8", "2001:db8::7", "unknown", "", " 10.0.0.5 "];
