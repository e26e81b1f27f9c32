//! A client that keeps its cookies, and returns when the answer asks it to.

use std::{
    collections::BTreeMap,
    net::{Ipv4Addr, SocketAddr},
    time::Duration,
};

use anyhow::{Result, bail};
use bytes::Bytes;
use http::{HeaderMap, Request, header};
use http_body_util::Empty;
use tokio::time::{Instant, sleep};

use crate::client::{Answer, Client, get};

/// The cookies of one visitor.
#[derive(Clone, Debug, Default)]
pub(crate) struct Jar(BTreeMap<String, String>);

/// A client with a cookie jar.
#[derive(Debug)]
pub(crate) struct Visitor {
    pub(crate) client: Client,
    pub(crate) jar: Jar,
}

impl Jar {
    /// Stores the cookies of a response, and removes those that it deletes.
    pub(crate) fn keep(&mut self, headers: &HeaderMap) {
        for line in headers.get_all(header::SET_COOKIE) {
            let pair = line.to_str().unwrap_or_default().split(';').next().unwrap_or_default();
            match pair.split_once('=') {
                Some((name, "")) => _ = self.0.remove(name),
                Some((name, value)) => _ = self.0.insert(name.to_owned(), value.to_owned()),
                None => {}
            }
        }
    }

    /// A request that carries these cookies.
    pub(crate) fn get(&self, path: &str) -> Request<Empty<Bytes>> {
        let mut request = get(path);
        if !self.0.is_empty() {
            request = request.header(header::COOKIE, self.line());
        }
        request.body(Empty::new()).expect("paths and cookies of this program are visible ASCII")
    }

    /// The value of the `Cookie` header.
    pub(crate) fn line(&self) -> String {
        let pairs: Vec<_> = self.0.iter().map(|(name, value)| format!("{name}={value}")).collect();
        pairs.join("; ")
    }

    /// The names of the cookies.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}

impl Visitor {
    pub(crate) fn new(from: Ipv4Addr, to: SocketAddr) -> Self {
        Self { client: Client::new(from, to), jar: Jar::default() }
    }

    pub(crate) async fn ask(&mut self, path: &str) -> Result<Answer> {
        let answer = self.client.send(self.jar.get(path)).await?;
        self.jar.keep(&answer.headers);
        Ok(answer)
    }

    /// Sends requests until the visitor is admitted, and never before `Retry-After` allows it.
    ///
    /// # Errors
    ///
    /// The visitor was refused, or was not admitted within the time `within`.
    pub(crate) async fn enter(&mut self, within: Duration) -> Result<Answer> {
        let until = Instant::now() + within;
        loop {
            let answer = self.ask("/").await?;
            if answer.is_served() {
                return Ok(answer);
            }
            let from = self.client.from();
            if !answer.is_queued() {
                bail!("{from} was refused: {} {}", answer.status, answer.reason());
            }
            if Instant::now() > until {
                bail!("{from} was not served in time: {} {}", answer.status, answer.reason());
            }
            sleep(answer.retry_after().unwrap_or(Duration::from_secs(1))).await;
        }
    }
}
