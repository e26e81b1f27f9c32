//! The headers that inform a client about its limits.
//!
//! These headers let a client slow down before it is refused, and after a refusal they state when a
//! retry can succeed. There is no standard for rate limit headers, only conventions and drafts, so
//! the user chooses one of the profiles of [`RateHeaders`].
//!
//! ```text
//! RateHeaders ─► [Field]: a header name, and the HeaderPart that is the header's value
//!                   │
//! Decision ───┬─► Report ─► HeaderMap
//! PolicyLine ─┘
//! ```
//!
//! A [`PolicyLine`] holds the constant strings of a policy, which are serialized once. Each request
//! adds only integers, so the headers stay cheap even during a flood of requests.
//!
//! Headers that the application has already set are kept. Some headers of the IETF drafts are
//! lists, to which the layer adds its members in a further header line, so two layers produce two
//! members. All other headers hold one number each and belong together, so the layer adds none of
//! them if the response already has one.
//!
//! This module does not decide whether a request is allowed. Gates are reported with the same
//! header lines and numbers as limits.

mod policy_line;
mod profile;
mod report;

pub use self::{policy_line::QuotaUnit, profile::RateHeaders};
pub(crate) use self::{
    policy_line::{MAX_NAME_LEN, QUOTA_EXCEEDED, quota_exceeded},
    profile::{Field, HeaderPart},
    report::{
        PolicyLine, PolicyState, Report, value as number, whole_seconds, write, write_refused,
    },
};

#[cfg(test)]
mod tests;
