//! Uses proofs that are void or have been used. A client ends its session and sends the dead pass,
//! again and again, to a path that is limited by visitor. Others give up tickets as fast as they can,
//! and present the copies later. Another one sends copies of tickets that have made a place. People
//! must get in meanwhile, and all those in line must get the slots that become free.
//!
//! The copies of given-up tickets took no places here with their rule switched off, either: the tests
//! of the layer hold that rule.

use std::{net::Ipv4Addr, time::Duration};

use anyhow::Result;
use http::Method;
use tokio::{
    task::JoinSet,
    time::{Instant, sleep},
};

use crate::{
    attacks::early_polls::{self, TOO_OFTEN},
    hammer::hammer,
    people::{BEAT, NEWCOMERS, PeopleInLine, newcomers},
    site::{Site, attacker},
    strike::Strike,
    visitor::{Jar, Visitor},
};

pub(crate) async fn strike(site: &Site) -> Result<Strike> {
    let start = Instant::now();
    let returning = tokio::spawn(return_with_dead_passes(site.visitor(RETURNING), start + DUE));
    let mut inside = newcomers(site, DUE).await;
    let let_in = inside.len();
    let returns = returning.await??;
    let allowed = site.settings.limit("buy")?.most(start.elapsed());
    let runs = site.runs(RETURNING).await?;

    inside.extend(site.fill().await?);
    let until = Instant::now() + GIVING_UP;
    let mut leaving = JoinSet::new();
    for number in 1..=LEAVING {
        leaving.spawn(give_up_tickets(site.visitor(attacker(number)), until));
    }
    let tickets = leaving.join_all().await;
    let line = PeopleInLine::join(site, FIRST_IN_LINE, NEWCOMERS);
    line.all("a place", |person| person.positions.len() > 1).await?;
    let mut given_up = 0;
    let mut revived = 0;
    for (number, tickets) in (LEAVING + 1..).zip(tickets) {
        let mut client = site.visitor(attacker(number)).client;
        for ticket in tickets? {
            let answer = client.send(ticket.get("/")).await?;
            given_up += u64::from(answer.is_queued());
            let is_in_front =
                answer.position().is_some_and(|position| position <= NEWCOMERS.into());
            revived += u64::from(answer.is_served() || is_in_front);
        }
    }
    let placed = place_tickets(site).await?;
    let copies = placed.clone();
    let copied =
        move |number: u64| copies[usize::try_from(number).unwrap_or(0) % copies.len()].get("/");
    let copied = hammer(site, COPYING, site.scale.length(), copied).await?;
    let answered = copied.answered() - copied.reasons.get(TOO_OFTEN).copied().unwrap_or_default();
    // The check-ins of a ticket in turn: an interval is 2 s at least, and up to 30 s are free at once.
    let in_turn = placed.len() as u64 * (30 + copied.elapsed.as_secs() + 1) / 2;
    let most = early_polls::most(500, 50, copied.elapsed) + in_turn;

    for mut visitor in inside.into_iter().take(usize::from(NEWCOMERS)) {
        visitor.ask("/leave").await?;
    }
    let late = line.all("a slot", |person| person.is_served).await.err();
    Ok(Strike::new(
        returns + copied.sent + given_up,
        format!(
            "{runs} handler runs by {returns} dead passes, {answered} answers to {} copies, {revived} of \
             {given_up} places again; {let_in} of {NEWCOMERS} people let in",
            copied.sent,
        ),
        format!("{allowed} runs, {most} answers, 0 places; 18 of {NEWCOMERS} people let in at once"),
    )
    .needs(returns.saturating_sub(allowed), "dead pass was sent beyond the limit")
    .needs(given_up, "copy of a ticket that was given up was answered")
    .at_most(allowed, runs, "handler runs by dead passes")
    .at_most(most, answered, "answers to copies")
    .at_most(0, revived, "places by tickets that were given up")
    .lets_in(let_in)
    .finds(late.map(|error| format!("{error:#}")))
    .finds(line.refused()))
}

/// Gets in, leaves, and sends the dead pass. Returns the number of rounds.
async fn return_with_dead_passes(mut visitor: Visitor, until: Instant) -> Result<u64> {
    let mut rounds = 0;
    while Instant::now() < until {
        visitor.ask("/buy").await?;
        leave(&mut visitor).await?;
        rounds += 1;
    }
    Ok(rounds)
}

/// Takes tickets and gives them up, one after the other. Returns the copies.
async fn give_up_tickets(mut visitor: Visitor, until: Instant) -> Result<Vec<Jar>> {
    let mut copies = Vec::new();
    while Instant::now() < until && copies.len() < TICKETS {
        visitor.jar = Jar::default();
        if visitor.ask("/").await?.is_queued() {
            leave(&mut visitor).await?;
            copies.push(visitor.jar.clone());
        } else {
            sleep(BEAT).await;
        }
    }
    Ok(copies)
}

/// Takes as many tickets of one address as its limit allows at once, and makes a place with each.
async fn place_tickets(site: &Site) -> Result<Vec<Jar>> {
    let mut tickets = Vec::new();
    for _ in 0..TICKETS {
        let mut visitor = site.visitor(COPYING);
        visitor.ask("/").await?;
        tickets.push(visitor);
    }
    sleep(DUE).await;
    for visitor in &mut tickets {
        visitor.ask("/").await?;
    }
    Ok(tickets.into_iter().map(|visitor| visitor.jar).collect())
}

/// Leaves, and keeps the cookies.
async fn leave(visitor: &mut Visitor) -> Result<()> {
    let mut request = visitor.jar.get("/goodbye");
    *request.method_mut() = Method::POST;
    visitor.client.send(request).await.map(drop)
}

/// The client with the dead passes, and that with the copies of tickets.
const RETURNING: Ipv4Addr = attacker(201);
const COPYING: Ipv4Addr = attacker(202);
/// The clients that give up tickets.
const LEAVING: u8 = 8;
/// The tickets of one client, fewer than its limit allows at once.
const TICKETS: usize = 55;
const FIRST_IN_LINE: u8 = 101;
/// The time for which tickets are given up: those who come next must wait behind them, if the copies
/// are valid.
const GIVING_UP: Duration = Duration::from_secs(1);
/// A first ticket is due after up to 2 s.
const DUE: Duration = Duration::from_secs(2);
