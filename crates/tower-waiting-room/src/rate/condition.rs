//! What a rules file demands of a request.

use std::sync::Arc;

use http::{HeaderValue, Method};
use ipnet::IpNet;

use crate::request::{Caller, Doubt, Matcher, Part, PathRule, network as network_of};

/// What a part of a request has to be, by a rules file.
#[derive(Clone, Debug)]
pub(crate) struct Condition {
    pub(crate) part: Part,
    /// This; or anything, if it is there.
    pub(crate) is: Option<Literal>,
    /// None of these.
    pub(crate) is_not: Arc<[Literal]>,
}

impl Condition {
    /// Whether a request is as demanded. A path that not every reader takes for the same is every
    /// path that it may be, and escapes nothing by being one of them.
    ///
    /// Without a value it is none of those excepted; what then holds, the limit's `missing_key`
    /// says. A request whose address is unknown is not asked about its address.
    pub(crate) fn holds(&self, caller: &Caller<'_>) -> bool {
        // An address is compared as one, and not worth a text.
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

/// A value that a rule names.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Literal {
    /// In one notation for each meaning.
    text: String,
    pub(crate) test: Test,
}

/// How a request is found to have a value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Test {
    /// The whole address of the client is in this network.
    Address(IpNet),
    /// As rules in code find it.
    Request(Matcher),
    /// It is this text, byte by byte.
    Text,
}

impl Literal {
    /// A value of this key; or what would be one. What no request can have is none: a rule about
    /// it would look as if it protected something.
    pub(crate) fn new(key: &str, text: String) -> Result<Self, String> {
        match key {
            "remote_address" => {
                let network = network_of(&text);
                let network = network.map_err(|error| error.expected().to_owned())?;
                Ok(Self { text: shown(&network), test: Test::Address(network) })
            }
            "method" => match Method::from_bytes(text.as_bytes()) {
                Ok(method) if !text.bytes().any(|byte| byte.is_ascii_lowercase()) => {
                    Ok(Self { text, test: Test::Request(Matcher::Method(method)) })
                }
                _ => Err("the name of a method in upper case, as POST".to_owned()),
            },
            "path" if is_path(&text) => Ok(Self {
                text: text.clone(),
                test: Test::Request(Matcher::Path(PathRule::exact(text))),
            }),
            "path" => Err(PATH.to_owned()),
            "visitor" => Err("no value, since visitors have no names".to_owned()),
            _ => match key.split_once('.') {
                Some(("cookie", _)) if !is_field(&text) || text.contains(';') => {
                    Err("the value of a cookie".to_owned())
                }
                Some(("header", _)) if !is_field(&text) => Err("the value of a header".to_owned()),
                _ => Ok(Self { text, test: Test::Text }),
            },
        }
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }
}

/// A network, or an address alone if it is one.
fn shown(network: &IpNet) -> String {
    if network.prefix_len() == network.max_prefix_len() {
        network.addr().to_string()
    } else {
        network.to_string()
    }
}

fn is_path(text: &str) -> bool {
    text.starts_with('/')
        && text.bytes().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'?' | b'#'))
}

/// Whether a field of a header can have this value, which is without the spaces around it
/// (RFC 9110 section 5.5).
fn is_field(text: &str) -> bool {
    HeaderValue::from_bytes(text.as_bytes()).is_ok() && text.trim_ascii() == text
}

const PATH: &str = "a path as requests have it: from '/' on, in printable ASCII, without a query";
