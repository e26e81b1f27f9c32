mod properties;
mod rules;
mod set_up;

use http::HeaderValue;

use super::*;

const XFF: &str = "x-forwarded-for";
const FORWARDED: &str = "forwarded";

/// The balancer, which is the peer of almost every request in these tests.
const BALANCER: &str = "10.0.0.1";

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

fn headers(name: &'static str, lines: &[&str]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for line in lines {
        headers.append(name, HeaderValue::from_bytes(line.as_bytes()).unwrap());
    }
    headers
}

fn ours() -> TrustedProxies {
    TrustedProxies::networks(["10.0.0.0/8", "2001:db8:aaaa::/48"]).unwrap()
}

/// Returns the client of a request that the balancer sends with these lines of the header `name`.
#[track_caller]
fn client(client_ip: &ClientIp, name: &'static str, lines: &[&str]) -> String {
    client_ip.validate().unwrap();
    client_ip.find(Some(ip(BALANCER)), &headers(name, lines)).unwrap().to_string()
}

#[track_caller]
fn by_xff(lines: &[&str]) -> String {
    client(&ClientIp::x_forwarded_for(ours()), XFF, lines)
}

#[track_caller]
fn by_forwarded(lines: &[&str]) -> String {
    client(&ClientIp::forwarded(ours()), FORWARDED, lines)
}
