//! The shop as a process.

use std::{net::TcpListener, process::Stdio, time::Duration};

use http::Method;
use tests::Visitor;
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::{Child, Command},
    time::timeout,
};

/// A shop that is open. It is killed when this is dropped.
pub(crate) struct Shop {
    process: Child,
    /// The host and the port.
    pub(crate) address: String,
    /// The lines that it prints for the person who has opened it.
    pub(crate) greeting: Vec<String>,
}

impl Shop {
    /// Opens a quiet shop with two slots, with more arguments, and with environment variables.
    pub(crate) async fn open(arguments: &[&str], environment: &[(&str, &str)]) -> Self {
        let quiet = ["--quiet-shop", "--limit", "2", "--refresh-interval", "2s"];
        Self::started(&[&quiet, arguments].concat(), environment).await
    }

    /// Opens a shop with these arguments and environment variables.
    pub(crate) async fn started(arguments: &[&str], environment: &[(&str, &str)]) -> Self {
        let arguments = [&["--listen", "127.0.0.1:0"], arguments].concat();
        let mut process = command(&arguments, environment).spawn().unwrap();
        let mut lines = BufReader::new(process.stderr.take().unwrap()).lines();
        let mut greeting = Vec::new();
        while greeting.last().is_none_or(|line: &String| !line.starts_with("Ctrl-C")) {
            greeting.push(lines.next_line().await.unwrap().expect("the shop opens"));
        }
        let address = greeting[0].split_once("http://").unwrap().1.to_owned();
        Self { process, address, greeting }
    }

    /// Starts a shop that cannot be opened, and returns its exit code and what it prints.
    pub(crate) async fn refused(
        arguments: &[&str],
        environment: &[(&str, &str)],
    ) -> (Option<i32>, String) {
        let output = command(arguments, environment).output().await.unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    }

    /// A visitor without cookies.
    pub(crate) fn visitor(&self) -> Visitor {
        Visitor::at(&format!("http://{}", self.address))
    }

    /// Asks the shop to end by a signal. Returns its exit code, or `None` if it runs on for longer than
    /// `within`.
    pub(crate) async fn close(mut self, signal: &str, within: Duration) -> Option<i32> {
        let id = self.process.id().unwrap().to_string();
        assert!(Command::new("kill").args([signal, &id]).status().await.unwrap().success());
        timeout(within, self.process.wait()).await.ok()?.unwrap().code()
    }
}

/// Requests a page, and returns whether the application answered.
pub(crate) async fn is_inside(visitor: &Visitor) -> bool {
    visitor.get("/").await.status.is_success()
}

/// Buys what is in the cart, which ends the session.
pub(crate) async fn check_out(visitor: &Visitor) {
    let status = visitor.send(Method::POST, "/checkout").await.status;
    assert!(status.is_success() || status.is_redirection(), "{status}");
}

/// An address at which no server listens.
pub(crate) fn free_address() -> String {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string()
}

/// The program `shop`, without a log.
fn command(arguments: &[&str], environment: &[(&str, &str)]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_shop"));
    command.args(arguments).env("RUST_LOG", "off").envs(environment.iter().copied());
    command.stderr(Stdio::piped()).kill_on_drop(true);
    command
}
