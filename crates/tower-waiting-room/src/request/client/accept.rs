//! Content negotiation: which form of answer the `Accept` header asks for (RFC 9110 §12.5.1).

use headers_accept::Accept;
use http::{HeaderMap, HeaderName, header::ACCEPT};
use mediatype::{MediaType, MediaTypeBuf, Name, ReadParams, names};

use super::ClientKind;

/// The `Accept` header as far as it needs no parser.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Asked<'a> {
    /// There is none.
    #[default]
    Nothing,
    /// It has one line.
    Line(&'a [u8]),
    /// It has several.
    Lines,
}

impl<'a> Asked<'a> {
    /// Adds a line.
    pub(super) fn hear(&mut self, line: &'a [u8]) {
        *self = if *self == Self::Nothing { Self::Line(line) } else { Self::Lines };
    }
}

/// Picks the form that the client prefers, among the forms of data and, if `page`, HTML.
pub(super) fn negotiate(headers: &HeaderMap, asked: Asked<'_>, page: bool) -> ClientKind {
    // What most programs send needs no parser; this is the path of a crowd.
    if let Asked::Nothing | Asked::Line(b"*/*" | b"application/json") = asked {
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
pub(super) fn combined(headers: &HeaderMap, name: &HeaderName, limit: usize) -> Option<String> {
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
pub(super) const MAX_ACCEPT_LEN: usize = 1024;
