//! The servers that there are, and one process of them.

use std::{
    fmt,
    io::{BufRead, BufReader},
    net::TcpListener,
    process::{Child, Command, Stdio},
};

use anyhow::{Context, Error, Result, bail};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

/// What a server keeps when it is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "it keeps it or it does not")]
pub enum Persistence {
    /// Everything that it has acknowledged.
    Always,
    /// Nothing.
    Never,
}

/// A server on a free port of this machine, in a directory of its own. Killed when it is dropped.
#[derive(Debug)]
pub struct EngineServer {
    engine: Engine,
    port: u16,
    options: Vec<String>,
    directory: TempDir,
    process: Option<Child>,
}

impl EngineServer {
    /// Starts a server, and waits until it takes connections.
    ///
    /// # Errors
    ///
    /// The program is not installed, or does not start; with what it said.
    pub fn start(engine: Engine, persistence: Persistence) -> Result<Self> {
        let options = match persistence {
            Persistence::Always => ["--appendonly", "yes", "--appendfsync", "always"].as_slice(),
            Persistence::Never => &["--appendonly", "no"],
        };
        Self::start_with(engine, options)
    }

    /// The same with options as they are given on a command line.
    ///
    /// # Errors
    ///
    /// As [`start`](Self::start).
    pub fn start_with(engine: Engine, options: &[&str]) -> Result<Self> {
        let mut server = Self {
            engine,
            port: free_port()?,
            options: options.iter().map(ToString::to_string).collect(),
            directory: tempfile::tempdir()?,
            process: None,
        };
        // A port that was free a moment ago may be taken by now.
        for _ in 1..TRIES {
            match server.start_again() {
                Err(error) if is_taken(&error) => server.port = free_port()?,
                started => return started.map(|()| server),
            }
        }
        server.start_again()?;
        Ok(server)
    }

    /// Which program this is.
    #[must_use]
    pub const fn engine(&self) -> Engine {
        self.engine
    }

    /// The port, the same after each start.
    #[must_use]
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// Where clients connect.
    #[must_use]
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// Starts the server again after it was killed, with what it has kept.
    ///
    /// # Errors
    ///
    /// As [`start`](Self::start).
    pub fn start_again(&mut self) -> Result<()> {
        self.kill();
        let mut process = Command::new(self.engine.program())
            .args(["--port", &self.port.to_string(), "--bind", "127.0.0.1", "--save", ""])
            .arg("--dir")
            .arg(self.directory.path())
            .args(&self.options)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .with_context(|| {
                format!("{0} does not start; apt-get install {0}", self.engine.program())
            })?;
        let said = process.stdout.take().context("the output of the server")?;
        self.process = Some(process);
        let mut said = BufReader::new(said).lines();
        let mut before = String::new();
        for line in &mut said {
            let line = line?;
            if line.contains("Ready to accept connections") {
                // The server is not to block on a pipe that nobody reads.
                std::thread::spawn(move || said.for_each(drop));
                return Ok(());
            }
            before.push_str(&line);
            before.push('\n');
        }
        bail!("{} ended before it was ready:\n{before}", self.engine)
    }

    /// Kills the server: it gets no time for anything.
    pub fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            // It may have ended by itself.
            let _ = process.kill();
            let _ = process.wait();
        }
    }

    /// Stops the server in the middle of what it does; connections stay open.
    ///
    /// # Errors
    ///
    /// It is not running.
    pub fn pause(&self) -> Result<()> {
        self.signal(Signal::STOP)
    }

    /// Has a server go on that was paused.
    ///
    /// # Errors
    ///
    /// It is not running.
    pub fn resume(&self) -> Result<()> {
        self.signal(Signal::CONT)
    }

    /// The number of the process, to look at what it uses.
    #[must_use]
    pub fn process_id(&self) -> Option<u32> {
        self.process.as_ref().map(Child::id)
    }

    fn signal(&self, signal: Signal) -> Result<()> {
        let process = self.process.as_ref().context("the server is not running")?;
        Ok(kill_process(Pid::from_child(process), signal)?)
    }
}

impl Drop for EngineServer {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A port that nobody listens on, nor on the one by which the nodes of a cluster talk to each other.
fn free_port() -> Result<u16> {
    loop {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let port = listener.local_addr()?.port();
        let of_the_cluster = port.checked_add(CLUSTER_PORTS);
        if of_the_cluster.is_some_and(|port| TcpListener::bind(("127.0.0.1", port)).is_ok()) {
            return Ok(port);
        }
    }
}

fn is_taken(error: &Error) -> bool {
    error.to_string().contains("Address already in use")
}

/// The nodes of a cluster talk to each other on ports that are so much higher.
const CLUSTER_PORTS: u16 = 10_000;
/// So many ports are tried.
const TRIES: u32 = 5;

/// A server that speaks the protocol of Redis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "all that there are tests for")]
pub enum Engine {
    /// <https://redis.io>.
    Redis,
    /// <https://valkey.io>.
    Valkey,
}

impl Engine {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Redis, Self::Valkey];

    /// The name of the program, which is that of Debian's package too.
    #[must_use]
    pub const fn program(self) -> &'static str {
        match self {
            Self::Redis => "redis-server",
            Self::Valkey => "valkey-server",
        }
    }

    /// Whether the program is there.
    #[must_use]
    pub fn is_installed(self) -> bool {
        Command::new(self.program()).arg("--version").output().is_ok()
    }
}

impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Redis => "Redis",
            Self::Valkey => "Valkey",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_whose_port_is_taken_says_so() {
        let mut server = EngineServer::start(Engine::Redis, Persistence::Never).unwrap();
        server.kill();
        let _taker = TcpListener::bind(("127.0.0.1", server.port())).unwrap();
        assert!(is_taken(&server.start_again().unwrap_err()));
    }

    #[test]
    fn a_port_whose_cluster_port_is_taken_is_not_free() {
        let port = free_port().unwrap();
        let _taker = TcpListener::bind(("127.0.0.1", port + CLUSTER_PORTS)).unwrap();
        let mut server = EngineServer::start(Engine::Valkey, Persistence::Never).unwrap();
        server.kill();
        (server.port, server.options) = (port, vec!["--cluster-enabled".into(), "yes".into()]);
        assert!(is_taken(&server.start_again().unwrap_err()));
    }
}
