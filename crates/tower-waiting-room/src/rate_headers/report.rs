//! What one request is told about its limits.

use std::{cmp::Reverse, time::Duration};

use http::{HeaderMap, HeaderValue, StatusCode};
use waiting_room_core::{Decision, Timestamp};

use super::{
    number::{self, unix_seconds, whole_seconds},
    policy_line::PolicyLine,
    profile::{Field, Part, RateHeaders},
};

/// A policy that applied to a request, and what it said.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Told<'a> {
    pub(crate) line: &'a PolicyLine,
    pub(crate) decision: &'a Decision,
}

/// All that the headers of one response tell about limits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Report<'a> {
    told: &'a [Told<'a>],
    binding: Option<&'a Told<'a>>,
    retry_after: Option<u64>,
    now: Timestamp,
    is_redirect: bool,
}

impl<'a> Report<'a> {
    /// `retry_after` is in whole seconds, and there if the request is refused but may be repeated.
    pub(crate) fn new(told: &'a [Told<'a>], retry_after: Option<u64>, now: Timestamp) -> Self {
        Self { told, binding: binding(told), retry_after, now, is_redirect: false }
    }

    /// The same for a response of this status.
    pub(super) fn of_status(mut self, status: StatusCode) -> Self {
        self.is_redirect = status.is_redirection();
        self
    }

    /// Adds all fields of the profile to `headers`, where they are not spoken for.
    pub(crate) fn write(&self, headers: &mut HeaderMap, profile: RateHeaders) {
        let fields = profile.fields();
        let is_taken = headers
            .keys()
            .any(|name| fields.iter().any(|it| !it.part.is_list() && it.name == *name));
        // At once, and with a place to spare for the length that many servers add.
        headers.reserve(fields.len());
        for Field { name, part } in fields.iter().filter(|it| it.part.is_list() || !is_taken) {
            if let Some(value) = self.value(*part) {
                headers.append(name, value);
            }
        }
    }

    /// The value of one header; `None` if there is nothing to say in it.
    #[inline]
    pub(crate) fn value(&self, part: Part) -> Option<HeaderValue> {
        let reset = |told: &Told<'_>| told.decision.reset;
        match part {
            Part::Limit => self.binding.map(|told| told.line.limit.clone()),
            Part::Limits => self.limits(|told| told.limit(false)),
            Part::LimitsAndTriple => self.limits(|told| told.limit(self.is_binding(told))),
            Part::Policies => list(self.told.iter().map(|told| &told.line.policy)),
            Part::Quotas => list(self.told.iter().map(|told| &told.line.quota)),
            Part::Remaining => self.binding.map(|told| number::value(told.decision.remaining)),
            Part::ResetAt => {
                self.binding.map(|told| number::value(unix_seconds(self.now + reset(told))))
            }
            Part::ResetIn => self.binding.map(|told| number::value(number::seconds(reset(told)))),
            Part::RetryAfter => self.retry_after.map(number::value),
            Part::Triple => self.shown().find(|told| self.is_binding(told))?.triple(),
        }
    }

    /// Joins what is said of each policy.
    fn limits(&self, limit: impl Fn(&Told<'_>) -> String) -> Option<HeaderValue> {
        let mut shown = self.shown();
        let mut list = limit(shown.next()?);
        for told in shown {
            list.push_str(", ");
            list.push_str(&limit(told));
        }
        HeaderValue::try_from(list).ok()
    }

    /// The policies whose numbers are shown. On a redirect not those with nothing left: a client
    /// that obeys would not follow it (draft 11 asks for care there).
    fn shown(&self) -> impl Iterator<Item = &'a Told<'a>> {
        let is_redirect = self.is_redirect;
        self.told.iter().filter(move |told| !is_redirect || told.decision.remaining > 0)
    }

    fn is_binding(&self, told: &Told<'_>) -> bool {
        self.binding.is_some_and(|binding| std::ptr::eq(binding, told))
    }
}

impl Told<'_> {
    /// A member of `RateLimit` as in draft 11. How long it holds is left out if nothing was used.
    fn limit(&self, with_triple: bool) -> String {
        let (mut remaining, mut reset) = (itoa::Buffer::new(), itoa::Buffer::new());
        let (remaining, reset) = self.digits(&mut remaining, &mut reset);
        let (key, window) = if reset == "0" { ("", "") } else { (";t=", reset) };
        let PolicyLine { head, tail, .. } = self.line;
        if with_triple {
            [head, remaining, key, window, tail, remaining, ";wr-reset=", reset].concat()
        } else {
            [head, remaining, key, window].concat()
        }
    }

    /// The value of `RateLimit` as in draft 7.
    fn triple(&self) -> Option<HeaderValue> {
        let (mut remaining, mut reset) = (itoa::Buffer::new(), itoa::Buffer::new());
        let (remaining, reset) = self.digits(&mut remaining, &mut reset);
        HeaderValue::try_from([&self.line.triple, remaining, ", reset=", reset].concat()).ok()
    }

    fn digits<'b>(
        &self,
        remaining: &'b mut itoa::Buffer,
        reset: &'b mut itoa::Buffer,
    ) -> (&'b str, &'b str) {
        let Decision { remaining: left, reset: time, .. } = self.decision;
        (remaining.format(number::bounded(*left)), reset.format(number::seconds(*time)))
    }
}

/// Tells of all the limits that applied to a request, in the headers of the application's
/// response to it, which has this `status`.
pub(crate) fn write(
    headers: &mut HeaderMap,
    status: StatusCode,
    profile: RateHeaders,
    told: &[Told<'_>],
    now: Timestamp,
) {
    Report::new(told, None, now).of_status(status).write(headers, profile);
}

/// Tells a client that is not let through of the limits of its request. `retry_after` is there if
/// the request may be repeated.
pub(crate) fn write_refused(
    headers: &mut HeaderMap,
    profile: RateHeaders,
    told: &[Told<'_>],
    retry_after: Option<Duration>,
    now: Timestamp,
) {
    Report::new(told, retry_after.map(whole_seconds), now).write(headers, profile);
}

/// The policy by which a client has to go: the longest wait, then the least remaining, then the
/// longest time until there is more.
fn binding<'a>(told: &'a [Told<'a>]) -> Option<&'a Told<'a>> {
    let urgency = |told: &&Told<'_>| {
        let Decision { retry_after, remaining, reset, .. } = *told.decision;
        (Reverse(retry_after.unwrap_or(Duration::MAX)), remaining, Reverse(reset))
    };
    told.iter().min_by_key(urgency)
}

/// Joins the constant parts of policies; that of a single one is only shared.
fn list<'a>(mut members: impl Iterator<Item = &'a HeaderValue>) -> Option<HeaderValue> {
    let first = members.next()?;
    let Some(second) = members.next() else { return Some(first.clone()) };
    let members = [first, second].into_iter().chain(members).map(HeaderValue::as_bytes);
    HeaderValue::try_from(members.collect::<Vec<_>>().join(b", ".as_slice())).ok()
}
