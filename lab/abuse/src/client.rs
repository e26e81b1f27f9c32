//! An HTTP/1 client that connects from an address of its own.

use std::{
    net::{Ipv4Addr, SocketAddr},
    time::Duration,
};

use anyhow::{Context, Result};
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Request, StatusCode, header};
use http_body_util::{BodyExt, Empty};
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use tokio::{
    net::{TcpSocket, TcpStream},
    time::{Instant, timeout},
};
use tower_waiting_room::respond::REASON_HEADER;

/// A client at one address. It has at most one connection, opened on the first request.
#[derive(Debug)]
pub(crate) struct Client {
    from: Ipv4Addr,
    to: SocketAddr,
    open: Option<SendRequest<Empty<Bytes>>>,
}

/// A response, read to its end.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    /// The time from sending the request to the end of the response.
    pub(crate) took: Duration,
}

impl Client {
    pub(crate) const fn new(from: Ipv4Addr, to: SocketAddr) -> Self {
        Self { from, to, open: None }
    }

    pub(crate) const fn from(&self) -> Ipv4Addr {
        self.from
    }

    /// Sends a request and reads the whole answer. After an error, the next request opens a new
    /// connection.
    pub(crate) async fn send(&mut self, request: Request<Empty<Bytes>>) -> Result<Answer> {
        let answer = timeout(PATIENCE, self.exchange(request)).await.context("no answer in time");
        if !matches!(answer, Ok(Ok(_))) {
            self.open = None;
        }
        answer?
    }

    async fn exchange(&mut self, mut request: Request<Empty<Bytes>>) -> Result<Answer> {
        let asked = Instant::now();
        let headers = request.headers_mut();
        let line = forwarded_for(headers.get(FORWARDED_FOR), self.from);
        headers.insert(FORWARDED_FOR, line.try_into()?);
        if self.open.as_ref().is_none_or(SendRequest::is_closed) {
            let stream = connect(self.from, self.to, None).await?;
            let (open, connection) = http1::handshake(TokioIo::new(stream)).await?;
            // The task ends when the connection closes. An error is also returned by
            // `send_request`.
            tokio::spawn(async { _ = connection.await });
            self.open = Some(open);
        }
        let open = self.open.as_mut().context("no connection")?;
        open.ready().await?;
        let (head, body) = open.send_request(request).await?.into_parts();
        let body = body.collect().await?.to_bytes();
        Ok(Answer { status: head.status, headers: head.headers, body, took: asked.elapsed() })
    }
}

impl Answer {
    /// Returns whether the application answered.
    pub(crate) fn is_served(&self) -> bool {
        self.status == StatusCode::OK
    }

    /// Returns whether the visitor waits in the line.
    pub(crate) fn is_queued(&self) -> bool {
        self.reason().starts_with("queued:")
    }

    /// The reason that the layer gives in the debug header; empty without the header.
    pub(crate) fn reason(&self) -> &str {
        self.headers.get(REASON_HEADER).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }

    /// The interval after which the client is asked to return.
    pub(crate) fn retry_after(&self) -> Option<Duration> {
        let seconds = self.headers.get(header::RETRY_AFTER)?.to_str().ok()?.parse().ok()?;
        Some(Duration::from_secs(seconds))
    }

    /// The position in the line, if the answer contains one.
    pub(crate) fn position(&self) -> Option<u64> {
        let body: serde_json::Value = serde_json::from_slice(&self.body).ok()?;
        body["waitingRoom"]["position"].as_u64()
    }
}

/// A `GET` request as a program sends it.
pub(crate) fn get(path: &str) -> http::request::Builder {
    Request::get(path).header(header::HOST, "shop.test").header(header::ACCEPT, "application/json")
}

/// Returns the `X-Forwarded-For` line of a proxy in front of the service: the addresses that the
/// client made up, then the client's own address, 10.x.y.z for 127.x.y.z. The addresses of
/// 127.48.0.0/16 stand for as many /64s of one /48 of IPv6.
pub(crate) fn forwarded_for(made_up: Option<&HeaderValue>, from: Ipv4Addr) -> String {
    let [_, rest @ ..] = from.octets();
    let client = match rest {
        [48, high, low] => format!("2001:db8:48:{high:x}{low:02x}::1"),
        [a, b, c] => Ipv4Addr::new(10, a, b, c).to_string(),
    };
    match made_up.and_then(|line| line.to_str().ok()) {
        Some(line) => format!("{line}, {client}"),
        None => client,
    }
}

/// Connects from the address `from`. `buffer` is the size of the receive buffer in bytes; `None`
/// keeps the default of the system.
pub(crate) async fn connect(
    from: Ipv4Addr,
    to: SocketAddr,
    buffer: Option<u32>,
) -> Result<TcpStream> {
    let socket = TcpSocket::new_v4()?;
    if let Some(size) = buffer {
        socket.set_recv_buffer_size(size)?;
    }
    socket.bind(SocketAddr::from((from, 0)))?;
    let stream = socket.connect(to).await?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// The header in which a proxy passes on the address of a client.
pub(crate) const FORWARDED_FOR: &str = "x-forwarded-for";
/// A request fails if its answer takes longer.
const PATIENCE: Duration = Duration::from_secs(10);
