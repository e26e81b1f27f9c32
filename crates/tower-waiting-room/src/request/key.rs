//! Keys: the parts of a request that identify its client to a limit or a gate.
//!
//! A [`Key`] is a list of parts, such as the address and a header. The value of a key for a request
//! is a [`KeyHash`] of all its parts. Requests with equal hashes share a quota:
//!
//! ```text
//!  Key::header("x-api-key").and(Key::path())
//!      part 1: x-api-key ──► hash ─┐
//!      part 2: path ───────► hash ─┴─► hash of both ──► KeyHash
//! ```
//!
//! The hash is keyed with a secret, so clients cannot construct keys that collide. The secret is
//! generated when the layer is created, or comes from the store if nodes share their limits. Only
//! the hash of a key is stored, so the memory of a limit reveals neither addresses nor API keys.
//!
//! A client that can choose a part of its key can have any number of keys. A limit by such a key
//! bounds nothing by itself. [`Key::can_be_made_up`] detects these keys, and the layer reports them
//! as a misconfiguration.

use std::{borrow::Cow, fmt, ops::ControlFlow, sync::Arc};

use http::{HeaderName, header};
use memchr::memmem;
use serde::Deserialize;
use waiting_room_core::{ConfigError, error::ConfigErrorKind, rate::KeyHash};

use super::head::{Caller, CookieSearch, RequestHead};

/// The part of a request that identifies a client to a limit.
///
/// Requests with the same key share a quota, a gate, or the turns of a tenant in a queue. Keys are
/// stored only as hashes. A key has up to 8 parts, which are joined with [`and`](Self::and). Only
/// the first 8 KiB of each part count.
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

/// One part of a key. The variants correspond to the constructors of [`Key`].
#[derive(Clone)]
pub(crate) enum Part {
    Address,
    /// A closure that the application supplies, and the closure's name in error messages.
    By(Cow<'static, str>, Arc<Closure>),
    Cookie(String),
    /// A constant part, which is the same for all requests.
    Everyone,
    Header(String),
    Method,
    Path,
    Visitor,
}

type Closure = dyn Fn(&RequestHead<'_>) -> Option<String> + Send + Sync;

impl Key {
    /// Identifies clients by their address, as [`ClientIp`](crate::ClientIp) derives it: the IPv4
    /// address, or the network of the IPv6 address, which is a /64 by default.
    #[must_use]
    pub fn address() -> Self {
        Self(vec![Part::Address])
    }

    /// Identifies clients by the value that a closure returns, such as an account. `None` means
    /// that the request has no key. [`MissingKey`] determines how a request without a key is
    /// treated.
    ///
    /// The closure runs for every request that the limit applies to, so it must be fast. `name`
    /// identifies this part in error messages and when the key is displayed.
    #[must_use]
    pub fn from_fn(
        name: impl Into<Cow<'static, str>>,
        closure: impl Fn(&RequestHead<'_>) -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        Self(vec![Part::By(name.into(), Arc::new(closure))])
    }

    /// Identifies clients by the value of the first cookie with this name.
    ///
    /// Clients can invent any number of values, so add a second limit by address.
    #[must_use]
    pub fn cookie(name: impl Into<String>) -> Self {
        Self(vec![Part::Cookie(name.into())])
    }

    /// Gives all requests the same key, for a limit on the whole service.
    #[must_use]
    pub fn global() -> Self {
        Self(vec![Part::Everyone])
    }

    /// Identifies clients by the value of a header. Only the first line of the header is read.
    ///
    /// Clients can invent any number of values, so add a second limit by address.
    #[must_use]
    pub fn header(name: impl Into<String>) -> Self {
        Self(vec![Part::Header(name.into())])
    }

    /// Separates requests by method. Clients can invent methods, so add a limit by address.
    #[must_use]
    pub fn method() -> Self {
        Self(vec![Part::Method])
    }

    /// Separates requests by path, as this layer sees it: inside axum's `nest`, the path does not
    /// include the nested prefix.
    ///
    /// The path is not decoded, so two spellings of the same path, such as `/a` and `/%61`, are
    /// different keys.
    #[must_use]
    pub fn path() -> Self {
        Self(vec![Part::Path])
    }

    /// Identifies visitors by their sealed passes. All copies of a pass have the same key.
    ///
    /// A request without a valid pass is identified by the address of its client. This applies to
    /// requests whose token is missing, forged or expired, to passes whose sessions this node knows
    /// to have ended, and to all requests in a layer without a room. A request with a ticket is charged under its new pass, after the room has admitted it.
    /// Clients cannot invent such keys, because each key requires a slot or an address.
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

    /// Combines two keys. Requests share the combined key only if they share both of its parts.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }

    /// Returns the hash of a request's key, or `None` if a part of it is missing.
    ///
    /// Each part is hashed before the parts are combined, so the boundary between parts matters:
    /// the cookies `a=1; b=23` and `a=12; b=3` are different keys. The order of parts matters too.
    #[inline]
    pub(crate) fn hash(&self, caller: &Caller<'_>) -> Option<KeyHash> {
        let (first, others) = self.0.split_first()?;
        let key = others.iter().try_fold(first.hash(caller)?, |so_far, part| {
            Some(caller.hasher.hash(&(so_far, part.hash(caller)?)))
        })?;
        // A key without a place in a full table shares its network's remembered usage. The hash of
        // a single address already contains this network. If a visitor is known by its pass, the
        // address may be unknown, and the key then has no network.
        let needs_network = !others.is_empty() && self.needs_address();
        let network = if needs_network { caller.wide_network_hash() } else { None };
        Some(network.map_or(key, |network| key.of_network(network)))
    }

    /// Returns the key of a request, or the treatment of a request without a key.
    ///
    /// An unknown address, which is a mistake in the setup, takes precedence over `missing`.
    #[inline]
    pub(crate) fn find(&self, missing: MissingKey, caller: &Caller<'_>) -> Found {
        self.hash(caller).map_or_else(|| self.missing(missing, caller), Found::Key)
    }

    /// Returns the treatment of a request without a key, or the key that replaces the missing one.
    fn missing(&self, missing: MissingKey, caller: &Caller<'_>) -> Found {
        if self.needs_address() && caller.address_hash().is_none() {
            return Found::Stranger;
        }
        match missing {
            MissingKey::Bypass => Found::Bypass,
            MissingKey::Refuse => Found::Refuse,
            MissingKey::Address => match caller.address_hash() {
                // The tag distinguishes this key from the key of a limit by address.
                Some(address) => {
                    let key = caller.hasher.hash(&("missing", address));
                    let network = caller.wide_network_hash();
                    Found::Key(network.map_or(key, |network| key.of_network(network)))
                }
                None => Found::Stranger,
            },
        }
    }

    /// Returns whether a client can invent any number of keys. A single part that can be invented
    /// is enough, since requests share a key only if they share all parts.
    pub(crate) fn can_be_made_up(&self) -> bool {
        self.0.iter().any(Part::can_be_made_up)
    }

    /// Returns whether a client's addresses, or its slots in the room, bound the number of its
    /// keys.
    pub(crate) fn is_by_address(&self) -> bool {
        self.needs_address() && !self.can_be_made_up()
    }

    /// Returns whether a request can lack this key for a reason other than an unknown address.
    pub(crate) fn can_be_missing(&self) -> bool {
        self.0.iter().any(|part| matches!(part, Part::By(..) | Part::Cookie(_) | Part::Header(_)))
    }

    /// Returns whether all requests have the same key.
    pub(crate) fn is_constant(&self) -> bool {
        self.0.iter().all(|part| *part == Part::Everyone)
    }

    /// Returns whether the key contains the client's address, or a part that falls back to it.
    pub(crate) fn needs_address(&self) -> bool {
        self.0.iter().any(|part| matches!(part, Part::Address | Part::Visitor))
    }

    /// Checks the number of parts, and the names of headers, cookies and closures.
    ///
    /// # Errors
    ///
    /// Returns an error that names `limit` if there are more than 8 parts or a name is invalid.
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
            Part::Address
            | Part::By(..)
            | Part::Cookie(_)
            | Part::Everyone
            | Part::Header(_)
            | Part::Method
            | Part::Path
            | Part::Visitor => Ok(()),
        })
    }

    /// The maximum number of parts, which bounds the work per request.
    const MAX_PARTS: usize = 8;
}

impl Part {
    /// The names of the parts in files, apart from `cookie.<name>` and `header.<name>`.
    pub(crate) const BUILT_IN: [&str; 5] =
        ["everyone", "method", "path", "remote_address", "visitor"];

    /// Returns the built-in part with this name in configuration and rules files, such as
    /// `remote_address` or `header.x-api-key`. Returns `None` if no part has this name. Parts are
    /// displayed under the same names.
    pub(crate) fn named(name: &str) -> Option<Self> {
        match name.split_once('.') {
            None => Some(match name {
                "everyone" => Self::Everyone,
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

    /// Returns the name that the application gave to a closure.
    pub(crate) fn name(&self) -> Option<&str> {
        if let Self::By(name, _) = self { Some(name) } else { None }
    }

    /// Returns whether clients can send a different value with every request. Methods count too,
    /// since a method may be any token (RFC 9110 section 9.1). The application is assumed to check
    /// the values that its closures return.
    fn can_be_made_up(&self) -> bool {
        matches!(self, Self::Cookie(_) | Self::Header(_) | Self::Method | Self::Path)
    }

    /// Returns the hash of this part, or `None` if the request does not have it.
    ///
    /// Addresses and visitors are hashed without being formatted as strings first. The hash of an
    /// address also contains the address's network (an IPv4 /16 or an IPv6 /32), which a full table
    /// uses in place of the address.
    #[inline]
    fn hash(&self, caller: &Caller<'_>) -> Option<KeyHash> {
        // Most limits are by address, which is the only part whose hash is inlined.
        if let Self::Address = self { caller.address_hash() } else { self.hash_other(caller) }
    }

    /// Does the same as [`hash`](Self::hash), for a part that need not be the address.
    fn hash_other(&self, caller: &Caller<'_>) -> Option<KeyHash> {
        match self {
            Self::Address => caller.address_hash(),
            Self::Everyone => Some(caller.hasher.hash(&())),
            Self::Visitor => match caller.visitor {
                // The tag prevents a visitor from sharing a key with an address.
                Some(visitor) => Some(caller.hasher.hash(&("visitor", visitor))),
                None => caller.address_hash(),
            },
            Self::By(..) | Self::Cookie(_) | Self::Header(_) | Self::Method | Self::Path => {
                let value = self.value(caller)?;
                Some(caller.hasher.hash(&value[..value.len().min(MAX_LEN)]))
            }
        }
    }

    /// Returns the value of this part in a request, as bytes, or `None` if the request does not
    /// have it.
    ///
    /// This value is compared with the values that a rules file lists. The value of a cookie or a
    /// header need not be UTF-8.
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

/// The name of the part in errors and debug output.
impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address => f.write_str("remote_address"),
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
    /// Two parts are equal if they read the same value from every request. Closures are equal only
    /// if they are clones of each other. Header names are case-insensitive (RFC 9110 section 5.1).
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

/// The number of leading bytes of a part that are hashed, so that no client can choose the cost of
/// its key.
const MAX_LEN: usize = 8 * 1024;

/// The names of all parts, joined with `+`.
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

/// The treatment of a request that lacks the key of a limit or a gate.
///
/// A request lacks a key if a header or a cookie is missing, or if a closure returns `None`.
///
/// Only a hard limit refuses a request that lacks its key. A [soft or
/// shadow](crate::rate::OverLimit) limit counts the request as over the limit in the metrics, and
/// otherwise does not apply to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum MissingKey {
    /// The address of the client takes the place of the key. This is the default, except for
    /// the limits of a file, whose default is [`Bypass`](Self::Bypass).
    ///
    /// If the address is unknown too, the server is not set up for this limit. The request is then
    /// answered with status 500, and the logged error names the remedy.
    #[default]
    Address,
    /// The limit does not apply to the request.
    Bypass,
    /// The request is answered with status 429. The reason names the rate limit, and the response
    /// has no quota headers.
    Refuse,
}

/// The result of looking up the key of a request.
pub(crate) enum Found {
    /// The limit does not cover the request, or does not apply because the key is missing.
    Bypass,
    /// The key of the request, or the client's address in place of a missing key.
    Key(KeyHash),
    /// The request has no key, and is refused.
    Refuse,
    /// The key requires the address of the client, which the server does not provide.
    Stranger,
}

/// Returns the value of the first cookie with this name.
pub(super) fn cookie<'a>(head: &RequestHead<'a>, name: &str) -> Option<&'a [u8]> {
    let mut first = None;
    let mut search = CookieSearch::new();
    let name = memmem::Finder::new(name);
    _ = head.headers().get_all(header::COOKIE).iter().try_for_each(|line| {
        search.line(line.as_bytes(), &name, |value| {
            first = Some(value);
            ControlFlow::Break(())
        })
    });
    first
}

#[cfg(test)]
mod tests;
