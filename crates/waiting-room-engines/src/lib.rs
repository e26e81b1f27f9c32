//! Redis and Valkey as the tests, the benchmarks and the examples need them: started on a free
//! port, killed, paused, started again, and gone when they are dropped.
//!
//! ```text
//!             start                 kill
//!   nothing ────────► running ─────────────► killed      the port and the directory stay
//!                      │   ▲ ◄─────────────────┘
//!                pause │   │ resume       start_again
//!                      ▼   │
//!                     paused       connections stay open, and nothing is answered
//! ```
//!
//! # Example
//!
//! What a server has acknowledged survives it, if it keeps everything:
//!
//! ```no_run
//! use waiting_room_engines::{Engine, EngineServer, Persistence};
//!
//! let mut server = EngineServer::start(Engine::Valkey, Persistence::Always)?;
//! println!("clients connect to {}", server.url());
//! server.kill();
//! server.start_again()?;
//! # Ok::<(), anyhow::Error>(())
//! ```
//!
//! # Ports
//!
//! A server takes a port that was free a moment ago, and tries another if it is taken meanwhile. It
//! keeps that port when it is started again, so that clients find it. The port on which the nodes of
//! a cluster would talk to each other is free as well: [`EngineServer::start_with`] may turn the
//! cluster mode on.
//!
//! # Many at once
//!
//! Each server has a port, a process and a temporary directory of its own, so tests that start one
//! can run in parallel. [`Persistence::Always`] has each write synchronized before it is
//! acknowledged, which takes its time; where nothing is started again, [`Persistence::Never`] is
//! the one to choose. Neither makes snapshots.
//!
//! # Ways to fail
//!
//! | | what a client sees | what the server still knows |
//! |---|---|---|
//! | [`kill`](EngineServer::kill) | its connection is reset | what [`Persistence`] says |
//! | [`pause`](EngineServer::pause) | no answer, on an open connection | everything, after [`resume`](EngineServer::resume) |
//! | dropped | its connection is reset | nothing: its directory is gone |
//!
//! # What it does not do
//!
//! It installs nothing. A test asks [`Engine::is_installed`], or fails with the package that is
//! missing. It is no client either: [`EngineServer::url`] is for the one that is tested. It starts
//! single servers; the tests make clusters and replicas of them.
//!
//! Only the programs of Debian's packages are looked for, on the path, and nothing is read from the
//! machine's own configuration: a server gets all its options on its command line.

mod server;

pub use crate::server::{Engine, EngineServer, Persistence};
