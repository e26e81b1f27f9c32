//! Redis, Valkey and PostgreSQL servers for tests, benchmarks and examples: started on a free port,
//! killed, paused, started again, and removed when they are dropped.
//!
//! ```text
//!             start                 kill
//!   nothing ────────► running ─────────────► killed      it keeps its port and its directory
//!                      │   ▲ ◄─────────────────┘
//!                pause │   │ resume       start_again
//!                      ▼   │
//!                     paused       connections stay open, and requests get no reply
//! ```
//!
//! # Example
//!
//! With [`Persistence::Always`], all acknowledged writes survive a kill:
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
//! A server uses a port that was free a moment ago, and tries another one if that port has been
//! taken in the meantime. A server that is started again keeps its port, so that clients find it.
//! The port on which the nodes of a cluster would communicate is free as well, because
//! [`EngineServer::start_with`] may turn on cluster mode.
//!
//! # Several servers
//!
//! Each server has its own port, process and temporary directory, so tests that start one can run
//! in parallel. With [`Persistence::Always`], each write is synchronized to disk before it is
//! acknowledged, which is slow. [`Persistence::Never`] is the right choice for tests that do not
//! start a server again. Neither setting makes snapshots.
//!
//! # Failures
//!
//! | | the client | the data of the server |
//! |---|---|---|
//! | [`kill`](EngineServer::kill) | its connection is reset | kept or lost, as [`Persistence`] determines |
//! | [`pause`](EngineServer::pause) | its connection stays open, without replies | kept, and served after [`resume`](EngineServer::resume) |
//! | dropped | its connection is reset | lost: the directory is removed |
//!
//! # PostgreSQL
//!
//! [`PostgresServer`] creates a database cluster in its directory, which takes about a second, and
//! keeps all acknowledged writes. When the tests run as root, the server runs as the user `postgres`.
//!
//! # What it does not do
//!
//! The crate installs nothing. A test can check [`Engine::is_installed`]; otherwise it fails with
//! the name of the missing package. It is not a client: the client under test connects to
//! [`EngineServer::url`]. It starts single servers, from which the tests build clusters and
//! replicas.
//!
//! Only the program names that the Debian packages use are looked up on `PATH`. The configuration
//! of the machine is not read: a server gets all its options on its command line.

mod postgres;
mod server;

pub use crate::{
    postgres::PostgresServer,
    server::{Engine, EngineServer, Persistence},
};
