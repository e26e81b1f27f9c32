//! A process of this program, which is killed and started again.

use std::{env, future::Future, process::Stdio};

use anyhow::{Context, Result, bail};
use rand::RngExt;
use rustix::process::{Pid, Signal, kill_process};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, BufReader, stdin},
    process::{Child, Command},
    select,
};

/// A child process that runs this program with other arguments. It ends when this is dropped.
#[derive(Debug)]
pub struct Process {
    arguments: Vec<String>,
    environment: Vec<(&'static str, String)>,
    child: Child,
}

/// The line that a process prints when it is ready.
pub const READY: &str = "ready";

impl Process {
    /// Starts a process, and waits until it is [`READY`].
    ///
    /// # Errors
    ///
    /// The process cannot be started, or has ended before it was ready.
    pub async fn start(
        arguments: Vec<String>,
        environment: Vec<(&'static str, String)>,
    ) -> Result<Self> {
        let child = start(&arguments, &environment).await?;
        Ok(Self { arguments, environment, child })
    }

    /// Kills the process at once.
    ///
    /// # Errors
    ///
    /// The process has ended before.
    pub async fn kill(&mut self) -> Result<()> {
        Ok(self.child.kill().await?)
    }

    /// Starts the process again, with the same arguments, after it was killed.
    ///
    /// # Errors
    ///
    /// Those of [`start`](Self::start).
    pub async fn start_again(&mut self) -> Result<()> {
        self.child = start(&self.arguments, &self.environment).await?;
        Ok(())
    }

    /// Stops the process by SIGSTOP. Its connections stay open.
    ///
    /// # Errors
    ///
    /// The process has ended.
    pub fn pause(&self) -> Result<()> {
        self.signal(Signal::STOP)
    }

    /// Lets the process continue.
    ///
    /// # Errors
    ///
    /// The process has ended.
    pub fn resume(&self) -> Result<()> {
        self.signal(Signal::CONT)
    }

    fn signal(&self, signal: Signal) -> Result<()> {
        let id = self.child.id().context("the process has ended")?;
        let id = Pid::from_raw(i32::try_from(id)?).context("0 is no process")?;
        Ok(kill_process(id, signal)?)
    }
}

async fn start(arguments: &[String], environment: &[(&'static str, String)]) -> Result<Child> {
    let mut child = Command::new(env::current_exe()?)
        .args(arguments)
        .envs(environment.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    let said = child.stdout.take().context("a process has no standard output")?;
    let mut said = BufReader::new(said).lines();
    if said.next_line().await?.as_deref() != Some(READY) {
        bail!("a process ended before it was ready: {}", child.wait().await?);
    }
    Ok(child)
}

/// In a process that was started: says that it is ready, and serves until the process that has
/// started it has ended.
///
/// # Errors
///
/// Those of the server.
pub async fn serve_until_end(serve: impl Future<Output = Result<()>>) -> Result<()> {
    println!("{READY}");
    select! {
        served = serve => served,
        _ = async { stdin().read(&mut [0]).await } => Ok(()),
    }
}

/// A random key of 32 bytes in base64.
#[must_use]
pub fn random_key() -> String {
    let mut chance = rand::make_rng::<rand::rngs::StdRng>();
    let letter = |_| char::from(BASE64[chance.random_range(0..BASE64.len())]);
    // The last of the 43 characters encodes four bits and two bits of padding. `A` sets them all to
    // zero, and the padding must be zero.
    (0..42).map(letter).chain(['A']).collect()
}

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
