//! People: clients that follow the instructions of the service, each with its own address, pass and
//! pace. Some are inside from the beginning, and others come during an attack.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use anyhow::{Context, Result};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use tokio::{
    task::JoinSet,
    time::{Instant, sleep, sleep_until, timeout},
};

use crate::{
    client::Answer,
    site::{Site, newcomer, person},
    visitor::Visitor,
};

/// People who send requests from time to time until this is dropped.
#[derive(Debug)]
pub(crate) struct People {
    seen: Arc<Mutex<Seen>>,
    _all: JoinSet<()>,
}

/// The answers that people received in one phase of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    /// The number of requests served, for each person.
    pub(crate) served: [u64; PEOPLE],
    /// One line for each request that was not served: the status and the reason, or the error.
    pub(crate) refused: Vec<String>,
    took: Vec<Duration>,
}

impl People {
    /// Admits the people, one after the other, and starts their tasks.
    pub(crate) async fn come(site: &Site) -> Result<Self> {
        let seen = Arc::new(Mutex::new(Seen::default()));
        let mut all = JoinSet::new();
        for (number, address) in (0..PEOPLE).zip(1..) {
            let mut visitor = site.visitor(person(address));
            visitor.enter(Duration::ZERO).await.context("a person was not admitted")?;
            let chance = Pcg64::seed_from_u64(site.seed.wrapping_add(u64::from(address)));
            all.spawn(live(visitor, number, chance, Arc::clone(&seen)));
        }
        Ok(Self { seen, _all: all })
    }

    /// Returns the answers since the last call, and starts a new phase.
    pub(crate) fn seen(&self) -> Seen {
        std::mem::take(&mut *lock(&self.seen))
    }
}

impl Seen {
    pub(crate) fn all_served(&self) -> u64 {
        self.served.iter().sum()
    }

    /// The 99th percentile of the response times.
    pub(crate) fn p99(&self) -> Duration {
        let mut took = self.took.clone();
        took.sort_unstable();
        let rank = (took.len() * 99).div_ceil(100);
        took.get(rank.saturating_sub(1)).copied().unwrap_or_default()
    }

    fn note(&mut self, number: usize, answer: &Result<Answer>) {
        match answer {
            Ok(answer) if answer.is_served() => {
                self.served[number] += 1;
                self.took.push(answer.took);
            }
            Ok(answer) => self.refused.push(format!("{} {}", answer.status, answer.reason())),
            Err(error) => self.refused.push(format!("{error:#}")),
        }
    }
}

async fn live(mut visitor: Visitor, number: usize, mut chance: Pcg64, seen: Arc<Mutex<Seen>>) {
    loop {
        let next = Instant::now() + Duration::from_millis(chance.random_range(PAUSE_MS));
        let answer = visitor.ask("/").await;
        lock(&seen).note(number, &answer);
        if let Some(pause) = answer.ok().as_ref().and_then(Answer::retry_after) {
            sleep(pause).await;
        }
        sleep_until(next).await;
    }
}

/// People in line, each of whom checks in when it is due.
#[derive(Debug)]
pub(crate) struct PeopleInLine {
    seen: Vec<Arc<Mutex<SeenInLine>>>,
    _tasks: JoinSet<()>,
}

/// The answers to one person in line.
#[derive(Debug, Default)]
pub(crate) struct SeenInLine {
    /// The positions in line, in the order of the answers.
    pub(crate) positions: Vec<u64>,
    pub(crate) is_served: bool,
    refused: Option<String>,
}

impl PeopleInLine {
    /// People come from consecutive addresses, and stay in line until this is dropped.
    pub(crate) fn join(site: &Site, first: u8, people: u8) -> Self {
        let mut tasks = JoinSet::new();
        let seen = (first..first + people).map(|number| {
            let seen = Arc::<Mutex<SeenInLine>>::default();
            tasks.spawn(wait_in_line(site.visitor(person(number)), Arc::clone(&seen)));
            seen
        });
        let seen = seen.collect();
        Self { seen, _tasks: tasks }
    }

    /// Returns when all of them have seen this.
    pub(crate) async fn all(&self, what: &str, has: impl Fn(&SeenInLine) -> bool) -> Result<()> {
        let all = async {
            while !self.seen.iter().all(|seen| has(&lock(seen))) {
                sleep(BEAT).await;
            }
        };
        timeout(PATIENCE, all).await.with_context(|| format!("not everybody got {what} in time"))
    }

    /// Returns how many positions one of them lost at most, if the last of them would be at the
    /// position `last` without the attacker.
    pub(crate) fn lost(&self, last: u8) -> u64 {
        let worst = self.seen.iter().filter_map(|seen| lock(seen).positions.iter().max().copied());
        worst.max().unwrap_or_default().saturating_sub(u64::from(last))
    }

    /// The first request of a person that was refused, if there is one.
    pub(crate) fn refused(&self) -> Option<String> {
        self.seen.iter().find_map(|seen| lock(seen).refused.clone())
    }
}

async fn wait_in_line(mut visitor: Visitor, seen: Arc<Mutex<SeenInLine>>) {
    loop {
        let answer = visitor.ask("/").await;
        let pause = {
            let mut seen = lock(&seen);
            match answer {
                Ok(answer) if answer.is_queued() => {
                    seen.positions.extend(answer.position());
                    answer.retry_after().unwrap_or(BEAT)
                }
                Ok(answer) if answer.is_served() => {
                    seen.is_served = true;
                    return;
                }
                Ok(answer) => {
                    seen.refused = Some(format!("a person in line got {}", answer.reason()));
                    return;
                }
                Err(error) => {
                    seen.refused = Some(format!("a person in line: {error:#}"));
                    return;
                }
            }
        };
        sleep(pause).await;
    }
}

fn lock<T>(seen: &Mutex<T>) -> MutexGuard<'_, T> {
    seen.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Lets people of as many networks come at once. Returns those who are let in within the given time.
pub(crate) async fn newcomers(site: &Site, within: Duration) -> Vec<Visitor> {
    let mut coming = JoinSet::new();
    for number in 0..NEWCOMERS {
        let mut person = site.visitor(newcomer(number));
        coming.spawn(async move {
            timeout(within, person.enter(within)).await.ok()?.ok()?;
            Some(person)
        });
    }
    coming.join_all().await.into_iter().flatten().collect()
}

/// The number of people who come during an attack.
pub(crate) const NEWCOMERS: u8 = 20;
/// The interval at which the people in line are looked at, and the time that something may take them.
pub(crate) const BEAT: Duration = Duration::from_millis(50);
pub(crate) const PATIENCE: Duration = Duration::from_secs(15);
/// The number of people.
pub(crate) const PEOPLE: usize = 6;
/// The time between two requests of a person. The rate is at most 9 per second, which is below the
/// limit by address.
const PAUSE_MS: std::ops::Range<u64> = 115..185;
