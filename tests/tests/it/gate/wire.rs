//! The transports of requests: HTTP/1, HTTP/2, or bytes that a test writes itself.

use http::StatusCode;
use reqwest::Client;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    task::JoinSet,
    time,
};

use super::works::{PATIENCE, Works};

/// The connections of several requests.
#[derive(Clone, Copy, Debug)]
pub(super) enum Wire {
    /// HTTP/1, with one connection for each request.
    Http1,
    /// HTTP/2 without TLS, with one connection for each request.
    Http2,
    /// HTTP/2 without TLS, with one connection for all requests.
    Shared,
}

impl Wire {
    /// A client with connections of its own.
    pub(super) fn client(self) -> Client {
        let client = Client::builder().no_proxy().timeout(PATIENCE);
        let client = match self {
            Self::Http1 => client.http1_only(),
            Self::Http2 | Self::Shared => client.http2_prior_knowledge(),
        };
        client.build().unwrap()
    }

    /// Requests all URLs at once.
    pub(super) fn crowd(self, urls: impl IntoIterator<Item = String>) -> JoinSet<String> {
        let shared = self.client();
        let mut crowd = JoinSet::new();
        for url in urls {
            let client = if let Self::Shared = self { shared.clone() } else { self.client() };
            crowd.spawn(async move {
                let response = client.get(url).send().await.unwrap();
                assert_eq!(response.status(), StatusCode::OK);
                response.text().await.unwrap()
            });
        }
        crowd
    }
}

/// Returns when all responses have arrived, and asserts that each has the expected body.
pub(super) async fn finished(crowd: JoinSet<String>, expected: &str) {
    for got in time::timeout(PATIENCE, crowd.join_all()).await.unwrap() {
        assert_eq!(got, expected);
    }
}

/// An HTTP/1 connection on which a test writes arbitrary bytes.
#[derive(Debug)]
pub(super) struct Raw(TcpStream);

impl Raw {
    pub(super) async fn connect(works: &Works) -> Self {
        Self(TcpStream::connect(("localhost", works.port())).await.unwrap())
    }

    pub(super) async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        time::timeout(PATIENCE, self.0.write_all(bytes.as_ref())).await.unwrap().unwrap();
    }

    /// The data that has arrived, if there is any.
    pub(super) fn arrived(&self) -> Option<String> {
        let mut bytes = [0; 1024];
        let len = self.0.try_read(&mut bytes).ok()?;
        Some(String::from_utf8_lossy(&bytes[..len]).into_owned())
    }

    /// Reads until the data ends with `end`.
    pub(super) async fn read_to(&mut self, end: &str) -> String {
        let mut read = Vec::new();
        let reading = async {
            while !read.ends_with(end.as_bytes()) {
                read.push(self.0.read_u8().await.unwrap());
            }
        };
        let is_there = time::timeout(PATIENCE, reading).await.is_ok();
        let read = String::from_utf8_lossy(&read).into_owned();
        assert!(is_there, "waited {PATIENCE:?} in vain for {end:?}: {read:?}");
        read
    }

    /// Reads exactly this number of bytes.
    pub(super) async fn read(&mut self, len: usize) {
        let mut bytes = vec![0; len];
        time::timeout(PATIENCE, self.0.read_exact(&mut bytes)).await.unwrap().unwrap();
    }

    /// Returns when the server has closed the connection; panics if it was reset.
    pub(super) async fn ends(&mut self) {
        assert_eq!(time::timeout(PATIENCE, self.0.read(&mut [0])).await.unwrap().unwrap(), 0);
    }

    /// Resets the connection, as happens when a process is killed while data is on its way to it.
    pub(super) fn reset(self) {
        self.0.set_zero_linger().unwrap();
    }
}
