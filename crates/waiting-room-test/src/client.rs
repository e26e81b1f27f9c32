//! One client of the service under test, which keeps its cookies.

use std::{
    collections::BTreeMap,
    fmt,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    time::Duration,
};

use axum_core::body::Body;
use bytes::Bytes;
use cookie::Cookie;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, header};
use http_body_util::{BodyExt, Limited};
use tower::{Service, ServiceExt};
use tower_waiting_room::request::PeerAddr;
use waiting_room_core::{Timestamp, time::Clock};

use crate::{clock::TestClock, seen::Seen};

/// A client that sends requests to a service directly, without a socket.
///
/// The client has its own address and cookies, like a visitor with one browser window. It obeys the
/// `Max-Age` of a cookie, or else its `Expires`, on the [`TestClock`], and sends each cookie to
/// every path.
///
/// ```
/// use axum::{Router, routing::get};
/// use tower_waiting_room::{Quota, RateLimit, WaitingRoomConfig, WaitingRoomLayer};
/// use waiting_room_test::TestClient;
///
/// waiting_room_test::run(async |clock| {
///     let config = WaitingRoomConfig::builder("api")
///         .rate_limit(RateLimit::per_ip(Quota::per_minute(2)))
///         .build()
///         .unwrap();
///     let app = Router::new().route("/", get(async || "Hello."));
///     let mut client =
///         TestClient::api(app.layer(WaitingRoomLayer::with_clock(config, clock)), clock);
///     assert_eq!(client.get("/").await.text(), "Hello.");
///     assert_eq!(client.get("/").await.status, 200);
///     assert_eq!(client.get("/").await.status, 429);
/// });
/// ```
#[derive(Clone)]
pub struct TestClient<S> {
    service: S,
    clock: TestClock,
    form: ClientForm,
    peer: SocketAddr,
    headers: HeaderMap,
    cookies: BTreeMap<String, Kept>,
}

/// The kind of client, which determines the headers of its requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClientForm {
    /// A program that accepts JSON.
    Api,
    /// A browser that navigates.
    Browser,
}

/// The name of the cookie that holds a visitor's token.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum TokenCookie {
    /// The layer's default name, which contains the name of the room: `__Host-wr-<room>`, or
    /// `wr-<room>` without TLS.
    #[default]
    Default,
    /// Another name.
    Named(String),
}

/// A cookie that a client keeps.
#[derive(Clone, Debug)]
struct Kept {
    value: String,
    /// The time from which the cookie is void; `None` if it lasts as long as the client.
    until: Option<Timestamp>,
}

impl<S> TestClient<S> {
    /// Creates a program that accepts JSON, without cookies, at the address 198.18.0.1.
    pub fn api(service: S, clock: TestClock) -> Self {
        Self::new(service, clock, ClientForm::Api)
    }

    /// Creates a browser without scripts and cookies, at the address 198.18.0.1. Each request is a
    /// navigation.
    pub fn browser(service: S, clock: TestClock) -> Self {
        Self::new(service, clock, ClientForm::Browser)
    }

    pub(crate) fn new(service: S, clock: TestClock, form: ClientForm) -> Self {
        let peer = SocketAddr::from((address(0), 40_000));
        let headers = form.headers();
        let cookies = BTreeMap::new();
        Self { service, clock, form, peer, headers, cookies }
    }

    /// Sets the address from which the requests come, as a [`PeerAddr`] in their extensions.
    #[must_use]
    pub fn from_address(mut self, address: impl Into<IpAddr>) -> Self {
        self.peer.set_ip(address.into());
        self
    }

    /// Adds a header to all requests, such as an API key, in place of an earlier value.
    #[must_use]
    pub fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.insert(name, value);
        self
    }

    pub(crate) fn headers(mut self, headers: &HeaderMap) -> Self {
        self.headers.extend(headers.clone());
        self
    }

    /// Returns the value of a cookie that the client keeps, or `None` if it has no such cookie.
    #[must_use]
    pub fn cookie(&self, name: &str) -> Option<&str> {
        let now = self.clock.now();
        self.cookies.get(name).filter(|kept| kept.lasts(now)).map(|kept| kept.value.as_str())
    }

    /// Drops all cookies, like a visitor in a new private window.
    pub fn forget_cookies(&mut self) {
        self.cookies.clear();
    }

    /// Returns whether an earlier answer gave the client a token that it no longer sends, because
    /// the token has lapsed. The age of a cookie is in whole seconds and rounded up, so the token
    /// itself may have lapsed up to a second earlier.
    pub(crate) fn has_lapsed_token(&self, token: &TokenCookie) -> bool {
        let soon = self.clock.now() + Duration::from_secs(1);
        self.cookies.iter().any(|(name, kept)| token.is(name) && !kept.lasts(soon))
    }

    /// Adds the headers, the address and the cookies of this client.
    fn dress(&self, request: &mut Request<Body>) {
        for (name, value) in &self.headers {
            request.headers_mut().entry(name).or_insert_with(|| value.clone());
        }
        let now = self.clock.now();
        let kept = self.cookies.iter().filter(|(_, kept)| kept.lasts(now));
        let pairs: Vec<_> = kept.map(|(name, kept)| format!("{name}={}", kept.value)).collect();
        if let Ok(cookies) = HeaderValue::try_from(pairs.join("; "))
            && !pairs.is_empty()
        {
            request.headers_mut().append(header::COOKIE, cookies);
        }
        request.extensions_mut().insert(PeerAddr(self.peer));
    }

    /// Keeps the cookies that an answer sets, and drops those that it deletes.
    fn keep_cookies(&mut self, headers: &HeaderMap) {
        let now = self.clock.now();
        let lines = headers.get_all(header::SET_COOKIE).iter();
        for cookie in lines.filter_map(|line| Cookie::parse(line.to_str().ok()?).ok()) {
            let kept = Kept { value: cookie.value().to_owned(), until: void_from(&cookie, now) };
            self.cookies.insert(cookie.name().to_owned(), kept);
        }
        self.cookies.retain(|_, kept| kept.lasts(now));
    }
}

impl<S, B> TestClient<S>
where
    S: Service<Request<Body>, Response = Response<B>> + Clone,
    S::Error: fmt::Debug,
    B: http_body::Body,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    /// Sends a GET request and returns the answer.
    ///
    /// # Panics
    ///
    /// Panics for the same reasons as [`send`](Self::send), and if the path is not valid.
    pub async fn get(&mut self, path: &str) -> Seen {
        self.send(request(Method::GET, path, Body::empty())).await
    }

    /// Sends a POST request with a body of the given media type, and returns the answer.
    ///
    /// # Panics
    ///
    /// Panics for the same reasons as [`send`](Self::send), and if the path is not valid.
    pub async fn post(
        &mut self,
        path: &str,
        media_type: &'static str,
        body: impl Into<Bytes>,
    ) -> Seen {
        let mut request = request(Method::POST, path, Body::from(body.into()));
        let media_type = HeaderValue::from_static(media_type);
        request.headers_mut().insert(header::CONTENT_TYPE, media_type);
        self.send(request).await
    }

    /// Sends a request with the headers, the address and the cookies of this client, and returns
    /// the answer when its body has been read.
    ///
    /// Headers that the request already has are left as they are.
    ///
    /// # Panics
    ///
    /// Panics if the service fails, if the body of the answer fails, or if the body is longer than
    /// [`Seen::LONGEST_BODY`] bytes.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future drops the request, as if the client had disconnected.
    pub async fn send(&mut self, mut request: Request<Body>) -> Seen {
        self.dress(&mut request);
        let sent = self.clock.now();
        let asked = format!("{} {}", request.method(), request.uri());
        let response = self.service.clone().oneshot(request).await;
        let response = response.unwrap_or_else(|error| panic!("{asked}: {error:?}"));
        let (head, body) = response.into_parts();
        let body = Limited::new(body, Seen::LONGEST_BODY).collect().await;
        let body = body.unwrap_or_else(|error| panic!("the body of {asked}: {error}"));
        self.keep_cookies(&head.headers);
        Seen::new(Response::from_parts(head, body.to_bytes()), sent, self.clock.now())
    }
}

impl<S> fmt::Debug for TestClient<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Cookies are proofs of admission, so only their names are shown.
        let cookies: Vec<_> = self.cookies.keys().collect();
        f.debug_struct("TestClient")
            .field("form", &self.form)
            .field("peer", &self.peer)
            .field("cookies", &cookies)
            .finish_non_exhaustive()
    }
}

impl ClientForm {
    fn headers(self) -> HeaderMap {
        let fixed: &[(HeaderName, &'static str)] = match self {
            Self::Api => &[(header::ACCEPT, "application/json")],
            Self::Browser => &[
                (header::ACCEPT, "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"),
                (header::ACCEPT_LANGUAGE, "en"),
                (HeaderName::from_static("sec-fetch-dest"), "document"),
                (HeaderName::from_static("sec-fetch-mode"), "navigate"),
                (HeaderName::from_static("sec-fetch-site"), "none"),
            ],
        };
        let of = |(name, value): &(HeaderName, &'static str)| {
            (name.clone(), HeaderValue::from_static(value))
        };
        fixed.iter().map(of).collect()
    }
}

impl TokenCookie {
    /// Returns whether the cookie with this name holds a token.
    pub(crate) fn is(&self, name: &str) -> bool {
        match self {
            Self::Default => name.starts_with("__Host-wr-") || name.starts_with("wr-"),
            Self::Named(token) => token == name,
        }
    }
}

impl Kept {
    fn lasts(&self, now: Timestamp) -> bool {
        self.until.is_none_or(|until| now < until)
    }
}

/// Returns the time from which a cookie that was set at `now` is void, or `None` if it lasts as long
/// as the client. `Max-Age` takes precedence over `Expires` (RFC 6265 section 5.3).
pub(crate) fn void_from(cookie: &Cookie<'_>, now: Timestamp) -> Option<Timestamp> {
    if let Some(age) = cookie.max_age() {
        return Some(now + Duration::try_from(age).unwrap_or_default());
    }
    let seconds = cookie.expires_datetime()?.unix_timestamp();
    Some(Timestamp::from_secs(u64::try_from(seconds).unwrap_or_default()))
}

/// Returns the address of the client with this number. The first is 198.18.0.1. The next 6 000 clients
/// are in different networks, even at the level of 16 bits, so that each has its own share.
pub(crate) fn address(number: u32) -> Ipv4Addr {
    const NETWORKS: u32 = 6_000;
    const STEP: u32 = u32::from_be_bytes([0, 1, 1, 1]);
    let first = u32::from_be_bytes([198, 18, 0, 1]);
    Ipv4Addr::from_bits(first + number % NETWORKS * STEP + number / NETWORKS % STEP)
}

fn request(method: Method, path: &str, body: Body) -> Request<Body> {
    let request = Request::builder().method(method).uri(path).body(body);
    request.unwrap_or_else(|error| panic!("the path {path:?}: {error}"))
}
