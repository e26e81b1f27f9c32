//! One visitor's HTTP client: how it asks.

use std::{net::SocketAddr, time::Duration};

use reqwest::{
    Method, RequestBuilder, Response,
    header::{ACCEPT, ACCEPT_LANGUAGE, HeaderValue},
    redirect,
};
use tower_waiting_room::{request::POLL_HEADER, token::TOKEN_HEADER};

use super::plan::{Kind, Memory};

/// A client with connections and cookies of its own.
#[derive(Debug)]
pub(super) struct Client {
    http: reqwest::Client,
    address: SocketAddr,
    kind: Kind,
    /// What a program without cookies has been given; empty at first, to ask for it.
    token: HeaderValue,
}

/// What a visitor wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Errand {
    /// To buy.
    Checkout,
    /// To see this page, the first of many, or to do something on it.
    Page(usize),
    /// To know whether it is its turn, as the waiting page's script asks.
    Poll,
}

impl Client {
    /// A client that has never been here.
    ///
    /// # Errors
    ///
    /// The system gives it what it needs to resolve names or to keep time: it always does.
    pub(super) fn new(
        address: SocketAddr,
        kind: Kind,
        memory: Memory,
    ) -> Result<Self, reqwest::Error> {
        let http = reqwest::Client::builder()
            .cookie_store(memory == Memory::Keeps && kind != Kind::ApiWithToken)
            .user_agent("shop-crowd/1")
            .no_proxy()
            .redirect(redirect::Policy::none())
            .pool_max_idle_per_host(1)
            .pool_idle_timeout(IDLE)
            .timeout(TIMEOUT)
            .build()?;
        Ok(Self { http, address, kind, token: HeaderValue::from_static("") })
    }

    /// Asks, and waits for the head of the answer.
    pub(super) async fn send(&self, errand: Errand) -> Result<Response, reqwest::Error> {
        let (method, path, body) = self.kind.request(errand);
        let url = format!("http://{}{path}", self.address);
        let request = self.http.request(method, url);
        let request = match (self.kind, errand) {
            (Kind::ApiWithCookies, _) => json(request),
            (Kind::ApiWithToken, _) => json(request).header(TOKEN_HEADER, &self.token),
            (Kind::Browser | Kind::ScriptedBrowser, Errand::Poll) => json(request)
                .header(POLL_HEADER, "1")
                .header("sec-fetch-mode", "cors")
                .header("sec-fetch-dest", "empty"),
            (Kind::Browser | Kind::ScriptedBrowser, _) => navigation(request),
        };
        let request = match body {
            Some(body) => request.header("content-type", body.media_type).body(body.text),
            None => request,
        };
        request.send().await
    }

    /// Keeps what it was given to be recognized by, if it is not a matter of cookies.
    pub(super) fn remember(&mut self, response: &Response) {
        if let Some(token) = response.headers().get(TOKEN_HEADER) {
            self.token = token.clone();
        }
    }
}

impl Kind {
    fn request(self, errand: Errand) -> (Method, &'static str, Option<Body>) {
        match (errand, self.is_browser()) {
            (Errand::Checkout, true) => (Method::POST, "/checkout", None),
            (Errand::Checkout, false) => (Method::POST, "/api/checkout", None),
            (Errand::Poll, _) => (Method::GET, "/", None),
            (Errand::Page(number), true) => match number % 4 {
                1 => (Method::GET, "/products/chair", None),
                2 => (Method::POST, "/cart", Some(FORM)),
                _ => (Method::GET, "/", None),
            },
            (Errand::Page(number), false) => match number % 3 {
                0 => (Method::GET, "/api/products", None),
                1 => (Method::POST, "/api/cart", Some(JSON)),
                _ => (Method::GET, "/api/cart", None),
            },
        }
    }
}

/// What is posted.
struct Body {
    media_type: &'static str,
    text: &'static str,
}

fn json(request: RequestBuilder) -> RequestBuilder {
    request.header(ACCEPT, "application/json")
}

fn navigation(request: RequestBuilder) -> RequestBuilder {
    request
        .header(ACCEPT, "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8")
        .header(ACCEPT_LANGUAGE, "en")
        .header("sec-fetch-mode", "navigate")
        .header("sec-fetch-dest", "document")
        .header("sec-fetch-site", "none")
        .header("upgrade-insecure-requests", "1")
}

const FORM: Body = Body { media_type: "application/x-www-form-urlencoded", text: "product=chair" };
const JSON: Body = Body { media_type: "application/json", text: "{\"product\":\"lamp\"}" };

/// Connections that nobody uses are closed, so that a long line takes few file descriptors.
const IDLE: Duration = Duration::from_secs(4);

/// Nobody looks at an empty page for longer.
const TIMEOUT: Duration = Duration::from_secs(10);
