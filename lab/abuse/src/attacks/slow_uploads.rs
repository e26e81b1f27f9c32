//! Begins uploads of one address as fast as its limit allows, and sends a byte of each now and then.
//! The gate of all requests must not fill up, and people must be served.

use std::time::Duration;

use anyhow::{Context, Result};
use tokio::{
    io::AsyncWriteExt,
    net::TcpStream,
    time::{Instant, sleep},
};

use crate::{
    client::{FORWARDED_FOR, connect, forwarded_for},
    site::{Site, attacker},
    strike::Strike,
};

pub(crate) async fn strike(site: &Site) -> Result<Strike> {
    let from = attacker(1);
    let mut inside = site.visitor(from);
    inside.enter(Duration::ZERO).await.context("getting a pass for the uploads")?;
    let request = format!(
        "POST /upload HTTP/1.1\r\nhost: shop.test\r\naccept: application/json\r\ncookie: {}\r\n\
         content-length: 100000\r\n{FORWARDED_FOR}: {}\r\n\r\n",
        inside.jar.line(),
        forwarded_for(None, from),
    );
    let gate = site.settings.gate(GATE)?;
    let mut open: Vec<TcpStream> = Vec::new();
    let mut most_held = 0;
    let start = Instant::now();
    while start.elapsed() < LENGTH {
        let begun = AT_ONCE + PER_SECOND * start.elapsed().as_secs();
        while (open.len() as u64) < begun {
            let mut stream = connect(from, site.address(), None).await?;
            stream.write_all(request.as_bytes()).await?;
            open.push(stream);
        }
        for stream in &mut open {
            // The service closes the connection of an upload that has failed.
            _ = stream.write_all(b"x").await;
        }
        most_held = most_held.max(held(site).await?);
        sleep(LOOK).await;
    }
    let last = Instant::now();
    while held(site).await? > PEOPLE && last.elapsed() < 2 * GRACE {
        sleep(LOOK).await;
    }
    let free_after = last.elapsed();
    // While they are in their grace, and one second in which they begin together.
    let most = AT_ONCE + PER_SECOND * (GRACE.as_secs() + 1) + u64::from(PEOPLE);
    Ok(Strike::new(
        open.len() as u64,
        format!(
            "up to {most_held} of {} permits, all free after {:.1} s",
            gate.limit,
            free_after.as_secs_f64()
        ),
        format!("the uploads of {GRACE:?}, all free after {:?}", 2 * GRACE),
    )
    .asks_for_more_than(u64::from(gate.limit))
    .needs(u64::from(most_held), "permit was held")
    .at_most(most, u64::from(most_held), "permits at a time")
    .finds((free_after >= 2 * GRACE).then(|| "the permits are still held".to_owned())))
}

/// The number of requests that run.
async fn held(site: &Site) -> Result<u32> {
    let gates = site.numbers().await?.gates;
    Ok(gates.get(GATE).context("the service has no gate of all requests")?.in_flight)
}

const GATE: &str = "all";
/// The uploads that begin at once, and in each second after that. In ten seconds, they are more than
/// the gate has permits.
const AT_ONCE: u64 = 20;
const PER_SECOND: u64 = 6;
const LENGTH: Duration = Duration::from_secs(10);
/// The time for which a client may be awaited at first.
const GRACE: Duration = Duration::from_secs(5);
/// The requests that people may have at a time.
const PEOPLE: u32 = 6;
const LOOK: Duration = Duration::from_millis(500);
