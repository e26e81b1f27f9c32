//! Holds all connections that a ledger accepts from clients without a key, from many addresses, and
//! opens another one for each that is closed. The shop is a site of this ledger. Its connection is
//! cut once. After its lease, the shop lets visitors in only if it has come back.
//!
//! The shop also came back when the newest connection made room instead of the oldest: the tests of
//! the ledger hold that rule.

use std::{
    io::ErrorKind,
    net::{Ipv4Addr, SocketAddr},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use anyhow::{Context, Result};
use cluster::Weather;
use tokio::{net::TcpStream, task::JoinSet, time::sleep};

use crate::{
    client::connect,
    ledger::LEASE,
    people::{NEWCOMERS, newcomers},
    site::Site,
    strike::Strike,
};

pub(crate) async fn strike(site: &Site) -> Result<Strike> {
    let ledger = site.ledger.as_ref().context("the shop has no ledger")?;
    let opened = Arc::<AtomicU64>::default();
    let mut flood = JoinSet::new();
    for address in 0..ADDRESSES {
        let opened = Arc::clone(&opened);
        let from = Ipv4Addr::new(127, 80, address, 1);
        flood.spawn(hold(from, ledger.address, opened));
    }
    sleep(FILLING).await;
    ledger.link.set(Weather::Cut);
    sleep(CUT).await;
    ledger.link.set(Weather::Clear);
    sleep(LEASE + PAUSE).await;
    let let_in = newcomers(site, WITHIN).await.len();
    let opened = opened.load(Ordering::Relaxed);
    Ok(Strike::new(
        opened,
        format!(
            "{opened} connections from {ADDRESSES} addresses; {let_in} of {NEWCOMERS} people let in"
        ),
        format!("the site comes back; 18 of {NEWCOMERS} people let in within {WITHIN:?}"),
    )
    .asks_for_more_than(UNCONFIRMED)
    .lets_in(let_in))
}

/// Keeps connections open from one address.
async fn hold(from: Ipv4Addr, to: SocketAddr, opened: Arc<AtomicU64>) {
    let mut open: Vec<TcpStream> = Vec::new();
    loop {
        open.retain(|stream| {
            matches!(stream.try_read(&mut [0; 64]), Err(error) if error.kind() == ErrorKind::WouldBlock)
        });
        while open.len() < CONNECTIONS {
            let Ok(stream) = connect(from, to, None).await else { break };
            opened.fetch_add(1, Ordering::Relaxed);
            open.push(stream);
        }
        sleep(PAUSE).await;
    }
}

/// The addresses of the attacker, and the connections of each: twice as many as the ledger keeps.
const ADDRESSES: u8 = 170;
const CONNECTIONS: usize = 12;
/// The connections without a key that a ledger keeps.
const UNCONFIRMED: u64 = 1_024;
/// The time after which the attacker holds all of them, and that for which the site is cut off.
const FILLING: Duration = Duration::from_secs(1);
const CUT: Duration = Duration::from_millis(200);
const PAUSE: Duration = Duration::from_millis(20);
/// The slots are free, so people wait for one check-in at most.
const WITHIN: Duration = Duration::from_secs(5);
