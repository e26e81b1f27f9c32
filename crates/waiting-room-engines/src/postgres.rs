//! A PostgreSQL server with its own database cluster in a temporary directory.

use std::{
    net::TcpListener,
    os::unix::fs::{PermissionsExt, chown},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};

use anyhow::{Context, Result, bail, ensure};
use rustix::process::{Pid, Signal, geteuid, kill_process};
use tempfile::TempDir;

/// A PostgreSQL server on a free port of this machine, with its own directory. Dropping it kills the
/// server and removes the directory.
///
/// PostgreSQL refuses to run as root. If the tests run as root, the server runs as the user
/// `postgres`, which the Debian package creates.
#[derive(Debug)]
pub struct PostgresServer {
    programs: PathBuf,
    port: u16,
    options: Vec<String>,
    directory: TempDir,
    process: Option<Child>,
}

impl PostgresServer {
    /// Creates a database cluster that keeps all acknowledged writes, starts its server, and blocks
    /// until the server accepts connections.
    ///
    /// # Errors
    ///
    /// Returns an error if PostgreSQL is not installed or does not start. The error contains the
    /// output of the program.
    pub fn start() -> Result<Self> {
        Self::start_with(&[])
    }

    /// Creates a database cluster and starts its server with these settings, such as
    /// `synchronous_commit=off`.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`start`](Self::start).
    pub fn start_with(options: &[&str]) -> Result<Self> {
        let server = Self::new(options)?;
        server.create()?;
        server.start_on_a_free_port()
    }

    /// Copies this server, and starts the copy as its standby: the standby repeats every commit,
    /// and confirms it under `name` if the settings of this server contain
    /// `synchronous_standby_names=name`. Blocks until the standby accepts connections.
    /// `SELECT pg_promote()` makes it a primary.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`start`](Self::start), and an error if this server is not
    /// running.
    pub fn start_standby(&self, name: &str, options: &[&str]) -> Result<Self> {
        let conninfo = format!(
            "primary_conninfo=host=127.0.0.1 port={} user=postgres application_name={name}",
            self.port
        );
        let server = Self::new(&[options, &[&conninfo]].concat())?;
        let mut command = server.command("pg_basebackup")?;
        command.args(["-h", "127.0.0.1", "-p", &self.port.to_string(), "-U", "postgres"]);
        command.args(["--checkpoint=fast", "--no-sync", "--write-recovery-conf", "-D"]);
        run(command.arg(server.data()))?;
        server.start_on_a_free_port()
    }

    /// A server without data.
    fn new(options: &[&str]) -> Result<Self> {
        let directory = tempfile::tempdir()?;
        let programs = find_programs().context("initdb is missing; apt-get install postgresql")?;
        if let Some((user, group)) = other_user()? {
            chown(directory.path(), Some(user), Some(group))?;
        }
        std::fs::set_permissions(directory.path(), PermissionsExt::from_mode(0o700))?;
        let options = options.iter().map(ToString::to_string).collect();
        Ok(Self { programs, port: free_port()?, options, directory, process: None })
    }

    fn start_on_a_free_port(mut self) -> Result<Self> {
        for _ in 1..TRIES {
            match self.start_again() {
                // A port that was free a moment ago may be taken by now.
                Err(error) if error.to_string().contains("Address already in use") => {
                    self.port = free_port()?;
                }
                started => return started.map(|()| self),
            }
        }
        self.start_again()?;
        Ok(self)
    }

    /// Returns whether PostgreSQL is installed.
    #[must_use]
    pub fn is_installed() -> bool {
        find_programs().is_some()
    }

    /// The URL for clients.
    #[must_use]
    pub fn url(&self) -> String {
        format!("postgres://postgres@127.0.0.1:{}/postgres", self.port)
    }

    /// The port, which stays the same when the server is started again.
    #[must_use]
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// Starts the server again with the data that it has kept. If it is running, it is killed
    /// first.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`start`](Self::start).
    pub fn start_again(&mut self) -> Result<()> {
        self.kill();
        // A killed server leaves its pid file behind, and for a moment also its child processes.
        let mut command = self.command("postgres")?;
        command.arg("-D").arg(self.data()).args(["-p", &self.port.to_string()]);
        command.args(["-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories="]);
        for option in &self.options {
            command.args(["-c", option]);
        }
        let log = self.directory.path().join("log");
        let output = std::fs::File::create(&log)?;
        command.stdout(output.try_clone()?).stderr(output);
        self.process = Some(command.spawn().context("postgres does not start")?);
        for _ in 0..STARTS {
            if self.is_ready()? {
                return Ok(());
            }
            let ended = match &mut self.process {
                Some(process) => process.try_wait()?.is_some(),
                None => true,
            };
            ensure!(!ended, "postgres ended:\n{}", std::fs::read_to_string(&log)?);
            std::thread::park_timeout(Duration::from_millis(50));
        }
        bail!("postgres does not accept connections:\n{}", std::fs::read_to_string(&log)?)
    }

    /// Kills the server and all of its processes without giving them time to shut down.
    pub fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            // SIGQUIT ends all processes of the server at once, without a checkpoint, as a crash
            // does. After a SIGKILL, its child processes would live on for a while, and keep the
            // port. A paused server has to be resumed to receive the signal.
            let id = Pid::from_child(&process);
            let _ = kill_process(id, Signal::QUIT);
            let _ = kill_process(id, Signal::CONT);
            let _ = process.wait();
        }
    }

    /// Suspends the main process of the server: new connections get no answer.
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

    fn signal(&self, signal: Signal) -> Result<()> {
        let process = self.process.as_ref().context("the server is not running")?;
        Ok(kill_process(Pid::from_child(process), signal)?)
    }

    /// Creates the database cluster.
    fn create(&self) -> Result<()> {
        let mut command = self.command("initdb")?;
        command.arg("-D").arg(self.data());
        command.args(["--username=postgres", "--auth=trust", "--encoding=UTF8", "--locale=C"]);
        run(command.arg("--no-sync"))
    }

    fn is_ready(&self) -> Result<bool> {
        let mut command = self.command("pg_isready")?;
        command.args(["-q", "-h", "127.0.0.1", "-p", &self.port.to_string()]);
        Ok(command.status()?.success())
    }

    /// A PostgreSQL program, run as a user that may run it.
    fn command(&self, program: &str) -> Result<Command> {
        use std::os::unix::process::CommandExt;

        let mut command = Command::new(self.programs.join(program));
        if let Some((user, group)) = other_user()? {
            command.uid(user).gid(group);
        }
        command.current_dir(self.directory.path()).stdin(Stdio::null());
        Ok(command)
    }

    fn data(&self) -> PathBuf {
        self.directory.path().join("data")
    }
}

impl Drop for PostgresServer {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Runs a program that ends by itself.
fn run(command: &mut Command) -> Result<()> {
    let output = command.output().with_context(|| format!("{command:?} does not start"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{command:?} has failed:\n{said}");
    Ok(())
}

/// The folder with the programs of the newest Debian package, or the one in `PATH`.
fn find_programs() -> Option<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let newest = versions
        .filter_map(|entry| Some((entry.file_name().to_str()?.parse::<u32>().ok()?, entry.path())))
        .max()
        .map(|(_, path)| path.join("bin"));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let has = |folder: &PathBuf| {
        ["initdb", "postgres", "pg_isready"].iter().all(|program| folder.join(program).exists())
    };
    newest.into_iter().chain(std::env::split_paths(&path)).find(has)
}

/// The user and the group that the server runs as, if it cannot run as the current user.
fn other_user() -> Result<Option<(u32, u32)>> {
    if !geteuid().is_root() {
        return Ok(None);
    }
    let users = std::fs::read_to_string(Path::new("/etc/passwd"))?;
    let user = users.lines().find(|line| line.starts_with("postgres:"));
    let user = user.context("PostgreSQL does not run as root, and there is no user postgres")?;
    let mut ids = user.split(':').skip(2).map(str::parse);
    match (ids.next(), ids.next()) {
        (Some(Ok(user)), Some(Ok(group))) => Ok(Some((user, group))),
        _ => bail!("/etc/passwd has no ids for the user postgres: {user}"),
    }
}

fn free_port() -> Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

/// The number of ports that are tried before a start fails.
const TRIES: u32 = 5;
/// The number of times that a starting server is checked, once every 50 ms.
const STARTS: u32 = 600;
