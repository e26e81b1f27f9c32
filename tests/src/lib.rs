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

#![expect(clippy::missing_panics_doc, reason = "a test that cannot go on panics")]
#![expect(clippy::unwrap_used, reason = "a test fails where what it needs is not there")]

mod application;
mod browser;
mod driver;
mod house;
mod process;
mod program;
mod until;
mod visitor;

pub use crate::{
    application::application,
    browser::Browser,
    house::{House, config},
    process::Process,
    program::{Program, installed, workspace},
    until::{obey, until},
    visitor::{Seen, Visitor},
};
