//! Presents tickets before they are due, each as soon as the last request is answered, all from one
//! address. Half of the connections present one and the same ticket, the others share the rest
//! (docs/design/016).

use std::time::Duration;

use anyhow::{Result, ensure};
use tokio::{task::JoinSet, time::Instant};

use crate::{
    client::{Answer, Client},
    site::{Site, attacker},
    strike::Strike,
    visitor::Jar,
};

pub(crate) async fn strike(site: &Site) -> Result<Strike> {
    site.fill().await?;
    let start = Instant::now();
    let mut tickets = Vec::new();
    for _ in 0..TICKETS {
        tickets.push(Ticket::take(site).await?);
    }
    let (alone, rest) = tickets.split_at(1);
    let connections = site.scale.connections();
    let half = usize::try_from(connections / 2)?;
    let mut workers = JoinSet::new();
    for number in 0..half {
        let until = start + site.scale.length();
        let client = || Client::new(attacker(1), site.address());
        let some = rest.iter().skip(number).step_by(half).cloned().collect();
        workers.spawn(poll(client(), some, until));
        let client = client();
        let alone = alone.to_vec();
        workers.spawn(async move { Polls { alone: true, ..poll(client, alone, until).await } });
    }
    let mut all = Polls::default();
    while let Some(polls) = workers.join_next().await {
        let Polls { sent, answered, early, alone } = polls?;
        all.sent += sent;
        all.early += early;
        all.answered += if alone { answered } else { 0 };
    }
    let within = start.elapsed();
    let of_ticket = most(20, 4, within);
    let of_address = most(500, 50, within);
    Ok(Strike::new(
        all.sent,
        format!("{} answers to one ticket, {} to early ones", all.answered, all.early),
        format!("{of_ticket} (20 and 4 a second) to one, {of_address} (500 and 50) to early ones"),
    )
    .needs(all.answered, "poll of the one ticket was answered")
    .asks_for_more_than(of_address)
    .at_most(of_ticket, all.answered, "answers to one ticket")
    .at_most(of_address, all.early, "answers to early tickets"))
}

/// A ticket, and the time until which it is certainly not due.
#[derive(Clone, Debug)]
struct Ticket {
    jar: Jar,
    early_until: Instant,
}

#[derive(Clone, Copy, Debug, Default)]
struct Polls {
    sent: u64,
    answered: u64,
    /// The answered polls whose ticket was certainly not due.
    early: u64,
    /// Whether these are polls with the one ticket that half of the connections share.
    alone: bool,
}

impl Ticket {
    async fn take(site: &Site) -> Result<Self> {
        let mut visitor = site.visitor(attacker(1));
        let asked = Instant::now();
        let answer = visitor.ask("/").await?;
        ensure!(answer.is_queued(), "no ticket, but {}", answer.reason());
        let mut ticket = Self { jar: visitor.jar, early_until: asked };
        ticket.told(&answer, asked);
        Ok(ticket)
    }

    /// Stores the token of an answer, and the time until which it is certainly early. `Retry-After`
    /// is rounded up to whole seconds, and the service counts it from some moment after `asked`.
    fn told(&mut self, answer: &Answer, asked: Instant) {
        self.jar.keep(&answer.headers);
        let pause = answer.retry_after().unwrap_or_default();
        self.early_until = asked + pause.saturating_sub(Duration::from_secs(1));
    }
}

async fn poll(mut client: Client, mut tickets: Vec<Ticket>, until: Instant) -> Polls {
    let mut polls = Polls::default();
    while Instant::now() < until {
        for ticket in &mut tickets {
            let asked = Instant::now();
            polls.sent += 1;
            let Ok(answer) = client.send(ticket.jar.get("/")).await else { continue };
            if answer.reason() != TOO_OFTEN {
                polls.answered += 1;
                polls.early += u64::from(Instant::now() < ticket.early_until);
                ticket.told(&answer, asked);
            }
        }
    }
    polls
}

/// The maximum number of answers within the given time, for this burst and rate.
pub(crate) fn most(burst: u64, per_second: u64, within: Duration) -> u64 {
    let millis = u64::try_from(within.as_millis()).unwrap_or(u64::MAX);
    burst + per_second.saturating_mul(millis) / 1_000 + 1
}

pub(crate) const TOO_OFTEN: &str = "refused:too_often";
/// Fewer than the limit by address allows at once, which is 60.
const TICKETS: u32 = 50;
