//! What kind of client asks, so that it gets an answer it can use.
//!
//! A page of HTML helps only where somebody looks at it: in a navigation. Everything else (a
//! script's fetch, a phone, a crawler of an API, an image tag) breaks on it in silence. Browsers
//! say what they do in the `Sec-Fetch-*` headers (Fetch Metadata, W3C); where they are missing,
//! and for everybody else, the `Accept` header decides by RFC 9110 §12.5.1.
//!
//! Looked at only when a request is not forwarded, so it may allocate, but not for what most
//! programs send: refusing a flood of them must be cheap. Nothing here is trusted: a client that
//! lies gets an answer in a form that it cannot read.

use headers_accept::Accept;
use http::{
    HeaderMap, HeaderName, HeaderValue, Method,
    header::{ACCEPT, ACCEPT_LANGUAGE, CONTENT_TYPE},
};
use mediatype::{MediaType, MediaTypeBuf, Name, ReadParams, names};

use super::language::Language;

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
    /// Finds out by the headers of a request.
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        Clues::of(headers).kind(headers)
    }

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
            kind: ClientKind::of(headers),
            language: Language::negotiate(language.as_deref().unwrap_or_default()),
            is_head: method == Method::HEAD,
            is_poll: headers.contains_key(POLL_HEADER),
            is_safe: method == Method::GET || method == Method::HEAD,
        }
    }
}

/// A client that takes data, apart from the waiting page's own script.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Program {
    /// Whether it is a script of a page, which may be of another origin.
    pub has_origin: bool,
}

impl Program {
    /// Finds out by the headers of its request; `None` for any other client.
    pub(crate) fn of(headers: &HeaderMap) -> Option<Self> {
        let clues = Clues::of(headers);
        let takes_data = matches!(clues.kind(headers), ClientKind::Json | ClientKind::Problem);
        (takes_data && !clues.is_poll).then_some(Self { has_origin: clues.has_origin })
    }
}

/// What there is to go by, found in one pass: a program sends few headers, and to ask for each of
/// these by its name would cost more than the rest of a refusal.
#[derive(Default)]
struct Clues<'a> {
    accept: AcceptHeader<'a>,
    content_type: Option<&'a [u8]>,
    fetch_dest: Option<&'a [u8]>,
    fetch_mode: Option<&'a [u8]>,
    has_origin: bool,
    is_poll: bool,
    /// Whether a library in a page sent the request, as it says in a header of its own. Needed
    /// where a browser sends no Fetch Metadata: an old one, or any on plain HTTP.
    is_scripted: bool,
}

impl<'a> Clues<'a> {
    fn of(headers: &'a HeaderMap) -> Self {
        let mut clues = Self::default();
        for (name, value) in headers {
            let value = value.as_bytes();
            match name.as_str() {
                "accept" => clues.accept.hear(value),
                "content-type" => _ = clues.content_type.get_or_insert(value),
                "hx-request" | "x-requested-with" => clues.is_scripted = true,
                "origin" => clues.has_origin = true,
                "sec-fetch-dest" => _ = clues.fetch_dest.get_or_insert(value),
                "sec-fetch-mode" => _ = clues.fetch_mode.get_or_insert(value),
                "waiting-room-poll" => clues.is_poll = true,
                _ => {}
            }
        }
        clues
    }

    fn kind(&self, headers: &HeaderMap) -> ClientKind {
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

/// What a browser says that it will do with the answer.
enum Fetch {
    Navigation,
    Resource,
    Script,
    Unsaid,
}

impl Fetch {
    fn of(mode: Option<&[u8]>, dest: Option<&[u8]>) -> Self {
        match (mode, dest) {
            (None, None) => Self::Unsaid,
            (Some(b"navigate"), None) => Self::Navigation,
            (Some(b"navigate"), Some(dest)) if NAVIGABLE.contains(&dest) => Self::Navigation,
            (Some(b"navigate" | b"no-cors"), _) => Self::Resource,
            (_, None | Some(b"empty" | b"json")) => Self::Script,
            (_, Some(_)) => Self::Resource,
        }
    }
}

/// Whether a request of this type carries a gRPC message, or a gRPC-Web one.
fn is_grpc(content_type: &[u8]) -> bool {
    let prefix = b"application/grpc";
    content_type.len() >= prefix.len() && content_type[..prefix.len()].eq_ignore_ascii_case(prefix)
}

/// Whether a client of gRPC itself sent the request, and not one of gRPC-Web, which is a browser
/// with cookies.
pub(crate) fn is_native_grpc(headers: &HeaderMap) -> bool {
    let behind = |value: &HeaderValue| value.as_bytes().get(b"application/grpc".len()).copied();
    headers.get(CONTENT_TYPE).is_some_and(|it| is_grpc(it.as_bytes()) && behind(it) != Some(b'-'))
}

/// The `Accept` header as far as it needs no parser.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum AcceptHeader<'a> {
    /// There is none.
    #[default]
    Nothing,
    /// It has one line.
    Line(&'a [u8]),
    /// It has several.
    Lines,
}

impl<'a> AcceptHeader<'a> {
    /// Adds a line.
    fn hear(&mut self, line: &'a [u8]) {
        *self = if *self == Self::Nothing { Self::Line(line) } else { Self::Lines };
    }
}

/// Picks the form that the client prefers, among the forms of data and, if `page`, HTML.
#[inline]
fn negotiate(headers: &HeaderMap, asked: AcceptHeader<'_>, page: bool) -> ClientKind {
    // What most programs send needs no parser; this is the path of a crowd.
    if let AcceptHeader::Nothing | AcceptHeader::Line(b"*/*" | b"application/json") = asked {
        return ClientKind::Json;
    }
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

/// The forms there are: HTML, then those of data, the one preferred by us first.
static OFFERS: [(MediaType<'static>, ClientKind); 4] = [
    (MediaType::new(names::TEXT, names::HTML), ClientKind::Navigation),
    (MediaType::new(names::APPLICATION, names::JSON), ClientKind::Json),
    (
        MediaType::from_parts(names::APPLICATION, PROBLEM, Some(names::JSON), &[]),
        ClientKind::Problem,
    ),
    (MediaType::new(names::TEXT, names::PLAIN), ClientKind::Text),
];

const PROBLEM: Name<'static> = Name::new_unchecked("problem");

/// How much of the `Accept` header is looked at, in bytes.
const MAX_ACCEPT_LEN: usize = 1024;

/// The destinations of a navigation.
const NAVIGABLE: [&[u8]; 7] =
    [b"document", b"embed", b"empty", b"fencedframe", b"frame", b"iframe", b"object"];

/// How much of the `Accept-Language` header is looked at, in bytes.
const MAX_ACCEPT_LANGUAGE_LEN: usize = 1024;

#[cfg(test)]
mod tests;
