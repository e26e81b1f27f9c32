//! Tests of the kit: of its clock, its clients and its states, and of its assertions. Each
//! assertion must pass for a service that keeps its promise, and fail for a service that breaks it.

#![expect(clippy::unwrap_used, reason = "a test fails if its service cannot be built")]

mod assertions;
mod clients;
mod crowds;
mod fakes;
mod states;
