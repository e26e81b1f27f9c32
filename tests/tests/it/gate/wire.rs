//! How requests come: over HTTP/1 or HTTP/2, or as bytes that a test writes itself.

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
    /// HTTP/1, so one for each.
    Http1,
    /// HTTP/2 without TLS, and yet one for each.
    Http2,
    /// HTTP/2 without TLS, and one for all.
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

    /// Asks for all of these at once.
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

/// Returns when all have got this.
pub(super) async fn finished(crowd: JoinSet<String>, expected: &str) {
    for got in time::timeout(PATIENCE, crowd.join_all()).await.unwrap() {
        assert_eq!(got, expected);
    }
}

/// A connection of HTTP/1 on which a test writes what it likes.
#[derive(Debug)]
pub(super) struct Raw(TcpStream);

impl Raw {
    pub(super) async fn connect(works: &Works) -> Self {
        Self(TcpStream::connect(("localhost", works.port())).await.unwrap())
    }

    pub(super) async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        time::timeout(PATIENCE, self.0.write_all(bytes.as_ref())).await.unwrap().unwrap();
    }

    /// What has arrived, if there is anything.
    pub(super) fn arrived(&self) -> Option<String> {
        let mut bytes = [0; 1024];
        let len = self.0.try_read(&mut bytes).ok()?;
        Some(String::from_utf8_lossy(&bytes[..len]).into_owned())
    }

    /// Reads until there is this.
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

    /// Reads as many bytes.
    pub(super) async fn read(&mut self, len: usize) {
        let mut bytes = vec![0; len];
        time::timeout(PATIENCE, self.0.read_exact(&mut bytes)).await.unwrap().unwrap();
    }

    /// Returns when the server has closed the connection, and not reset it.
    pub(super) async fn ends(&mut self) {
        assert_eq!(time::timeout(PATIENCE, self.0.read(&mut [0])).await.unwrap().unwrap(), 0);
    }

    /// Leaves as a process does that is killed while something is on its way to it.
    pub(super) fn reset(self) {
        self.0.set_zero_linger().unwrap();
    }
}
