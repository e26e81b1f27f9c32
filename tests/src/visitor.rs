//! A well-behaved visitor, which keeps its cookies and obeys `Retry-After`; and the functions with
//! which tests wait.

use std::{future::Future, time::Duration};

use http::{HeaderMap, StatusCode};
use reqwest::{Client, Method, redirect::Policy};
use tokio::{
    task::{self, JoinHandle},
    time,
};

/// A client with a cookie jar. Clones are the same visitor.
#[derive(Clone, Debug)]
pub struct Visitor {
    client: Client,
    origin: String,
}

impl Visitor {
    /// A visitor of the server at this address.
    #[must_use]
    pub fn at(origin: &str) -> Self {
        let client = Client::builder().cookie_store(true).redirect(Policy::none());
        // Each request opens a connection, because a pooled one may have been cut by a restart.
        let client = client.pool_max_idle_per_host(0).build().unwrap();
        Self { client, origin: origin.to_owned() }
    }

    /// Requests `path` once.
    pub async fn get(&self, path: &str) -> Seen {
        self.send(Method::GET, path).await
    }

    /// Requests `path` with these headers once.
    pub async fn get_with(&self, path: &str, headers: &[(&str, &str)]) -> Seen {
        let request = self.client.get(format!("{}{path}", self.origin));
        let request =
            headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        Seen::of(request.send().await.unwrap()).await
    }

    /// Sends one request without a body.
    pub async fn send(&self, method: Method, path: &str) -> Seen {
        let request = self.client.request(method, format!("{}{path}", self.origin));
        Seen::of(request.send().await.unwrap()).await
    }

    /// The same visitor, with the same cookies, at another server on this host.
    #[must_use]
    pub fn at_another(&self, origin: &str) -> Self {
        Self { client: self.client.clone(), origin: origin.to_owned() }
    }

    /// Gets a ticket now, and returns in the background until the visitor is admitted.
    pub async fn queue(self) -> JoinHandle<Self> {
        let first = self.get("/").await;
        assert!(!first.is_inside(), "there should be no slot");
        task::spawn(self.come_back(first))
    }

    async fn come_back(self, mut seen: Seen) -> Self {
        let visit = async {
            while !seen.is_inside() {
                obey(seen.retry_after().unwrap()).await;
                seen = self.get("/").await;
            }
        };
        time::timeout(PATIENCE, visit).await.expect("a visitor is let in");
        self
    }

    /// Ends the session. The slot is free when this returns.
    pub async fn leave(self) {
        let last = self.get("/leave").await;
        assert_eq!((last.status, last.body.as_str()), (StatusCode::OK, "Goodbye."));
    }
}

/// A response, with its body.
#[derive(Debug)]
#[non_exhaustive]
pub struct Seen {
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: String,
}

impl Seen {
    async fn of(response: reqwest::Response) -> Self {
        let status = response.status();
        let headers = response.headers().clone();
        Self { status, headers, body: response.text().await.unwrap() }
    }

    /// Returns whether the application answered.
    #[must_use]
    pub fn is_inside(&self) -> bool {
        self.status == StatusCode::OK && self.body.contains("<h1 id=inside>")
    }

    /// The value of a header, if it is present.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The time after which the client is asked to return.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        self.header("retry-after")?.parse().ok().map(Duration::from_secs)
    }

    /// The body as JSON.
    #[must_use]
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).unwrap()
    }
}

/// Polls `ask` until it returns a value.
///
/// # Panics
///
/// If there is no value within half a minute. The message contains `what`.
pub async fn until<T, F>(what: &str, mut ask: impl FnMut() -> F) -> T
where
    F: Future<Output = Option<T>>,
{
    let mut beat = time::interval(Duration::from_millis(50));
    let asking = async {
        loop {
            beat.tick().await;
            if let Some(answer) = ask().await {
                return answer;
            }
        }
    };
    match time::timeout(PATIENCE, asking).await {
        Ok(answer) => answer,
        Err(_) => panic!("waited {PATIENCE:?} in vain: {what}"),
    }
}

/// Waits for as long as an answer asks, as a well-behaved client does.
pub async fn obey(retry_after: Duration) {
    time::sleep(retry_after).await;
}

/// The maximum time for any step. It is far longer than a step takes, because the machine may be
/// busy.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);
