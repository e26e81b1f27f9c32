//! What kind of client asks, so that it gets an answer it can use.
//!
//! A page of HTML helps only where somebody looks at it: in a navigation. Everything else (a
//! script's fetch, a phone, a crawler of an API, an image tag) breaks on it in silence. Browsers
//! say what they do in the `Sec-Fetch-*` headers (Fetch Metadata, W3C); where they are missing,
//! and for everybody else, the `Accept` header decides by RFC 9110 §12.5.1.
//!
//! Looked at only when a request is not forwarded, so it may allocate. Nothing here is trusted:
//! a client that lies gets an answer in a form that it cannot read.

use headers_accept::Accept;
use http::{
    HeaderMap, HeaderName, HeaderValue, Method,
    header::{
        ACCEPT, ACCEPT_LANGUAGE, ACCESS_CONTROL_REQUEST_METHOD, CONTENT_TYPE, ORIGIN,
    },
};
use mediatype::{MediaType, MediaTypeBuf, Name, ReadParams, names};

use crate::respond::Language;

/// The header with which the waiting page's own script asks.
///
/// Such a request is answered by the layer itself, always in JSON, and never forwarded: the page
/// wants to know whether it may reload, not what is behind it.
pub const POLL_HEADER: HeaderName = HeaderName::from_static("waiting-room-poll");

/// What kind of client sent a request, and so which form of answer it can use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ClientKind {
    /// A gRPC client: a status in trailers.
    Grpc,
    /// A program that takes JSON, or did not say what it takes.
    Json,
    /// A browser that shows what it gets as a page: HTML.
    Navigation,
    /// A program that takes a problem document (RFC 9457), or nothing we have.
    Problem,
    /// A person at a terminal, or something that cannot show an answer, such as an image: plain
    /// text.
    Text,
}

impl ClientKind {
    /// The name in templates and logs.
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

/// A request, as far as an answer to it depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Client {
    /// The form of the answer.
    pub kind: ClientKind,
    /// The language of the answer.
    pub language: Language,
    /// Whether the answer goes without its body.
    pub is_head: bool,
    /// Whether the waiting page's script asks.
    pub is_poll: bool,
    /// Whether the request can be repeated without harm (GET and HEAD).
    pub is_safe: bool,
}

impl Client {
    /// Finds out by the method and the headers of its request.
    pub(crate) fn classify(method: &Method, headers: &HeaderMap) -> Self {
        let language = combined(headers, &ACCEPT_LANGUAGE, MAX_ACCEPT_LANGUAGE_LEN);
        Self {
            kind: kind(headers),
            language: Language::negotiate(language.as_deref().unwrap_or_default()),
            is_head: method == Method::HEAD,
            is_poll: headers.contains_key(POLL_HEADER),
            is_safe: method == Method::GET || method == Method::HEAD,
        }
    }
}

/// Whether a browser asks if a script of another origin may send a request (CORS preflight).
pub(crate) fn is_preflight(method: &Method, headers: &HeaderMap) -> bool {
    method == Method::OPTIONS
        && headers.contains_key(ORIGIN)
        && headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD)
}

fn kind(headers: &HeaderMap) -> ClientKind {
    if is_grpc(headers) {
        return ClientKind::Grpc;
    }
    if headers.contains_key(POLL_HEADER) {
        return ClientKind::Json;
    }
    match Fetch::of(headers) {
        Fetch::Navigation => ClientKind::Navigation,
        Fetch::Resource => ClientKind::Text,
        Fetch::Script => negotiate(headers, false),
        Fetch::Unsaid => negotiate(headers, !is_scripted(headers)),
    }
}

/// What a browser says that it will do with the answer.
enum Fetch {
    Navigation,
    Resource,
    Script,
    Unsaid,
}

impl Fetch {
    fn of(headers: &HeaderMap) -> Self {
        let value = |name| headers.get(name).map(HeaderValue::as_bytes);
        match (value("sec-fetch-mode"), value("sec-fetch-dest")) {
            (None, None) => Self::Unsaid,
            (Some(b"navigate"), None) => Self::Navigation,
            (Some(b"navigate"), Some(dest)) if NAVIGABLE.contains(&dest) => Self::Navigation,
            (Some(b"navigate" | b"no-cors"), _) => Self::Resource,
            (_, None | Some(b"empty" | b"json")) => Self::Script,
            (_, Some(_)) => Self::Resource,
        }
    }
}

/// Picks the form that the client prefers, among the forms of data and, if `page`, HTML.
fn negotiate(headers: &HeaderMap, page: bool) -> ClientKind {
    let Some(accept) = accept(headers) else {
        return ClientKind::Json;
    };
    // HTML by a wildcard is not asked for: `*/*` is what every HTTP library says by itself.
    let page = page && accept.media_types().any(is_html);
    let offers = if page { &OFFERS } else { &OFFERS[1..] };
    let chosen = accept.negotiate(offers.iter().map(|(offer, _)| offer));
    let kind = |chosen| offers.iter().find(|(offer, _)| offer == chosen).map(|(_, kind)| *kind);
    chosen.and_then(kind).unwrap_or(ClientKind::Problem)
}

/// The `Accept` header; `None` if there is none, or none that can be parsed.
fn accept(headers: &HeaderMap) -> Option<Accept> {
    let accept: Accept = combined(headers, &ACCEPT, MAX_ACCEPT_LEN)?.parse().ok()?;
    accept.media_types().next()?;
    Some(without_parameters(accept))
}

/// The list with weights only: a range with `charset=utf-8` would match none of our types, which
/// have no parameters, and a client that sends one means the type.
fn without_parameters(accept: Accept) -> Accept {
    let is_weight = |(name, _): (Name<'_>, _)| name == names::Q;
    if accept.media_types().all(|range| range.params().all(is_weight)) {
        return accept;
    }
    let ranges: Vec<String> = accept
        .media_types()
        .map(|range| match range.get_param(names::Q) {
            Some(weight) => format!("{};q={weight}", range.essence()),
            None => range.essence().to_string(),
        })
        .collect();
    ranges.join(",").parse().unwrap_or(accept)
}

/// All lines of a header as one list, and of that no more than `limit` bytes in whole elements.
fn combined(headers: &HeaderMap, name: &HeaderName, limit: usize) -> Option<String> {
    let mut lines = headers.get_all(name).iter();
    let mut list = lines.next()?.to_str().ok()?.to_owned();
    for line in lines {
        if list.len() > limit {
            break;
        }
        list.push(',');
        list.push_str(line.to_str().ok()?);
    }
    if list.len() > limit {
        let end = list.as_bytes()[..limit].iter().rposition(|byte| *byte == b',');
        list.truncate(end.unwrap_or(0));
    }
    Some(list)
}

fn is_html(range: &MediaTypeBuf) -> bool {
    range.ty() == names::TEXT && range.subty() == names::HTML
}

/// Whether the request carries a gRPC message, or a gRPC-Web one.
fn is_grpc(headers: &HeaderMap) -> bool {
    let prefix = b"application/grpc";
    let of_type = headers.get(CONTENT_TYPE).map(HeaderValue::as_bytes).unwrap_or_default();
    of_type.len() >= prefix.len() && of_type[..prefix.len()].eq_ignore_ascii_case(prefix)
}

/// Whether a library in a page sent the request, as it says in a header of its own.
///
/// Needed where a browser sends no Fetch Metadata: an old one, or any on plain HTTP.
fn is_scripted(headers: &HeaderMap) -> bool {
    headers.contains_key("x-requested-with") || headers.contains_key("hx-request")
}

/// The destinations of a navigation.
const NAVIGABLE: [&[u8]; 7] =
    [b"document", b"embed", b"empty", b"fencedframe", b"frame", b"iframe", b"object"];

/// The forms there are: HTML, then those of data, the one preferred by us first.
static OFFERS: [(MediaType<'static>, ClientKind); 4] = [
    (MediaType::new(names::TEXT, names::HTML), ClientKind::Navigation),
    (MediaType::new(names::APPLICATION, names::JSON), ClientKind::Json),
    (MediaType::from_parts(names::APPLICATION, PROBLEM, Some(names::JSON), &[]), ClientKind::Problem),
    (MediaType::new(names::TEXT, names::PLAIN), ClientKind::Text),
];

const PROBLEM: Name<'static> = Name::new_unchecked("problem");

/// How much of the `Accept` header is looked at, in bytes.
const MAX_ACCEPT_LEN: usize = 8 * 1024;

/// How much of the `Accept-Language` header is looked at, in bytes.
const MAX_ACCEPT_LANGUAGE_LEN: usize = 1024;
