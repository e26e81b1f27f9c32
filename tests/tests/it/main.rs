//! The waiting room over real sockets, met by clients that are not ours.
//!
//! The layer's own tests say what it answers; these say what a client makes of it.

#![expect(clippy::unwrap_used, reason = "a test fails where what it needs is not there")]

mod browser;
mod curl;
mod curl_oddities;
mod gate;
mod grpc;
mod hyper_service;
mod interop;
mod node;
mod nodes;
mod programs;
mod python;
mod restart;
mod upgrade;
