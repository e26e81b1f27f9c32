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
pub(super) struct Client {
    http: reqwest::Client,
    address: SocketAddr,
    kind: Kind,
    /// The token of a program without cookies. It is empty at first, which requests a token.
    token: HeaderValue,
}

/// The purpose of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Errand {
    /// Check out.
    Checkout,
    /// Load this page, where 0 is the first, or submit a form on it.
    Page(usize),
    /// Ask whether the visitor is admitted, as the script of the waiting page does.
    Poll,
}

impl Client {
    /// A client without cookies or token.
    ///
    /// # Errors
    ///
    /// The HTTP client cannot be initialized, which does not happen in practice.
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

    /// Sends a request, and waits for the head of the response.
    pub(super) async fn send(&self, errand: Errand) -> Result<Response, reqwest::Error> {
        let (method, path, body) = errand.request(self.kind);
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

    /// Opens a push stream, and waits for the head of the response. The stream may last for as long
    /// as the visitor waits.
    pub(super) async fn follow(&self, path: &str) -> Result<Response, reqwest::Error> {
        let request = self.http.get(format!("http://{}{path}", self.address)).timeout(STREAM);
        let request = request.header(ACCEPT, "text/event-stream");
        let request = match self.kind {
            Kind::ApiWithToken => request.header(TOKEN_HEADER, &self.token),
            Kind::ApiWithCookies | Kind::Browser | Kind::ScriptedBrowser => request,
        };
        request.send().await
    }

    /// Stores the token of a response that carries it in a header. Cookies are stored by the HTTP
    /// client.
    pub(super) fn remember(&mut self, response: &Response) {
        if let Some(token) = response.headers().get(TOKEN_HEADER) {
            self.token = token.clone();
        }
    }
}

impl Errand {
    /// The request of such a client.
    const fn request(self, kind: Kind) -> (Method, &'static str, Option<Body>) {
        match (self, kind.is_browser()) {
            (Self::Checkout, true) => (Method::POST, "/checkout", None),
            (Self::Checkout, false) => (Method::POST, "/api/checkout", None),
            (Self::Poll, _) => (Method::GET, "/", None),
            (Self::Page(number), true) => match number % 4 {
                1 => (Method::GET, "/products/chair", None),
                2 => (Method::POST, "/cart", Some(FORM)),
                _ => (Method::GET, "/", None),
            },
            (Self::Page(number), false) => match number % 3 {
                0 => (Method::GET, "/api/products", None),
                1 => (Method::POST, "/api/cart", Some(JSON)),
                _ => (Method::GET, "/api/cart", None),
            },
        }
    }
}

/// The body of a POST request.
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

/// The time after which idle connections are closed, so that a long line needs few file
/// descriptors.
const IDLE: Duration = Duration::from_secs(4);

/// The longest time of a push stream.
const STREAM: Duration = Duration::from_secs(600);

/// The time after which a visitor gives up on a response.
const TIMEOUT: Duration = Duration::from_secs(10);
