//! Runs a program.

use std::{
    fs, io,
    process::{ExitStatus, Stdio},
};

use tests::Visitor;
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::{Child, Command},
};

use super::built;

/// A program of the docs, as a process on a port of its own. It is killed when this is dropped.
pub(crate) struct Running {
    process: Child,
    address: String,
}

impl Running {
    /// Starts the program, and returns when it has printed its address.
    pub(crate) async fn start(name: &str) -> Self {
        Self::start_with(name, |command| command).await
    }

    /// Like [`start`](Self::start), with arguments and environment variables.
    pub(crate) async fn start_with(
        name: &str,
        prepare: impl FnOnce(&mut Command) -> &mut Command,
    ) -> Self {
        let mut command = Command::new(built::program(name));
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        let mut process = prepare(&mut command).spawn().unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let Some(address) = lines.next_line().await.unwrap() else {
            let output = process.wait_with_output().await.unwrap();
            panic!("{name} ends at once: {}", String::from_utf8_lossy(&output.stderr));
        };
        Self { process, address }
    }

    /// The address of the program, with the scheme.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// A visitor without cookies.
    pub(crate) fn visitor(&self) -> Visitor {
        Visitor::at(&self.address)
    }

    /// The CPU time that all threads of the program have used, in nanoseconds.
    pub(crate) fn cpu_nanos(&self) -> u64 {
        let threads = fs::read_dir(format!("/proc/{}/task", self.id())).unwrap();
        let of_thread = |thread: io::Result<fs::DirEntry>| {
            let text = fs::read_to_string(thread.unwrap().path().join("schedstat")).unwrap();
            text.split(' ').next().unwrap().parse::<u64>().unwrap()
        };
        threads.map(of_thread).sum()
    }

    /// The resident bytes of the program.
    pub(crate) fn resident_bytes(&self) -> u64 {
        let text = fs::read_to_string(format!("/proc/{}/status", self.id())).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.trim().strip_suffix(" kB").unwrap().parse::<u64>().unwrap() * 1_024
    }

    fn id(&self) -> u32 {
        self.process.id().expect("the program runs until it is closed")
    }

    /// Sends the signal of ctrl-c, and returns when the program has ended by itself.
    pub(crate) async fn interrupt(mut self) -> ExitStatus {
        let id = self.id().to_string();
        let sent = Command::new("kill").args(["-INT", &id]).status().await.unwrap();
        assert!(sent.success());
        self.process.wait().await.unwrap()
    }

    /// Stops the program, and returns what it has written to standard error.
    pub(crate) async fn close(mut self) -> String {
        self.process.start_kill().unwrap();
        let output = self.process.wait_with_output().await.unwrap();
        String::from_utf8(output.stderr).unwrap()
    }
}
