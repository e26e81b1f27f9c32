//! The HTTP client of one visitor.

use std::{net::SocketAddr, time::Duration};

use reqwest::{
    Method, RequestBuilder, Response,
    header::{ACCEPT, ACCEPT_LANGUAGE, HeaderValue},
    redirect,
};
use tower_waiting_room::{request::POLL_HEADER, token::TOKEN_HEADER};
use waiting_room_sim::plan::{Kind, Memory};

/// A client with its own connections and cookies.
#[derive(Debug)]
pub(crate) struct Client {
    http: reqwest::Client,
    address: SocketAddr,
    kind: Kind,
    /// The token of a program without cookies. It is empty at first, which requests a token.
    token: HeaderValue,
}

/// The purpose of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Errand {
    /// Check out.
    Checkout,
    /// Load this page, where 0 is the first.
    Page(usize),
    /// Ask whether the visitor is admitted, as the script of the waiting page does.
    Poll,
}

impl Client {
    /// A client without cookies or token.
    pub(crate) fn new(
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

    /// Sends a request, and waits for the head of the response.
    pub(crate) async fn send(&self, errand: Errand) -> Result<Response, reqwest::Error> {
        let (method, path) = errand.request(self.kind);
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
        request.send().await
    }

    /// Stores the token of a response that carries it in a header. Cookies are stored by the HTTP
    /// client.
    pub(crate) fn remember(&mut self, response: &Response) {
        if let Some(token) = response.headers().get(TOKEN_HEADER) {
            self.token = token.clone();
        }
    }
}

impl Errand {
    /// The request of such a client.
    const fn request(self, kind: Kind) -> (Method, &'static str) {
        match (self, kind.is_browser()) {
            (Self::Checkout, true) => (Method::POST, "/checkout"),
            (Self::Checkout, false) => (Method::POST, "/api/checkout"),
            (Self::Page(number), true) if number % 2 == 1 => (Method::GET, "/products/chair"),
            (Self::Page(_), false) => (Method::GET, "/api/products"),
            (Self::Page(_) | Self::Poll, _) => (Method::GET, "/"),
        }
    }
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

/// The time after which idle connections are closed, so that a long line needs few file
/// descriptors.
const IDLE: Duration = Duration::from_secs(4);

/// The time after which a visitor gives up on a response.
const TIMEOUT: Duration = Duration::from_secs(10);
