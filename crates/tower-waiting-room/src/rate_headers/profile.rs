//! Which headers a client gets about its limits, and what stands in each.

use http::HeaderName;
use serde::Deserialize;

/// Which headers tell a client about its limits.
///
/// With several limits, the headers that hold a single number tell of the one that binds: with the
/// least remaining, or the longest wait once a request is refused. The lists name all of them.
/// Whatever is chosen, a refusal has `Retry-After` in whole seconds, unless waiting is pointless.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RateHeaders {
    /// What most clients understand: `X-RateLimit-Limit`, `-Remaining` and `-Reset` (a Unix time,
    /// in seconds), `X-RateLimit-Retry-After` on a refusal, and beside them `RateLimit-Policy` and
    /// `RateLimit` of draft 11 with parameters for parsers that know drafts up to 7 only.
    #[default]
    Common,
    /// `RateLimit-Policy` and `RateLimit` as in `draft-ietf-httpapi-ratelimit-headers-11`, and
    /// nothing else.
    Draft11Strict,
    /// `RateLimit-Limit`, `-Remaining`, `-Reset` (in seconds from now) and `-Policy`, as in draft 6.
    Draft6,
    /// `RateLimit: limit=100, remaining=50, reset=30` and `RateLimit-Policy`, as in draft 7.
    Draft7,
    /// None.
    None,
    /// Those of the chapter about rate limiters in Alex Xu's *System Design Interview*:
    /// `X-Ratelimit-Remaining`, `X-Ratelimit-Limit`, and `X-Ratelimit-Retry-After` on a refusal.
    XRateLimit,
}

impl RateHeaders {
    /// All of them.
    #[cfg(test)]
    pub(crate) const ALL: [Self; 6] = [
        Self::Common,
        Self::Draft11Strict,
        Self::Draft6,
        Self::Draft7,
        Self::None,
        Self::XRateLimit,
    ];

    /// What is sent, in this order.
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
    pub(crate) name: HeaderName,
    pub(crate) part: Part,
    /// Whether several lines of it are one list. All others can be there only once.
    pub(super) is_list: bool,
}

/// What of a [`Report`](super::Report) stands in one header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// The most that can be used at once.
    Limit,
    /// How much remains of each policy and for how long, in the form of draft 11.
    Limits,
    /// The same, and the numbers of the policy that binds once more: a parser that looks for
    /// `limit=`, `remaining=` and `reset=`, as drafts up to 7 had them, finds them in our
    /// parameters.
    LimitsAndTriple,
    /// The policies, in the form of draft 11.
    Policies,
    /// The policies, in the form of drafts 6 and 7.
    Quotas,
    /// How much can be used now.
    Remaining,
    /// When more can be used, as a Unix time.
    ResetAt,
    /// How long until more can be used.
    ResetIn,
    /// How long until the request can be repeated.
    RetryAfter,
    /// Limit, remaining and reset in one header, in the form of draft 7.
    Triple,
}

impl Part {
    const fn is_list(self) -> bool {
        matches!(self, Self::Limits | Self::LimitsAndTriple | Self::Policies | Self::Quotas)
    }
}

const fn field(name: &'static str, part: Part) -> Field {
    Field { name: HeaderName::from_static(name), part, is_list: part.is_list() }
}

static X_RATE_LIMIT: [Field; 3] = [
    field("x-ratelimit-remaining", Part::Remaining),
    field("x-ratelimit-limit", Part::Limit),
    field("x-ratelimit-retry-after", Part::RetryAfter),
];

static COMMON: [Field; 6] = [
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
