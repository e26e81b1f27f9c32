//! The supported engines, and a server process of one of them.

use std::{
    fmt,
    io::{BufRead, BufReader},
    net::TcpListener,
    process::{Child, Command, Stdio},
};

use anyhow::{Context, Error, Result, bail};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

/// The data that a server keeps when it is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "data is either kept or not")]
pub enum Persistence {
    /// All writes that were acknowledged.
    Always,
    /// None.
    Never,
}

impl Persistence {
    /// The command-line options of a server.
    #[must_use]
    pub const fn options(self) -> &'static [&'static str] {
        match self {
            Self::Always => &["--appendonly", "yes", "--appendfsync", "always"],
            Self::Never => &["--appendonly", "no"],
        }
    }
}

/// A server on a free port of this machine, with its own directory. Dropping it kills the process
/// and removes the directory.
#[derive(Debug)]
pub struct EngineServer {
    engine: Engine,
    port: u16,
    options: Vec<String>,
    environment: Vec<(String, String)>,
    directory: TempDir,
    process: Option<Child>,
}

impl EngineServer {
    /// Starts a server, and blocks until it accepts connections.
    ///
    /// # Errors
    ///
    /// Returns an error if the program is not installed or does not start. The error contains the
    /// output of the program.
    pub fn start(engine: Engine, persistence: Persistence) -> Result<Self> {
        Self::start_with(engine, persistence.options())
    }

    /// Starts a server with these command-line options, and blocks until it accepts connections.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`start`](Self::start).
    pub fn start_with(engine: Engine, options: &[&str]) -> Result<Self> {
        Self::start_in(engine, options, &[])
    }

    /// Starts a server with these command-line options and environment variables, for example to
    /// replace its clock with `LD_PRELOAD`, and blocks until it accepts connections.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`start`](Self::start).
    pub fn start_in(
        engine: Engine,
        options: &[&str],
        environment: &[(String, String)],
    ) -> Result<Self> {
        let mut server = Self {
            engine,
            port: free_port()?,
            options: options.iter().map(ToString::to_string).collect(),
            environment: environment.to_vec(),
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

    /// The engine that this server runs.
    #[must_use]
    pub const fn engine(&self) -> Engine {
        self.engine
    }

    /// The port, which stays the same when the server is started again.
    #[must_use]
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// The URL for clients.
    #[must_use]
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// Starts the server again with the data that it has kept. If it is running, it is killed
    /// first.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`start`](Self::start).
    pub fn start_again(&mut self) -> Result<()> {
        self.kill();
        let mut process = Command::new(self.engine.program())
            .args(["--port", &self.port.to_string(), "--bind", "127.0.0.1", "--save", ""])
            .arg("--dir")
            .arg(self.directory.path())
            .args(&self.options)
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .with_context(|| {
                format!("{0} does not start; apt-get install {0}", self.engine.program())
            })?;
        let said = process.stdout.take().context("the output of the server is not piped")?;
        self.process = Some(process);
        let mut said = BufReader::new(said).lines();
        let mut before = String::new();
        for line in &mut said {
            let line = line?;
            if line.contains("Ready to accept connections") {
                // The server would block on a full pipe, so its output has to be read to the end.
                std::thread::spawn(move || said.for_each(drop));
                return Ok(());
            }
            before.push_str(&line);
            before.push('\n');
        }
        bail!("{} ended before it was ready:\n{before}", self.engine)
    }

    /// Kills the server without giving it time to shut down.
    pub fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            // The process may have ended by itself, which is not an error here.
            let _ = process.kill();
            let _ = process.wait();
        }
    }

    /// Suspends the process of the server. Connections stay open, and requests get no reply.
    ///
    /// # Errors
    ///
    /// Returns an error if the server is not running.
    pub fn pause(&self) -> Result<()> {
        self.signal(Signal::STOP)
    }

    /// Resumes a server that was paused.
    ///
    /// # Errors
    ///
    /// Returns an error if the server is not running.
    pub fn resume(&self) -> Result<()> {
        self.signal(Signal::CONT)
    }

    /// The process id, for example to measure the memory of the server; `None` if it is not
    /// running.
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

/// Finds a free port whose cluster port is also free.
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

/// Returns whether a start failed because the port was taken, according to the output of the
/// server.
fn is_taken(error: &Error) -> bool {
    error.to_string().contains("Address already in use")
}

/// The distance from the port for clients to the port on which the nodes of a cluster communicate.
const CLUSTER_PORTS: u16 = 10_000;
/// The number of ports that are tried before a start fails.
const TRIES: u32 = 5;

/// A server program that speaks the protocol of Redis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "these are the engines that the tests cover")]
pub enum Engine {
    /// Redis, <https://redis.io>.
    Redis,
    /// Valkey, <https://valkey.io>.
    Valkey,
}

impl Engine {
    /// All engines.
    pub const ALL: [Self; 2] = [Self::Redis, Self::Valkey];

    /// The name of the program, which is also that of its Debian package.
    #[must_use]
    pub const fn program(self) -> &'static str {
        match self {
            Self::Redis => "redis-server",
            Self::Valkey => "valkey-server",
        }
    }

    /// Returns whether the program is installed.
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
    fn a_taken_port_is_reported() {
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
        server.port = port;
        server.options = vec!["--cluster-enabled".into(), "yes".into()];
        assert!(is_taken(&server.start_again().unwrap_err()));
    }
}
