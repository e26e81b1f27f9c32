//! A well-behaved visitor, who keeps its cookies and comes back when it was told to; and the waiting of
//! tests for what others do.

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
        // Each request has a connection of its own: a kept one may have been cut off by a restart.
        let client = client.pool_max_idle_per_host(0).build().unwrap();
        Self { client, origin: origin.to_owned() }
    }

    /// Asks for `path`, once.
    pub async fn get(&self, path: &str) -> Seen {
        self.send(Method::GET, path).await
    }

    /// Asks for `path` with these headers, once.
    pub async fn get_with(&self, path: &str, headers: &[(&str, &str)]) -> Seen {
        let request = self.client.get(format!("{}{path}", self.origin));
        let request =
            headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        Seen::of(request.send().await.unwrap()).await
    }

    /// Sends a request without a body, once.
    pub async fn send(&self, method: Method, path: &str) -> Seen {
        let request = self.client.request(method, format!("{}{path}", self.origin));
        Seen::of(request.send().await.unwrap()).await
    }

    /// The same visitor, with the same cookies, at another server of this host.
    #[must_use]
    pub fn at_another(&self, origin: &str) -> Self {
        Self { client: self.client.clone(), origin: origin.to_owned() }
    }

    /// Gets a ticket now, and comes back in the background until it is let in.
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

    /// Ends its session: the slot is free when this returns.
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
        let (status, headers) = (response.status(), response.headers().clone());
        Self { status, headers, body: response.text().await.unwrap() }
    }

    /// Whether the application has answered.
    #[must_use]
    pub fn is_inside(&self) -> bool {
        self.status == StatusCode::OK && self.body.contains("<h1 id=inside>")
    }

    /// A header, if it is there.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// When to come back.
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

/// Asks until there is an answer, and returns it.
///
/// # Panics
///
/// If there is none for half a minute. The message says `what` was waited for.
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

/// Stays away as long as an answer says, as a well-behaved client does.
pub async fn obey(retry_after: Duration) {
    time::sleep(retry_after).await;
}

/// How long anything may take. Far more than it does, on a machine that has other things to do.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);
