//! The service behind the gates, which does a fixed number of requests at once.

use std::{
    future::pending,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use axum::{Extension, Router, routing::get};
use clap::ValueEnum;
use rand::{SeedableRng, rngs::Xoshiro256PlusPlus, seq::SliceRandom};
use tokio::{sync::Semaphore, task, time::sleep};
use tower_waiting_room::gate::PermitHandle;

use super::super::sources::{OPEN, semaphore};
use crate::usage::thread_cpu_time;

/// The work of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Work {
    /// It never ends.
    Never,
    /// 16 requests at once wait for 20 ms on average. As with a query to a database or a task on
    /// another thread, the work is completed even if its client has left.
    Sleeps,
    /// One request at a time computes for 2.5 ms on average. It is completed as well.
    Spins,
    /// The same as [`Sleeps`](Self::Sleeps), but the work stops when its client has left.
    Stops,
}

impl Work {
    /// The number of requests that are worked on at once.
    pub(super) const fn at_once(self) -> u32 {
        match self {
            Self::Never | Self::Sleeps | Self::Stops => 16,
            Self::Spins => 1,
        }
    }

    /// The mean time of a request.
    const fn mean(self) -> Duration {
        match self {
            Self::Never | Self::Sleeps | Self::Stops => Duration::from_millis(20),
            Self::Spins => Duration::from_micros(2_500),
        }
    }

    /// The requests per second by these numbers. The real capacity is somewhat lower.
    pub(super) fn nominal_capacity(self) -> f64 {
        f64::from(self.at_once()) / self.mean().as_secs_f64()
    }

    /// Returns the application. Requests that it cannot do at once wait in a queue without a bound.
    pub(super) fn app(self) -> Router {
        let places = semaphore(self.at_once());
        let times = Arc::new(Mutex::new(Times::new(self.mean())));
        let handler = move |permit: Option<Extension<PermitHandle>>| {
            let places = Arc::clone(&places);
            let times = Arc::clone(&times);
            async move {
                let work = self.done(places, times, permit.map(|Extension(permit)| permit));
                match self {
                    Self::Never | Self::Stops => work.await,
                    Self::Sleeps | Self::Spins => {
                        tokio::spawn(work).await.expect("the work does not panic");
                    }
                }
                "done"
            }
        };
        Router::new().route("/", get(handler))
    }

    /// Does the work, and holds the permit of the request until the end.
    async fn done(
        self,
        places: Arc<Semaphore>,
        times: Arc<Mutex<Times>>,
        permit: Option<PermitHandle>,
    ) {
        let place = places.acquire_owned().await.expect(OPEN);
        let time = times.lock().unwrap_or_else(PoisonError::into_inner).next();
        match self {
            Self::Never => pending().await,
            Self::Sleeps | Self::Stops => sleep(time).await,
            Self::Spins => {
                task::spawn_blocking(move || spin(time)).await.expect("it does not panic");
            }
        }
        drop((place, permit));
    }
}

/// The times of successive pieces of work: the quantiles of an exponential distribution, in a
/// random order. So each round of 64 pieces takes the same time in total, and the capacity does not
/// depend on luck.
struct Times {
    mean: Duration,
    chance: Xoshiro256PlusPlus,
    quantiles: Vec<f64>,
    next: usize,
}

impl Times {
    fn new(mean: Duration) -> Self {
        let quantile = |index: u32| -(-f64::from(2 * index + 1) / f64::from(2 * QUANTILES)).ln_1p();
        let all: f64 = (0..QUANTILES).map(quantile).sum();
        let quantiles = (0..QUANTILES).map(|index| quantile(index) * f64::from(QUANTILES) / all);
        let chance = Xoshiro256PlusPlus::seed_from_u64(SEED);
        Self { mean, chance, quantiles: quantiles.collect(), next: 0 }
    }

    fn next(&mut self) -> Duration {
        if self.next == 0 {
            self.quantiles.shuffle(&mut self.chance);
        }
        let time = self.mean.mul_f64(self.quantiles[self.next]);
        self.next = (self.next + 1) % self.quantiles.len();
        time
    }
}

/// Computes for the given time.
fn spin(time: Duration) {
    let begin = thread_cpu_time();
    while thread_cpu_time().saturating_sub(begin) < time {}
}

const QUANTILES: u32 = 64;
const SEED: u64 = 1;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cycle_of_work_always_takes_the_same_total_time() {
        let mut times = Times::new(Duration::from_millis(20));
        for _ in 0..3 {
            let all: Duration = (0..QUANTILES).map(|_| times.next()).sum();
            assert!((1_279..1_281).contains(&all.as_millis()), "{all:?}");
        }
        let longest = (0..QUANTILES).map(|_| times.next()).max().unwrap();
        assert!((95..100).contains(&longest.as_millis()), "{longest:?}");
    }
}
