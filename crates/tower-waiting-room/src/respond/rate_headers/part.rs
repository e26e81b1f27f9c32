//! What can stand in a header about limits.

/// What of a [`Report`](super::Report) stands in one header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::respond) enum Part {
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
    /// Whether several lines of such a header are one list. All others can be there only once.
    pub(super) const fn is_list(self) -> bool {
        matches!(self, Self::Limits | Self::LimitsAndTriple | Self::Policies | Self::Quotas)
    }
}
