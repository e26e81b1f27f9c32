//! People: clients that obey, each with an address, a pass and a pace of its own.

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

/// People who ask from time to time, until this is dropped.
#[derive(Debug)]
pub(crate) struct People {
    seen: Arc<Mutex<Seen>>,
    _all: JoinSet<()>,
}

/// The answers that people got in one phase of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    /// How often each was served.
    pub(crate) served: [u64; PEOPLE],
    /// By which reasons.
    pub(crate) refused: Vec<String>,
    took: Vec<Duration>,
}

impl People {
    /// Lets them in, one after the other.
    pub(crate) async fn come(site: &Site) -> Result<Self> {
        let seen = Arc::new(Mutex::new(Seen::default()));
        let mut all = JoinSet::new();
        for (number, address) in (0..PEOPLE).zip(1..) {
            let mut visitor = site.visitor(person(address));
            visitor.enter(Duration::ZERO).await.context("people")?;
            let chance = Pcg64::seed_from_u64(site.seed.wrapping_add(u64::from(address)));
            all.spawn(live(visitor, number, chance, Arc::clone(&seen)));
        }
        Ok(Self { seen, _all: all })
    }

    /// The answers since this was last asked.
    pub(crate) fn seen(&self) -> Seen {
        std::mem::take(&mut *lock(&self.seen))
    }
}

impl Seen {
    pub(crate) fn all_served(&self) -> u64 {
        self.served.iter().sum()
    }

    /// The time that 99 in 100 answers took at most.
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

/// How many people there are.
pub(crate) const PEOPLE: usize = 6;
/// From one request of a person to the next: at most 9 a second, which their limit allows for ever.
const PAUSE_MS: std::ops::Range<u64> = 115..185;
