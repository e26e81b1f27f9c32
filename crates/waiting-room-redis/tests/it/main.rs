//! The store against real servers, which the tests start themselves.

mod conformance;
