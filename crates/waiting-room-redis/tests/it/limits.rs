//! Tests of rate limits on real servers, which the tests start themselves.

mod conformance;
mod exact;
mod failures;
mod layer;
mod leased;
mod leased_bounds;
mod refused;
mod state;
pub(crate) mod support;
