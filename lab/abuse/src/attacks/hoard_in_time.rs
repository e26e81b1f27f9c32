//! Takes a thousand first tickets from many addresses while the room is full and people wait, and
//! returns each of them as soon as it is due, so that all of them keep their order of arrival.
//! `shares` bounds the places of each address. People who were in line before must not
//! lose a position to the hoard, nor be overtaken by it.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use anyhow::{Context, Result, bail};
use tokio::{
    task::JoinSet,
    time::{Instant, sleep, sleep_until, timeout},
};

use crate::{
    people::{BEAT, PATIENCE, PeopleInLine},
    site::{Site, attacker},
    strike::Strike,
    visitor::Visitor,
};

pub(crate) async fn strike(site: &Site) -> Result<Strike> {
    let start = Instant::now();
    let inside = site.fill().await?;
    let front = PeopleInLine::join(site, FIRST_IN_FRONT, PEOPLE);
    front.all("a place", |person| !person.positions.is_empty()).await?;
    let hoard = Hoard::take(site).await?;
    let behind = PeopleInLine::join(site, FIRST_BEHIND, PEOPLE);
    hoard.is_claimed().await?;
    behind.all("a place", |person| !person.positions.is_empty()).await?;
    // Exactly one slot for each person in front of the hoard.
    for mut visitor in inside.into_iter().take(usize::from(PEOPLE)) {
        visitor.ask("/leave").await?;
    }
    let late = front.all("a slot", |person| person.is_served).await.err();
    let hoard = &hoard.got;
    let [sent, placed, refused, served] =
        [&hoard.sent, &hoard.placed, &hoard.refused, &hoard.served]
            .map(|count| count.load(Ordering::Relaxed));
    let lost = front.lost(PEOPLE);
    let lost_later = behind.lost(2 * PEOPLE);
    let (share, because) = site.settings.places(start.elapsed())?;
    let most = share * u64::from(ADDRESSES);
    Ok(Strike::new(
        sent,
        format!(
            "{placed} places, {refused} tickets refused, {served} let in before the {PEOPLE} people \
             in front, who lost {lost} positions; {PEOPLE} people who came later lost {lost_later}"
        ),
        format!("{most} places: for each of {ADDRESSES} addresses, {because}; no visitor in front overtaken"),
    )
    .needs(placed, "ticket of the hoard made a place")
    .needs(refused, "address asked for more than its share")
    .at_most(most, placed, "places in line")
    .at_most(0, served, "of the hoard let in before the people in front of it")
    .at_most(0, lost, "positions lost by people in front of the hoard")
    .at_most(most, lost_later, "positions lost by people behind the hoard")
    .finds(late.map(|error| format!("{error:#}")))
    .finds(front.refused().or(behind.refused())))
}

/// Tickets of an attacker, each of which is presented whenever it is due.
struct Hoard {
    tickets: u64,
    got: Arc<Got>,
    _tasks: JoinSet<()>,
}

/// The gains of the attacker.
#[derive(Debug, Default)]
struct Got {
    sent: AtomicU64,
    /// The number of tickets that were presented for the first time.
    claimed: AtomicU64,
    placed: AtomicU64,
    refused: AtomicU64,
    served: AtomicU64,
}

impl Hoard {
    /// Takes all tickets, and begins to present them.
    async fn take(site: &Site) -> Result<Self> {
        let got = Arc::<Got>::default();
        let mut takers = JoinSet::new();
        for number in 1..=ADDRESSES {
            let visitors: Vec<_> =
                (0..TICKETS_EACH).map(|_| site.visitor(attacker(number))).collect();
            takers.spawn(take_from_one_address(visitors, Arc::clone(&got)));
        }
        let mut tasks = JoinSet::new();
        while let Some(taken) = takers.join_next().await {
            for (due, ticket) in taken?? {
                tasks.spawn(claim(ticket, due, Arc::clone(&got)));
            }
        }
        Ok(Self { tickets: u64::try_from(tasks.len())?, got, _tasks: tasks })
    }

    /// Returns when each ticket has been presented once.
    async fn is_claimed(&self) -> Result<()> {
        let claimed = async {
            while self.got.claimed.load(Ordering::Relaxed) < self.tickets {
                sleep(BEAT).await;
            }
        };
        timeout(PATIENCE, claimed).await.context("the hoard was not claimed in time")
    }
}

/// Takes one ticket after the other, as fast as the limit by address allows. Returns each with the
/// time at which it is due.
async fn take_from_one_address(
    visitors: Vec<Visitor>,
    got: Arc<Got>,
) -> Result<Vec<(Instant, Visitor)>> {
    let mut tickets = Vec::new();
    for mut visitor in visitors {
        loop {
            let answer = visitor.ask("/").await?;
            got.sent.fetch_add(1, Ordering::Relaxed);
            if answer.is_queued() {
                tickets.push((Instant::now() + answer.retry_after().unwrap_or_default(), visitor));
                break;
            }
            if answer.is_served() || !answer.reason().starts_with("refused:rate:") {
                bail!("no ticket, but {}", answer.reason());
            }
            // The limit by address admits the next request after a tenth of a second.
            sleep(BEAT).await;
        }
    }
    Ok(tickets)
}

/// Presents a ticket whenever it is due, until it is admitted.
async fn claim(mut ticket: Visitor, mut due: Instant, got: Arc<Got>) {
    let mut is_first = true;
    loop {
        sleep_until(due).await;
        let answer = ticket.ask("/").await;
        got.sent.fetch_add(1, Ordering::Relaxed);
        let Ok(answer) = answer else { return };
        if is_first {
            let is_placed = answer.is_queued() && answer.position().is_some();
            let count = if is_placed { &got.placed } else { &got.refused };
            count.fetch_add(1, Ordering::Relaxed);
            got.claimed.fetch_add(1, Ordering::Relaxed);
        }
        if answer.is_served() {
            got.served.fetch_add(1, Ordering::Relaxed);
            return;
        }
        is_first = false;
        due = Instant::now() + answer.retry_after().unwrap_or(PATIENCE);
    }
}

/// The addresses of the attacker, and the first tickets that it takes with each of them: 1 005 in all,
/// and more for each address than `shares`.
const ADDRESSES: u8 = 15;
const TICKETS_EACH: u8 = 67;
/// The number of people in front of the hoard, and that of people behind it.
const PEOPLE: u8 = 10;
const FIRST_IN_FRONT: u8 = 101;
const FIRST_BEHIND: u8 = 111;
