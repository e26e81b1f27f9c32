//! One entry of a header that proxies write: an element of `Forwarded` (RFC 7239 section 4), such as
//! `for="[2001:db8::1]";proto=https`, and an address in it, with or without a port, which section 6
//! calls a node.

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

/// Where the last element of a list begins: after this comma. `None` if there is no other element.
///
/// A comma in a quoted string separates nothing. Read from the end, a quotation mark closes a
/// string, and the next one opens it unless a backslash stands before it: where a string opens,
/// there stands an equals sign. So what a proxy has written is read as it was meant, whatever
/// somebody has opened to the left of it and not closed.
pub(super) fn last_comma(list: &[u8]) -> Option<usize> {
    let mut in_string = false;
    (0..list.len()).rev().find(|&at| match list[at] {
        b'"' if !(in_string && list[..at].ends_with(b"\\")) => {
            in_string = !in_string;
            false
        }
        b',' => !in_string,
        _ => false,
    })
}

/// The value of the `for` parameter. `None` if the element is malformed, or has none, or two.
///
/// The colons and brackets of an address need quotes, which some proxies leave out; that is let
/// pass. An escaped character in an address is not: no proxy writes one.
pub(super) fn forwarded_for(element: &[u8]) -> Option<&[u8]> {
    let mut found = None;
    let mut rest = element;
    while let Some(start) = rest.iter().position(|byte| !b"; \t".contains(byte)) {
        let (name, value, after) = first_pair(&rest[start..])?;
        if name.eq_ignore_ascii_case(b"for") && found.replace(value).is_some() {
            return None;
        }
        rest = after;
    }
    found
}

/// The name, the value, and what comes after: nothing, or a semicolon and so on. A quotation mark
/// or a comma outside of a string is none of these.
fn first_pair(text: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let equals = text.iter().position(|byte| *byte == b'=')?;
    let (name, value) = (&text[..equals], &text[equals + 1..]);
    let (value, after) = match value.strip_prefix(b"\"") {
        Some(string) => {
            let end = end_of_string(string)?;
            (&string[..end], string[end + 1..].trim_ascii_start())
        }
        None => {
            let end = value.iter().position(|byte| b"\",;".contains(byte)).unwrap_or(value.len());
            (&value[..end], &value[end..])
        }
    };
    let is_well_formed = is_token(name) && matches!(after, [] | [b';', ..]);
    is_well_formed.then_some((name, value, after))
}

/// Where a quoted string ends that begins before the text (RFC 9110 section 5.6.4).
fn end_of_string(text: &[u8]) -> Option<usize> {
    let mut is_escaped = false;
    text.iter().position(|byte| {
        let is_end = *byte == b'"' && !is_escaped;
        is_escaped = *byte == b'\\' && !is_escaped;
        is_end
    })
}

fn is_token(text: &[u8]) -> bool {
    let is_token_byte =
        |byte: &u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte);
    !text.is_empty() && text.iter().all(is_token_byte)
}
