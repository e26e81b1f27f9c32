//! The headers that tell a client about its limits.
//!
//! There is no standard for them, only habits and drafts, so it is a [`RateHeaders`] that says
//! which are sent. Each of these profiles is a table of fields: a name, and which [`Part`] of the
//! [`Report`] stands under it. What never changes about a policy is in its [`PolicyLine`],
//! serialized once; a request adds integers only.
//!
//! What the application has said itself stays. The lists of the IETF drafts get our members as
//! another line, so that two layers make two members. The others hold one number each and belong
//! together: if the response has any of them already, ours are left out.

mod policy_line;
mod profile;
mod report;

pub use self::{policy_line::QuotaUnit, profile::RateHeaders};
pub(crate) use self::{
    policy_line::{MAX_NAME_LEN, QUOTA_EXCEEDED, quota_exceeded},
    profile::{Field, Part},
    report::{PolicyLine, PolicyState, Report, whole_seconds, write, write_refused},
};

#[cfg(test)]
mod tests;
