//! The parsers of headers, reached by requests.
//!
//! Each line of an input is the value of a header. Bytes that no header may have stand for tokens,
//! which would be too old in a file: 1 is a pass, 2 a ticket, and 3 a link; 4 is a ticket with an error,
//! whose position is the next byte.

use std::{convert::Infallible, net::SocketAddr};

use axum::extract::ConnectInfo;
use http::{HeaderValue, Request, Response, header};
use http_body_util::BodyExt;
use tokio::runtime::Builder;
use tower::{Layer, Service, ServiceExt, service_fn};
use tower_waiting_room::{
    ClientIp, Key, KeyRing, Quota, RateLimit, TokenKey, TrustedProxies, WaitingRoomConfig,
    WaitingRoomLayer, config::WaitingRoomConfigBuilder, request::Bypass, respond::reason_of,
};
use waiting_room_core::room::CookieTest;

/// A parser that is ready: gives the outcome of an input.
pub(crate) type Target = Box<dyn FnMut(&[u8]) -> String>;

pub(crate) fn accept() -> Target {
    let names = [
        "accept",
        "accept-language",
        "accept-encoding",
        "user-agent",
        "sec-fetch-dest",
        "content-type",
    ];
    target(room(), "/", names)
}

pub(crate) fn cookies() -> Target {
    let limit = RateLimit::new("session", Quota::per_second(1_000_000), Key::cookie("sid"));
    target(room().rate_limit(limit).bypass(Bypass::cookie("tester", "tester")), "/", ["cookie"])
}

pub(crate) fn forwarded() -> Target {
    let proxies = || TrustedProxies::networks(["127.0.0.1"]).expect("it is an address");
    let limit = || RateLimit::per_ip(Quota::per_second(1_000_000));
    let of = |ip| {
        target(room().rate_limit(limit()).client_ip(ip), "/", ["x-forwarded-for", "forwarded"])
    };
    let mut both = [of(ClientIp::x_forwarded_for(proxies())), of(ClientIp::forwarded(proxies()))];
    Box::new(move |input| both.iter_mut().map(|target| target(input)).collect())
}

pub(crate) fn links() -> Target {
    target(room(), "/transfer", ["waiting-room-transfer", "cookie"])
}

pub(crate) fn tickets() -> Target {
    target(room(), "/", ["waiting-room-token", "cookie"])
}

/// Returns the configuration of a room with one slot.
pub(crate) fn room() -> WaitingRoomConfigBuilder {
    WaitingRoomConfig::builder("shop")
        .total_active_users(1)
        .cookie_test(CookieTest::Off)
        .transfer_path("/transfer")
        .keys(KeyRing::new(TokenKey::from_bytes([1; TokenKey::LEN])))
}

/// Sends each input as a request for this path, which has its lines as headers with these names in turn.
fn target<const N: usize>(
    config: WaitingRoomConfigBuilder,
    path: &'static str,
    names: [&'static str; N],
) -> Target {
    let layer = WaitingRoomLayer::new(config.build().expect("the configuration is right"));
    let mut sender = Sender::new(&layer);
    let tokens = sender.tokens();
    Box::new(move |input| {
        let mut headers = Vec::new();
        for (line, name) in
            input.split(|byte| *byte == b'\n').zip(names.into_iter().cycle().take(16))
        {
            headers.push((name, with_tokens(line, &tokens)));
        }
        sender.send(path, &headers).0
    })
}

/// Replaces bytes that no header may have.
fn with_tokens(line: &[u8], [pass, ticket, link]: &[String; 3]) -> Vec<u8> {
    let mut value = Vec::with_capacity(line.len());
    // No more than the layer looks at, so that the value remains about as long as the line.
    let mut left = 16;
    let mut bytes = line.iter();
    while let Some(&byte) = bytes.next() {
        let is_token = (1..=4).contains(&byte) && left > 0;
        left -= u8::from(is_token);
        match byte {
            1 if is_token => value.extend(pass.bytes()),
            2 if is_token => value.extend(ticket.bytes()),
            3 if is_token => value.extend(link.bytes()),
            4 if is_token => {
                let at = value.len() + usize::from(*bytes.next().unwrap_or(&0)) % ticket.len();
                value.extend(ticket.bytes());
                value[at] ^= 1;
            }
            b'\t' | b' '..=b'~' | 128.. => value.push(byte),
            _ => value.push(b'?'),
        }
    }
    value
}

/// Sends requests to a layer in front of an application without content.
pub(crate) struct Sender(Box<dyn FnMut(Request<String>) -> Response<Vec<u8>>>);

impl Sender {
    pub(crate) fn new(layer: &WaitingRoomLayer) -> Self {
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.expect("the machine has what a runtime needs");
        let inner =
            |_: Request<String>| async { Ok::<_, Infallible>(Response::new(String::new())) };
        let mut service = layer.layer(service_fn(inner));
        Self(Box::new(move |request| {
            runtime.block_on(async {
                let Ok(ready) = service.ready().await;
                let Ok(response) = ready.call(request).await;
                let (head, body) = response.into_parts();
                let Ok(body) = body.collect().await;
                Response::from_parts(head, body.to_bytes().to_vec())
            })
        }))
    }

    /// Sends a request, and returns what tells its response from others, and the response's token and body.
    pub(crate) fn send(
        &mut self,
        path: &str,
        headers: &[(&str, Vec<u8>)],
    ) -> (String, String, Vec<u8>) {
        let peer = ConnectInfo(SocketAddr::from(([127, 0, 0, 1], 50_000)));
        let method = if path == "/" { "GET" } else { "POST" };
        let mut request = Request::builder().method(method).uri(path).extension(peer);
        for (name, value) in headers {
            request = request.header(
                *name,
                HeaderValue::from_bytes(value).expect("a header may have these bytes"),
            );
        }
        let request = request.body(String::new()).expect("the request is well formed");
        let response = (self.0)(request);
        let text =
            |name| response.headers().get(name).and_then(|value: &HeaderValue| value.to_str().ok());
        let reason = reason_of(&response).map(|reason| format!("{reason:?}"));
        let outcome = format!(
            "{} {:?} {:?} {:?} {} {reason:?}",
            response.status(),
            text(header::CONTENT_TYPE),
            text(header::CONTENT_LANGUAGE),
            text(header::CONTENT_ENCODING),
            response.headers().len(),
        );
        let cookie =
            text(header::SET_COOKIE).and_then(|line| line.split(';').next()?.split_once('='));
        let token = cookie.map_or_else(String::new, |(_, value)| value.to_owned());
        (outcome, token, response.into_body())
    }

    /// Returns a pass, a ticket with a place, and a link.
    fn tokens(&mut self) -> [String; 3] {
        let pass = self.send("/", &[]).1;
        let ticket = self.send("/", &[]).1;
        let cookie = format!("__Host-wr-shop={ticket}").into_bytes();
        let body = self.send("/transfer", &[("cookie", cookie)]).2;
        let body: serde_json::Value = serde_json::from_slice(&body).unwrap_or_default();
        let link = body["transfer"].as_str().unwrap_or("no link").to_owned();
        [pass, ticket, link]
    }
}
