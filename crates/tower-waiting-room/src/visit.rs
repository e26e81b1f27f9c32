//! What kind of client asks, so that it gets an answer it can use.
//!
//! A page of HTML helps only where somebody looks at it: in a navigation. Everything else (a
//! script's fetch, a phone, a crawler of an API, an image tag) breaks on it in silence. Browsers
//! say what they do in the `Sec-Fetch-*` headers (Fetch Metadata, W3C); where they are missing,
//! and for everybody else, the `Accept` header decides by RFC 9110 §12.5.1.
//!
//! Looked at only when a request is not forwarded, so it may allocate. Nothing here is trusted:
//! a client that lies gets an answer in a form that it cannot read.

mod accept;

use http::{
    HeaderMap, HeaderName, HeaderValue, Method,
    header::{ACCEPT_LANGUAGE, ACCESS_CONTROL_REQUEST_METHOD, CONTENT_TYPE, ORIGIN},
};

use self::accept::{combined, negotiate};
use crate::respond::Language;

/// The header with which the waiting page's own script asks.
///
/// Such a request is answered by the layer itself, in JSON: the page wants to know whether it may
/// reload, not what is behind it. It is forwarded only where the room does not stand in the way at
/// all: by a bypass rule, while it is suspended, or while the store fails open.
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

/// How much of the `Accept-Language` header is looked at, in bytes.
const MAX_ACCEPT_LANGUAGE_LEN: usize = 1024;

#[cfg(test)]
mod tests;
