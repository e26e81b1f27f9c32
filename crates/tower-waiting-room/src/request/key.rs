//! By what requests are told apart: the key of a rate limit.

use std::{borrow::Cow, fmt, net::IpAddr, sync::Arc};

use http::{HeaderName, HeaderValue, header};
use serde::Deserialize;
use waiting_room_core::{ConfigError, ConfigErrorKind, KeyHash, KeyHasher, VisitorId};

use super::{client_ip::ClientIp, head::RequestHead};
use crate::ambient::random_bytes;

/// By what a rate limit tells clients apart.
///
/// Requests with the same key share what the limit allows. Keys are remembered as hashes alone.
///
/// ```
/// use tower_waiting_room::Key;
///
/// let by_user_and_method = Key::from_fn("user", |head| {
///     head.extensions().get::<String>().cloned()
/// })
/// .and(Key::method());
/// assert_eq!(by_user_and_method.to_string(), "user+method");
/// ```
#[derive(Clone, PartialEq)]
pub struct Key(Vec<Part>);

/// One thing to tell requests apart by.
#[derive(Clone)]
pub(crate) enum Part {
    Address,
    By(Cow<'static, str>, Arc<Closure>),
    Cookie(String),
    Everyone,
    Header(String),
    Method,
    Path,
    Visitor,
}

type Closure = dyn Fn(&RequestHead<'_>) -> Option<String> + Send + Sync;

impl Key {
    /// The address of the client: as far as [`ClientIp`] can tell, an IPv4 address or the network
    /// of an IPv6 one.
    #[must_use]
    pub fn address() -> Self {
        Self(vec![Part::Address])
    }

    /// What a closure says; `None` for a request that it cannot tell. It must be quick: it sees
    /// every request.
    #[must_use]
    pub fn from_fn(
        name: impl Into<Cow<'static, str>>,
        closure: impl Fn(&RequestHead<'_>) -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        Self(vec![Part::By(name.into(), Arc::new(closure))])
    }

    /// The value of a cookie. Clients can make one up: put a limit by address beside it.
    #[must_use]
    pub fn cookie(name: impl Into<String>) -> Self {
        Self(vec![Part::Cookie(name.into())])
    }

    /// One key for all: a limit of the whole service.
    #[must_use]
    pub fn global() -> Self {
        Self(vec![Part::Everyone])
    }

    /// The value of a header; of several, the first. Clients can make one up: put a limit by
    /// address beside it.
    #[must_use]
    pub fn header(name: impl Into<String>) -> Self {
        Self(vec![Part::Header(name.into())])
    }

    /// The method.
    #[must_use]
    pub fn method() -> Self {
        Self(vec![Part::Method])
    }

    /// The path as this layer sees it: inside of axum's `nest`, without the prefix.
    #[must_use]
    pub fn path() -> Self {
        Self(vec![Part::Path])
    }

    /// The visitor, by the pass that the room has sealed; a copy of a pass counts as the pass.
    ///
    /// A request without a valid pass counts by the address of its client: one without a token, with
    /// a forged or an expired one, or in a layer without a room. One with a ticket counts when the
    /// room lets it in, by the pass that it gets. So no key is free: each pass takes a slot.
    ///
    /// ```
    /// use tower_waiting_room::{Key, Quota, RateLimit, WaitingRoomConfig};
    ///
    /// let config = WaitingRoomConfig::builder("shop")
    ///     .total_active_users(200)
    ///     .rate_limit(RateLimit::new("visitor", Quota::per_minute(60), Key::visitor()))
    ///     .build()?;
    /// # Ok::<(), tower_waiting_room::ConfigError>(())
    /// ```
    #[must_use]
    pub fn visitor() -> Self {
        Self(vec![Part::Visitor])
    }

    /// This and that: requests share a key if they share both.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }

    /// The hash of a request's key; `None` if a part of it is missing.
    pub(crate) fn hash(&self, caller: &Caller<'_>) -> Option<KeyHash> {
        let (first, others) = self.0.split_first()?;
        let key = others.iter().try_fold(first.hash(caller)?, |so_far, part| {
            Some(caller.hasher.hash(&(so_far, part.hash(caller)?)))
        })?;
        match others {
            [_, ..] if self.needs_address() => Some(key.of_network(caller.wide_network_hash()?)),
            _ => Some(key),
        }
    }

    /// The key of a request, or what is to be done without.
    pub(crate) fn find(&self, missing: MissingKey, caller: &Caller<'_>) -> Found {
        if let Some(key) = self.hash(caller) {
            return Found::Key(key);
        }
        if self.needs_address() && caller.address_hash().is_none() {
            return Found::Stranger;
        }
        match missing {
            MissingKey::Bypass => Found::Bypass,
            MissingKey::Refuse => Found::Refuse,
            MissingKey::Address => match caller.address_hash() {
                // Apart from every key that is an address itself.
                Some(address) => {
                    let key = caller.hasher.hash(&("missing", address));
                    let network = caller.wide_network_hash();
                    Found::Key(network.map_or(key, |network| key.of_network(network)))
                }
                None => Found::Stranger,
            },
        }
    }

    /// Whether clients can have as many keys as they like. One part is enough: requests share a
    /// key only if they share all of its parts.
    pub(crate) fn can_be_made_up(&self) -> bool {
        self.0.iter().any(Part::can_be_made_up)
    }

    /// Whether clients have as many keys as they have addresses, or slots in the room.
    pub(crate) fn is_by_address(&self) -> bool {
        self.needs_address() && !self.can_be_made_up()
    }

    /// Whether there are requests that do not have it, apart from those without an address.
    pub(crate) fn can_be_missing(&self) -> bool {
        self.0.iter().any(|part| matches!(part, Part::By(..) | Part::Cookie(_) | Part::Header(_)))
    }

    /// Whether all requests have the same.
    pub(crate) fn is_constant(&self) -> bool {
        self.0.iter().all(|part| *part == Part::Everyone)
    }

    /// Whether the address of the client is a part of it, or takes the place of one.
    pub(crate) fn needs_address(&self) -> bool {
        self.0.iter().any(|part| matches!(part, Part::Address | Part::Visitor))
    }

    pub(crate) fn validate(&self, limit: &str) -> Result<(), ConfigError> {
        let wrong = |given: &str, expected: &str| {
            let given = format!("{given:?} in the limit {limit:?}");
            Err(ConfigError::new(ConfigErrorKind::Malformed, "key", given, expected))
        };
        if self.0.len() > Self::MAX_PARTS {
            return wrong(&self.to_string(), "at most 8 parts");
        }
        self.0.iter().try_for_each(|part| match part {
            Part::Header(name) if HeaderName::try_from(name.as_str()).is_err() => {
                wrong(name, "the name of a header")
            }
            Part::Cookie(name) if name.is_empty() => wrong(name, "the name of a cookie"),
            Part::By(name, _) if name.is_empty() => wrong(name, "a name"),
            _ => Ok(()),
        })
    }

    const MAX_PARTS: usize = 8;
}

impl Part {
    /// The part of a key that a rules file calls so.
    pub(crate) fn named(name: &str) -> Option<Self> {
        match name.split_once('.') {
            None => Some(match name {
                "method" => Self::Method,
                "path" => Self::Path,
                "remote_address" => Self::Address,
                "visitor" => Self::Visitor,
                _ => return None,
            }),
            Some(("cookie", cookie)) if !cookie.is_empty() => Some(Self::Cookie(cookie.to_owned())),
            Some(("header", header)) => {
                HeaderName::try_from(header).ok().map(|_| Self::Header(header.to_owned()))
            }
            Some(_) => None,
        }
    }

    /// Whether clients can send another one with every request. A method may be any word
    /// (RFC 9110 section 9.1).
    fn can_be_made_up(&self) -> bool {
        matches!(self, Self::Cookie(_) | Self::Header(_) | Self::Method | Self::Path)
    }

    /// What the application has called it.
    pub(crate) fn name(&self) -> Option<&str> {
        match self {
            Self::By(name, _) => Some(name),
            _ => None,
        }
    }

    fn hash(&self, caller: &Caller<'_>) -> Option<KeyHash> {
        match self {
            Self::Address => caller.address_hash(),
            Self::Everyone => Some(caller.hasher.hash(&())),
            Self::Visitor => match caller.visitor {
                // Apart from every key that is an address.
                Some(visitor) => Some(caller.hasher.hash(&("visitor", visitor))),
                None => caller.address_hash(),
            },
            _ => self.value(caller).map(|value| caller.hasher.hash(&*value)),
        }
    }

    /// What this part of a request is, in bytes.
    pub(crate) fn value<'a>(&self, caller: &Caller<'a>) -> Option<Cow<'a, [u8]>> {
        let head = caller.head;
        Some(match self {
            Self::Address => Cow::Owned(head.network()?.to_string().into_bytes()),
            Self::By(_, closure) => Cow::Owned(closure(&head)?.into_bytes()),
            Self::Cookie(name) => Cow::Borrowed(cookie(&head, name)?),
            Self::Everyone => Cow::Borrowed(b""),
            Self::Header(name) => Cow::Borrowed(head.headers().get(name.as_str())?.as_bytes()),
            Self::Method => Cow::Borrowed(head.method().as_str().as_bytes()),
            Self::Path => Cow::Borrowed(head.uri().path().as_bytes()),
            Self::Visitor => Cow::Owned(match caller.visitor {
                Some(visitor) => visitor.bits().to_string().into_bytes(),
                None => head.network()?.to_string().into_bytes(),
            }),
        })
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address => f.write_str("address"),
            Self::By(name, _) => f.write_str(name),
            Self::Cookie(name) => write!(f, "cookie.{name}"),
            Self::Everyone => f.write_str("everyone"),
            Self::Header(name) => write!(f, "header.{name}"),
            Self::Method => f.write_str("method"),
            Self::Path => f.write_str("path"),
            Self::Visitor => f.write_str("visitor"),
        }
    }
}

impl fmt::Debug for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl PartialEq for Part {
    /// Closures are the same if they are one.
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::By(a, x), Self::By(b, y)) => a == b && Arc::ptr_eq(x, y),
            (Self::Cookie(a), Self::Cookie(b)) => a == b,
            (Self::Header(a), Self::Header(b)) => a.eq_ignore_ascii_case(b),
            _ => std::mem::discriminant(self) == std::mem::discriminant(other),
        }
    }
}

impl From<Vec<Part>> for Key {
    fn from(parts: Vec<Part>) -> Self {
        Self(parts)
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, part) in self.0.iter().enumerate() {
            f.write_str(if index > 0 { "+" } else { "" })?;
            write!(f, "{part}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({self})")
    }
}

/// What happens to a request without the key of a limit.
///
/// Only a hard limit refuses: a [soft or shadow](crate::OverLimit) one counts it as over the limit in the
/// metrics, and does not apply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum MissingKey {
    /// The address of the client takes the place of the key. Where that is unknown as well, the
    /// server is not set up for this limit: the request is answered with 500, and an error is logged
    /// that says how to mend it.
    #[default]
    Address,
    /// The limit does not apply.
    Bypass,
    /// It is answered with 429, by a problem document that names the limit, and without headers about
    /// a quota.
    Refuse,
}

/// The key of a request, if it has one.
pub(crate) enum Found {
    /// It has none, and is not limited.
    Bypass,
    /// This is it.
    Key(KeyHash),
    /// It has none, and is refused.
    Refuse,
    /// It has none, not even an address: the service is not set up for this limit.
    Stranger,
}

/// The hashes by which a layer tells clients apart, and the rules for their addresses.
pub(crate) struct Callers {
    hasher: KeyHasher,
    pub(crate) client_ip: ClientIp,
}

impl Callers {
    pub(crate) fn new(client_ip: ClientIp) -> Self {
        let seeds = std::array::from_fn(|_| u64::from_le_bytes(random_bytes()));
        Self { hasher: KeyHasher::new(seeds), client_ip }
    }

    /// The sender of a request, and the visitor of the pass in it.
    pub(crate) const fn of<'a>(
        &'a self,
        head: RequestHead<'a>,
        visitor: Option<VisitorId>,
    ) -> Caller<'a> {
        Caller { head, hasher: &self.hasher, visitor }
    }
}

/// A request, and what it takes to tell who sent it.
#[derive(Clone, Copy)]
pub(crate) struct Caller<'a> {
    pub(crate) head: RequestHead<'a>,
    pub(crate) hasher: &'a KeyHasher,
    /// By its pass; `None` if it has none.
    pub(crate) visitor: Option<VisitorId>,
}

impl Caller<'_> {
    /// The hash of the address of the client; `None` if the peer is unknown.
    pub(crate) fn address_hash(&self) -> Option<KeyHash> {
        let address = self.head.network()?;
        let hash = match address {
            IpAddr::V4(address) => self.hasher.hash(&address.to_bits()),
            IpAddr::V6(address) => self.hasher.hash(&address.to_bits()),
        };
        Some(hash.of_network(self.wide_hash(address)))
    }

    /// The hash of the network by which an address is judged that a table of keys has no place for.
    fn wide_network_hash(&self) -> Option<KeyHash> {
        Some(self.wide_hash(self.head.network()?))
    }

    /// A /16 of IPv4 or a /32 of IPv6, which is what a provider has at the least (RFC 3177 section 4,
    /// RFC 6177 section 2).
    fn wide_hash(&self, address: IpAddr) -> KeyHash {
        match address {
            IpAddr::V4(address) => self.hasher.hash(&(address.to_bits() >> 16)),
            IpAddr::V6(address) => self.hasher.hash(&(address.to_bits() >> 96)),
        }
    }
}

/// The value of the first cookie of this name.
fn cookie<'a>(head: &RequestHead<'a>, name: &str) -> Option<&'a [u8]> {
    let lines = head.headers().get_all(header::COOKIE).into_iter().map(HeaderValue::as_bytes);
    let mut pairs = lines.flat_map(|line| line.split(|&byte| byte == b';'));
    pairs.find_map(|pair| {
        pair.trim_ascii().strip_prefix(name.as_bytes()).and_then(|rest| rest.strip_prefix(b"="))
    })
}

#[cfg(test)]
mod tests;
