//! Conditions of a limit from a file: the values that parts of a request must or must not have.
//!
//! A rule in a rules file limits the requests that match all of its entries, such as the method
//! `POST` and the path `/login`. Each entry becomes one [`Condition`]. Limits that are defined in
//! code use closures and [`Matcher`]s instead. Conditions on a method or a path use the same
//! matchers, so limits from code and from a file agree on which requests they cover.
//!
//! Values are checked when the file is read. A rule that no request can match would give a false
//! impression of protection, so a value that no request can have is an error.

use std::{cell::LazyCell, sync::Arc};

use http::Method;
use ipnet::IpNet;

use crate::request::{Caller, Doubt, Matcher, Part, PathRule, is_field, network as network_of};

/// A condition on one part of a request: the values that the part may have, and the values that it
/// must not have.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Condition {
    /// The part of the request to which the condition applies: an address, a method, a header, …
    pub(crate) part: Part,
    /// The accepted values. An empty list accepts every value, and even a missing part, which the
    /// [`MissingKey`](crate::request::MissingKey) of the limit handles.
    pub(crate) is: Arc<[Literal]>,
    /// The excluded values, which belong to neighboring rules that apply instead of this rule.
    pub(crate) is_not: Arc<[Literal]>,
}

impl Condition {
    /// Returns whether every request satisfies this condition.
    pub(crate) fn is_trivial(&self) -> bool {
        self.is.is_empty() && self.is_not.is_empty()
    }

    /// Returns whether a request satisfies this condition.
    ///
    /// Servers may interpret the same path in different ways. A required path matches if any
    /// reading matches, but an excluded path matches only if every reading matches, so no spelling
    /// evades a limit.
    ///
    /// A missing part matches no literal: it does not satisfy a condition that requires a value,
    /// but it satisfies a condition that only excludes values. This method is not called for a
    /// condition on an address if the request's address is unknown. The method that finds the key
    /// of a policy handles such requests separately.
    pub(crate) fn holds(&self, caller: &Caller<'_>) -> bool {
        // Literals that are networks or matchers are tested against the request itself. Reading the
        // part as a string may allocate, so the string is read only if there is a literal to
        // compare it with.
        let text = LazyCell::new(|| self.part.value(caller));
        let has = |literal: &Literal, doubt| match &literal.test {
            Test::Address(network) => {
                caller.head.client_ip().is_some_and(|address| network.contains(&address))
            }
            Test::Request(matcher) => matcher.covers(&caller.head, doubt),
            Test::Text => text.as_deref() == Some(literal.as_str().as_bytes()),
        };
        (self.is.is_empty() || self.is.iter().any(|literal| has(literal, Doubt::Covered)))
            && !self.is_not.iter().any(|literal| has(literal, Doubt::Exempt))
    }
}

/// A value in a rule, with a test for whether a request has this value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Literal {
    /// The value in canonical notation, so that two notations of one network are the same literal.
    text: String,
    /// The test that is applied to a request, as determined by the key and the value.
    pub(crate) test: Test,
}

/// The way in which a request is compared with a [`Literal`].
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Test {
    /// Tests whether the client's address is in this network. The full address is compared, even
    /// for IPv6, although a [`Key`](crate::Key) contains only the network of an IPv6 client.
    Address(IpNet),
    /// Tests whether the matcher covers the request. Limits from code use the same matchers.
    Request(Matcher),
    /// Compares the part with the literal's string, byte by byte.
    Text,
}

impl Literal {
    /// Parses a value of the given key.
    ///
    /// # Errors
    ///
    /// If no request can have the given value, returns a description of the values that are valid
    /// for this key.
    pub(crate) fn new(part: &Part, text: String) -> Result<Self, String> {
        match part {
            Part::Address => {
                let network = network_of(&text);
                let network = network.map_err(|error| error.expected().to_owned())?;
                Ok(Self { text: shown(&network), test: Test::Address(network) })
            }
            // Methods are case-sensitive (RFC 9110 section 9.1). The standard methods are in upper
            // case, so `post` is treated as a mistake, not as a different method.
            Part::Method => match Method::from_bytes(text.as_bytes()) {
                Ok(method)
                    if !text.bytes().any(|byte| byte.is_ascii_lowercase() || byte == b'*') =>
                {
                    Ok(Self { text, test: Test::Request(Matcher::Method(method)) })
                }
                _ => Err("the name of a method in upper case, such as POST".to_owned()),
            },
            Part::Path if is_path(&text) => {
                let rule = match text.strip_suffix('*') {
                    Some(prefix) if prefix.ends_with('/') => PathRule::prefix(prefix.to_owned()),
                    Some(_) | None => PathRule::exact(text.clone()),
                };
                Ok(Self { text, test: Test::Request(Matcher::Path(rule)) })
            }
            Part::Path => Err(PATH.to_owned()),
            Part::Everyone => Err("no value, because all requests share this key".to_owned()),
            Part::Visitor => Err("no value, because a rule cannot name a visitor".to_owned()),
            Part::By(..) | Part::Cookie(_) | Part::Header(_) if text.ends_with('*') => {
                Err("a whole value, because only a path may end with '*'".to_owned())
            }
            // A semicolon ends the value of a cookie (RFC 6265 section 4.2.1).
            Part::Cookie(_) if !is_field(&text) || text.contains(';') => {
                Err("the value of a cookie".to_owned())
            }
            Part::Header(_) if !is_field(&text) => Err("the value of a header".to_owned()),
            // A closure that the application supplies may return any string.
            Part::By(..) | Part::Cookie(_) | Part::Header(_) => Ok(Self { text, test: Test::Text }),
        }
    }

    /// Parses a prefix of paths. The prefix `/reports/` is the same as the path `/reports/*`.
    ///
    /// # Errors
    ///
    /// If no path can begin with the given prefix, returns a description of the valid prefixes.
    pub(crate) fn path_prefix(prefix: String) -> Result<Self, String> {
        if prefix.ends_with('*') || !is_path(&prefix) {
            return Err(PREFIX.to_owned());
        }
        let text = format!("{prefix}*");
        Ok(Self { text, test: Test::Request(Matcher::Path(PathRule::prefix(prefix))) })
    }

    /// Returns the value in canonical notation.
    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }
}

/// Formats a network in CIDR notation, or as a bare address if it consists of a single address.
fn shown(network: &IpNet) -> String {
    if network.prefix_len() == network.max_prefix_len() {
        network.addr().to_string()
    } else {
        network.to_string()
    }
}

/// Returns whether the target of a request can have this path (the origin form of RFC 9112 section
/// 3.2.1, without its query).
fn is_path(text: &str) -> bool {
    let path = text.strip_suffix("/*").unwrap_or(text);
    text.starts_with('/')
        && path.bytes().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'?' | b'#' | b'*'))
}

/// The description of a valid prefix, for error messages.
const PREFIX: &str =
    "the beginning of a path, such as /reports/, in printable ASCII and without a query or '*'";

/// The description of a valid path, for error messages.
const PATH: &str = "a path that starts with '/', in printable ASCII and without a query, and '*' only as '/*' at its end";
