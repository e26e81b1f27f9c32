//! A simulation, in virtual time, of a crowd of clients, a gate, and the service behind the gate.
//!
//! Arrivals are a Poisson process, and the work of a request is exponentially distributed. Each
//! step of the simulation therefore draws only the time and the kind of the next event, without a
//! list of future events.

#![expect(clippy::cast_possible_truncation, reason = "seconds and indices are small")]

use std::{collections::VecDeque, fmt, time::Duration};

use crate::{
    Timestamp,
    gate::adaptive::{AdaptiveLimit, PermitOutcome, Sample},
};

/// A value as a function of the time since the start of the simulation, in seconds.
pub(super) type Course = Box<dyn Fn(f64) -> f64>;

/// A simulated service with several cores, where each request needs one core for some time.
///
/// ```text
/// throughput             hold
///     │    ______           │        /
///     │   /                 │       /
///     │  /                  │______/
///     └──┴───────► n        └──────┴──► n
///        cores                   cores
/// ```
pub(super) struct Service {
    pub(super) cores: Course,
    /// The mean time that a request needs on a core of its own, in seconds.
    pub(super) work: Course,
    pub(super) order: Order,
    /// The fraction by which the service slows down for each request in excess of the number of
    /// cores.
    pub(super) thrash: f64,
    /// The time after which a request counts as failed, in seconds.
    pub(super) timeout: f64,
}

/// The order in which running requests are served.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Order {
    /// The oldest requests are served, each on a core of its own (M/M/c).
    First,
    /// All requests are served at the same time, each with an equal part of the cores (processor
    /// sharing).
    Shared,
}

/// The results of one simulated second.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Second {
    /// The limit at the end of the second.
    pub(super) limit: u32,
    pub(super) done: u32,
    pub(super) failed: u32,
    /// The sum of the holds of all requests that ended, in seconds.
    pub(super) holds: f64,
}

/// A simulation that is reproducible from its seed.
pub(super) struct Simulation {
    service: Service,
    /// The number of requests that arrive per second.
    arrivals: Course,
    random: u64,
    now: f64,
    waiting: u32,
    running: VecDeque<Job>,
}

#[derive(Clone, Copy, Debug)]
struct Job {
    admitted_at: f64,
    in_flight: u32,
}

impl Service {
    /// Creates a service with this many cores, shared by all requests, where a request takes a
    /// tenth of a second of work on average.
    pub(super) fn new(cores: f64) -> Self {
        Self {
            cores: constant(cores),
            work: constant(0.1),
            order: Order::Shared,
            thrash: 0.0,
            timeout: f64::INFINITY,
        }
    }

    /// Returns the number of requests that end per second while `running` requests are running.
    fn speed(&self, running: u32, now: f64) -> f64 {
        let running = f64::from(running);
        let cores = (self.cores)(now);
        let slowdown = 1.0 + self.thrash * (running - cores).max(0.0);
        running.min(cores) / (self.work)(now) / slowdown
    }
}

impl Simulation {
    pub(super) fn new(seed: u64, service: Service, arrivals: Course) -> Self {
        Self { service, arrivals, random: seed, now: 0.0, waiting: 0, running: VecDeque::new() }
    }

    /// Runs the simulation for `seconds` more seconds, and returns the results of each second.
    pub(super) fn run(&mut self, limit: &mut dyn AdaptiveLimit, seconds: u32) -> Vec<Second> {
        let mut course = vec![Second::default(); seconds as usize];
        let start = self.now;
        while let Some(second) = course.get_mut((self.now - start) as usize) {
            self.step(limit, second);
            second.limit = limit.limit();
        }
        course
    }

    fn step(&mut self, limit: &mut dyn AdaptiveLimit, second: &mut Second) {
        let arriving = (self.arrivals)(self.now);
        let leaving = self.service.speed(self.running(), self.now);
        self.now += -(1.0 - self.draw()).ln() / (arriving + leaving);
        if self.draw() * (arriving + leaving) < arriving {
            // A request that finds the queue full is refused and does not become a sample.
            self.waiting = (self.waiting + 1).min(QUEUE);
        } else {
            self.finish(limit, second);
        }
        while self.waiting > 0 && self.running() < limit.limit() {
            self.waiting -= 1;
            let in_flight = self.running() + 1;
            self.running.push_back(Job { admitted_at: self.now, in_flight });
        }
    }

    fn finish(&mut self, limit: &mut dyn AdaptiveLimit, second: &mut Second) {
        let served = match self.service.order {
            Order::First => f64::from(self.running()).min((self.service.cores)(self.now)),
            Order::Shared => f64::from(self.running()),
        };
        let index = (self.draw() * served) as usize;
        let Some(job) = self.running.remove(index) else { return };
        let hold = self.now - job.admitted_at;
        second.holds += hold;
        let outcome = if hold > self.service.timeout {
            second.failed += 1;
            PermitOutcome::Overloaded
        } else {
            second.done += 1;
            PermitOutcome::Done
        };
        let hold = Duration::from_secs_f64(hold);
        let now = Timestamp::from_secs(1_000_000) + Duration::from_secs_f64(self.now);
        limit.observe(&Sample::new(now, job.in_flight, hold, outcome));
    }

    fn running(&self) -> u32 {
        self.running.len() as u32
    }

    /// Returns a random number from 0 up to, but not including, 1 (SplitMix64: Steele, Lea and
    /// Flood, OOPSLA 2014).
    fn draw(&mut self) -> f64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.random;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((bits ^ (bits >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }
}

impl fmt::Debug for Simulation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Simulation").field("now", &self.now).finish_non_exhaustive()
    }
}

/// Returns a function of time whose value is constant.
pub(super) fn constant(value: f64) -> Course {
    Box::new(move |_| value)
}

/// The maximum number of requests that wait at the gate.
const QUEUE: u32 = 100;
