//! The profiles, which define the rate limit headers and the content of each header.
//!
//! A profile is a table of [`Field`]s. To add a profile, add a variant to [`RateHeaders`], the
//! table of the profile, and any [`HeaderPart`] that no existing profile has. The header names must
//! also be listed in `EXPOSED_HEADERS` for scripts from other origins. A test checks the list.

use http::HeaderName;
use serde::Deserialize;

/// The headers that report limits to clients.
///
/// If several limits apply, a header with a single number describes the binding limit: the limit
/// with the least remaining quota or, once a request is refused, the limit with the longest wait. A
/// header that is a list covers all limits. With every profile, a refusal has `Retry-After` in
/// whole seconds, unless no retry can succeed.
///
/// Young: except for [`Common`](Self::Common) and [`None`](Self::None), the profiles may change in
/// any release, because the drafts that they follow may change. See [Stability](crate#stability).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RateHeaders {
    /// The headers of [`Common`](Self::Common), together with `RateLimit-Policy` and `RateLimit` as
    /// in draft 11, which describe all limits and not only the binding one. `RateLimit` has
    /// additional parameters for parsers that support only drafts up to 7.
    Combined,
    /// The headers that most clients understand: `X-RateLimit-Limit`, `-Remaining` and `-Reset` (a
    /// Unix time in seconds), and `X-RateLimit-Retry-After` on a refusal by a limit or a
    /// gate. This is the default.
    #[default]
    Common,
    /// `RateLimit-Policy` and `RateLimit` as in `draft-ietf-httpapi-ratelimit-headers-11`, and
    /// nothing else.
    Draft11Strict,
    /// `RateLimit-Limit`, `-Remaining`, `-Reset` (in seconds from now) and `-Policy`, as in draft
    /// 6.
    Draft6,
    /// `RateLimit: limit=100, remaining=50, reset=30` and `RateLimit-Policy`, as in draft 7.
    Draft7,
    /// No rate limit headers.
    None,
    /// The headers from the chapter on rate limiters in Alex Xu's *System Design Interview*:
    /// `X-Ratelimit-Remaining`, `X-Ratelimit-Limit`, and `X-Ratelimit-Retry-After` on a refusal.
    XRateLimit,
}

impl RateHeaders {
    /// All profiles.
    #[cfg(test)]
    pub(crate) const ALL: [Self; 7] = [
        Self::Combined,
        Self::Common,
        Self::Draft11Strict,
        Self::Draft6,
        Self::Draft7,
        Self::None,
        Self::XRateLimit,
    ];

    /// Returns the headers of this profile, in the order in which they are sent.
    pub(crate) fn fields(self) -> &'static [Field] {
        match self {
            Self::XRateLimit => &X_RATE_LIMIT,
            Self::Combined => &COMBINED,
            Self::Common => COMBINED.split_at(COMMON).0,
            Self::Draft11Strict => &DRAFT_11,
            Self::Draft6 => &DRAFT_6,
            Self::Draft7 => &DRAFT_7,
            Self::None => &[],
        }
    }
}

/// One header of a profile.
#[derive(Debug)]
pub(crate) struct Field {
    /// The header name, in lower case as in HTTP/2.
    pub(crate) name: HeaderName,
    /// The content of the header.
    pub(crate) part: HeaderPart,
    /// Whether several lines of this header form one list. A header that is not a list may occur
    /// only once in a response.
    pub(super) is_list: bool,
}

/// The part of a [`Report`](super::Report) that one header contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HeaderPart {
    /// The largest number of units that the binding policy allows at once.
    Limit,
    /// The remaining quota of each policy and the time until this quota grows, as specified in
    /// draft 11.
    Limits,
    /// The content of [`Limits`](Self::Limits), with the numbers of the binding policy repeated in
    /// parameters that no draft defines. Parsers for drafts up to 7 search for `limit=`,
    /// `remaining=` and `reset=`, and find them in these parameters.
    LimitsAndTriple,
    /// The policies, as specified in draft 11.
    Policies,
    /// The policies, as specified in drafts 6 and 7.
    Quotas,
    /// The remaining quota of the binding policy.
    Remaining,
    /// The time at which the binding policy allows more units, as a Unix time in seconds.
    ResetAt,
    /// The time until the binding policy allows more units, in seconds.
    ResetIn,
    /// The time until the request can be repeated, in seconds. Only refusals have this part.
    RetryAfter,
    /// The limit, the remaining quota and the reset time of the binding policy in one header, as
    /// specified in draft 7.
    Triple,
}

impl HeaderPart {
    /// Returns whether several header lines with this part form one list (RFC 9110 section 5.3).
    const fn is_list(self) -> bool {
        matches!(self, Self::Limits | Self::LimitsAndTriple | Self::Policies | Self::Quotas)
    }
}

/// Creates a header with this name and content. The name must be in lower case.
const fn field(name: &'static str, part: HeaderPart) -> Field {
    Field { name: HeaderName::from_static(name), part, is_list: part.is_list() }
}

static X_RATE_LIMIT: [Field; 3] = [
    field("x-ratelimit-remaining", HeaderPart::Remaining),
    field("x-ratelimit-limit", HeaderPart::Limit),
    field("x-ratelimit-retry-after", HeaderPart::RetryAfter),
];

/// The first four fields are those of [`RateHeaders::Common`].
static COMBINED: [Field; 6] = [
    field("x-ratelimit-limit", HeaderPart::Limit),
    field("x-ratelimit-remaining", HeaderPart::Remaining),
    field("x-ratelimit-reset", HeaderPart::ResetAt),
    field("x-ratelimit-retry-after", HeaderPart::RetryAfter),
    field("ratelimit-policy", HeaderPart::Policies),
    field("ratelimit", HeaderPart::LimitsAndTriple),
];

/// The number of fields at the beginning of [`COMBINED`] that also form the common profile.
const COMMON: usize = 4;

static DRAFT_11: [Field; 2] =
    [field("ratelimit-policy", HeaderPart::Policies), field("ratelimit", HeaderPart::Limits)];

static DRAFT_6: [Field; 4] = [
    field("ratelimit-limit", HeaderPart::Limit),
    field("ratelimit-remaining", HeaderPart::Remaining),
    field("ratelimit-reset", HeaderPart::ResetIn),
    field("ratelimit-policy", HeaderPart::Quotas),
];

static DRAFT_7: [Field; 2] =
    [field("ratelimit", HeaderPart::Triple), field("ratelimit-policy", HeaderPart::Quotas)];
