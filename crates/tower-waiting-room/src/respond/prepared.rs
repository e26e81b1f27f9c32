//! Headers of answers, prepared at start-up.
//!
//! An answer has 5 to 14 headers, many of them constant. Inserting a header hashes its name,
//! and growing the map hashes all names again. The headers of frequent answers are therefore
//! inserted once, at start-up: an answer clones the map, and sets the few values that vary.

use http::{
    HeaderMap, HeaderName, HeaderValue,
    header::{
        CACHE_CONTROL, CONTENT_LANGUAGE, CONTENT_LENGTH, CONTENT_TYPE, REFRESH, RETRY_AFTER,
        SET_COOKIE, VARY, X_CONTENT_TYPE_OPTIONS,
    },
};

use super::{
    Outcome, Page,
    finished::{self, HeadersKey, PreparedId},
    headers::{OUTCOME_HEADER, VARIES_BY},
    problem,
};
use crate::{
    rate_headers::{Field, HeaderPart, Report, number},
    request::Language,
};

/// The headers of one kind of answer.
#[derive(Debug)]
pub(super) struct PreparedHeaders {
    id: PreparedId,
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
pub(super) enum Varying {
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
pub(super) struct Values<'a> {
    pub(super) language: Language,
    /// The length of the body in bytes.
    pub(super) length: usize,
    pub(super) outcome: Outcome,
    pub(super) report: Report<'a>,
}

impl PreparedHeaders {
    /// Prepares the headers of refusals by limits and gates for programs, with the additional
    /// headers in `besides`.
    pub(super) fn of_document(
        fields: &'static [Field],
        besides: &[(HeaderName, &'static str)],
    ) -> Self {
        let besides = besides.iter().map(|(name, value)| (name.clone(), constant(value)));
        // RFC 6585 section 4 forbids caches to store a 429, but not every cache supports that
        // status.
        let fixed = [(CONTENT_TYPE, constant(problem::CONTENT_TYPE)), NO_STORE];
        // `Retry-After` is not part of a profile, because every refusal has this header.
        Self::new(fixed.into_iter().chain(besides), reports(fields).chain([RETRY, LENGTH]))
    }

    /// Prepares the headers of JSON about the room. `Content-Language` is for answers with
    /// sentences.
    pub(super) fn of_json(has_text: bool) -> Self {
        let fixed = [(CONTENT_TYPE, constant("application/json")), NO_STORE];
        let language = has_text.then_some(LANGUAGE);
        Self::new(fixed, [OUTCOME, RETRY, LENGTH].into_iter().chain(language))
    }

    /// Prepares the headers of pages of refusals by limits and gates, unless they differ from
    /// response to response.
    pub(super) fn of_refused_page(page: &Page, fields: &'static [Field]) -> Option<Self> {
        Self::of_page(page, [LANGUAGE, RETRY, LENGTH].into_iter().chain(reports(fields)))
    }

    /// Prepares the headers of the waiting page for a request that may be repeated, unless they
    /// differ from response to response.
    pub(super) fn of_waiting_page(page: &Page) -> Option<Self> {
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
        Self { id: PreparedId::new(), headers, with_cookie, parts: parts.into() }
    }

    /// Returns the headers of a refusal, which may have been set for another request with the same
    /// values.
    pub(super) fn of_refusal(&self, values: &Values<'_>) -> HeaderMap {
        let Values { language, length, outcome, report } = *values;
        // The headers for several policies are set each time.
        let Some(report) = report.key() else { return self.with(values) };
        let key = HeadersKey { prepared: self.id, report, language, length, outcome };
        finished::headers(key, || self.with(values))
    }

    /// Copies the headers, and sets the values that vary.
    pub(super) fn with(&self, values: &Values<'_>) -> HeaderMap {
        self.copied(&self.headers, values)
    }

    /// Does the same, and adds an empty `Set-Cookie` header, whose value the caller sets.
    pub(super) fn with_cookie(&self, values: &Values<'_>) -> HeaderMap {
        self.copied(&self.with_cookie, values)
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
        let headers = |retry_after| prepared().with(&values(retry_after));
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
        let mut headers = prepared().with_cookie(&values(Some(7)));
        assert_eq!(headers.remove(SET_COOKIE).unwrap(), "");
        assert_eq!(lines(headers), lines(prepared().with(&values(Some(7)))));
    }
}
