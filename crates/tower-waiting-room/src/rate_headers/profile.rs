//! The profiles: which headers inform a client about its limits, and the contents of each.
//!
//! A profile is a table of [`Field`]s. To add one, add a variant to [`RateHeaders`], its table, and
//! any [`HeaderPart`] that no other profile has. The header names must also be listed in
//! `EXPOSED_HEADERS` for scripts of other origins; a test checks that.

use http::HeaderName;
use serde::Deserialize;

/// The headers that inform a client about its limits.
///
/// If several limits apply, headers that hold a single number describe the one that binds: the one
/// with the least remaining, or with the longest wait once a request is refused. Lists name all
/// limits. With every profile, a refusal carries `Retry-After` in whole seconds, unless no retry
/// can succeed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RateHeaders {
    /// The headers that most clients understand: `X-RateLimit-Limit`, `-Remaining` and `-Reset` (a
    /// Unix time in seconds), and `X-RateLimit-Retry-After` on a refusal. Besides,
    /// `RateLimit-Policy` and `RateLimit` of draft 11, with further parameters for parsers that
    /// know only drafts up to 7.
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
    /// No headers about limits.
    None,
    /// The headers of the chapter on rate limiters in Alex Xu's *System Design Interview*:
    /// `X-Ratelimit-Remaining`, `X-Ratelimit-Limit`, and `X-Ratelimit-Retry-After` on a refusal.
    XRateLimit,
}

impl RateHeaders {
    /// All profiles.
    #[cfg(test)]
    pub(crate) const ALL: [Self; 6] = [
        Self::Common,
        Self::Draft11Strict,
        Self::Draft6,
        Self::Draft7,
        Self::None,
        Self::XRateLimit,
    ];

    /// The headers of this profile, in the order in which they are sent.
    pub(crate) fn fields(self) -> &'static [Field] {
        match self {
            Self::XRateLimit => &X_RATE_LIMIT,
            Self::Common => &COMMON,
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
    /// The name, in lower case as in HTTP/2.
    pub(crate) name: HeaderName,
    /// The content of the header.
    pub(crate) part: HeaderPart,
    /// Whether several lines form one list. Any other header may occur only once in a response.
    pub(super) is_list: bool,
}

/// The part of a [`Report`](super::Report) that one header holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HeaderPart {
    /// The most that can be used at once, by the policy that binds.
    Limit,
    /// The remaining quota of each policy and the time until it grows, in the form of draft 11.
    Limits,
    /// The same, with the numbers of the policy that binds once more in parameters of ours. Parsers
    /// for drafts up to 7 search for `limit=`, `remaining=` and `reset=`, and find them there.
    LimitsAndTriple,
    /// The policies, in the form of draft 11.
    Policies,
    /// The policies, in the form of drafts 6 and 7.
    Quotas,
    /// The quota that remains now, by the policy that binds.
    Remaining,
    /// The time at which more can be used, as a Unix time in seconds.
    ResetAt,
    /// The time until more can be used, in seconds.
    ResetIn,
    /// The time until the request can be repeated, in seconds. On refusals only.
    RetryAfter,
    /// Limit, remaining and reset of the policy that binds in one header, in the form of draft 7.
    Triple,
}

impl HeaderPart {
    /// Whether several header lines with this part form one list (RFC 9110 section 5.3).
    const fn is_list(self) -> bool {
        matches!(self, Self::Limits | Self::LimitsAndTriple | Self::Policies | Self::Quotas)
    }
}

/// A header of this name and content. The name must be in lower case.
const fn field(name: &'static str, part: HeaderPart) -> Field {
    Field { name: HeaderName::from_static(name), part, is_list: part.is_list() }
}

static X_RATE_LIMIT: [Field; 3] = [
    field("x-ratelimit-remaining", HeaderPart::Remaining),
    field("x-ratelimit-limit", HeaderPart::Limit),
    field("x-ratelimit-retry-after", HeaderPart::RetryAfter),
];

static COMMON: [Field; 6] = [
    field("x-ratelimit-limit", HeaderPart::Limit),
    field("x-ratelimit-remaining", HeaderPart::Remaining),
    field("x-ratelimit-reset", HeaderPart::ResetAt),
    field("x-ratelimit-retry-after", HeaderPart::RetryAfter),
    field("ratelimit-policy", HeaderPart::Policies),
    field("ratelimit", HeaderPart::LimitsAndTriple),
];

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
