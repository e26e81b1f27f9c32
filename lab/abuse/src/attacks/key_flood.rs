//! Sends requests from more addresses of one network than a limit remembers. Newcomers of other
//! networks must be served, and a client that was over its limit before the flood must still be
//! refused after it.

use std::{net::Ipv4Addr, time::Duration};

use anyhow::{Context, Result};
use tokio::{task::JoinSet, time::Instant};

use crate::{
    client::Client,
    hammer::Tally,
    site::{Scale, Site, attacker},
    strike::Strike,
    visitor::Jar,
};

pub(crate) async fn strike(site: &Site) -> Result<Strike> {
    // A pass is a bearer token, so the whole flood uses one: the limit counts addresses.
    let mut guest = site.visitor(attacker(1));
    guest.enter(Duration::ZERO).await.context("getting a pass for the flood")?;
    let limit = site.settings.limit("signup")?;
    let offender = attacker(9);
    let before = ask(site, offender, &guest.jar, limit.at_once() + 1).await;
    let keys = limit.max_keys().context("the limit \"signup\" has no max_keys")?;
    let addresses = match site.scale {
        Scale::Full => keys * 8,
        Scale::Short => keys * 2,
    };
    let start = Instant::now();
    let mut sent = flood(site, &guest.jar, addresses, limit.at_once()).await?;
    // Continues for the length of the attack, so that people send requests meanwhile.
    while start.elapsed() < site.scale.length() {
        sent.add(flood(site, &guest.jar, keys, 1).await?);
    }
    let mut newcomers = Tally::default();
    for network in 0..NETWORKS {
        newcomers.add(ask(site, Ipv4Addr::new(127, 100 + network, 0, 1), &guest.jar, 1).await);
    }
    let after = ask(site, offender, &guest.jar, 1).await;
    let found = site.numbers().await?.misconfigurations;
    let crowded = u64::from(found.iter().any(|code| code == "MaxKeysExceeded"));
    let refused = u64::from(NETWORKS) - newcomers.served;
    Ok(Strike::new(
        sent.answered(),
        format!(
            "{refused} of {NETWORKS} newcomers of other networks refused; the offender served {} times",
            after.served
        ),
        format!("{MOST} newcomers of other networks refused; the offender served 0 times"),
    )
    .needs(before.answered() - before.served, "refusal of the offender before the flood")
    .needs(crowded, "sign that more keys came than the limit remembers")
    .at_most(MOST, refused, "newcomers of other networks refused")
    .at_most(0, after.served, "requests of the offender served after the flood"))
}

/// Sends `each` requests from each of `addresses` addresses of one network.
async fn flood(site: &Site, jar: &Jar, addresses: u32, each: u64) -> Result<Tally> {
    let connections = site.scale.connections();
    let mut workers = JoinSet::new();
    for first in 0..connections {
        let to = site.address();
        let jar = jar.clone();
        workers.spawn(async move {
            let mut tally = Tally::default();
            for number in (first..addresses).step_by(connections as usize) {
                let from = Ipv4Addr::from_bits(FLOOD.to_bits() + number);
                tally.add(requests(Client::new(from, to), &jar, each).await);
            }
            tally
        });
    }
    let mut all = Tally::default();
    while let Some(tally) = workers.join_next().await {
        all.add(tally?);
    }
    Ok(all)
}

async fn ask(site: &Site, from: Ipv4Addr, jar: &Jar, count: u64) -> Tally {
    requests(Client::new(from, site.address()), jar, count).await
}

async fn requests(mut client: Client, jar: &Jar, count: u64) -> Tally {
    let mut tally = Tally::default();
    for _ in 0..count {
        tally.note(client.send(jar.get("/signup")).await.as_ref().ok());
    }
    tally
}

const FLOOD: Ipv4Addr = Ipv4Addr::new(127, 64, 0, 0);
const NETWORKS: u8 = 40;
/// The maximum number of newcomers that may be refused. The table distinguishes one network for
/// every eight places and finds them by a hash, so a few networks may share the entry of the
/// flooded one.
const MOST: u64 = 4;
