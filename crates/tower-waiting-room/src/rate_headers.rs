//! The headers that inform a client about its limits.
//!
//! With these headers a client can slow down before it is refused, and knows after a refusal when a
//! retry can succeed. There is no standard for them, only conventions and drafts, so the user
//! chooses one of the profiles of [`RateHeaders`].
//!
//! ```text
//! RateHeaders ─► [Field]: a name, and the HeaderPart of the report that is its value
//!                   │
//! Decision ───┬─► Report ─► HeaderMap
//! PolicyLine ─┘
//! ```
//!
//! A [`PolicyLine`] holds the constant texts of a policy, serialized once. A request adds integers
//! only, so that the headers stay cheap on the responses to a flood.
//!
//! Headers that the application has set itself are kept. The lists of the IETF drafts get our
//! members in a further line: two layers then make two members. The other headers hold one number
//! each and belong together, so if the response has any of them, none of ours is added.
//!
//! Nothing here decides whether a request is allowed. Gates describe themselves with the same
//! lines and numbers as limits.

mod policy_line;
mod profile;
mod report;

pub use self::{policy_line::QuotaUnit, profile::RateHeaders};
pub(crate) use self::{
    policy_line::{MAX_NAME_LEN, QUOTA_EXCEEDED, quota_exceeded},
    profile::{Field, HeaderPart},
    report::{PolicyLine, PolicyState, Report, whole_seconds, write, write_refused},
};

#[cfg(test)]
mod tests;
