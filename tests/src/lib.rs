//! What the end-to-end tests share.
//!
//! ```text
//!  Visitor (reqwest) ─┐
//!  Program (curl, …) ─┼─ TCP ─► House = Process ( axum ( WaitingRoomLayer ( application )))
//!  Browser ─ Driver ──┘
//! ```
//!
//! A [`House`] serves on a port of the loopback and runs on a runtime of its own, so that stopping
//! it cuts every connection, as the end of a process does. Time is real: the room asks visitors to
//! come back every two or three seconds, and [`until`] waits for what they do then.
//!
//! A client that is not installed fails the test that needs it, with the command that installs it.
//!
//! # How a test reads
//!
//! ```no_run
//! use tests::{House, Visitor, config};
//!
//! # async fn the_next_in_line_is_let_in() {
//! let (house, guest) = House::full(config()).await;
//! let next = Visitor::of(&house).queue().await;
//! house.has_waiting(1).await;
//! guest.leave().await;
//! next.await.expect("the visitor comes back by itself");
//! house.close().await;
//! # }
//! ```
//!
//! A test never sleeps for as long as something should take: it asks [`until`] it is so, and fails
//! after half a minute with what it waited for. Clients in other languages are small programs in
//! `tests/it/clients` and `tests/it/interop`, which a [`Program`] runs.
//!
//! A test of a restart opens the second server on the port of the first, with [`House::open_at`]; its
//! visitors then come back without knowing that anything has happened.
//!
//! Pictures of the waiting page, as in the README, are made with the same parts:
//! `cargo run -p tests --bin screenshot`.
//!
//! # What is tested elsewhere
//!
//! Whatever needs no socket: the layer has its own tests with virtual time, and the rules of the room
//! theirs in the core. The stores are held against a model by the conformance suite.

#![expect(clippy::missing_panics_doc, reason = "a test that cannot go on panics")]
#![expect(clippy::unwrap_used, reason = "a test fails where what it needs is not there")]

mod browser;
mod driver;
mod process;
mod program;
mod server;
mod visitor;

pub use crate::{
    browser::Browser,
    process::Process,
    program::{Program, installed, workspace},
    server::{House, application, config},
    visitor::{Seen, Visitor, obey, until},
};
