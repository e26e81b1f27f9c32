//! Requests by hyper: one to check the answer, or many as a load.

use std::time::Duration;

use anyhow::{Result, ensure};
use bytes::Bytes;
use http::{Request, Response, header};
use http_body_util::{BodyExt, Empty};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use tokio::{
    net::TcpStream,
    task::JoinSet,
    time::{Instant, timeout_at},
};

use super::targets::{Load, Target};
use crate::requests::runtime;

/// Checks that a target answers with its expected status.
pub(super) fn check(target: &Target) -> Result<()> {
    let response = runtime().block_on(async {
        let mut connection = connect(target.port).await?;
        ask(&mut connection, target).await
    })?;
    let status = response.status();
    let expected = target.status;
    ensure!(status == expected, "{:?} is answered with {status}, not {expected}", target.name);
    Ok(())
}

pub(super) fn run(target: &Target, duration: Duration, connections: usize) -> Result<Load> {
    runtime().block_on(async {
        let begin = Instant::now();
        let mut clients = JoinSet::new();
        for _ in 0..connections {
            clients.spawn(ask_until(target.clone(), begin + duration));
        }
        let mut waits: Vec<Duration> = Vec::new();
        while let Some(client) = clients.join_next().await {
            waits.extend(client??);
        }
        let requests = u32::try_from(waits.len())?;
        let spent = begin.elapsed();
        waits.sort_unstable();
        let percentile = |percent: usize| {
            let wait: Duration =
                waits.get(waits.len() * percent / 100).copied().unwrap_or_default();
            wait.as_secs_f64() * 1e3
        };
        Ok(Load {
            requests: requests.into(),
            per_second: f64::from(requests) / spent.as_secs_f64(),
            p50_ms: percentile(50),
            p99_ms: percentile(99),
        })
    })
}

/// Runs one client, and returns how long each of its requests took.
async fn ask_until(target: Target, end: Instant) -> Result<Vec<Duration>> {
    let mut connection = connect(target.port).await?;
    let mut waits = Vec::new();
    loop {
        let begin = Instant::now();
        match timeout_at(end, ask(&mut connection, &target)).await {
            Ok(response) => drop(response?),
            Err(_) => return Ok(waits),
        }
        waits.push(begin.elapsed());
    }
}

async fn connect(port: u16) -> Result<SendRequest<Empty<Bytes>>> {
    let stream = TcpStream::connect(("127.0.0.1", port)).await?;
    stream.set_nodelay(true)?;
    let (sender, connection) = handshake(TokioIo::new(stream)).await?;
    tokio::spawn(connection);
    Ok(sender)
}

async fn ask(
    connection: &mut SendRequest<Empty<Bytes>>,
    target: &Target,
) -> Result<Response<Bytes>> {
    let mut request = Request::get("/").header(header::HOST, "127.0.0.1");
    for (name, value) in &target.headers {
        request = request.header(*name, value);
    }
    connection.ready().await?;
    let (head, body) = connection.send_request(request.body(Empty::new())?).await?.into_parts();
    Ok(Response::from_parts(head, body.collect().await?.to_bytes()))
}
