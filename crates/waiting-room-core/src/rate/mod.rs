//! Limits on a rate.

pub(crate) mod log;
