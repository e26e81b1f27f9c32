//! A crowd that arrives at once, and returns when it is asked to.

use std::time::Duration;

use rand::RngExt;
use rand_pcg::Pcg64Mcg;
use waiting_room_core::{
    Timestamp,
    gate::{Arrival, GateRefused, GateRules},
};

use super::{
    door::{Agenda, Door, Said},
    traffic::{START, chance, hold},
};

/// The time after which a refused client is asked to return.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Advice {
    /// The same time for all clients.
    Constant(Duration),
    /// The time after which the current queue is served.
    Depth,
    /// The time that the gate itself computes, an individual one for each client.
    Gate,
}

/// The outcome for a crowd.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Outcome {
    /// The number of requests in each second.
    pub(super) per_second: Vec<u32>,
    /// The time from the first request to the answer, for each client.
    pub(super) waits: Vec<Duration>,
    /// The time until the last client was served.
    pub(super) makespan: Duration,
    /// The number of refusals without a time to return.
    pub(super) untold: u32,
}

/// Runs a crowd at a gate until all clients are served.
pub(super) fn run(rules: &GateRules, advice: Advice, seed: u64) -> Outcome {
    let mut crowd = Crowd::new(rules, advice, seed);
    while let Some((now, event)) = crowd.agenda.next() {
        crowd.door.advance_to(now);
        crowd.happens(now, event);
        for (who, said) in crowd.door.called() {
            crowd.hears(who, said, now);
        }
    }
    crowd.outcome
}

struct Crowd {
    advice: Advice,
    door: Door,
    agenda: Agenda<Event>,
    /// The time at which each client first arrived.
    came: Vec<Timestamp>,
    rng: Pcg64Mcg,
    outcome: Outcome,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Come(usize),
    Deadline(usize),
    Finish(usize),
}

impl Outcome {
    /// The mean number of requests per client.
    pub(super) fn attempts(&self) -> f64 {
        f64::from(self.per_second.iter().sum::<u32>()) / self.waits.len() as f64
    }

    /// The number of requests in the busiest second, once the initial rush is over.
    pub(super) fn peak(&self) -> f64 {
        self.per_second.iter().skip(5).copied().max().map_or(0.0, f64::from)
    }
}

impl Crowd {
    fn new(rules: &GateRules, advice: Advice, seed: u64) -> Self {
        let mut rng = chance(seed, 0);
        let mut agenda = Agenda::new();
        let came: Vec<_> = (0..CLIENTS).map(|_| START + RUSH.mul_f64(rng.random())).collect();
        came.iter().enumerate().for_each(|(who, &at)| agenda.set(at, Event::Come(who)));
        let door = Door::new(rules, seed);
        Self { advice, door, agenda, came, rng, outcome: Outcome::default() }
    }

    fn happens(&mut self, now: Timestamp, event: Event) {
        match event {
            Event::Come(who) => {
                self.count(now);
                let said = self.door.enter(who, Arrival::default());
                self.hears(who, said, now);
            }
            Event::Deadline(who) => {
                if let Some(said) = self.door.time_out(who) {
                    self.hears(who, said, now);
                }
            }
            Event::Finish(who) => {
                self.door.finish(who);
                self.outcome.waits.push(now.since(self.came[who]));
                self.outcome.makespan = now.since(START);
            }
        }
    }

    fn hears(&mut self, who: usize, said: Said, now: Timestamp) {
        match said {
            Said::Refused(refused) => {
                let told = self.told(&refused);
                let late = LATENESS.mul_f64(self.rng.random());
                self.agenda.set(now + told + late, Event::Come(who));
            }
            Said::Run => {
                let hold = hold(HOLD, &mut self.rng);
                self.agenda.set(now + hold, Event::Finish(who));
            }
            Said::Wait(deadline) => self.agenda.set(deadline, Event::Deadline(who)),
        }
    }

    /// The time after which a refused client is asked to return, in whole seconds.
    fn told(&mut self, refused: &GateRefused) -> Duration {
        match self.advice {
            Advice::Constant(constant) => constant,
            Advice::Depth => {
                let seconds = self.door.queued().div_ceil(CROWD_CAPACITY);
                Duration::from_secs(seconds.max(1).into())
            }
            Advice::Gate => refused.retry_after.unwrap_or_else(|| {
                self.outcome.untold += 1;
                Duration::from_secs(1)
            }),
        }
    }

    fn count(&mut self, now: Timestamp) {
        let second = usize::try_from(now.since(START).as_secs()).expect("a crowd ends in hours");
        let per_second = &mut self.outcome.per_second;
        per_second.resize(per_second.len().max(second + 1), 0);
        per_second[second] += 1;
    }
}

/// The number of clients: the service needs half a minute for all of them.
pub(super) const CLIENTS: usize = 6_000;
/// The time within which all clients arrive.
const RUSH: Duration = Duration::from_secs(2);
/// The number of clients of this crowd that are served per second.
const CROWD_CAPACITY: u32 = 200;
const HOLD: Duration = Duration::from_millis(80);
/// The maximum delay between the requested and the actual return of a client, for timers and the
/// network.
const LATENESS: Duration = Duration::from_millis(200);

#[cfg(test)]
mod tests {
    use waiting_room_core::gate::Discipline;
    use waiting_room_sim::seeds;

    use super::{super::traffic::LIMIT, *};

    fn crowd(advice: Advice, seed: u64) -> Outcome {
        run(&GateRules::new(LIMIT).queue(100).discipline(Discipline::Fifo), advice, seed)
    }

    #[test]
    fn every_client_is_served_once_and_within_the_capacity() {
        for seed in seeds(2) {
            for advice in [Advice::Constant(Duration::from_secs(1)), Advice::Gate] {
                let outcome = crowd(advice, seed);
                assert_eq!(outcome.waits.len(), CLIENTS);
                assert!(outcome.makespan > Duration::from_secs(28), "{:?}", outcome.makespan);
                assert!(outcome.waits.iter().all(|wait| *wait <= outcome.makespan));
            }
        }
    }

    #[test]
    fn the_capacity_is_that_of_the_limit_and_of_the_time_that_a_request_takes() {
        let capacity = f64::from(LIMIT) / HOLD.as_secs_f64();
        assert!((capacity - f64::from(CROWD_CAPACITY)).abs() < 1e-9);
    }

    #[test]
    fn clients_told_to_return_in_a_second_come_no_sooner_and_not_much_later() {
        let outcome = crowd(Advice::Constant(Duration::from_secs(1)), 7);
        // Each remaining client sends a request about every 1.1 s.
        let rounds = outcome.makespan.as_secs_f64() / 1.1;
        assert!((0.35 * rounds..0.6 * rounds).contains(&outcome.attempts()));
        assert!((3_500.0..5_200.0).contains(&outcome.peak()), "{}", outcome.peak());
    }
}
