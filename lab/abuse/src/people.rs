//! People: clients that follow the instructions of the service, each with its own address, pass and
//! pace.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use anyhow::{Context, Result};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use tokio::{
    task::JoinSet,
    time::{Instant, sleep, sleep_until},
};

use crate::{
    client::Answer,
    site::{Site, person},
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

fn lock(seen: &Mutex<Seen>) -> MutexGuard<'_, Seen> {
    seen.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The number of people.
pub(crate) const PEOPLE: usize = 6;
/// The time between two requests of a person. The rate is at most 9 per second, which is below the
/// limit by address.
const PAUSE_MS: std::ops::Range<u64> = 115..185;
