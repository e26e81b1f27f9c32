//! The headers that report limits to clients.
//!
//! These headers let a client slow down before it is refused, and after a refusal they report when
//! a retry can succeed. There is no standard for rate limit headers, only conventions and drafts,
//! so the user chooses one of the profiles of [`RateHeaders`].
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
//! Headers that the application has already set are not overwritten. Some headers in the IETF
//! drafts are lists. The layer adds its members to such a list in a separate header line, so the
//! list contains the members of all nested layers. All other headers belong together and describe
//! one limit, so the layer adds none of them if the response already has one.
//!
//! This module does not decide whether a request is allowed. Gates are reported in the same headers
//! as limits.

mod policy_line;
mod profile;
mod report;

pub use self::{policy_line::QuotaUnit, profile::RateHeaders};
pub(crate) use self::{
    policy_line::{MAX_NAME_LEN, QUOTA_EXCEEDED, quota_exceeded},
    profile::{Field, HeaderPart},
    report::{PolicyLine, PolicyState, Report, value as number, whole_seconds, write},
};

#[cfg(test)]
mod tests;
