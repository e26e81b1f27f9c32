//! One entry of a forwarding header, and the address in it.
//!
//! An entry of `X-Forwarded-For` is a *node* (RFC 7239 section 6): an address with or without a
//! port. An element of `Forwarded` (RFC 7239 section 4), such as `for="[2001:db8::1]";proto=https`,
//! contains a node as the value of `for`.
//!
//! The parsers accept what real proxies write, such as an IPv6 address without the required quotes.
//! The parsers do not guess: an entry in any other form is not treated as an address, and ends the
//! walk along the chain. All parsers work on bytes, copy nothing, and run in linear time.

use std::net::{IpAddr, Ipv6Addr};

/// Returns the address of a node such as `192.0.2.7`, `192.0.2.7:80`, `2001:db8::1`,
/// `[2001:db8::1]` or `[2001:db8::1]:80`.
///
/// Returns `None` for anything else, such as `unknown`, an obfuscated name (`_gateway`), or an
/// address with a zone identifier, which is meaningful only on the sender's machine.
pub(super) fn address(node: &[u8]) -> Option<IpAddr> {
    let node = text(node)?;
    match node.rsplit_once(':') {
        // Without brackets, the last of several colons is part of an IPv6 address.
        Some((host, port)) if host.ends_with(']') || !host.contains(':') => with_port(host, port),
        _ => without_port(node),
    }
}

/// Returns the address before the last colon. The port is required, so `2001:db8::1:443` is read as
/// `2001:db8::1` with port 443. `CloudFront-Viewer-Address` uses this notation.
pub(super) fn address_before_port(node: &[u8]) -> Option<IpAddr> {
    let (host, port) = text(node)?.rsplit_once(':')?;
    with_port(host, port)
}

/// Returns the node as a string without surrounding whitespace, or `None` if the node is too long
/// or not UTF-8.
fn text(node: &[u8]) -> Option<&str> {
    let node = node.trim_ascii();
    if node.len() > MAX_NODE_LEN {
        return None;
    }
    str::from_utf8(node).ok()
}

/// Returns the address of a host if its port is valid. A valid port has 1 to 5 digits, or is
/// obfuscated.
fn with_port(host: &str, port: &str) -> Option<IpAddr> {
    let is_port = match port.strip_prefix('_') {
        // RFC 7239 section 6 allows an obfuscated port after an address that is not obfuscated.
        Some(name) => name.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b)),
        None => (1..=5).contains(&port.len()) && port.bytes().all(|byte| byte.is_ascii_digit()),
    };
    is_port.then(|| without_port(host))?
}

/// Parses an address into its canonical form. Only an IPv6 address may have brackets.
fn without_port(host: &str) -> Option<IpAddr> {
    let address = match host.strip_prefix('[') {
        Some(bracketed) => IpAddr::V6(bracketed.strip_suffix(']')?.parse::<Ipv6Addr>().ok()?),
        None => host.parse::<IpAddr>().ok()?,
    };
    // The IPv4-mapped IPv6 notation of a client's IPv4 address must not give the client a second
    // key.
    Some(address.to_canonical())
}

/// The maximum length of a node that is parsed, in bytes without surrounding whitespace. The
/// longest IPv6 address in brackets with a numeric port is 53 bytes long.
const MAX_NODE_LEN: usize = 64;

/// Returns the index of the comma before the last element of a list, or `None` if the list has only
/// one element.
///
/// A comma in a quoted string is not a separator. The list is read from its end, so the first
/// quotation mark closes a string, and the next one opens the string unless it follows a backslash.
/// An opening quotation mark never follows a backslash, because it follows an equals sign. An
/// element that a proxy wrote is therefore always found, even if the client has left a string
/// unterminated to the left of the element.
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

/// Returns the value of the `for` parameter, without quotes. Returns `None` if the element is
/// malformed or does not have exactly one `for` parameter.
///
/// An address with colons or brackets requires quotes. Some proxies omit the quotes, so an address
/// without quotes is accepted. An escaped character in an address is not accepted, since no proxy
/// writes one. The backslash of the escape stays in the value, which is then not an address.
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

/// Splits off the first parameter, and returns its name, its value and the rest of `text`. The rest
/// is empty or begins with a semicolon. Returns `None` if the name is not a token, or if anything
/// but a semicolon follows the value, such as a quotation mark or a comma outside a string.
fn first_pair(text: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let equals = text.iter().position(|byte| *byte == b'=')?;
    let name = &text[..equals];
    let value = &text[equals + 1..];
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

/// Returns the index of the closing quotation mark of a string whose opening mark precedes `text`
/// (RFC 9110 section 5.6.4).
fn end_of_string(text: &[u8]) -> Option<usize> {
    let mut is_escaped = false;
    text.iter().position(|byte| {
        let is_end = *byte == b'"' && !is_escaped;
        is_escaped = *byte == b'\\' && !is_escaped;
        is_end
    })
}

/// Returns whether `text` is a token (RFC 9110 section 5.6.2).
fn is_token(text: &[u8]) -> bool {
    let is_token_byte =
        |byte: &u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte);
    !text.is_empty() && text.iter().all(is_token_byte)
}
