//! Tests of the things that `scripts/add-a-thing.py` has added.
#![allow(dead_code, reason = "the modules of other tests have more than is needed here")]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod answers;
mod limits;
mod rule;
#[path = "../it/support.rs"]
mod support;
