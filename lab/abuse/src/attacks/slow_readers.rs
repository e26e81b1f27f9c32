//! Requests downloads over thousands of connections that stay open and are never read. All permits
//! must be released all the same, and people must be served.

use std::time::Duration;

use anyhow::{Context, Result};
use tokio::{
    io::AsyncWriteExt,
    net::TcpStream,
    task::JoinSet,
    time::{Instant, sleep, sleep_until},
};

use crate::{
    client::{FORWARDED_FOR, connect, forwarded_for},
    site::{Site, attacker},
    strike::Strike,
};

pub(crate) async fn strike(site: &Site) -> Result<Strike> {
    let mut inside = site.visitor(attacker(1));
    inside.enter(Duration::ZERO).await.context("getting a pass for the readers")?;
    let request = format!(
        "GET {PATH} HTTP/1.1\r\nhost: shop.test\r\naccept: application/json\r\ncookie: {}\r\n",
        inside.jar.line()
    );
    let gate = site.settings.gate(GATE)?;
    let mut workers = JoinSet::new();
    for first in 0..WORKERS {
        workers.spawn(ask(
            site.address(),
            request.clone(),
            first,
            site.scale.slow_readers(),
            site.scale.length(),
        ));
    }
    let mut open = Vec::new();
    let mut most_held = 0;
    while !workers.is_empty() {
        most_held = most_held.max(held(site).await?.0);
        while let Some(streams) = workers.try_join_next() {
            open.extend(streams??);
        }
        sleep(LOOK).await;
    }
    let last = Instant::now();
    let patience = gate.max_wait + 2 * GRACE;
    let mut left = held(site).await?;
    while left != (0, 0) && last.elapsed() < patience {
        sleep(LOOK).await;
        left = held(site).await?;
    }
    let free_after = last.elapsed();
    let runs: u64 =
        site.numbers().await?.runs.iter().filter(is_attacker).map(|(_, runs)| runs).sum();
    Ok(Strike::new(
        u64::try_from(open.len())?,
        format!(
            "{runs} downloads, {most_held} permits at a time, all free after {:.1} s",
            free_after.as_secs_f64()
        ),
        format!("{} permits at a time, all free after {patience:?}", gate.limit),
    )
    .needs(runs, "download began")
    .needs(u64::from(most_held), "permit was held")
    .at_most(u64::from(gate.limit), u64::from(most_held), "permits at a time")
    .finds((left != (0, 0)).then(|| format!("{left:?} requests still run and wait"))))
}

/// Opens every eighth connection, evenly over the time `length`, and sends one request on each.
async fn ask(
    to: std::net::SocketAddr,
    request: String,
    first: u32,
    readers: u32,
    length: Duration,
) -> Result<Vec<TcpStream>> {
    let start = Instant::now();
    let mut open = Vec::new();
    for number in (first..readers).step_by(WORKERS as usize) {
        sleep_until(start + length * number / readers).await;
        let from = attacker(u8::try_from(number % ADDRESSES).unwrap_or(0) + 1);
        let mut stream = connect(from, to, Some(SMALLEST_BUFFER)).await?;
        let client = forwarded_for(None, from);
        let request = format!("{request}{FORWARDED_FOR}: {client}\r\n\r\n");
        stream.write_all(request.as_bytes()).await?;
        open.push(stream);
    }
    Ok(open)
}

/// The numbers of running and of waiting requests of the gate.
async fn held(site: &Site) -> Result<(u32, u32)> {
    let gates = site.numbers().await?.gates;
    let gate = gates.get(GATE).context("the service has no gate of downloads")?;
    Ok((gate.in_flight, gate.queued))
}

fn is_attacker((address, _): &(&std::net::IpAddr, &u64)) -> bool {
    matches!(address, std::net::IpAddr::V4(address) if address.octets()[2] == 2)
}

const PATH: &str = "/download";
const GATE: &str = "downloads";
const ADDRESSES: u32 = 250;
const WORKERS: u32 = 8;
const SMALLEST_BUFFER: u32 = 4_096;
const LOOK: Duration = Duration::from_millis(100);
/// The time for which a client may be awaited at first.
const GRACE: Duration = Duration::from_secs(5);
