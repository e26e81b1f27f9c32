//! Conditions of a rules file: values that parts of a request must have, or must not have.
//!
//! A rule in a rules file limits the requests that match all of its entries, such as the method
//! `POST` and the path `/login`. Each entry becomes one [`Condition`]. Limits that are written in
//! code use closures and [`Matcher`]s instead. Conditions on a method or a path go through the same
//! matchers, so both kinds of limits agree about which requests they cover.
//!
//! Values are checked when the file is read. A rule that no request can match would look as if it
//! protected something, so its value is an error in the file.

use std::sync::Arc;

use http::{HeaderValue, Method};
use ipnet::IpNet;

use crate::request::{Caller, Doubt, Matcher, Part, PathRule, network as network_of};

/// The values that one part of a request must have, according to a rules file.
#[derive(Clone, Debug)]
pub(crate) struct Condition {
    /// The part that is compared: an address, a method, a header, …
    pub(crate) part: Part,
    /// The required value. `None` accepts every value, and also a part that is missing: the
    /// [`MissingKey`](crate::request::MissingKey) of the limit decides about that.
    pub(crate) is: Option<Literal>,
    /// Excluded values: those that neighbouring rules name, which then apply in place of this one.
    pub(crate) is_not: Arc<[Literal]>,
}

impl Condition {
    /// Returns whether a request satisfies this condition.
    ///
    /// Servers may read one path in several ways. A required path holds if any reader may arrive
    /// at it, and an excluded path only if every reader does, so no spelling escapes a limit.
    ///
    /// A missing part equals no literal: a required value then fails, and an excluded value does
    /// not. Conditions on an address are not evaluated for a request whose address is unknown;
    /// the key of a policy treats such a request by itself.
    pub(crate) fn holds(&self, caller: &Caller<'_>) -> bool {
        // Addresses and matchers look at the request itself. The text of the part may cost an
        // allocation, so it is made only if a literal is compared as text. All literals of one part
        // have the same kind of test, so looking at the first exclusion is enough.
        let is_text = |literal: &Literal| literal.test == Test::Text;
        let has_text = self.is.iter().chain(self.is_not.first()).any(is_text);
        let text = has_text.then(|| self.part.value(caller)).flatten();
        let has = |literal: &Literal, doubt| match &literal.test {
            Test::Address(network) => {
                caller.head.client_ip().is_some_and(|it| network.contains(&it))
            }
            Test::Request(matcher) => matcher.covers(&caller.head, doubt),
            Test::Text => text.as_deref() == Some(literal.as_str().as_bytes()),
        };
        self.is.as_ref().is_none_or(|it| has(it, Doubt::Covered))
            && !self.is_not.iter().any(|it| has(it, Doubt::Exempt))
    }
}

/// A value that a rule names, with the test that finds it in a request.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Literal {
    /// The value in canonical notation, so that two notations of one network are the same literal.
    text: String,
    /// The comparison with a request, which follows from the key and the value.
    pub(crate) test: Test,
}

/// How a request is compared with a [`Literal`].
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Test {
    /// The address of the client lies in this network. The full address is compared, also of IPv6,
    /// where a [`Key`](crate::Key) knows only the network of the client.
    Address(IpNet),
    /// The matcher covers the request. Limits from code use the same matchers.
    Request(Matcher),
    /// The part equals the text of the literal, byte by byte.
    Text,
}

impl Literal {
    /// Parses a value of the given key.
    ///
    /// # Errors
    ///
    /// A description of what a value of this key looks like, if no request can have this one.
    pub(crate) fn new(key: &str, text: String) -> Result<Self, String> {
        match key {
            "remote_address" => {
                let network = network_of(&text);
                let network = network.map_err(|error| error.expected().to_owned())?;
                Ok(Self { text: shown(&network), test: Test::Address(network) })
            }
            // Methods are case-sensitive (RFC 9110 section 9.1). The standard ones are in upper
            // case, so `post` is taken for a mistake, and not for a method of its own.
            "method" => match Method::from_bytes(text.as_bytes()) {
                Ok(method) if !text.bytes().any(|byte| byte.is_ascii_lowercase()) => {
                    Ok(Self { text, test: Test::Request(Matcher::Method(method)) })
                }
                _ => Err("the name of a method in upper case, such as POST".to_owned()),
            },
            "path" if is_path(&text) => Ok(Self {
                text: text.clone(),
                test: Test::Request(Matcher::Path(PathRule::exact(text))),
            }),
            "path" => Err(PATH.to_owned()),
            "visitor" => Err("no value, since visitors have no names".to_owned()),
            _ => match key.split_once('.') {
                // A semicolon ends the value of a cookie (RFC 6265 section 4.2.1).
                Some(("cookie", _)) if !is_field(&text) || text.contains(';') => {
                    Err("the value of a cookie".to_owned())
                }
                Some(("header", _)) if !is_field(&text) => Err("the value of a header".to_owned()),
                // The key is a closure of the application, which may return any text.
                _ => Ok(Self { text, test: Test::Text }),
            },
        }
    }

    /// The value in canonical notation.
    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }
}

/// Formats a network in CIDR notation, or as a bare address if it holds only one.
fn shown(network: &IpNet) -> String {
    if network.prefix_len() == network.max_prefix_len() {
        network.addr().to_string()
    } else {
        network.to_string()
    }
}

/// Whether the target of a request can have this path (the origin form of RFC 9112 section 3.2.1,
/// without its query).
fn is_path(text: &str) -> bool {
    text.starts_with('/')
        && text.bytes().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'?' | b'#'))
}

/// Whether a header field can have this value. Whitespace around a value is not part of it
/// (RFC 9110 section 5.5), so a value with such whitespace matches no request.
fn is_field(text: &str) -> bool {
    HeaderValue::from_bytes(text.as_bytes()).is_ok() && text.trim_ascii() == text
}

/// The form that a path must have, for error messages.
const PATH: &str = "a path that starts with '/', in printable ASCII and without a query";
