//! One address in a header, with or without a port: what RFC 7239 section 6 calls a node.

use std::net::{IpAddr, Ipv6Addr};

/// The address in `192.0.2.7`, `192.0.2.7:80`, `2001:db8::1`, `[2001:db8::1]` and
/// `[2001:db8::1]:80`.
///
/// `None` for everything else, such as `unknown`, a name (`_gateway`), or an address with a zone,
/// which means something on the sender's machine only.
pub(super) fn address(node: &[u8]) -> Option<IpAddr> {
    let node = text(node)?;
    match node.rsplit_once(':') {
        // Any other colon is part of an IPv6 address.
        Some((host, port)) if host.ends_with(']') || !host.contains(':') => with_port(host, port),
        _ => without_port(node),
    }
}

/// The address before the last colon, which must be there: `2001:db8::1:443` is `2001:db8::1`.
pub(super) fn address_before_port(node: &[u8]) -> Option<IpAddr> {
    let (host, port) = text(node)?.rsplit_once(':')?;
    with_port(host, port)
}

fn text(node: &[u8]) -> Option<&str> {
    let node = node.trim_ascii();
    if node.len() > MAX_NODE_LEN {
        return None;
    }
    str::from_utf8(node).ok()
}

fn with_port(host: &str, port: &str) -> Option<IpAddr> {
    let is_port = match port.strip_prefix('_') {
        // A port may be obfuscated while the address is not.
        Some(name) => name.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b)),
        None => (1..=5).contains(&port.len()) && port.bytes().all(|byte| byte.is_ascii_digit()),
    };
    is_port.then(|| without_port(host))?
}

fn without_port(host: &str) -> Option<IpAddr> {
    let address = match host.strip_prefix('[') {
        Some(bracketed) => IpAddr::V6(bracketed.strip_suffix(']')?.parse::<Ipv6Addr>().ok()?),
        None => host.parse::<IpAddr>().ok()?,
    };
    // The same client in IPv4 and in IPv4-mapped IPv6 notation is the same client.
    Some(address.to_canonical())
}

/// How long an address may be with everything around it.
const MAX_NODE_LEN: usize = 64;
