//! Tests of the things that `scripts/add-a-thing.py` has added.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod rule;
