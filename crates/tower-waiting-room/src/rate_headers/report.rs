//! The report on the limits of one request, as header values.
//!
//! [`Report`] combines the constant strings of the policies that apply with the numbers in their
//! decisions. This code runs for every response, so it avoids formatting. Small numbers are static
//! strings, each thread caches large numbers, and other values are joined in one allocation.
//!
//! Durations and Unix times are rounded up, so that a client that obeys them never comes back too
//! early.

use std::{cell::RefCell, cmp::Reverse, sync::LazyLock, time::Duration};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, StatusCode};
use waiting_room_core::{Quota, Timestamp, rate::Decision};

use super::profile::{Field, HeaderPart};

/// The constant strings of a policy, for headers and for the answer to a request that exceeds the
/// policy.
#[derive(Clone, Debug)]
pub(crate) struct PolicyLine {
    /// The name of the limit or the gate: 1 to 128 printable ASCII characters.
    pub(super) name: Box<str>,
    /// The reason for a refusal, as an English sentence.
    pub(crate) detail: String,
    /// The problem document for a request that exceeds this policy alone.
    pub(crate) problem: Bytes,
    /// The largest number of units that can be used at once, such as `100`.
    pub(super) limit: HeaderValue,
    /// The member of `RateLimit-Policy` in draft 11, such as `"per_ip";q=100;w=60`.
    pub(super) policy: HeaderValue,
    /// The member of `RateLimit-Policy` in drafts 6 and 7, such as `100;w=60`.
    pub(super) quota: HeaderValue,
    /// The beginning of the `RateLimit` member in draft 11, up to the remaining quota:
    /// `"per_ip";r=`.
    pub(super) head: String,
    /// The beginning of the parameters for older parsers, up to the remaining quota:
    /// `;wr-limit=100;wr-remaining=`.
    pub(super) tail: String,
    /// The beginning of the `RateLimit` header in draft 7, up to the remaining quota:
    /// `limit=100, remaining=`.
    pub(super) triple: String,
}

/// A policy that applies to a request, with its decision.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PolicyState<'a> {
    /// The constant strings of the tier that applies to the request.
    pub(crate) line: &'a PolicyLine,
    /// The decision that the limit or the gate made for the request.
    pub(crate) decision: Decision,
}

/// The information about limits that the headers of one response contain.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Report<'a> {
    /// Every policy that applies, in the order in which list headers name the policies.
    told: &'a [PolicyState<'a>],
    /// The policy that headers with a single number describe; `None` if no policy applies.
    binding: Option<&'a PolicyState<'a>>,
    /// The retry time in whole seconds, if the request was refused and may be repeated; otherwise
    /// `None`.
    retry_after: Option<u64>,
    /// The time of the decisions.
    now: Timestamp,
    /// Whether the response is a redirect, which a client must be free to follow.
    is_redirect: bool,
}

impl<'a> Report<'a> {
    /// Creates a report on these policies. `retry_after` is in whole seconds, and `None` unless the
    /// request was refused and may be repeated.
    pub(crate) fn new(
        told: &'a [PolicyState<'a>],
        retry_after: Option<u64>,
        now: Timestamp,
    ) -> Self {
        Self { told, binding: binding(told), retry_after, now, is_redirect: false }
    }

    /// Adapts the report to a response with this status.
    pub(super) fn of_status(mut self, status: StatusCode) -> Self {
        self.is_redirect = status.is_redirection();
        self
    }

    /// Adds these fields to `headers`. Values are appended to existing lists. If the response
    /// already has one of the fields that contain a single number, all such fields are left out.
    pub(crate) fn write(&self, headers: &mut HeaderMap, fields: &[Field]) {
        // A client must not combine the limit from one source with the remaining quota from
        // another.
        let is_taken = headers
            .keys()
            .any(|name| fields.iter().any(|field| !field.is_list && field.name == *name));
        // Reserving all space at once leaves room for `Content-Length`, which many servers add.
        headers.reserve(fields.len());
        for Field { name, part, .. } in fields.iter().filter(|field| field.is_list || !is_taken) {
            if let Some(value) = self.value(*part) {
                headers.append(name, value);
            }
        }
    }

    /// Returns the value of `Retry-After`, or `None` if the header does not apply to this response.
    pub(crate) fn retry_after(&self) -> Option<HeaderValue> {
        self.retry_after.map(value)
    }

    /// Returns the value of one header, or `None` if the header does not apply to this response.
    #[inline(always)]
    pub(crate) fn value(&self, part: HeaderPart) -> Option<HeaderValue> {
        let reset = |told: &PolicyState<'_>| told.decision.reset;
        match part {
            HeaderPart::Limit => self.binding.map(|told| told.line.limit.clone()),
            HeaderPart::Remaining => self.binding.map(|told| value(told.decision.remaining)),
            HeaderPart::ResetAt => {
                self.binding.map(|told| value(unix_seconds(self.now + reset(told))))
            }
            HeaderPart::ResetIn => self.binding.map(|told| value(seconds(reset(told)))),
            // Only a refusal by a limit or a gate has this part. A wait for the room does not.
            HeaderPart::RetryAfter => self.binding.and(self.retry_after()),
            composed @ (HeaderPart::Limits
            | HeaderPart::LimitsAndTriple
            | HeaderPart::Policies
            | HeaderPart::Quotas
            | HeaderPart::Triple) => self.composed(composed),
        }
    }

    /// Returns the value of one header, as [`value`](Self::value) does. A header that consists of
    /// one number is not composed, so it has no value here.
    fn composed(&self, part: HeaderPart) -> Option<HeaderValue> {
        match part {
            HeaderPart::Limits => self.limits(|told| told.limit(false)),
            HeaderPart::LimitsAndTriple => self.limits(|told| told.limit(self.is_binding(told))),
            HeaderPart::Policies => list(self.told.iter().map(|told| &told.line.policy)),
            HeaderPart::Quotas => list(self.told.iter().map(|told| &told.line.quota)),
            HeaderPart::Triple => self.shown().find(|told| self.is_binding(told))?.triple(),
            HeaderPart::Limit
            | HeaderPart::Remaining
            | HeaderPart::ResetAt
            | HeaderPart::ResetIn
            | HeaderPart::RetryAfter => None,
        }
    }

    /// Joins the list members of all policies that are shown.
    fn limits(&self, limit: impl Fn(&PolicyState<'_>) -> String) -> Option<HeaderValue> {
        let mut shown = self.shown();
        let mut list = limit(shown.next()?);
        for told in shown {
            let next = limit(told);
            list.reserve_exact(SEPARATOR.len() + next.len());
            list.push_str(SEPARATOR);
            list.push_str(&next);
        }
        // Names are printable ASCII, so the conversion never fails.
        HeaderValue::try_from(list).ok()
    }

    /// Returns the policies whose remaining quota is shown. The headers of a redirect leave out
    /// exhausted policies, because a client that obeys them would not follow the redirect. Draft 11
    /// recommends caution when redirects contain these headers.
    fn shown(&self) -> impl Iterator<Item = &'a PolicyState<'a>> {
        let is_redirect = self.is_redirect;
        self.told.iter().filter(move |told| !is_redirect || told.decision.remaining > 0)
    }

    /// Returns whether this is the binding policy. Policies are compared by memory address, because
    /// two different policies may have the same content.
    fn is_binding(&self, told: &PolicyState<'_>) -> bool {
        self.binding.is_some_and(|binding| std::ptr::eq(binding, told))
    }
}

impl PolicyState<'_> {
    /// Returns a member of `RateLimit` as in draft 11. The time is left out if none of the quota is
    /// used, because there is nothing to wait for.
    fn limit(&self, with_triple: bool) -> String {
        let mut remaining = itoa::Buffer::new();
        let mut reset = itoa::Buffer::new();
        let (remaining, reset) = self.digits(&mut remaining, &mut reset);
        let (key, window) = if reset == "0" { ("", "") } else { (";t=", reset) };
        let PolicyLine { head, tail, .. } = self.line;
        if with_triple {
            [head, remaining, key, window, tail, remaining, ";wr-reset=", reset].concat()
        } else {
            [head, remaining, key, window].concat()
        }
    }

    /// Returns the value of `RateLimit` as in draft 7.
    fn triple(&self) -> Option<HeaderValue> {
        let mut remaining = itoa::Buffer::new();
        let mut reset = itoa::Buffer::new();
        let (remaining, reset) = self.digits(&mut remaining, &mut reset);
        HeaderValue::try_from([&self.line.triple, remaining, ", reset=", reset].concat()).ok()
    }

    /// Formats the remaining quota and the time until it grows, in whole seconds.
    fn digits<'b>(
        &self,
        remaining: &'b mut itoa::Buffer,
        reset: &'b mut itoa::Buffer,
    ) -> (&'b str, &'b str) {
        let Decision { remaining: left, reset: time, .. } = self.decision;
        (remaining.format(bounded(left)), reset.format(seconds(time)))
    }
}

/// Adds the rate limit headers to the application's response. `status` is the status of this
/// response.
pub(crate) fn write(
    headers: &mut HeaderMap,
    status: StatusCode,
    fields: &[Field],
    told: &[PolicyState<'_>],
    now: Timestamp,
) {
    Report::new(told, None, now).of_status(status).write(headers, fields);
}

/// Returns the binding policy: the one with the longest wait. Ties are broken by the least
/// remaining quota, then by the longest time until more units can be used. A policy under which the
/// request can never succeed has the longest wait.
fn binding<'a>(told: &'a [PolicyState<'a>]) -> Option<&'a PolicyState<'a>> {
    if let [only] = told {
        return Some(only);
    }
    let urgency = |told: &&PolicyState<'_>| {
        let Decision { retry_after, remaining, reset, .. } = told.decision;
        (Reverse(retry_after.unwrap_or(Duration::MAX)), remaining, Reverse(reset))
    };
    told.iter().min_by_key(urgency)
}

/// Joins constant strings of policies into one list. A single string is shared rather than copied.
fn list<'a>(mut members: impl Iterator<Item = &'a HeaderValue> + Clone) -> Option<HeaderValue> {
    let len: usize = members.clone().map(|member| SEPARATOR.len() + member.len()).sum();
    let first = members.next()?;
    if len == SEPARATOR.len() + first.len() {
        return Some(first.clone());
    }
    let mut list = Vec::with_capacity(len - SEPARATOR.len());
    list.extend_from_slice(first.as_bytes());
    for member in members {
        list.extend_from_slice(SEPARATOR.as_bytes());
        list.extend_from_slice(member.as_bytes());
    }
    HeaderValue::try_from(list).ok()
}

/// The separator between members of a list (RFC 9651 section 4.1.1).
const SEPARATOR: &str = ", ";

/// Returns an integer as a header value. Numbers below 1 000, which are the most common ones, need
/// no allocation.
pub(crate) fn value(number: u64) -> HeaderValue {
    let small = usize::try_from(number).ok().and_then(|index| NUMERALS.get(index));
    if let Some(numeral) = small {
        return HeaderValue::from_static(numeral);
    }
    let number = bounded(number);
    // The lowest bits select the place, so consecutive seconds have different places.
    let [low, ..] = number.to_le_bytes();
    RECENT.with_borrow_mut(|recent| {
        let [length, timestamp] = &mut recent[usize::from(low) % RECENT_LEN];
        let kept = if number < FIRST_TIMESTAMP { length } else { timestamp };
        if kept.0 != number {
            // `from_str` allocates as many bytes as there are digits. The integer conversion of the
            // `http` crate would reserve room for the longest possible integer.
            let digits = HeaderValue::from_str(itoa::Buffer::new().format(number));
            *kept = (number, digits.unwrap_or_else(|_| HeaderValue::from(number)));
        }
        kept.1.clone()
    })
}

thread_local! {
    /// The large numbers that this thread wrote most recently: the ends of windows, which are the
    /// same for many responses, and the lengths of bodies. The number 0 marks an unused place.
    static RECENT: RefCell<[[(u64, HeaderValue); 2]; RECENT_LEN]> = const {
        RefCell::new([const { [const { (0, HeaderValue::from_static("0")) }; 2] }; RECENT_LEN])
    };
}

/// The number of places for each kind of number: timestamps and others.
const RECENT_LEN: usize = 32;

/// The least number that is treated as a timestamp: a time in the year 2001.
const FIRST_TIMESTAMP: u64 = 1_000_000_000;

/// Caps a number at the largest integer that a structured field can contain (RFC 9651 section
/// 3.3.1).
pub(super) fn bounded(number: u64) -> u64 {
    number.min(Quota::MAX_LIMIT)
}

/// Rounds a duration up to whole seconds. A duration of zero stays zero.
pub(super) fn seconds(time: Duration) -> u64 {
    bounded(time.as_secs().saturating_add(u64::from(time.subsec_nanos() > 0)))
}

/// Rounds a duration up to whole seconds, and to one second if it is zero. A client that gets 0 in
/// `Retry-After` would repeat a refused request immediately.
pub(crate) fn whole_seconds(duration: Duration) -> u64 {
    duration.as_secs().saturating_add(u64::from(duration.subsec_nanos() > 0)).max(1)
}

/// Returns the number of seconds since the Unix epoch, rounded up.
pub(super) fn unix_seconds(time: Timestamp) -> u64 {
    time.as_nanos().div_ceil(1_000_000_000)
}

/// The numbers from 0 to 999 as strings.
static NUMERALS: LazyLock<Vec<&'static str>> =
    LazyLock::new(|| (0..1_000).map(|number: u16| &*number.to_string().leak()).collect());

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timestamp_and_the_length_of_a_body_are_not_written_again() {
        let numbers = [10_240, 1_700_000_000];
        let addresses = || numbers.map(|number| value(number).as_bytes().as_ptr());
        assert_eq!(addresses(), addresses());
    }

    #[test]
    fn times_are_rounded_up_to_whole_seconds_and_at_least_one() {
        let millis = [0, 1, 999, 1_000, 1_001, 8_200, 9_000];
        let told = millis.map(|millis| whole_seconds(Duration::from_millis(millis)));
        assert_eq!(told, [1, 1, 1, 1, 2, 9, 9]);
        assert_eq!(whole_seconds(Duration::MAX), u64::MAX);
    }

    #[test]
    fn a_unix_time_is_rounded_up_to_whole_seconds() {
        let millis = [0, 1, 1_000, 1_001, 1_900];
        assert_eq!(
            millis.map(|millis| unix_seconds(Timestamp::from_millis(millis))),
            [0, 1, 1, 2, 2]
        );
        assert_eq!(unix_seconds(Timestamp::MAX), 18_446_744_074);
    }
}
