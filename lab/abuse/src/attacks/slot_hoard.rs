//! Holds all free slots of a small room, fills its line with as many tickets as it can, and keeps
//! both by requests, with the addresses of one network. Its tickets hold as many streams as they
//! may, and so do tickets without a place. People of other networks must get in within the wait that
//! they would have if the attacker had its share only, and those in line must get a stream.
//!
//! Nothing ends before others wait, so the slots above the share become free within the lifetime of
//! a pass, and those in front take them at their next check-in: a round. Of the places that enter the
//! line, the attacker may have its share at once, and its part of all: `s / (1 - s / L)` places with
//! a share of `s` of `L` slots. They are served before people who come later, as guests, whose slots
//! are free again after another round. The longest wait is therefore as many rounds as these places
//! and the people need, and the intervals until two check-ins.

use std::{
    net::{Ipv4Addr, SocketAddr},
    time::Duration,
};

use anyhow::Result;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    task::JoinSet,
    time::{sleep, timeout},
};

use crate::{
    client::{FORWARDED_FOR, connect, forwarded_for},
    people::{NEWCOMERS, PEOPLE},
    site::{SHOP, Site, newcomer},
    strike::Strike,
    visitor::Visitor,
};

/// The addresses of an attacker.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Network {
    /// Returns the address of the client with this number.
    address: fn(u8) -> Ipv4Addr,
    /// The share of the network in the slots: one of this many.
    share: u32,
}

/// One address.
pub(crate) const ADDRESS: Network = Network { address: |_| Ipv4Addr::new(127, 77, 0, 1), share: 4 };
/// One /48 of IPv6, with 250 of its /64s.
pub(crate) const PREFIX: Network =
    Network { address: |number| Ipv4Addr::new(127, 48, 0, number), share: 2 };

pub(crate) async fn strike(site: &Site, network: Network) -> Result<Strike> {
    let slots = site.settings.total_active_users;
    let mut hoard = JoinSet::new();
    let clients = slots + TICKETS;
    for number in 0..clients {
        let number = u8::try_from(number % 250)?;
        hoard.spawn(stay(site.visitor((network.address)(number))));
    }
    sleep(FILLING).await;
    let held = site.room(SHOP).await?;
    let free_streams = streams(site, network).await;
    let share = slots / network.share;
    let others = u32::try_from(PEOPLE)?;
    let ahead = share * slots / (slots - share);
    let rounds = (ahead + u32::from(NEWCOMERS)).div_ceil(slots - share - others);
    let round = site.settings.session_duration * 9 / 8 + CHECK_IN;
    let within = round * rounds + TWO_CHECK_INS;
    let mut coming = JoinSet::new();
    for number in 0..NEWCOMERS {
        coming.spawn(timeout(within, come(site.address(), site.visitor(newcomer(number)), within)));
    }
    let mut let_in = 0;
    let mut with_stream = 0;
    while let Some(came) = coming.join_next().await {
        if let Ok(Ok(has_stream)) = came? {
            let_in += 1;
            with_stream += usize::from(has_stream);
        }
    }
    Ok(Strike::new(
        u64::from(clients),
        format!(
            "{} of {slots} slots and {} places, {} streams; {let_in} of {NEWCOMERS} people let in, \
             {with_stream} with a stream",
            held.active - others,
            held.waiting,
            free_streams.len(),
        ),
        format!("18 of {NEWCOMERS} people let in within {within:?}, with a stream"),
    )
    .needs(u64::from(held.active / slots), "room was full")
    .needs(u64::from(held.waiting), "place was taken")
    .lets_in(let_in)
    .lets_in(with_stream))
}

/// Keeps a slot, or comes back with a ticket whenever it is due.
async fn stay(mut client: Visitor) {
    loop {
        let answer = client.ask("/").await.ok();
        let pause = answer.as_ref().filter(|answer| !answer.is_served());
        sleep(pause.map_or(RENEWED, |answer| answer.retry_after().unwrap_or(RENEWED))).await;
    }
}

/// Comes, waits in line and enters. Returns whether the visitor got a stream, if it had to wait.
async fn come(to: SocketAddr, mut person: Visitor, within: Duration) -> Result<bool> {
    let first = person.ask("/").await?;
    sleep(first.retry_after().unwrap_or_default()).await;
    let has_stream = person.ask("/").await?.is_served() || stream(to, &person).await?.is_some();
    person.enter(within).await?;
    Ok(has_stream)
}

/// Opens as many streams with first tickets as are not refused. The first event comes with a place.
async fn streams(site: &Site, network: Network) -> Vec<TcpStream> {
    let mut tries = JoinSet::new();
    for number in 0..STREAMS {
        let to = site.address();
        let mut client = site.visitor((network.address)(number));
        tries.spawn(timeout(TWO_CHECK_INS, async move {
            client.ask("/").await?;
            stream(to, &client).await
        }));
    }
    tries.join_all().await.into_iter().filter_map(|stream| stream.ok()?.ok()?).collect()
}

/// Opens the stream of a visitor, unless it is refused.
async fn stream(to: SocketAddr, visitor: &Visitor) -> Result<Option<TcpStream>> {
    let from = visitor.client.from();
    let mut stream = connect(from, to, None).await?;
    let request = format!(
        "GET /events HTTP/1.1\r\nhost: shop.test\r\naccept: text/event-stream\r\ncookie: {}\r\n\
         {FORWARDED_FOR}: {}\r\n\r\n",
        visitor.jar.line(),
        forwarded_for(None, from),
    );
    stream.write_all(request.as_bytes()).await?;
    let mut status = [0; OK.len()];
    stream.read_exact(&mut status).await?;
    Ok((status == *OK).then_some(stream))
}

const OK: &[u8; 12] = b"HTTP/1.1 200";
/// The streams that are tried without a place, more than the room has.
const STREAMS: u8 = 80;
/// The clients of the attacker beyond the number of slots.
const TICKETS: u32 = 250;
/// The time after which all clients of the attacker have a slot or a place, if they may.
const FILLING: Duration = Duration::from_secs(4);
/// A pass is renewed after an eighth of the session.
const RENEWED: Duration = Duration::from_millis(375);
/// The longest interval between two check-ins.
const CHECK_IN: Duration = Duration::from_secs(3);
/// A second touch is due after 2 s, and the next check-in after up to 3 s.
const TWO_CHECK_INS: Duration = Duration::from_secs(5);
