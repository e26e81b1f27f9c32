//! Rate limits as foreign clients understand them.
//!
//! Each client that retries by itself is refused once. Only its own clock counts, and the server
//! records the times of its requests. The other clients print what they read from the headers.

pub(crate) mod api;
mod browser;
pub(crate) mod clients;
mod grpc;
mod octokit;
mod parsers;
mod reqwest;
mod structured_fields;
