//! Answers that are prepared at start-up, as far as possible.
//!
//! An answer has 5 to 14 headers, many of them constant. Inserting a header hashes its name,
//! and growing the map hashes all names again. The headers of frequent answers are therefore
//! inserted once, at start-up: an answer clones the map, and sets the few values that vary. The documents for programs are rendered at start-up.

use bytes::Bytes;
use http::{
    HeaderMap, HeaderName, HeaderValue, Response, StatusCode,
    header::{
        CACHE_CONTROL, CONTENT_LANGUAGE, CONTENT_LENGTH, CONTENT_TYPE, REFRESH, RETRY_AFTER,
        SET_COOKIE, VARY, X_CONTENT_TYPE_OPTIONS,
    },
};
use waiting_room_core::{Reason, Timestamp};

use super::{
    About, Answer, Outcome, Page, Unforwarded,
    headers::{OUTCOME_HEADER, VARIES_BY, expose},
    problem,
};
use crate::{
    rate_headers::{Field, HeaderPart, Report, number, quota_exceeded},
    request::{Client, ClientKind, Language},
};

/// The prepared headers for common answers, and the prepared documents for refusals by gates.
#[derive(Debug)]
pub(super) struct Prepared {
    /// The headers for programs that exceed a limit. The limit provides the document.
    pub(super) limit: PreparedHeaders,
    /// The headers for programs that a gate refuses.
    pub(super) gate: PreparedHeaders,
    /// The headers for programs that wait.
    pub(super) waiting: PreparedHeaders,
    /// The headers for the script of the waiting page.
    pub(super) poll: PreparedHeaders,
    /// The headers of the page for browsers that limits or gates refuse, if they can be prepared.
    pub(super) refused_page: Option<PreparedHeaders>,
    /// The headers of the waiting page, if they can be prepared.
    pub(super) waiting_page: Option<PreparedHeaders>,
    /// The documents of gates: one for each combination of a reason and a status.
    documents: Vec<(Reason, StatusCode, Bytes)>,
}

impl Prepared {
    /// Prepares the answers of a layer that sends the rate limit headers `fields` and shows `page`.
    pub(super) fn new(fields: &'static [Field], page: &Page) -> Self {
        let documents = GATE_REASONS.into_iter().flat_map(|reason| {
            GATE_STATUSES.map(|status| (reason.clone(), status, document(&reason, status)))
        });
        // A refusal by a limit omits the header with the outcome, because its document states the
        // limit, and every header adds to the cost of a flood.
        let outcome = (OUTCOME_HEADER, Outcome::Refuse.as_str());
        Self {
            limit: PreparedHeaders::of_document(fields, &[]),
            gate: PreparedHeaders::of_document(fields, &[outcome]),
            waiting: PreparedHeaders::of_json(false),
            poll: PreparedHeaders::of_json(true),
            refused_page: PreparedHeaders::of_refused_page(page, fields),
            waiting_page: PreparedHeaders::of_waiting_page(page),
            documents: documents.collect(),
        }
    }

    /// Returns the document of a refusal by a gate. Returns `None` if no document is prepared for
    /// the reason and the status: for example, if the client has disconnected.
    pub(super) fn document(&self, reason: &Reason, status: StatusCode) -> Option<Bytes> {
        // There are at most twelve documents, so a linear search is as fast as a map.
        let mut documents = self.documents.iter();
        let (.., document) = documents.find(|(of, with, _)| of == reason && *with == status)?;
        Some(document.clone())
    }
}

/// The body of an answer with prepared headers.
pub(super) struct FinishedBody {
    pub(super) status: StatusCode,
    pub(super) language: Language,
    pub(super) content: Bytes,
}

impl FinishedBody {
    /// Returns a document for programs, which is in English.
    pub(super) fn english(status: StatusCode, content: Bytes) -> Self {
        Self { status, language: Language::default(), content }
    }
}

/// The headers of one kind of answer.
#[derive(Debug)]
pub(super) struct PreparedHeaders {
    /// All headers. A header that varies has an empty value until it is set.
    headers: HeaderMap,
    /// All headers, and an empty `Set-Cookie` header as the last one. A copied map has no room to spare, so
    /// adding a header to a copy would move all others.
    with_cookie: HeaderMap,
    /// The part that provides the value of each header, in the order of the map, or `None` for a
    /// constant header.
    parts: Box<[Option<Varying>]>,
}

/// The value of a header that varies.
#[derive(Clone, Copy, Debug)]
enum Varying {
    /// The tag of the language.
    Language,
    /// The length of the body.
    Length,
    /// The name of the outcome.
    Outcome,
    /// A part of the report about limits.
    Report(HeaderPart),
    /// The time to retry.
    RetryAfter,
}

/// The values of the headers that vary.
#[derive(Clone, Copy, Debug)]
struct Values<'a> {
    pub(super) language: Language,
    /// The length of the body in bytes.
    pub(super) length: usize,
    pub(super) outcome: Outcome,
    pub(super) report: Report<'a>,
}

impl PreparedHeaders {
    /// Prepares the headers for programs that limits or gates refuse, with the additional headers
    /// in `besides`.
    fn of_document(fields: &'static [Field], besides: &[(HeaderName, &'static str)]) -> Self {
        let besides = besides.iter().map(|(name, value)| (name.clone(), constant(value)));
        // RFC 6585 section 4 forbids caches to store a 429, but not every cache supports that
        // status.
        let fixed = [(CONTENT_TYPE, constant(problem::CONTENT_TYPE)), NO_STORE];
        // `Retry-After` is not part of a profile, because every refusal has this header.
        Self::new(fixed.into_iter().chain(besides), reports(fields).chain([RETRY, LENGTH]))
    }

    /// Prepares the headers of JSON about the room. `Content-Language` is for answers with
    /// sentences.
    fn of_json(has_text: bool) -> Self {
        let fixed = [(CONTENT_TYPE, constant("application/json")), NO_STORE];
        let language = has_text.then_some(LANGUAGE);
        Self::new(fixed, [OUTCOME, RETRY, LENGTH].into_iter().chain(language))
    }

    /// Prepares the headers of pages for refusals by limits and gates, unless they differ from
    /// response to response.
    fn of_refused_page(page: &Page, fields: &'static [Field]) -> Option<Self> {
        Self::of_page(page, [LANGUAGE, RETRY, LENGTH].into_iter().chain(reports(fields)))
    }

    /// Prepares the headers of the waiting page for a request that may be repeated, unless they
    /// differ from response to response.
    fn of_waiting_page(page: &Page) -> Option<Self> {
        Self::of_page(page, [LANGUAGE, (REFRESH, RETRY.1), RETRY, LENGTH].into_iter())
    }

    /// Prepares the headers of pages.
    fn of_page(page: &Page, varying: impl Iterator<Item = (HeaderName, Varying)>) -> Option<Self> {
        let vary = (VARY, constant(VARIES_BY));
        let every = [NO_STORE, vary, (X_CONTENT_TYPE_OPTIONS, NOSNIFF)];
        let fixed = page.headers()?.into_iter().chain(every);
        Some(Self::new(fixed, [OUTCOME].into_iter().chain(varying)))
    }

    /// Prepares headers with constant values, followed by headers that vary. No name may occur
    /// twice.
    fn new(
        constant: impl IntoIterator<Item = (HeaderName, HeaderValue)>,
        varying: impl IntoIterator<Item = (HeaderName, Varying)>,
    ) -> Self {
        let (mut headers, mut parts): (HeaderMap, Vec<_>) = Default::default();
        for (name, value) in constant {
            headers.insert(name, value);
            parts.push(None);
        }
        for (name, part) in varying {
            headers.insert(name, HeaderValue::from_static(""));
            parts.push(Some(part));
        }
        // A map that has never lost a header iterates in the order of insertion.
        debug_assert_eq!(headers.len(), parts.len(), "no name occurs twice");
        let mut with_cookie = headers.clone();
        with_cookie.insert(SET_COOKIE, HeaderValue::from_static(""));
        Self { headers, with_cookie, parts: parts.into() }
    }

    /// Assembles a response from the headers and a finished body.
    pub(super) fn assembled(
        &self,
        body: FinishedBody,
        facts: &Unforwarded<'_>,
        client: &Client,
    ) -> Response<Bytes> {
        let FinishedBody { status, language, content } = body;
        let length = content.len();
        let mut response = Response::new(if client.is_head { Bytes::new() } else { content });
        *response.status_mut() = status;
        let values = Values { language, length, outcome: facts.outcome, report: facts.report() };
        let gets_cookie = facts.gets_cookie && matches!(facts.about, About::Room(..));
        let prepared = if gets_cookie { &self.with_cookie } else { &self.headers };
        *response.headers_mut() = self.copied(prepared, &values);
        // Only scripts of other origins need permission to read headers, and every further header
        // adds to the cost of a flood.
        if client.has_origin {
            let headers = response.headers_mut();
            headers.entry(VARY).or_insert(HeaderValue::from_static(VARIES_BY));
            expose(headers);
        }
        response
    }

    /// Copies a map that begins with all headers, and sets the values that vary.
    fn copied(&self, prepared: &HeaderMap, values: &Values<'_>) -> HeaderMap {
        let mut headers = prepared.clone();
        let mut is_complete = true;
        for (value, part) in headers.values_mut().zip(&self.parts) {
            let new = match part {
                None => continue,
                Some(Varying::Language) => Some(HeaderValue::from_static(values.language.tag())),
                Some(Varying::Length) => Some(number(values.length as u64)),
                Some(Varying::Outcome) => Some(HeaderValue::from_static(values.outcome.as_str())),
                Some(Varying::Report(part)) => values.report.value(*part),
                Some(Varying::RetryAfter) => values.report.retry_after(),
            };
            match new {
                Some(new) => *value = new,
                None => is_complete = false,
            }
        }
        // Removing a header from a map costs more than setting it, so an incomplete map, which is
        // rare, is rebuilt.
        if is_complete { headers } else { without_empty(headers) }
    }
}

/// Returns the problem document for the limits that a request exceeds: the prepared document for a
/// single limit, and otherwise a new document that names all exceeded limits.
pub(super) fn over_limit(facts: &Unforwarded<'_>) -> Bytes {
    let mut violated = facts.violated();
    match (violated.next(), violated.next()) {
        (Some(only), None) => only.line.problem.clone(),
        _ => {
            let names: Vec<&str> = facts.violated().map(|told| told.line.name()).collect();
            let details: Vec<&str> = facts.violated().map(|told| &*told.line.detail).collect();
            let reason = facts.reason.to_string();
            let detail = details.join(" ");
            quota_exceeded(&names, &reason, &detail).unwrap_or_default().into()
        }
    }
}

/// Renders the problem document of a gate, in English. The document names neither the gate nor a
/// time, so that one document serves all requests.
fn document(reason: &Reason, status: StatusCode) -> Bytes {
    let client = Client {
        kind: ClientKind::Problem,
        has_origin: false,
        is_head: false,
        is_poll: false,
        is_safe: false,
    };
    // The document of a gate contains neither the name of the room nor a time.
    let outcome = Outcome::Refuse;
    let now = Timestamp::ZERO;
    let language = Language::default();
    let reason = reason.clone();
    let answer = Answer::new("".into(), &client, language, outcome, reason, status, now);
    problem::document(&answer).unwrap_or_default().into()
}

/// Returns the headers that report limits.
fn reports(fields: &'static [Field]) -> impl Iterator<Item = (HeaderName, Varying)> {
    fields.iter().map(|field| (field.name.clone(), Varying::Report(field.part)))
}

/// Returns a constant value.
const fn constant(value: &'static str) -> HeaderValue {
    HeaderValue::from_static(value)
}

const NO_STORE: (HeaderName, HeaderValue) = (CACHE_CONTROL, constant("no-store"));
pub(super) const NOSNIFF: HeaderValue = constant("nosniff");
const LANGUAGE: (HeaderName, Varying) = (CONTENT_LANGUAGE, Varying::Language);
const LENGTH: (HeaderName, Varying) = (CONTENT_LENGTH, Varying::Length);
const OUTCOME: (HeaderName, Varying) = (OUTCOME_HEADER, Varying::Outcome);
const RETRY: (HeaderName, Varying) = (RETRY_AFTER, Varying::RetryAfter);

/// Removes headers that were not set, such as `Retry-After` on a final refusal.
fn without_empty(headers: HeaderMap) -> HeaderMap {
    let said = headers.into_iter().filter(|(_, value)| !value.is_empty());
    said.filter_map(|(name, value)| Some((name?, value))).collect()
}

/// The reasons for which a gate refuses a request whose client is still connected.
const GATE_REASONS: [Reason; 4] = [
    Reason::RefusedGateDrained,
    Reason::RefusedGateFull,
    Reason::RefusedGateShed,
    Reason::RefusedGateTimeout,
];

/// The statuses that a gate's refusal may have.
const GATE_STATUSES: [StatusCode; 3] =
    [StatusCode::TOO_MANY_REQUESTS, StatusCode::SERVICE_UNAVAILABLE, StatusCode::GATEWAY_TIMEOUT];

#[cfg(test)]
mod tests {
    use waiting_room_core::Timestamp;

    use super::*;

    fn prepared() -> PreparedHeaders {
        PreparedHeaders::new([NO_STORE], [LANGUAGE, RETRY, LENGTH])
    }

    fn values(retry_after: Option<u64>) -> Values<'static> {
        let report = Report::new(&[], retry_after, Timestamp::ZERO);
        Values { language: Language::GERMAN, length: 12_345, outcome: Outcome::Refuse, report }
    }

    fn lines(headers: HeaderMap) -> Vec<String> {
        let line = |(name, value): (&HeaderName, &HeaderValue)| {
            format!("{name}: {}", value.to_str().unwrap())
        };
        headers.iter().map(line).collect()
    }

    #[test]
    fn a_header_without_a_value_is_left_out() {
        let prepared = prepared();
        let headers = |retry_after| prepared.copied(&prepared.headers, &values(retry_after));
        let all = [
            "cache-control: no-store",
            "content-language: de",
            "retry-after: 7",
            "content-length: 12345",
        ];
        assert_eq!(lines(headers(Some(7))), all);
        assert_eq!(lines(headers(None)), [all[0], all[1], all[3]]);
    }

    #[test]
    fn a_cookie_follows_the_same_headers() {
        let prepared = prepared();
        let mut headers = prepared.copied(&prepared.with_cookie, &values(Some(7)));
        assert_eq!(headers.remove(SET_COOKIE).unwrap(), "");
        assert_eq!(lines(headers), lines(prepared.copied(&prepared.headers, &values(Some(7)))));
    }
}
