//! The headers that tell a client about its limits.
//!
//! There is no standard for them, only habits and drafts, so it is a [`RateHeaders`] that says
//! which are sent. Each of these profiles is a table of [`Field`]s: a name, and which [`Part`] of
//! the [`Report`] stands under it. What never changes about a policy is in its [`PolicyLine`],
//! serialized once; a request adds integers only.
//!
//! What the application has said itself stays. The lists of the IETF drafts get our members as
//! another line, so that two layers make two members. The others hold one number each and belong
//! together: if the response has any of them already, ours are left out.

mod number;
mod part;
mod policy_line;
mod report;

use std::time::Duration;

use http::{HeaderMap, HeaderName, StatusCode};
use serde::Deserialize;
use waiting_room_core::Timestamp;

use super::time::whole_seconds;

pub use self::policy_line::QuotaUnit;
pub(super) use self::{part::Part, report::Report};
pub(crate) use self::{
    policy_line::{MAX_NAME_LEN, PolicyLine},
    report::Told,
};

/// Which headers tell a client about its limits.
///
/// With several limits, the headers that hold a single number tell of the one that binds: with the
/// least remaining, or the longest wait once a request is refused. The lists name all of them.
/// Whatever is chosen, a refusal has `Retry-After` in whole seconds, unless waiting is pointless.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RateHeaders {
    /// Those of the chapter about rate limiters in Alex Xu's *System Design Interview*:
    /// `X-Ratelimit-Remaining`, `X-Ratelimit-Limit`, and `X-Ratelimit-Retry-After` on a refusal.
    Book,
    /// What most clients understand: `X-RateLimit-Limit`, `-Remaining` and `-Reset` (a Unix time,
    /// in seconds), `X-RateLimit-Retry-After` on a refusal, and beside them `RateLimit-Policy` and
    /// `RateLimit` of draft 11 with parameters for parsers that know drafts up to 7 only.
    #[default]
    Default,
    /// `RateLimit-Policy` and `RateLimit` as in `draft-ietf-httpapi-ratelimit-headers-11`, and
    /// nothing else.
    Draft11Strict,
    /// `RateLimit-Limit`, `-Remaining`, `-Reset` (in seconds from now) and `-Policy`, as in draft 6.
    Draft6,
    /// `RateLimit: limit=100, remaining=50, reset=30` and `RateLimit-Policy`, as in draft 7.
    Draft7,
    /// None.
    None,
}

impl RateHeaders {
    /// All of them.
    #[cfg(test)]
    pub(super) const ALL: [Self; 6] =
        [Self::Book, Self::Default, Self::Draft11Strict, Self::Draft6, Self::Draft7, Self::None];

    /// What is sent, in this order.
    pub(super) fn fields(self) -> &'static [Field] {
        match self {
            Self::Book => &BOOK,
            Self::Default => &DEFAULT,
            Self::Draft11Strict => &DRAFT_11,
            Self::Draft6 => &DRAFT_6,
            Self::Draft7 => &DRAFT_7,
            Self::None => &[],
        }
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

/// One header of a profile.
#[derive(Debug)]
pub(super) struct Field {
    pub(super) name: HeaderName,
    pub(super) part: Part,
}

const fn field(name: &'static str, part: Part) -> Field {
    Field { name: HeaderName::from_static(name), part }
}

static BOOK: [Field; 3] = [
    field("x-ratelimit-remaining", Part::Remaining),
    field("x-ratelimit-limit", Part::Limit),
    field("x-ratelimit-retry-after", Part::RetryAfter),
];

static DEFAULT: [Field; 6] = [
    field("x-ratelimit-limit", Part::Limit),
    field("x-ratelimit-remaining", Part::Remaining),
    field("x-ratelimit-reset", Part::ResetAt),
    field("x-ratelimit-retry-after", Part::RetryAfter),
    field("ratelimit-policy", Part::Policies),
    field("ratelimit", Part::LimitsAndTriple),
];

static DRAFT_11: [Field; 2] =
    [field("ratelimit-policy", Part::Policies), field("ratelimit", Part::Limits)];

static DRAFT_6: [Field; 4] = [
    field("ratelimit-limit", Part::Limit),
    field("ratelimit-remaining", Part::Remaining),
    field("ratelimit-reset", Part::ResetIn),
    field("ratelimit-policy", Part::Quotas),
];

static DRAFT_7: [Field; 2] =
    [field("ratelimit", Part::Triple), field("ratelimit-policy", Part::Quotas)];

#[cfg(test)]
mod tests;
