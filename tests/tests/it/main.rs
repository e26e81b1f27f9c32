//! Tests of the waiting room over real sockets, with foreign clients.
//!
//! The layer's own tests check its responses; these tests check what clients make of them.

#![expect(clippy::unwrap_used, reason = "a test fails if a part that it needs is missing")]

mod browser;
mod curl;
mod curl_oddities;
mod gate;
mod grpc;
mod guide;
mod hyper_service;
mod interop;
mod node;
mod nodes;
mod programs;
mod push;
mod python;
mod restart;
mod testing;
mod text_clients;
mod upgrade;
