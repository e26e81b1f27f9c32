//! The kind of a client, which determines the form of the layer's answers.
//!
//! An HTML page is useful only as the answer to a navigation, where a person sees it. A script's
//! fetch, a mobile app, an API client or an image element cannot use an HTML page, and fails
//! without a visible error. The form is therefore chosen from the headers of the request. The first
//! of the following headers that applies determines the form:
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
//! it. For requests without Fetch Metadata, the `Accept` header decides (RFC 9110 section 12.5.1).
//!
//! Apart from [`is_native_grpc`], the code of this module runs only for requests that are not
//! forwarded. Negotiation may therefore allocate memory, except for the values that most programs
//! send, since a flood of refusals must be cheap. Misleading headers do no harm: a client that
//! sends them gets an answer in a form that it cannot read, and nothing more.

use headers_accept::Accept;
use http::{
    HeaderMap, HeaderName, Method,
    header::{ACCEPT, ACCEPT_LANGUAGE},
};
use mediatype::{MediaType, MediaTypeBuf, Name, ReadParams, names};

use super::language::Language;

/// The request header with which the script of the waiting page polls.
///
/// The layer answers a request with this header itself, in JSON. The script needs to know whether
/// the page may reload, but does not need the content of the application. A poll is forwarded only
/// if no verdict of a room is enforced on it: if a bypass rule covers it, in a layer without a
/// room, in shadow mode, while the room is suspended, or while the store is away and its failure
/// policy admits visitors.
pub const POLL_HEADER: HeaderName = HeaderName::from_static("waiting-room-poll");

/// The kind of client that sent a request, which determines the form of the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ClientKind {
    /// A gRPC or gRPC-Web client. The answer is a gRPC status.
    Grpc,
    /// A program that accepts JSON or states no preference. The answer is JSON.
    Json,
    /// A browser that navigates and shows the answer as a page. The answer is HTML.
    Navigation,
    /// A program that prefers a problem document or accepts none of the available forms. The answer
    /// is a problem document (RFC 9457).
    Problem,
    /// A client that prefers plain text, or a browser that loads a part of a page that cannot show
    /// an answer, such as an image or a stylesheet. The answer is plain text.
    Text,
}

impl ClientKind {
    /// Determines the kind of a client from the headers of its request.
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        Clues::of(headers).kind(headers)
    }

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
    /// The language of the answer.
    pub language: Language,
    /// Whether the method is HEAD, which is answered without a body.
    pub is_head: bool,
    /// Whether the script of the waiting page sent the request.
    pub is_poll: bool,
    /// Whether the method is GET or HEAD. A page may repeat a request with these methods
    /// automatically (RFC 9110 section 9.2.1).
    pub is_safe: bool,
}

impl Client {
    /// Determines the properties of a request from its method and headers.
    pub(crate) fn classify(method: &Method, headers: &HeaderMap) -> Self {
        let language = combined(headers, &ACCEPT_LANGUAGE, MAX_ACCEPT_LANGUAGE_LEN);
        Self {
            kind: ClientKind::of(headers),
            // Without the feature `page`, all answers are in English.
            language: match cfg!(feature = "page") {
                true => Language::negotiate(language.as_deref().unwrap_or_default()),
                false => Language::English,
            },
            is_head: method == Method::HEAD,
            is_poll: headers.contains_key(POLL_HEADER),
            is_safe: method == Method::GET || method == Method::HEAD,
        }
    }
}

/// A client that gets JSON or a problem document, except for the script of the waiting page.
///
/// Answers that refuse programs are prepared at start-up, so that a flood of refusals is cheap.
/// This type contains the only property on which a prepared answer depends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Program {
    /// Whether the request has an `Origin` header and therefore comes from a script. The script may
    /// have another origin, and can then read only the headers that the answer exposes.
    pub has_origin: bool,
}

impl Program {
    /// Reads the headers of a request. Returns `None` if the client is not a program.
    pub(crate) fn of(headers: &HeaderMap) -> Option<Self> {
        let clues = Clues::of(headers);
        let takes_data = matches!(clues.kind(headers), ClientKind::Json | ClientKind::Problem);
        (takes_data && !clues.is_poll).then_some(Self { has_origin: clues.has_origin })
    }
}

/// The headers that determine the kind of a client, collected in one pass.
///
/// A program sends few headers, so one pass over them is cheaper than looking up each name, which
/// would cost more than the rest of a refusal. If a header other than `accept` occurs more than
/// once, its first line is used.
#[derive(Default)]
struct Clues<'a> {
    accept: AcceptHeader<'a>,
    content_type: Option<&'a [u8]>,
    fetch_dest: Option<&'a [u8]>,
    fetch_mode: Option<&'a [u8]>,
    has_origin: bool,
    is_poll: bool,
    /// Whether a script library has identified itself by a header: htmx by `HX-Request`, or jQuery
    /// and other libraries by `X-Requested-With`. The headers of libraries matter for browsers that
    /// send no Fetch Metadata, which are old browsers and all browsers over plain HTTP.
    is_scripted: bool,
}

impl<'a> Clues<'a> {
    /// Collects the clues from the headers of a request.
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

    /// Returns the kind of client according to the first clue that applies. `headers` must be the
    /// headers that the clues were collected from. The headers are read again only if `accept` has
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

/// The use that a browser will make of the answer, according to its Fetch Metadata.
enum Fetch {
    /// The browser shows the answer as a page or in a frame.
    Navigation,
    /// The browser uses the answer as a part of a page, such as an image, and cannot show another
    /// form.
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
            (Some(b"navigate"), None) => Self::Navigation,
            (Some(b"navigate"), Some(dest)) if NAVIGABLE.contains(&dest) => Self::Navigation,
            (Some(b"navigate" | b"no-cors"), _) => Self::Resource,
            (_, None | Some(b"empty" | b"json")) => Self::Script,
            (_, Some(_)) => Self::Resource,
        }
    }
}

/// Returns whether a content type is that of gRPC or gRPC-Web, with any suffix such as `+proto`.
fn is_grpc(content_type: &[u8]) -> bool {
    let prefix = b"application/grpc";
    content_type.len() >= prefix.len() && content_type[..prefix.len()].eq_ignore_ascii_case(prefix)
}

/// Returns whether a native gRPC client sent the request. A gRPC-Web client, whose content type
/// continues with `-web`, does not count, because it runs in a browser, which stores cookies.
#[cfg(feature = "room")]
pub(crate) fn is_native_grpc(headers: &HeaderMap) -> bool {
    let Some(value) = headers.get(http::header::CONTENT_TYPE) else { return false };
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
/// every form, the form is a problem document.
#[inline]
fn negotiate(headers: &HeaderMap, asked: AcceptHeader<'_>, page: bool) -> ClientKind {
    // Most programs send no `Accept` header or one of these two values, so a flood of refusals
    // mostly takes this branch, which neither parses nor allocates.
    if let AcceptHeader::Nothing | AcceptHeader::Line(b"*/*" | b"application/json") = asked {
        return ClientKind::Json;
    }
    let Some(accept) = accept(headers) else {
        return ClientKind::Json;
    };
    // The client must name HTML explicitly, because `*/*` is the default of every HTTP library and
    // does not ask for a page.
    let page = page && accept.media_types().any(is_html);
    let offers = if page { &OFFERS } else { &OFFERS[1..] };
    let chosen = accept.negotiate(offers.iter().map(|(offer, _)| offer));
    let kind = |chosen| offers.iter().find(|(offer, _)| offer == chosen).map(|(_, kind)| *kind);
    chosen.and_then(kind).unwrap_or(ClientKind::Problem)
}

/// Parses the `Accept` header. Returns `None` if the header is missing, empty or malformed.
fn accept(headers: &HeaderMap) -> Option<Accept> {
    let accept: Accept = combined(headers, &ACCEPT, MAX_ACCEPT_LEN)?.parse().ok()?;
    accept.media_types().next()?;
    Some(without_parameters(accept))
}

/// Returns the media ranges of the header without any parameters except weights. A range with
/// `charset=utf-8` would match none of the offers, which have no parameters, although the client
/// accepts the type.
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

/// Returns all lines of a header as one list, truncated after the last whole element within `limit`
/// bytes.
///
/// Several lines of a list header mean the same as one line with all elements (RFC 9110 section
/// 5.3). Returns `None` if the header is missing, or if a line is not visible ASCII.
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

/// The negotiated forms of an answer, with HTML first and the forms for programs after it. If a
/// client accepts several forms by the same range, the first of them is chosen, which is JSON for
/// `*/*`.
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

/// The maximum number of bytes of the `Accept` header that are parsed. Browsers send fewer than 200
/// bytes in this header.
const MAX_ACCEPT_LEN: usize = 1024;

/// The values of `sec-fetch-dest` for which a navigation shows its answer to a person.
const NAVIGABLE: [&[u8]; 7] =
    [b"document", b"embed", b"empty", b"fencedframe", b"frame", b"iframe", b"object"];

/// The maximum number of bytes of the `Accept-Language` header that are parsed.
const MAX_ACCEPT_LANGUAGE_LEN: usize = 1024;

#[cfg(test)]
mod tests;
