//! The behaviour of visitors: their patience, their pauses, their obedience, their cookies.

use std::time::Duration;

use rand::RngExt;
use rand_distr::{Distribution, LogNormal};
use rand_pcg::Pcg64Mcg;

/// The habits of a crowd. Shares are between 0 and 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Habits {
    /// The median time that visitors are willing to wait. The distribution is log-normal with a
    /// sigma of 1.
    pub patience: Duration,
    /// The median pause between two pages. The distribution is log-normal as well, so that some
    /// pauses outlast the session.
    pub think_time: Duration,
    /// The mean number of pages that an admitted visitor opens.
    pub pages: f64,
    /// The share of visitors who check out in the end. The others fall silent.
    pub checks_out: f64,
    /// The share of clients that never return a cookie.
    pub without_cookies: f64,
    /// The share of check-ins before which the visitor closes the tab for a while.
    pub goes_away: f64,
    /// The share of these absences that last until the place is lost.
    pub stays_away: f64,
    /// The share of check-ins that are so late that the visitor counts as away.
    pub dawdles: f64,
    /// The share of check-ins that are earlier than requested.
    pub hurries: f64,
}

impl Default for Habits {
    /// A patience of 2 minutes, 6 pages with pauses of 8 seconds, half of the visitors checking
    /// out, and 3 % without cookies.
    fn default() -> Self {
        Self {
            patience: Duration::from_secs(120),
            think_time: Duration::from_secs(8),
            pages: 6.0,
            checks_out: 0.5,
            without_cookies: 0.03,
            goes_away: 0.02,
            stays_away: 0.2,
            dawdles: 0.02,
            hurries: 0.02,
        }
    }
}

impl Habits {
    /// Visitors who come back when they are asked to, and keep their cookies.
    pub(crate) fn obedient() -> Self {
        Self { without_cookies: 0.0, goes_away: 0.0, dawdles: 0.0, hurries: 0.0, ..Self::default() }
    }
}

/// The behaviour of one visitor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Temper {
    pub patience: Duration,
    pub pages: u32,
    pub checks_out: bool,
    pub keeps_cookies: bool,
    /// How many times it tries again after refusals.
    pub retries: u32,
}

/// Draws tempers and pauses.
#[derive(Clone, Debug)]
pub(crate) struct Crowd {
    habits: Habits,
    patience: LogNormal<f64>,
    think_time: LogNormal<f64>,
    retention: Duration,
}

impl Crowd {
    /// The sigma of patience and of think times.
    const SPREAD: f64 = 1.0;
    /// The longest patience and the longest pause; longer ones are cut off.
    const LONGEST: Duration = Duration::from_secs(2 * 60 * 60);
    /// The most pages that one visitor opens.
    const MOST_PAGES: u32 = 100;

    pub(crate) fn new(habits: Habits, retention: Duration) -> Self {
        let log_normal = |median: Duration| {
            LogNormal::new(median.as_secs_f64().max(0.001).ln(), Self::SPREAD)
                .expect("the spread is a finite number")
        };
        Self {
            habits,
            patience: log_normal(habits.patience),
            think_time: log_normal(habits.think_time),
            retention,
        }
    }

    pub(crate) fn temper(&self, rng: &mut Pcg64Mcg) -> Temper {
        Temper {
            patience: seconds(self.patience.sample(rng)),
            pages: self.pages(rng),
            checks_out: rng.random_bool(self.habits.checks_out),
            keeps_cookies: !rng.random_bool(self.habits.without_cookies),
            retries: rng.random_range(0..=2),
        }
    }

    /// Draws how long an active visitor looks at a page.
    pub(crate) fn think(&self, rng: &mut Pcg64Mcg) -> Duration {
        seconds(self.think_time.sample(rng))
    }

    /// Draws when a visitor who was asked to return after `interval` does so.
    pub(crate) fn come_back(&self, interval: Duration, rng: &mut Pcg64Mcg) -> Duration {
        let habits = &self.habits;
        let chance: f64 = rng.random();
        if chance < habits.goes_away {
            return self.away(interval, rng);
        }
        if chance < habits.goes_away + habits.dawdles {
            return interval.mul_f64(rng.random_range(1.3..3.0));
        }
        if chance < habits.goes_away + habits.dawdles + habits.hurries {
            return interval.mul_f64(rng.random());
        }
        interval + Duration::from_nanos(rng.random_range(0..500_000_000))
    }

    /// Draws how long a closed tab stays closed: within the time for which places are kept, or up
    /// to twice as long.
    fn away(&self, interval: Duration, rng: &mut Pcg64Mcg) -> Duration {
        let share = if rng.random_bool(self.habits.stays_away) { 1.0..2.0 } else { 0.05..1.0 };
        interval.max(self.retention.mul_f64(rng.random_range(share)))
    }

    /// Draws a geometric number of pages, at least one.
    fn pages(&self, rng: &mut Pcg64Mcg) -> u32 {
        let goes_on = (1.0 - 1.0 / self.habits.pages.max(1.0)).clamp(0.0, 1.0);
        let mut pages = 1;
        while pages < Self::MOST_PAGES && rng.random_bool(goes_on) {
            pages += 1;
        }
        pages
    }
}

fn seconds(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or(Crowd::LONGEST).min(Crowd::LONGEST)
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use waiting_room_sim::seeds;

    use super::*;

    const RETENTION: Duration = Duration::from_secs(300);

    #[test]
    fn shares_and_medians_match_the_settings() {
        let habits = Habits::default();
        let crowd = Crowd::new(habits, RETENTION);
        for seed in seeds(3) {
            let mut rng = Pcg64Mcg::seed_from_u64(seed);
            let tempers: Vec<_> = (0..20_000).map(|_| crowd.temper(&mut rng)).collect();
            let share = |holds: &dyn Fn(&Temper) -> bool| {
                tempers.iter().filter(|temper| holds(temper)).count() as f64 / 20_000.0
            };
            assert!((share(&|temper| temper.patience > habits.patience) - 0.5).abs() < 0.03);
            assert!((share(&|temper| !temper.keeps_cookies) - 0.03).abs() < 0.01);
            assert!((share(&|temper| temper.checks_out) - 0.5).abs() < 0.03);
            let pages: u32 = tempers.iter().map(|temper| temper.pages).sum();
            assert!((f64::from(pages) / 20_000.0 - 6.0).abs() < 0.5);
        }
    }

    #[test]
    fn visitors_return_on_time_late_early_within_the_retention_and_beyond() {
        let crowd = Crowd::new(Habits::default(), RETENTION);
        let interval = Duration::from_secs(20);
        for seed in seeds(3) {
            let mut rng = Pcg64Mcg::seed_from_u64(seed);
            let pauses: Vec<_> = (0..20_000).map(|_| crowd.come_back(interval, &mut rng)).collect();
            let share = |range: std::ops::Range<u64>| {
                pauses.iter().filter(|pause| range.contains(&pause.as_secs())).count() as f64
                    / 20_000.0
            };
            assert!((share(20..21) - 0.92).abs() < 0.03);
            assert!(share(0..20) > 0.01 && share(26..60) > 0.01);
            assert!(share(60..300) > 0.005 && share(300..600) > 0.001);
            assert!(pauses.iter().all(|pause| pause.as_secs() <= 600));
        }
    }
}
