//! An HTTP/1 client with an address of its own.

use std::{
    net::{IpAddr, Ipv4Addr, SocketAddr},
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

/// One connection at a time from this address, opened when it is needed.
#[derive(Debug)]
pub(crate) struct Client {
    from: Ipv4Addr,
    to: SocketAddr,
    open: Option<SendRequest<Empty<Bytes>>>,
}

/// The answer to a request, read to its end.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    /// From the request to the end of the answer.
    pub(crate) took: Duration,
}

impl Client {
    pub(crate) const fn new(from: Ipv4Addr, to: SocketAddr) -> Self {
        Self { from, to, open: None }
    }

    pub(crate) const fn from(&self) -> IpAddr {
        IpAddr::V4(self.from)
    }

    /// Sends a request and reads the whole answer. After an error the next one has a new connection.
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
            // It ends with its requests, and an error reaches whoever sends one.
            tokio::spawn(async { _ = connection.await });
            self.open = Some(open);
        }
        let open = self.open.as_mut().context("a connection")?;
        open.ready().await?;
        let (head, body) = open.send_request(request).await?.into_parts();
        let body = body.collect().await?.to_bytes();
        Ok(Answer { status: head.status, headers: head.headers, body, took: asked.elapsed() })
    }
}

impl Answer {
    /// Whether the application answered.
    pub(crate) fn is_served(&self) -> bool {
        self.status == StatusCode::OK
    }

    /// Whether the client waits in line.
    pub(crate) fn is_queued(&self) -> bool {
        self.reason().starts_with("queued:")
    }

    /// Why it is as it is, as the layer calls it.
    pub(crate) fn reason(&self) -> &str {
        self.headers.get(REASON_HEADER).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }

    /// When the client is to come back.
    pub(crate) fn retry_after(&self) -> Option<Duration> {
        let seconds = self.headers.get(header::RETRY_AFTER)?.to_str().ok()?.parse().ok()?;
        Some(Duration::from_secs(seconds))
    }

    /// The place in line, if there is one.
    pub(crate) fn position(&self) -> Option<u64> {
        let body: serde_json::Value = serde_json::from_slice(&self.body).ok()?;
        body["waitingRoom"]["position"].as_u64()
    }
}

/// A `GET` request of a program.
pub(crate) fn get(path: &str) -> http::request::Builder {
    Request::get(path).header(header::HOST, "shop.test").header(header::ACCEPT, "application/json")
}

/// The client address that the proxy in front of the service is told of, behind the ones that the
/// client has made up.
pub(crate) fn forwarded_for(made_up: Option<&HeaderValue>, from: Ipv4Addr) -> String {
    let [_, rest @ ..] = from.octets();
    let client = Ipv4Addr::new(10, rest[0], rest[1], rest[2]);
    match made_up.and_then(|line| line.to_str().ok()) {
        Some(line) => format!("{line}, {client}"),
        None => client.to_string(),
    }
}

/// Connects from an address, with a buffer of this size for what comes in.
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

/// The header in which a proxy says where a client comes from.
pub(crate) const FORWARDED_FOR: &str = "x-forwarded-for";
/// A request without an answer by then has failed.
const PATIENCE: Duration = Duration::from_secs(10);
