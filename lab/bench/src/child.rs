//! Child processes that serve requests for a measurement.

use std::{
    env,
    io::{self, BufRead, BufReader, Read, Write},
    process::{self, Child, Command, Stdio},
    thread,
};

use anyhow::{Context, Result};
use serde::{Serialize, de::DeserializeOwned};

/// A process that is killed when this is dropped.
#[derive(Debug)]
pub(crate) struct Process(Child);

impl Process {
    pub(crate) fn start(command: &mut Command) -> Result<Self> {
        let started = command.spawn().with_context(|| format!("{command:?}"))?;
        Ok(Self(started))
    }

    /// Starts this program again, and reads the first line of its output: how to reach it, as JSON.
    pub(crate) fn of_this_program<T: DeserializeOwned>(arguments: &[&str]) -> Result<(Self, T)> {
        let mut command = Command::new(env::current_exe()?);
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut this = Self::start(&mut command)?;
        let said = this.listen()?;
        Ok((this, said))
    }

    /// Asks this program, which uses [`answer_starter`], and reads its answer.
    pub(crate) fn ask<T: DeserializeOwned>(&mut self) -> Result<T> {
        writeln!(self.0.stdin.as_mut().context("the input is piped")?)?;
        self.listen()
    }

    /// Reads a line of the output, as JSON.
    fn listen<T: DeserializeOwned>(&mut self) -> Result<T> {
        let mut line = String::new();
        let output = self.0.stdout.as_mut().context("the output is piped")?;
        // The program says one line at a time, so nothing is lost with this buffer.
        BufReader::new(output).read_line(&mut line)?;
        serde_json::from_str(&line).with_context(|| format!("it said {line:?}"))
    }

    pub(crate) fn id(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Both fail if the process has ended by itself, which is fine.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Prints the line for which the parent process waits.
pub(crate) fn say(how_to_ask: &impl Serialize) -> Result<()> {
    Ok(writeln!(io::stdout(), "{}", serde_json::to_string(how_to_ask)?)?)
}

/// Ends this process when its parent has ended.
pub(crate) fn end_with_starter() {
    thread::spawn(|| {
        // The parent writes nothing; the input ends when it does.
        let _ = io::stdin().read_to_end(&mut Vec::new());
        process::exit(0);
    });
}

/// Answers each line of the input, and ends this process when its parent has ended.
pub(crate) fn answer_starter<T: Serialize>(answer: impl Fn() -> T + Send + 'static) {
    thread::spawn(move || {
        for _ in io::stdin().lines().map_while(Result::ok) {
            if say(&answer()).is_err() {
                break;
            }
        }
        process::exit(0);
    });
}
