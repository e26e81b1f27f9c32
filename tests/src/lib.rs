//! Shared parts of the end-to-end tests.
//!
//! ```text
//!  Visitor (reqwest) ─┐
//!  Program (curl, …) ─┼─ TCP ─► House = Process ( axum ( WaitingRoomLayer ( application )))
//!  Browser ─ Driver ──┘
//! ```
//!
//! A [`House`] serves on a loopback port and has a runtime of its own, so that stopping it cuts
//! every connection, as the end of a process does. Time is real: the room asks visitors to return
//! every two or three seconds, and [`until`] waits for the effects.
//!
//! If a client is not installed, the test that needs it fails with the command that installs it.
//!
//! # Structure of a test
//!
//! ```no_run
//! use tests::{House, Visitor, config};
//!
//! # async fn the_next_in_line_is_let_in() {
//! let (house, guest) = House::full(config()).await;
//! let next = Visitor::of(&house).queue().await;
//! house.has_waiting(1).await;
//! guest.leave().await;
//! next.await.expect("the visitor returns by itself");
//! house.close().await;
//! # }
//! ```
//!
//! A test never sleeps for the time that something is expected to take. It polls a condition with
//! [`until`], and fails after half a minute with a description of the condition. Clients in other
//! languages are small programs in `tests/it/clients` and `tests/it/interop`, which a [`Program`]
//! runs.
//!
//! A test of a restart opens the second server on the port of the first, with [`House::open_at`];
//! its visitors then return without noticing the restart.
//!
//! A [`Session`] is a shell in which [`replay`] follows a page of the documentation, so that the
//! tests of the guide and `scripts/newcomer.sh` compare the same things.
//!
//! A [`Collector`] receives the metrics that a program exports by OTLP, for the tests of the metrics
//! and of the `shop` example.
//!
//! `cargo run -p tests --bin screenshot` uses the same parts to take the screenshots of the waiting
//! page in the README.
//!
//! # What is tested elsewhere
//!
//! Everything that needs no socket. The layer has its own tests with virtual time, and so have the
//! rules of the room in the core. The conformance suite compares the stores with a model.

#![expect(clippy::missing_panics_doc, reason = "a test that cannot continue panics")]
#![expect(clippy::unwrap_used, reason = "a test fails if a part that it needs is missing")]

mod browser;
mod collector;
mod driver;
mod page;
mod process;
mod program;
mod replay;
mod server;
mod session;
mod table;
mod visitor;

pub use crate::{
    browser::Browser,
    collector::{Collector, Exported, Manner, prometheus_series},
    page::{Block, pages},
    process::Process,
    program::{Program, installed, workspace},
    replay::{Reader, replay},
    server::{House, application, config},
    session::Session,
    table::{MetricRow, documented_metrics, ledger_metrics},
    visitor::{Seen, Visitor, obey, until},
};
