//! A migration keeps what clients see: the same requests get the same statuses.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    process::{Child, Command, Stdio},
};

#[test]
fn each_migration_of_the_guide_answers_as_before() {
    for migration in 0..2 {
        let before = statuses(&format!("before-{migration}"));
        assert_eq!(before, statuses(&format!("after-{migration}")), "migration {migration}");
        // Five requests are a burst, so the limit is in force.
        assert_eq!(before[4..6], [200, 429]);
    }
}

/// Two clients, and a health check. Only the second migration reads the header of the proxy.
fn statuses(program: &str) -> Vec<u16> {
    let served = Served::start(program);
    let first = [("/", "203.0.113.1"); 6];
    let others = [("/", "203.0.113.2"), ("/health", "203.0.113.1")];
    first.into_iter().chain(others).map(|(path, client)| served.status(path, client)).collect()
}

struct Served {
    process: Child,
    address: String,
}

impl Served {
    fn start(program: &str) -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_migration"))
            .arg(program)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = BufReader::new(process.stdout.take().unwrap());
        let mut line = String::new();
        said.read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("http://").unwrap_or_default().to_owned();
        Self { process, address }
    }

    fn status(&self, path: &str, client: &str) -> u16 {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let request = format!(
            "GET {path} HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: {client}\r\nConnection: close\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut response = String::new();
        stream.read_to_string(&mut response).unwrap();
        response.split(' ').nth(1).unwrap().parse().unwrap()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        _ = self.process.kill();
        _ = self.process.wait();
    }
}
