//! Rate limits as the clients of others understand them.
//!
//! Each client that comes back by itself is refused once: its own clock is the only one here, and
//! the server writes down when it asked. The others tell what they have read in the headers.

pub(crate) mod api;
mod browser;
pub(crate) mod clients;
mod grpc;
mod octokit;
mod parsers;
mod reqwest;
mod structured_fields;
