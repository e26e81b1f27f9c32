//! Takes hundreds of first tickets, each by a single request, and returns them together when slots
//! become free. People who arrived after the hoard but have stood in the line since must be
//! admitted first.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use anyhow::{Result, ensure};
use tokio::{
    task::JoinSet,
    time::{Instant, sleep, sleep_until},
};

use crate::{
    site::{SHOP, Scale, Site, attacker, person},
    strike::Strike,
    visitor::Visitor,
};

pub(crate) async fn strike(site: &Site) -> Result<Strike> {
    let inside = site.fill().await?;
    let hoard = take(site).await?;
    let taken_at = Instant::now();
    let mut behind = JoinSet::new();
    for number in FIRST_BEHIND..FIRST_BEHIND + BEHIND {
        let mut visitor = site.visitor(person(number));
        behind.spawn(async move { visitor.enter(PATIENCE).await });
    }
    // A ticket without a place keeps its order of arrival for one and a half intervals.
    let interval = site.settings.refresh_interval;
    sleep_until(taken_at + interval * 3 / 2 + SLACK).await;
    let tickets = hoard.len();
    let overtaken = Arc::new(AtomicU64::new(0));
    let mut back = JoinSet::new();
    for mut ticket in hoard {
        let overtaken = Arc::clone(&overtaken);
        back.spawn(async move {
            if ticket.enter(PATIENCE).await.is_ok() {
                overtaken.fetch_add(1, Ordering::Relaxed);
            }
        });
    }
    sleep(interval).await;
    let placed = site.room(SHOP).await?.waiting.saturating_sub(u32::from(BEHIND));
    // Frees exactly one slot for each person behind the hoard.
    for mut visitor in inside.into_iter().take(usize::from(BEHIND)) {
        visitor.ask("/leave").await?;
    }
    let mut left_behind = None;
    while let Some(entered) = behind.join_next().await {
        left_behind = entered?.err().map(|error| format!("{error:#}")).or(left_behind);
    }
    let ahead = overtaken.load(Ordering::Relaxed);
    Ok(Strike::new(
        u64::try_from(tickets)?,
        format!("{placed} places, {ahead} let in before the {BEHIND} people behind"),
        "0 let in before people who stood in line before it came back",
    )
    .needs(u64::from(placed), "ticket of the hoard made a place")
    .at_most(0, ahead, "of the hoard let in before the people behind it")
    .finds(left_behind))
}

/// Takes first tickets from several addresses.
async fn take(site: &Site) -> Result<Vec<Visitor>> {
    let each = match site.scale {
        Scale::Full => 50,
        Scale::Short => 12,
    };
    let mut hoard = Vec::new();
    for number in 1..=ADDRESSES {
        for _ in 0..each {
            let mut visitor = site.visitor(attacker(number));
            let answer = visitor.ask("/").await?;
            ensure!(answer.is_queued(), "no ticket, but {}", answer.reason());
            hoard.push(visitor);
        }
    }
    Ok(hoard)
}

const ADDRESSES: u8 = 8;
const BEHIND: u8 = 3;
const FIRST_BEHIND: u8 = 101;
const SLACK: Duration = Duration::from_secs(1);
const PATIENCE: Duration = Duration::from_secs(15);
