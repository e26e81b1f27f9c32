//! Finds the token in a request, and adds the next token to a response.
//!
//! A token is sent in one of two ways. The layer sends the next token in the same way as it
//! received the last one:
//!
//! ```text
//!   request                                             response
//!   Cookie: __Host-wr-<room>=<token>       ─► cookie ─►  Set-Cookie: __Host-wr-<room>=<token>; …
//!   Waiting-Room-Token: <room>=<token>     ─► header ─►  Waiting-Room-Token: <room>=<token>
//! ```
//!
//! A client may send several candidates: a cookie set for another path, a forged cookie from a
//! subdomain, or a header in addition to a cookie. Up to [`Transport::MAX_CANDIDATES`] candidates
//! are opened in turn, until one of them is a valid pass. The bytes and the items that are searched are
//! bounded too, so even a crafted request costs little.
//!
//! A shared cache must not store a response with a token, because it would serve the token of one
//! visitor to other visitors. [`Transport::attach`] and [`Transport::detach`] therefore adjust the
//! `Cache-Control` of the response.

use std::{
    ops::ControlFlow::{self, Break, Continue},
    time::Duration,
};

use http::{HeaderMap, HeaderName, HeaderValue, header};
use memchr::{memchr, memmem};
use waiting_room_core::{ConfigError, Timestamp};

use super::{
    cookie::CookieSettings,
    opened::{Opened, SealedToken, TOKEN_HEADER, TokenSource},
    payload::OpenError,
    tokens::Tokens,
};
use crate::request::CookieSearch;

/// The names under which the tokens of one room are sent, in the cookie and in the header.
#[derive(Clone, Debug)]
pub(crate) struct Transport {
    set_cookie: SetCookie,
    /// The searcher for the cookie's name, which is built once for all requests.
    cookie: memmem::Finder<'static>,
    /// The beginning of a header line of this room: the name of the room and an equals sign.
    prefix: Box<str>,
}

impl Transport {
    /// The maximum number of tokens in one request that are opened. Further tokens are ignored.
    pub(crate) const MAX_CANDIDATES: usize = 4;
    /// The maximum number of bytes that are read in all [`TOKEN_HEADER`] lines of a request
    /// together. A line that exceeds the remaining budget is skipped, and so are all lines after
    /// it.
    pub(crate) const MAX_HEADER_BYTES: usize = 16 * 1024;
    /// The maximum number of items that are read in all [`TOKEN_HEADER`] lines of a request
    /// together. Items of other rooms and empty items count, too.
    pub(crate) const MAX_ITEMS: usize = 64;

    /// Creates the transport of the room with this name.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`CookieSettings::validate`].
    pub(crate) fn new(cookie: &CookieSettings, room: &str) -> Result<Self, ConfigError> {
        let set_cookie = SetCookie::new(cookie, room)?;
        let cookie = memmem::Finder::new(set_cookie.name()).into_owned();
        Ok(Self { set_cookie, cookie, prefix: format!("{room}=").into() })
    }

    /// Returns the name of the cookie.
    pub(crate) fn cookie_name(&self) -> &str {
        self.set_cookie.name()
    }

    /// Opens the tokens of a request, and returns the token that takes precedence at `now`.
    ///
    /// A valid pass takes precedence over a ticket, and a ticket over a pass that has expired. Of
    /// two passes or two tickets, the first takes precedence. Candidates after a valid pass are not
    /// opened.
    #[inline]
    pub(crate) fn find(&self, tokens: &Tokens, headers: &HeaderMap, now: Timestamp) -> FoundToken {
        let mut found = FoundToken::nothing();
        let lines = TokenLines::of(headers);
        // A valid pass ends the search, so a typical request costs a single decryption.
        _ = self.each_candidate(headers, &lines, |text, source| {
            match tokens.open(text, now) {
                Ok(opened) if opened.precedence() > found.precedence() => {
                    found.opened = Some(opened);
                    found.source = source;
                }
                Ok(_) => {}
                Err(error) => {
                    found.rejected += 1;
                    found.last_error = Some(error);
                }
            }
            match found.opened {
                Some(Opened::Pass(_)) => Break(()),
                _ => Continue(()),
            }
        });
        // A client that sends the header without a valid token can store its first token.
        if found.opened.is_none() && !matches!(lines.tokens, HeaderLines::None) {
            found.source = TokenSource::Header;
        }
        found
    }

    /// Calls `look` with each token in a request until `look` breaks: first with those in the token
    /// header, and then with those in the cookies. Empty values are skipped, because a deleted token
    /// may leave an empty value behind.
    fn each_candidate<'a>(
        &self,
        headers: &'a HeaderMap,
        lines: &TokenLines<'a>,
        mut look: impl FnMut(&'a [u8], TokenSource) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let mut left = Self::MAX_CANDIDATES;
        let mut look = |text: &'a [u8], source| {
            if text.is_empty() {
                return Continue(());
            }
            left -= 1;
            look(text, source)?;
            if left == 0 { Break(()) } else { Continue(()) }
        };
        let mut budget = Some(Self::MAX_HEADER_BYTES);
        let mut items = Self::MAX_ITEMS;
        lines.tokens.each(headers, &TOKEN, |line| {
            // The first line that exceeds the remaining budget ends the search in this header, even
            // if a later line would fit.
            budget = budget.and_then(|left| left.checked_sub(line.len()));
            let mut rest = budget.map(|_| line);
            while let (Some(text), 1..) = (rest, items) {
                items -= 1;
                let (item, after) = match memchr(b',', text) {
                    Some(at) => (&text[..at], Some(&text[at + 1..])),
                    None => (text, None),
                };
                rest = after;
                if let Some(text) = self.own(item) {
                    look(text, TokenSource::Header)?;
                }
            }
            Continue(())
        })?;
        let mut search = CookieSearch::new();
        lines.cookies.each(headers, &COOKIE, |line| {
            search.line(line, &self.cookie, |value| look(unquoted(value), TokenSource::Cookie))
        })
    }

    /// Adds a token to a response, in a cookie or in a header depending on `source`.
    ///
    /// The client stores a cookie for `max_age`, rounded up to whole seconds. A token in the header
    /// has no maximum age.
    pub(crate) fn attach(
        &self,
        headers: &mut HeaderMap,
        source: TokenSource,
        token: SealedToken,
        max_age: Duration,
    ) {
        match source {
            TokenSource::Cookie => {
                let cookie = self.set_cookie.keep(&token, max_age);
                // Prepared headers have an empty place for the cookie.
                match headers.get_mut(header::SET_COOKIE) {
                    Some(place) if place.is_empty() => *place = cookie,
                    _ => _ = headers.append(header::SET_COOKIE, cookie),
                }
            }
            TokenSource::Header => self.append_line(headers, token.as_str()),
        }
        make_private(headers);
    }

    /// Makes the client discard its token, by adding a cookie or a header to the response.
    pub(crate) fn detach(&self, headers: &mut HeaderMap, source: TokenSource) {
        match source {
            TokenSource::Cookie => {
                headers.append(header::SET_COOKIE, self.set_cookie.delete());
            }
            TokenSource::Header => self.append_line(headers, ""),
        }
        make_private(headers);
    }

    /// Returns the header line for a token. The line names the room, so a client can tell the
    /// tokens of several rooms apart.
    pub(crate) fn line(&self, token: &str) -> String {
        [&self.prefix, token].concat()
    }

    /// Appends a line to the token header, which may already contain lines for other rooms.
    ///
    /// The line is marked as sensitive, which keeps it out of logs and compression tables (RFC 7541
    /// section 7.1).
    fn append_line(&self, headers: &mut HeaderMap, token: &str) {
        let mut line = HeaderValue::try_from(self.line(token))
            .expect("the name of a room and base64url are visible ASCII");
        line.set_sensitive(true);
        headers.append(TOKEN_HEADER, line);
    }

    /// Returns the token in one item of the header, or `None` if the item belongs to another room or
    /// is longer than any token.
    fn own<'a>(&self, item: &'a [u8]) -> Option<&'a [u8]> {
        if item.len() > MAX_LEN {
            return None;
        }
        let item = item.trim_ascii();
        item.strip_prefix(self.prefix.as_bytes())
            .or_else(|| (!item.contains(&b'=')).then_some(item))
    }
}

/// Creates the `Set-Cookie` headers of one room.
#[derive(Clone, Debug)]
pub(super) struct SetCookie {
    /// The name of the cookie, and an equals sign.
    name: Box<str>,
    /// All attributes, up to the maximum age, which is the last attribute. The value and the maximum
    /// age differ for each response.
    attributes: Box<str>,
}

impl SetCookie {
    /// Creates the headers for the room with this name.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`CookieSettings::validate`].
    pub(super) fn new(settings: &CookieSettings, room: &str) -> Result<Self, ConfigError> {
        settings.validate(room)?;
        let name = format!("{}=", settings.resolve_name(room));
        let attributes = format!("{}; Max-Age=", settings.attributes());
        Ok(Self { name: name.into(), attributes: attributes.into() })
    }

    /// Returns the name of the cookie.
    pub(super) fn name(&self) -> &str {
        &self.name[..self.name.len() - 1]
    }

    /// Returns a header that makes the client store `token` for `max_age`.
    ///
    /// `Max-Age` is in whole seconds (RFC 6265 section 5.2.2). The duration is rounded up, so the
    /// client never discards a token that is still valid.
    pub(super) fn keep(&self, token: &SealedToken, max_age: Duration) -> HeaderValue {
        let seconds = max_age.as_secs().saturating_add(u64::from(max_age.subsec_nanos() > 0));
        self.header(token.as_str(), i64::try_from(seconds).unwrap_or(i64::MAX))
    }

    /// Returns a header that makes the client discard its token.
    pub(super) fn delete(&self) -> HeaderValue {
        self.header("", 0)
    }

    /// Builds a `Set-Cookie` header. The header is marked as sensitive, which keeps it out of logs
    /// and compression tables (RFC 7541 section 7.1).
    fn header(&self, value: &str, max_age_secs: i64) -> HeaderValue {
        let mut age = itoa::Buffer::new();
        let cookie = [&self.name, value, &self.attributes, age.format(max_age_secs)].concat();
        let mut header = HeaderValue::try_from(cookie)
            .expect("the settings were checked, and a token is base64url");
        header.set_sensitive(true);
        header
    }
}

/// The token that takes precedence in a request, and how the token was sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FoundToken {
    /// The pass or the ticket; `None` if the request has no valid token.
    pub(crate) opened: Option<Opened>,
    /// How the token was sent. If the request has no valid token, this is the transport that the
    /// client most likely supports: the header if the request contains it, and the cookie
    /// otherwise.
    pub(crate) source: TokenSource,
    /// The number of candidates that could not be opened.
    pub(crate) rejected: usize,
    /// The error for the last candidate that could not be opened.
    pub(crate) last_error: Option<OpenError>,
}

impl FoundToken {
    /// Returns the result for a request before any of its candidates has been opened.
    const fn nothing() -> Self {
        Self { opened: None, source: TokenSource::Cookie, rejected: 0, last_error: None }
    }

    /// Returns the precedence of the token that was found, or 0 if none was found.
    fn precedence(&self) -> u8 {
        self.opened.as_ref().map_or(0, Opened::precedence)
    }
}

/// The lines of a request that may contain tokens, found in one pass over its headers. A request
/// has few headers, so comparing all of their names costs less than computing the hash of one name.
struct TokenLines<'a> {
    tokens: HeaderLines<'a>,
    cookies: HeaderLines<'a>,
}

impl<'a> TokenLines<'a> {
    fn of(headers: &'a HeaderMap) -> Self {
        let mut lines = Self { tokens: HeaderLines::None, cookies: HeaderLines::None };
        for (name, line) in headers {
            // Constants take fewer instructions to compare than statics.
            if *name == header::COOKIE {
                lines.cookies.add(line);
            } else if *name == TOKEN_HEADER {
                lines.tokens.add(line);
            }
        }
        lines
    }
}

/// The lines of one header.
enum HeaderLines<'a> {
    None,
    /// The only line, which is the usual case.
    One(&'a [u8]),
    /// Several lines, which are looked up when they are needed.
    Several,
}

impl<'a> HeaderLines<'a> {
    /// Adds a line.
    fn add(&mut self, line: &'a HeaderValue) {
        *self = if matches!(self, Self::None) { Self::One(line.as_bytes()) } else { Self::Several };
    }

    /// Calls `look` with each line, in order, until `look` breaks. `name` is the name of the header.
    fn each(
        &self,
        headers: &'a HeaderMap,
        name: &HeaderName,
        mut look: impl FnMut(&'a [u8]) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        match self {
            Self::None => Continue(()),
            Self::One(line) => look(line),
            Self::Several => {
                headers.get_all(name).iter().try_for_each(|line| look(line.as_bytes()))
            }
        }
    }
}

/// Returns the value of a cookie without any surrounding quotes (RFC 6265 section 4.1.1).
///
/// A value that is longer than any token is returned as it is.
fn unquoted(value: &[u8]) -> &[u8] {
    if value.len() > MAX_LEN {
        return value;
    }
    match value.trim_ascii() {
        [b'"', inner @ .., b'"'] => inner,
        bare => bare,
    }
}

/// Prevents shared caches from storing a response that contains a token. A shared cache would serve
/// the token to other clients (RFC 9111 section 7.3).
///
/// The application's directives for private caches are preserved. Directives that only concern
/// shared caches are removed, and so are the headers for CDNs (RFC 9213), which would take
/// precedence over `Cache-Control`.
fn make_private(headers: &mut HeaderMap) {
    // A response has few headers, so reading all of them once is cheaper than four hash lookups.
    let mut is_targeted = false;
    let mut is_stored = true;
    for (name, value) in &*headers {
        if name.as_str().ends_with("-control") {
            is_targeted |= TARGETED.contains(name);
            is_stored &= *name != header::CACHE_CONTROL || value != "no-store";
        }
    }
    if is_targeted {
        for name in &TARGETED {
            headers.remove(name);
        }
    }
    // Most tokens are sent with the layer's own answers, whose value `no-store` suffices.
    if !is_stored {
        return;
    }
    let mut kept: Vec<&str> = Vec::new();
    for line in headers.get_all(header::CACHE_CONTROL) {
        for directive in line.to_str().unwrap_or_default().split(',').map(str::trim) {
            let name = directive.split('=').next().unwrap_or_default();
            // The application already excludes shared caches. The whole directive is compared with
            // `private`, since `private="field"` only prevents shared caches from storing
            // individual fields.
            if name.eq_ignore_ascii_case("no-store") || directive.eq_ignore_ascii_case("private") {
                return;
            }
            let is_shared = ["public", "s-maxage", "private", "proxy-revalidate"]
                .iter()
                .any(|shared| name.eq_ignore_ascii_case(shared));
            if !directive.is_empty() && !is_shared {
                kept.push(directive);
            }
        }
    }
    kept.insert(0, "private");
    if let Ok(value) = HeaderValue::try_from(kept.join(", ")) {
        headers.insert(header::CACHE_CONTROL, value);
    }
}

/// The maximum length of a value or an item that may contain a token, including spaces, in bytes.
const MAX_LEN: usize = 1024;

static COOKIE: HeaderName = header::COOKIE;
static TOKEN: HeaderName = TOKEN_HEADER;

/// The headers for CDNs, which take precedence over `Cache-Control`.
static TARGETED: [HeaderName; 3] = [
    HeaderName::from_static("cdn-cache-control"),
    HeaderName::from_static("cloudflare-cdn-cache-control"),
    HeaderName::from_static("surrogate-control"),
];

#[cfg(test)]
mod tests;
