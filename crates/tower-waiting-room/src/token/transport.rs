//! How a token comes in with a request and goes out with a response.

use std::time::Duration;

use cookie::{Cookie, time};
use http::{HeaderMap, HeaderName, HeaderValue, header};
use memchr::{memchr, memmem, memrchr};
use waiting_room_core::{ConfigError, Timestamp};

use super::{
    cookie::CookieSettings,
    payload::OpenError,
    tokens::{Opened, SealedToken, Tokens},
};

/// The header in which clients without cookies send their tokens, and get the next ones.
///
/// Each line is of one room: `waiting-room-token: <room>=<token>`. A response has a line for each
/// room that has something new to say, and none for the others, so a client keeps the last line of
/// each room and sends all of them, in lines of their own or in one with commas between (RFC 9110
/// section 5.3). A line that ends with the equals sign takes the token back: the client may forget
/// it.
///
/// A client that has no token yet may send the header empty, to be answered by header from the
/// start; gRPC clients are, in any case. A token without a name is tried by every room. Of all lines,
/// 16 KiB are read.
pub const TOKEN_HEADER: HeaderName = HeaderName::from_static("waiting-room-token");

/// The cookie and the header of one room.
#[derive(Clone, Debug)]
pub(crate) struct Transport {
    set_cookie: SetCookie,
    /// Finds the cookie's name and the equals sign behind it.
    pair: memmem::Finder<'static>,
    /// What a line of this room begins with, in the header: its name and the equals sign.
    prefix: Box<str>,
}

impl Transport {
    /// At most this many tokens of one request are tried.
    pub(crate) const MAX_CANDIDATES: usize = 4;
    /// At most this many bytes of `Cookie` headers are searched.
    pub(crate) const MAX_COOKIE_BYTES: usize = 16 * 1024;
    /// At most this many bytes of [`TOKEN_HEADER`] headers are searched, in whole lines.
    pub(crate) const MAX_HEADER_BYTES: usize = 16 * 1024;

    /// The transport for the room of this name.
    ///
    /// # Errors
    ///
    /// As [`CookieSettings::validate`].
    pub(crate) fn new(cookie: &CookieSettings, room: &str) -> Result<Self, ConfigError> {
        let set_cookie = SetCookie::new(cookie, room)?;
        let pair = memmem::Finder::new(&format!("{}=", set_cookie.name())).into_owned();
        Ok(Self { set_cookie, pair, prefix: format!("{room}=").into() })
    }

    /// What the request proves at `now`.
    ///
    /// A pass beats a ticket, a ticket a pass that has run out, and among equals the first candidate
    /// counts. Candidates behind a
    /// valid pass are not looked at.
    pub(crate) fn find(&self, tokens: &Tokens, headers: &HeaderMap, now: Timestamp) -> Found {
        let mut found = Found::nothing(if headers.contains_key(TOKEN_HEADER) {
            TokenSource::Header
        } else {
            TokenSource::Cookie
        });
        for (text, source) in self.candidates(headers) {
            match (tokens.open(text, now), found.opened) {
                (Ok(opened @ Opened::Pass(_)), _) => {
                    return Found { opened: Some(opened), source, ..found };
                }
                (Ok(opened @ Opened::Ticket(_)), None | Some(Opened::Lapsed(_)))
                | (Ok(opened @ Opened::Lapsed(_)), None) => {
                    found = Found { opened: Some(opened), source, ..found };
                }
                (Ok(Opened::Lapsed(_) | Opened::Ticket(_)), Some(_)) => {}
                (Err(error), _) => {
                    found.rejected += 1;
                    found.last_error = Some(error);
                }
            }
        }
        found
    }

    /// The tokens that the request carries: in its header, then in its cookies. Empty ones are
    /// none.
    pub(crate) fn candidates<'a>(
        &'a self,
        headers: &'a HeaderMap,
    ) -> impl Iterator<Item = (&'a [u8], TokenSource)> {
        let by_header = headers
            .get_all(TOKEN_HEADER)
            .iter()
            .scan(Self::MAX_HEADER_BYTES, |budget, value| {
                *budget = budget.checked_sub(value.len())?;
                Some(value.as_bytes())
            })
            .flat_map(|line| line.split(|byte| *byte == b','))
            .filter_map(|item| self.own(item.trim_ascii()))
            .map(|text| (text, TokenSource::Header));
        let by_cookie = headers
            .get_all(header::COOKIE)
            .iter()
            .scan(Self::MAX_COOKIE_BYTES, |budget, value| clip(value.as_bytes(), budget))
            .flat_map(|line| self.in_cookies(line))
            .map(|value| (value, TokenSource::Cookie));
        by_header.chain(by_cookie).filter(|(text, _)| !text.is_empty()).take(Self::MAX_CANDIDATES)
    }

    /// Sends a token the way the client's own came, to be kept for `max_age`, rounded up to whole
    /// seconds.
    pub(crate) fn attach(
        &self,
        headers: &mut HeaderMap,
        source: TokenSource,
        token: SealedToken,
        max_age: Duration,
    ) {
        match source {
            TokenSource::Cookie => {
                headers.append(header::SET_COOKIE, self.set_cookie.keep(&token, max_age));
            }
            TokenSource::Header => self.append_line(headers, token.as_str()),
        }
        make_private(headers);
    }

    /// Has the client forget its token.
    pub(crate) fn detach(&self, headers: &mut HeaderMap, source: TokenSource) {
        match source {
            TokenSource::Cookie => {
                headers.append(header::SET_COOKIE, self.set_cookie.delete());
            }
            TokenSource::Header => self.append_line(headers, ""),
        }
        make_private(headers);
    }

    /// The line of a token in the header, by which a client tells it from those of other rooms.
    pub(crate) fn line(&self, token: &str) -> String {
        [&self.prefix, token].concat()
    }

    /// Adds a line to those of other rooms. Marked as sensitive: it stays out of logs and of
    /// compression tables (RFC 7541 section 7.1).
    fn append_line(&self, headers: &mut HeaderMap, token: &str) {
        let mut line = HeaderValue::try_from(self.line(token))
            .expect("the name of a room and base64url are visible ASCII");
        line.set_sensitive(true);
        headers.append(TOKEN_HEADER, line);
    }

    /// The token in one item of the header, unless it is of another room.
    fn own<'a>(&self, item: &'a [u8]) -> Option<&'a [u8]> {
        item.strip_prefix(self.prefix.as_bytes())
            .or_else(|| (!item.contains(&b'=')).then_some(item))
    }

    /// The values of our cookie in one `Cookie` header, `name=value; name=value`.
    ///
    /// A semicolon always ends a cookie and a comma never does (RFC 6265 section 4.2.1), so one
    /// search for the name serves, however many other cookies there are.
    fn in_cookies<'a>(&'a self, line: &'a [u8]) -> impl Iterator<Item = &'a [u8]> {
        self.pair
            .find_iter(line)
            .map(move |at| line.split_at(at))
            .filter(|(before, _)| matches!(before.trim_ascii_end(), [] | [.., b';']))
            .map(|(_, pair)| value(&pair[self.pair.needle().len()..]))
    }
}

/// Writes the `Set-Cookie` headers of one room.
#[derive(Clone, Debug)]
pub(super) struct SetCookie {
    /// What all of them have in common.
    template: Cookie<'static>,
}

impl SetCookie {
    /// The headers of these settings in the room of this name.
    ///
    /// # Errors
    ///
    /// As [`CookieSettings::validate`].
    pub(super) fn new(settings: &CookieSettings, room: &str) -> Result<Self, ConfigError> {
        Ok(Self { template: settings.build(room)? })
    }

    /// The name of the cookie.
    pub(super) fn name(&self) -> &str {
        self.template.name()
    }

    /// Keeps `token` for `max_age`, rounded up to whole seconds (RFC 6265 section 5.2.2).
    pub(super) fn keep(&self, token: &SealedToken, max_age: Duration) -> HeaderValue {
        let seconds = max_age.as_secs().saturating_add(u64::from(max_age.subsec_nanos() > 0));
        self.header(token.as_str(), i64::try_from(seconds).unwrap_or(i64::MAX))
    }

    /// Makes the client forget its token.
    pub(super) fn delete(&self) -> HeaderValue {
        self.header("", 0)
    }

    /// Marked as sensitive: it stays out of logs and of compression tables (RFC 7541 section 7.1).
    fn header(&self, value: &str, max_age_secs: i64) -> HeaderValue {
        let mut cookie = self.template.clone();
        cookie.set_value(value);
        cookie.set_max_age(time::Duration::seconds(max_age_secs));
        let mut header = HeaderValue::try_from(cookie.to_string())
            .expect("the settings were checked, and a token is base64url");
        header.set_sensitive(true);
        header
    }
}

/// What a request proved, and how it came.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Found {
    /// The pass or the ticket; `None` if there was no valid one.
    pub(crate) opened: Option<Opened>,
    /// How it came. For nothing: the way the client would use.
    pub(crate) source: TokenSource,
    /// How many candidates were not believed.
    pub(crate) rejected: usize,
    /// Why the last of them was not.
    pub(crate) last_error: Option<OpenError>,
}

impl Found {
    const fn nothing(source: TokenSource) -> Self {
        Self { opened: None, source, rejected: 0, last_error: None }
    }
}

/// The way a token travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TokenSource {
    /// In our cookie.
    Cookie,
    /// In the header [`TOKEN_HEADER`].
    Header,
}

/// The part of `line` that may still be searched, in whole cookies; `None` when nothing may.
fn clip<'a>(line: &'a [u8], budget: &mut usize) -> Option<&'a [u8]> {
    if *budget == 0 {
        return None;
    }
    match line.split_at_checked(*budget) {
        Some((allowed, [_, ..])) => {
            *budget = 0;
            Some(&allowed[..memrchr(b';', allowed).unwrap_or(0)])
        }
        _ => {
            *budget -= line.len();
            Some(line)
        }
    }
}

/// The value at the start of `rest`, without the quotes that it may have (RFC 6265 section 4.1.1).
fn value(rest: &[u8]) -> &[u8] {
    let end = memchr(b';', rest).unwrap_or(rest.len());
    match rest[..end].trim_ascii() {
        [b'"', inner @ .., b'"'] => inner,
        bare => bare,
    }
}

/// Keeps shared caches from storing a response with somebody's token in it, and handing it to
/// many (RFC 9111 section 7.3). What the application says about private caches stays; what it says
/// to shared ones alone (RFC 9213) goes.
fn make_private(headers: &mut HeaderMap) {
    for targeted in ["cdn-cache-control", "cloudflare-cdn-cache-control", "surrogate-control"] {
        headers.remove(targeted);
    }
    let mut kept: Vec<&str> = Vec::new();
    for line in headers.get_all(header::CACHE_CONTROL) {
        for directive in line.to_str().unwrap_or_default().split(',').map(str::trim) {
            let name = directive.split('=').next().unwrap_or_default();
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

#[cfg(test)]
mod tests;
