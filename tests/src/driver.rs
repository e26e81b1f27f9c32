//! The ChromeDriver process that controls the browsers.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{Ipv4Addr, TcpStream},
    process::{Child, ChildStdout, Command, Stdio},
    sync::{Arc, Mutex, PoisonError, Weak},
    time::Duration,
};

use tempfile::TempDir;

use crate::installed;

/// A ChromeDriver that all current browsers share. Its process ends with the last of them.
#[derive(Debug)]
pub(crate) struct Driver {
    child: Child,
    port: u16,
    /// Kept open, because a closed pipe would end the driver when it writes.
    _output: BufReader<ChildStdout>,
    /// The temporary directory of the driver and its browsers, which is removed with the driver.
    _scratch: TempDir,
}

impl Driver {
    /// Returns the running driver, or starts one.
    pub(crate) fn shared() -> Arc<Self> {
        static SHARED: Mutex<Weak<Driver>> = Mutex::new(Weak::new());
        let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        shared.upgrade().unwrap_or_else(|| {
            let driver = Arc::new(Self::start());
            *shared = Arc::downgrade(&driver);
            driver
        })
    }

    /// The address that accepts WebDriver commands.
    pub(crate) fn url(&self) -> String {
        format!("http://{}:{}", Ipv4Addr::LOCALHOST, self.port)
    }

    /// Closes the browser of this session. Blocks, because it is called in a `Drop`, which cannot
    /// await.
    pub(crate) fn close(&self, session: &str) -> std::io::Result<()> {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port))?;
        stream.set_read_timeout(Some(Duration::from_secs(10)))?;
        write!(stream, "DELETE /session/{session} HTTP/1.1\r\nHost: localhost\r\n\r\n")?;
        // The driver answers when the browser is closed, and keeps the connection open.
        stream.read_exact(&mut [0])
    }

    /// Starts a driver on a free port. The attempt is repeated, because another process may take
    /// the port first.
    fn start() -> Self {
        (0..3)
            .find_map(|_| Self::try_to_start())
            .expect("chromedriver prints the port on which it listens")
    }

    fn try_to_start() -> Option<Self> {
        let scratch = TempDir::new().unwrap();
        let mut child = Command::new(installed("chromedriver"))
            .arg("--port=0")
            .env("TMPDIR", scratch.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let port = output
            .by_ref()
            .lines()
            .map_while(Result::ok)
            .find_map(|line| line.strip_prefix(READY)?.trim_end_matches('.').parse().ok());
        if port.is_none() {
            let _ = child.wait();
        }
        Some(Self { child, port: port?, _output: output, _scratch: scratch })
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        // The driver may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

const READY: &str = "ChromeDriver was started successfully on port ";
