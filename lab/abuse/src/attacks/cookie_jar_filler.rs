//! Takes one place in the line after the other from one address, each with a new cookie jar and two
//! requests. The limit by address bounds the newcomers of an address, and `shares`
//! bounds its places.

use std::{collections::VecDeque, time::Duration};

use anyhow::{Context, Result};
use tokio::{
    task::JoinSet,
    time::{Instant, sleep},
};

use crate::{
    client::Client,
    hammer::Tally,
    site::{SHOP, Site, attacker, person},
    strike::Strike,
    visitor::Jar,
};

pub(crate) async fn strike(site: &Site) -> Result<Strike> {
    site.fill().await?;
    let start = Instant::now();
    let mut workers = JoinSet::new();
    let length = site.scale.length().max(SHORTEST);
    for _ in 0..site.scale.connections() {
        let client = Client::new(attacker(1), site.address());
        workers.spawn(fill(client, start + length));
    }
    let mut tally = Tally::default();
    while let Some(one) = workers.join_next().await {
        tally.add(one?);
    }
    let places = u64::from(site.room(SHOP).await?.waiting);
    let (most, because) = site.settings.places(start.elapsed())?;
    // A person who arrives afterwards, and returns the ticket.
    let mut late = site.visitor(person(101));
    let first = late.ask("/").await?;
    sleep(first.retry_after().unwrap_or(Duration::from_secs(1))).await;
    let second = late.ask("/").await.context("a person who arrives after the attack")?;
    let has_place = second.is_queued() && second.position().is_some();
    Ok(Strike::new(
        tally.sent,
        format!("{places} places in line"),
        format!("{most} places, {because}; a person still gets one"),
    )
    .asks_for_more_than(2 * most)
    .needs(places, "place was taken")
    .at_most(most, places, "places in line")
    .finds((!has_place).then(|| format!("a person got no place, but {}", second.reason()))))
}

/// Takes first tickets continuously, and returns each of them when it is due.
async fn fill(mut client: Client, until: Instant) -> Tally {
    let mut due: VecDeque<(Instant, Jar)> = VecDeque::new();
    let mut tally = Tally::default();
    while Instant::now() < until {
        let is_due = due.front().is_some_and(|(at, _)| *at <= Instant::now());
        let jar = if is_due { due.pop_front() } else { None };
        let mut jar = jar.map_or_else(Jar::default, |(_, jar)| jar);
        let answer = client.send(jar.get("/")).await;
        tally.note(answer.as_ref().ok());
        if let Ok(answer) = answer
            && answer.is_queued()
            && !is_due
        {
            jar.keep(&answer.headers);
            let pause = answer.retry_after().unwrap_or_default();
            due.push_back((Instant::now() + pause, jar));
        }
    }
    tally
}

/// The minimum duration. A first ticket is due after up to 2 s, so a shorter attack would return
/// few tickets.
const SHORTEST: Duration = Duration::from_secs(4);
