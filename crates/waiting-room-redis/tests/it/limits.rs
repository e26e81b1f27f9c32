//! Rate limits on real servers, which the tests start themselves.

mod conformance;
mod exact;
mod failures;
mod layer;
mod refused;
mod state;
pub(crate) mod support;
