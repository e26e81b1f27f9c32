//! Runs a crowd, from the first arrival to the last departure.

use std::{net::SocketAddr, pin::pin, sync::Arc, time::Duration};

use rand::SeedableRng;
use rand_pcg::Pcg64;
use tokio::{
    select, signal,
    task::JoinSet,
    time::{Instant, interval, sleep_until},
};
use waiting_room_sim::{
    EventPromise, Limits, fresh_seeds,
    plan::{Pace, Plan},
};

use crate::{visitor::Visitor, witness::Witness};

/// Visitors who are about to arrive, and the witness that records what they see.
#[derive(Debug)]
pub struct Crowd {
    seed: u64,
    /// In the order of arrival.
    plans: Vec<Plan>,
    over: Duration,
    witness: Arc<Witness>,
}

impl Crowd {
    /// The part of the retention that an absence may take. The retention begins with a check-in, and
    /// the next request takes some time too.
    const SAFE_PART_OF_RETENTION: f64 = 0.8;

    /// This number of visitors, who arrive evenly over the period `over` at a room with these promises.
    ///
    /// Without a seed, a fresh one is used.
    #[must_use]
    pub fn even(visitors: u32, over: Duration, seed: Option<u64>, promises: Limits) -> Self {
        // Short enough to be typed, and small enough to survive JSON.
        let seed = seed.unwrap_or_else(|| fresh_seeds(1)[0] % (1 << 32));
        let mut chance = Pcg64::seed_from_u64(seed);
        let longest_absence = promises.place_retention.mul_f64(Self::SAFE_PART_OF_RETENTION);
        let pace = Pace { over, longest_absence };
        let arrivals = Plan::even_arrivals(visitors, over, &mut chance);
        let plans = arrivals.into_iter().map(|at| Plan::draw(at, &pace, &mut chance)).collect();
        Self { seed, plans, over, witness: Arc::new(Witness::new(promises)) }
    }

    /// The same crowd, which comes to this event of this room.
    #[must_use]
    pub fn coming_to(self, room: &str, event: &str, promise: EventPromise) -> Self {
        self.witness.expects(room, event, promise);
        self
    }

    /// The seed from which all arrivals and behaviour follow.
    #[must_use]
    pub const fn seed(&self) -> u64 {
        self.seed
    }

    /// The number of visitors.
    #[must_use]
    pub const fn visitors(&self) -> usize {
        self.plans.len()
    }

    /// The witness that records what the visitors see.
    #[must_use]
    pub fn witness(&self) -> Arc<Witness> {
        Arc::clone(&self.witness)
    }

    /// Visits the shops, and prints the progress every few seconds. Returns when the last visitor has
    /// left. Each visitor stays at one shop, and the visitors are spread evenly over the shops.
    ///
    /// Visitors who still wait at the time `drain` after the last arrival, or at ctrl-c, give up.
    ///
    /// # Panics
    ///
    /// Panics if there is no shop.
    pub async fn visit(self, shops: &[SocketAddr], drain: Duration) {
        assert!(!shops.is_empty(), "there is no shop to visit");
        raise_file_limit();
        let witness = self.witness();
        let all = self.visitors();
        let progress = async {
            let mut every = interval(PRINT);
            loop {
                every.tick().await;
                eprintln!("of {all} visitors {}", witness.progress());
            }
        };
        select! {
            () = self.come(shops, drain) => {}
            () = progress => {}
        }
    }

    async fn come(self, shops: &[SocketAddr], drain: Duration) {
        let Self { plans, over, witness, .. } = self;
        let start = Instant::now();
        let mut end = pin!(end(start + over + drain));
        let mut visitors = JoinSet::new();
        let arrivals = plans.into_iter().zip(shops.iter().cycle());
        for (number, (plan, shop)) in (1..).zip(arrivals) {
            select! {
                () = sleep_until(start + plan.arrival) => {}
                () = &mut end => return visitors.shutdown().await,
            }
            let visitor = Visitor::new(number, plan, *shop, Arc::clone(&witness));
            if let Some(visitor) = visitor {
                visitors.spawn(visitor.live());
            }
        }
        let all = async { while visitors.join_next().await.is_some() {} };
        select! {
            () = all => {}
            () = &mut end => {}
        }
        visitors.shutdown().await;
    }
}

/// Waits for the end of the time, or for ctrl-c.
async fn end(end: Instant) {
    select! {
        () = sleep_until(end) => {}
        Ok(()) = signal::ctrl_c() => {}
    }
}

/// Raises the limit of open files: both ends of each visitor's connection may be in this process.
fn raise_file_limit() {
    if let Err(error) = rlimit::increase_nofile_limit(FILES) {
        tracing::warn!(%error, "the limit of open files cannot be raised");
    }
}

/// Two open files for each of eight thousand visitors.
const FILES: u64 = 16_384;

/// The time between two lines of progress.
const PRINT: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests {
    use waiting_room_sim::{
        plan::{Ending, Memory},
        seeds,
    };

    use super::*;

    const PROMISES: Limits = Limits {
        total_active_users: 1,
        new_users_per_minute: None,
        session_duration: Duration::from_secs(60),
        place_retention: Duration::from_secs(60),
        refresh_interval: Duration::from_secs(20),
    };
    const MINUTE: Duration = Duration::from_secs(60);

    #[test]
    fn a_seed_repeats_a_crowd_and_another_makes_another() {
        let even = |seed| Crowd::even(300, MINUTE, Some(seed), PROMISES).plans;
        for seed in seeds(5) {
            assert_eq!(even(seed), even(seed));
            assert_ne!(even(seed), even(seed.wrapping_add(1)));
        }
    }

    #[test]
    fn a_crowd_comes_in_its_time_and_has_all_sorts_in_it() {
        for seed in seeds(5) {
            let plans = Crowd::even(2_000, MINUTE, Some(seed), PROMISES).plans;
            assert_eq!(plans.len(), 2_000);
            assert!(plans.is_sorted_by_key(|plan| plan.arrival));
            assert!(plans.iter().all(|plan| plan.arrival < MINUTE && !plan.thoughts.is_empty()));
            let share = |of: &dyn Fn(&Plan) -> bool| plans.iter().filter(|plan| of(plan)).count();
            assert!((20..=200).contains(&share(&|plan| plan.memory == Memory::Forgets)));
            assert!((500..=900).contains(&share(&|plan| plan.ending == Ending::Checkout)));
            assert!((100..=400).contains(&share(&|plan| plan.absence.is_some())));
            assert!((200..=600).contains(&share(&|plan| plan.patience.is_some())));
        }
    }
}
