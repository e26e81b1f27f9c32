//! The kind of a client, which determines the form of the layer's answers.
//!
//! An HTML page is useful only in response to a navigation, because only then does a person see it.
//! A script's fetch, a mobile app, an API client or an image element cannot use an HTML page, and
//! fails without a visible error. The form is therefore chosen from the headers of the request. The
//! first of the following headers that applies determines the form:
//!
//! ```text
//!  content-type: application/grpc…      ─► gRPC status
//!  waiting-room-poll                    ─► JSON, for the script of the waiting page
//!  sec-fetch-mode, sec-fetch-dest       ─► page, plain text, or `accept` without HTML
//!  hx-request, x-requested-with         ─► `accept` without HTML
//!  accept                               ─► the preferred form; JSON if the header is missing
//! ```
//!
//! Browsers describe the purpose of a request in the `Sec-Fetch-*` headers (W3C Fetch Metadata
//! Request Headers). Browsers omit Fetch Metadata over plain HTTP, and other clients do not send
//! it. For requests without Fetch Metadata, the `Accept` header determines the form (RFC 9110
//! section 12.5.1).
//!
//! Apart from [`is_native_grpc`], the code in this module runs only for requests that are not
//! forwarded. A flood of refusals must be cheap, and a client can send new headers with every
//! request. The parsers are therefore bounded and do not allocate memory. Misleading headers do no
//! harm: their only effect is that the client gets an answer in a form that it cannot read.

use http::{
    HeaderMap, HeaderName, HeaderValue, Method,
    header::{ACCEPT, ACCEPT_LANGUAGE, CONTENT_TYPE, ORIGIN},
};
use smallvec::SmallVec;

use super::{
    accept::{Offer, Preference},
    language::Language,
    negotiation::Languages,
};

/// The request header that marks a poll by the script of the waiting page.
///
/// The layer answers a request with this header itself, in JSON. The script needs to know whether
/// the page may reload, but does not need the content of the application. A poll is forwarded only
/// if it is not subject to the verdict of a room. This is the case if a bypass rule covers the
/// poll, if the layer has no room or is in shadow mode, if the room is suspended, or if the store
/// is unavailable and its failure policy admits visitors.
pub const POLL_HEADER: HeaderName = HeaderName::from_static("waiting-room-poll");

/// The kind of client that sent a request, which determines the form of the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ClientKind {
    /// A gRPC or gRPC-Web client. The answer is a gRPC status.
    Grpc,
    /// A program that accepts JSON or states no preference. The answer is JSON.
    Json,
    /// A browser that navigates, and shows the answer as a page. The answer is HTML.
    Navigation,
    /// A program that prefers a problem document or accepts none of the available forms. The answer
    /// is a problem document (RFC 9457).
    Problem,
    /// A client that prefers plain text, or a browser that loads a resource for a page, such as an
    /// image or a stylesheet, and cannot display an answer in its place. The answer is plain text.
    Text,
}

impl ClientKind {
    /// Returns the name of the kind in templates and logs, such as `navigation`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Grpc => "grpc",
            Self::Json => "json",
            Self::Navigation => "navigation",
            Self::Problem => "problem",
            Self::Text => "text",
        }
    }
}

/// The properties of a request that determine the form of its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Client {
    /// The form of the answer.
    pub kind: ClientKind,
    /// Whether the request has an `Origin` header and therefore comes from a script. The script may
    /// have another origin, and can then read only the headers that the answer exposes.
    pub has_origin: bool,
    /// Whether the method is HEAD. The answer then has no body.
    pub is_head: bool,
    /// Whether the script of the waiting page sent the request.
    pub is_poll: bool,
    /// Whether the method is GET or HEAD. A page may automatically repeat a request with one of
    /// these methods (RFC 9110 section 9.2.1).
    pub is_safe: bool,
}

impl Client {
    /// Determines the properties of a request from its method and headers.
    pub(crate) fn classify(method: &Method, headers: &HeaderMap) -> Self {
        let clues = Clues::of(headers);
        Self {
            kind: clues.kind(headers),
            has_origin: clues.has_origin,
            is_head: method == Method::HEAD,
            is_poll: clues.is_poll,
            is_safe: method == Method::GET || method == Method::HEAD,
        }
    }

    /// Returns whether the client gets JSON or a problem document and is not the script of the
    /// waiting page.
    pub(crate) const fn is_program(&self) -> bool {
        matches!(self.kind, ClientKind::Json | ClientKind::Problem) && !self.is_poll
    }
}

impl Languages {
    /// Returns the language that a client prefers according to the headers of its request.
    pub(crate) fn of(&self, headers: &HeaderMap) -> Language {
        let negotiate = |list: &[u8]| self.negotiate(list);
        let language = combined(headers, &ACCEPT_LANGUAGE, MAX_ACCEPT_LANGUAGE_LEN, negotiate);
        language.unwrap_or(self.default())
    }
}

/// The headers that determine the kind of a client, collected in one pass.
///
/// A program sends few headers, so one pass over them is cheap. Looking up each name would cost
/// more than the rest of a refusal. If a header other than `accept` occurs more than once, its
/// first line is used.
#[derive(Default)]
struct Clues<'a> {
    accept: AcceptHeader<'a>,
    content_type: Option<&'a [u8]>,
    fetch_dest: Option<&'a [u8]>,
    fetch_mode: Option<&'a [u8]>,
    has_origin: bool,
    is_poll: bool,
    /// Whether a script library has identified itself in a header: htmx in `HX-Request`, or jQuery
    /// and other libraries in `X-Requested-With`. These headers matter for browsers that send no
    /// Fetch Metadata: old browsers, and all browsers over plain HTTP. Android's web views send the
    /// name of their app in `X-Requested-With`, even with navigations.
    is_scripted: bool,
}

impl<'a> Clues<'a> {
    /// Collects the clues from the headers of a request.
    fn of(headers: &'a HeaderMap) -> Self {
        let mut clues = Self::default();
        for (name, value) in headers {
            // A standard name is stored as a number, and comparing numbers takes fewer instructions
            // than comparing text.
            let value = value.as_bytes();
            if *name == ACCEPT {
                clues.accept.hear(value);
            } else if *name == ORIGIN {
                clues.has_origin = true;
            } else if *name == CONTENT_TYPE {
                clues.content_type.get_or_insert(value);
            } else if *name == SEC_FETCH_DEST {
                clues.fetch_dest.get_or_insert(value);
            } else if *name == SEC_FETCH_MODE {
                clues.fetch_mode.get_or_insert(value);
            } else if *name == POLL_HEADER {
                clues.is_poll = true;
            } else if *name == HX_REQUEST && value == b"true"
                || *name == X_REQUESTED_WITH && value.eq_ignore_ascii_case(b"XMLHttpRequest")
            {
                clues.is_scripted = true;
            }
        }
        clues
    }

    /// Returns the kind of client according to the first clue that applies. `headers` must be the
    /// headers from which the clues were collected. The headers are read again only if `accept` has
    /// to be parsed.
    fn kind(&self, headers: &HeaderMap) -> ClientKind {
        // gRPC clients cannot read any other form, whatever other headers they send.
        if self.content_type.is_some_and(is_grpc) {
            return ClientKind::Grpc;
        }
        if self.is_poll {
            return ClientKind::Json;
        }
        match Fetch::of(self.fetch_mode, self.fetch_dest) {
            Fetch::Navigation => ClientKind::Navigation,
            Fetch::Resource => ClientKind::Text,
            Fetch::Script => negotiate(headers, self.accept, false),
            Fetch::Unsaid => negotiate(headers, self.accept, !self.is_scripted),
        }
    }
}

/// How a browser will use the answer, according to its Fetch Metadata.
enum Fetch {
    /// The browser shows the answer as a page or in a frame.
    Navigation,
    /// The browser uses the answer as a part of a page, for example as an image, and cannot display
    /// any of the layer's answers.
    Resource,
    /// The browser passes the answer to a script.
    Script,
    /// The request has no Fetch Metadata.
    Unsaid,
}

impl Fetch {
    /// Classifies the values of `sec-fetch-mode` and `sec-fetch-dest`. A script's own fetch has the
    /// destination `empty`, and a JSON module that a script imports has the destination `json`.
    fn of(mode: Option<&[u8]>, dest: Option<&[u8]>) -> Self {
        match (mode, dest) {
            (None, None) => Self::Unsaid,
            // Chrome 76 to 79 navigated frames with `nested-navigate`.
            (Some(b"navigate" | b"nested-navigate"), _) | (None, Some(b"document")) => {
                Self::Navigation
            }
            (None, Some(dest)) if FRAMES.contains(&dest) => Self::Navigation,
            (Some(b"no-cors"), _) => Self::Resource,
            (_, None | Some(b"empty" | b"json")) => Self::Script,
            (_, Some(_)) => Self::Resource,
        }
    }
}

/// The purpose of a request, as far as the browser states it. The purpose decides what a newcomer
/// gets: only a visit gets a slot or a place at once.
///
/// | header | values | purpose |
/// |---|---|---|
/// | `Sec-Purpose`, `Purpose`, `X-Purpose`, `X-Moz` | `prefetch`, `prerender`, `preview` | background |
/// | `Service-Worker` | `script` | background |
/// | `Sec-Fetch-Mode` | `no-cors` (elements, beacons, pings) | background |
/// | | `navigate`, to the destination `document` or `empty` | visit |
/// | | `navigate`, to any other destination; `nested-navigate` | embedded |
/// | | any other, with the destination `empty` or `json` (scripts, WebSockets) | embedded |
/// | | any other, with any other destination (modules, fonts, manifests, workers) | background |
/// | `Sec-Fetch-Site` | missing | visit |
/// | | any other: a link on another site is a visit | as above |
/// | `Sec-WebSocket-Version`, with the `Origin` of another site | any | embedded, see `RoomStage::purpose` |
/// | all others, such as `Sec-Fetch-User` and `Origin` | any | as above |
///
/// Other sites and the layer's own `Refresh` cause navigations without `Sec-Fetch-User`. Browsers
/// without Fetch Metadata, all browsers over plain HTTP, and clients that are not browsers state no
/// purpose. For example, Node's fetch sends `Sec-Fetch-Mode` without `Sec-Fetch-Site`. The purpose
/// never admits a request, because any client can write these headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequestPurpose {
    /// No person sees the answer: the request is speculative, or for a part of a page.
    Background,
    /// A script or a frame sends the request. There may be several such requests at once, and their
    /// page may belong to a site whose requests carry no cookies.
    Embedded,
    /// A person navigates, as far as is known.
    Visit,
}

impl RequestPurpose {
    /// Determines the purpose of a request from its headers.
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        let mut mode = None;
        let mut dest = None;
        let mut is_browser = false;
        for (name, value) in headers {
            let value = value.as_bytes();
            if *name == SEC_FETCH_SITE {
                is_browser = true;
            } else if *name == SEC_FETCH_MODE {
                mode.get_or_insert(value);
            } else if *name == SEC_FETCH_DEST {
                dest.get_or_insert(value);
            } else if *name == SERVICE_WORKER && value == b"script"
                || SPECULATION.contains(name) && is_speculative(value)
            {
                return Self::Background;
            }
        }
        match Fetch::of(mode, dest) {
            _ if !is_browser => Self::Visit,
            Fetch::Navigation if mode == Some(b"nested-navigate") => Self::Embedded,
            Fetch::Navigation if matches!(dest, None | Some(b"document" | b"empty")) => Self::Visit,
            Fetch::Navigation | Fetch::Script => Self::Embedded,
            Fetch::Resource => Self::Background,
            Fetch::Unsaid => Self::Visit,
        }
    }
}

/// Returns whether a header states that the browser prepares for a visit that may never happen. The
/// value may have parameters, such as `prefetch;prerender`.
fn is_speculative(value: &[u8]) -> bool {
    let token = begin(value).split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
    [&b"prefetch"[..], b"prerender", b"preview"].iter().any(|word| token.eq_ignore_ascii_case(word))
}

/// Returns the part of a header that contains its first value.
fn begin(value: &[u8]) -> &[u8] {
    &value[..value.len().min(MAX_VALUE_LEN)]
}

/// Returns whether a content type denotes gRPC or gRPC-Web. It may have a suffix, such as `+proto`,
/// and parameters.
fn is_grpc(content_type: &[u8]) -> bool {
    let Some((prefix, rest)) = content_type.split_at_checked(b"application/grpc".len()) else {
        return false;
    };
    prefix.eq_ignore_ascii_case(b"application/grpc")
        && matches!(rest, [] | [b'+' | b'-' | b';' | b' ', ..])
}

/// Returns the media type in which a gRPC-Web client reads its answer, or `None` for a native
/// client. A client may send binary messages and accept text.
pub(crate) fn grpc_web_type(headers: &HeaderMap) -> Option<&[u8]> {
    let first =
        |name| begin(headers.get(name)?.as_bytes()).split(|byte| b",;".contains(byte)).next();
    let is_web = |value: &&[u8]| is_grpc(value) && value.get(16) == Some(&b'-');
    let content_type = first(CONTENT_TYPE).filter(is_web)?;
    Some(first(ACCEPT).filter(is_web).unwrap_or(content_type).trim_ascii())
}

/// Returns whether a native gRPC client sent the request. A gRPC-Web client does not count, because
/// it runs in a browser, which stores cookies. Its content type continues with `-web`.
pub(crate) fn is_native_grpc(headers: &HeaderMap) -> bool {
    let Some(value) = headers.get(CONTENT_TYPE) else { return false };
    let text = value.as_bytes();
    is_grpc(text) && text.get(b"application/grpc".len()) != Some(&b'-')
}

/// The unparsed `Accept` header. The most common values of the header are recognized without a
/// parser.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum AcceptHeader<'a> {
    /// The request has no `Accept` header.
    #[default]
    Nothing,
    /// The request has one `Accept` line, with this value.
    Line(&'a [u8]),
    /// The request has several `Accept` lines.
    Lines,
}

impl<'a> AcceptHeader<'a> {
    /// Adds a line of the header.
    fn hear(&mut self, line: &'a [u8]) {
        *self = if *self == Self::Nothing { Self::Line(line) } else { Self::Lines };
    }
}

/// Returns the form that the client prefers among JSON, problem documents, plain text and, if
/// `page` is true, HTML.
///
/// If the `Accept` header is missing or cannot be parsed, the form is JSON. If the header excludes
/// every form, the form is a problem document. A header that begins like a browser's prefers HTML
/// whatever follows, because no range can have a higher weight.
#[inline]
fn negotiate(headers: &HeaderMap, asked: AcceptHeader<'_>, page: bool) -> ClientKind {
    // Most programs send no `Accept` header or one of these two values, so a flood of refusals
    // mostly takes this branch.
    if let AcceptHeader::Nothing | AcceptHeader::Line(b"*/*" | b"application/json") = asked {
        return ClientKind::Json;
    }
    if let AcceptHeader::Line(line) = asked
        && page
        && line.starts_with(BROWSER)
    {
        return ClientKind::Navigation;
    }
    let preference = match asked {
        AcceptHeader::Line(line) => Preference::of(cut(line, MAX_ACCEPT_LEN)),
        AcceptHeader::Nothing | AcceptHeader::Lines => {
            combined(headers, &ACCEPT, MAX_ACCEPT_LEN, Preference::of).flatten()
        }
    };
    let chosen = match preference {
        // A script that accepts only HTML, such as htmx 4, puts any answer into its page.
        Some(Preference { any: Some(Offer::Html), data: None }) if !page => Some(Some(Offer::Text)),
        preference => preference.map(|of| if page { of.any } else { of.data }),
    };
    match chosen {
        None | Some(Some(Offer::Json)) => ClientKind::Json,
        Some(None | Some(Offer::Problem)) => ClientKind::Problem,
        Some(Some(Offer::Html)) => ClientKind::Navigation,
        Some(Some(Offer::Text)) => ClientKind::Text,
    }
}

/// Passes all lines of a header to `read` as one list, truncated after the last whole element
/// within `limit` bytes. Returns `None` if the header is missing.
///
/// Several lines of a list header mean the same as one line with all elements (RFC 9110 section
/// 5.3).
fn combined<T>(
    headers: &HeaderMap,
    name: &HeaderName,
    limit: usize,
    read: impl FnOnce(&[u8]) -> T,
) -> Option<T> {
    let mut lines = headers.get_all(name).iter().map(HeaderValue::as_bytes);
    let first = lines.next()?;
    let second = lines.next();
    let Some(second) = second else { return Some(read(cut(first, limit))) };
    let mut list: SmallVec<[u8; 512]> = SmallVec::from_slice(clip(first, limit));
    for line in std::iter::once(second).chain(lines) {
        if list.len() > limit {
            break;
        }
        list.push(b',');
        list.extend_from_slice(clip(line, limit.saturating_sub(list.len())));
    }
    Some(read(cut(&list, limit)))
}

/// Returns the beginning of a line: at most one byte more than the limit. The extra byte shows that
/// the line is too long.
fn clip(line: &[u8], limit: usize) -> &[u8] {
    &line[..line.len().min(limit + 1)]
}

/// Returns a list up to the last whole element within `limit` bytes.
fn cut(list: &[u8], limit: usize) -> &[u8] {
    if list.len() <= limit {
        return list;
    }
    let end = list[..limit].iter().rposition(|byte| *byte == b',');
    &list[..end.unwrap_or(0)]
}

/// The beginning of the `Accept` header of every browser that navigates.
const BROWSER: &[u8] = b"text/html,application/xhtml+xml,";

const HX_REQUEST: HeaderName = HeaderName::from_static("hx-request");
const SEC_FETCH_DEST: HeaderName = HeaderName::from_static("sec-fetch-dest");
const SEC_FETCH_MODE: HeaderName = HeaderName::from_static("sec-fetch-mode");
const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const SERVICE_WORKER: HeaderName = HeaderName::from_static("service-worker");
const X_REQUESTED_WITH: HeaderName = HeaderName::from_static("x-requested-with");

/// The headers of speculative requests: `Sec-Purpose` (Fetch standard), and its predecessors in
/// Chrome, Safari and Firefox.
const SPECULATION: [HeaderName; 4] = [
    HeaderName::from_static("purpose"),
    HeaderName::from_static("sec-purpose"),
    HeaderName::from_static("x-moz"),
    HeaderName::from_static("x-purpose"),
];

/// The maximum number of bytes of a header that are searched for the end of its first value.
const MAX_VALUE_LEN: usize = 128;

/// The maximum number of bytes of the `Accept` header that are parsed. Browsers send up to 135.
const MAX_ACCEPT_LEN: usize = 160;

/// The values of `sec-fetch-dest` with which a browser navigates a part of a page.
const FRAMES: [&[u8]; 5] = [b"embed", b"fencedframe", b"frame", b"iframe", b"object"];

/// The maximum number of bytes of the `Accept-Language` header that are parsed.
const MAX_ACCEPT_LANGUAGE_LEN: usize = 128;

#[cfg(test)]
mod tests;
