//! The simulation in virtual time: a queue of events, and the step to the next one.

use std::{cmp::Reverse, collections::BinaryHeap, time::Duration};

use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, Exp1};
use rand_pcg::Pcg64Mcg;
use waiting_room_core::{ConfigError, Timestamp, VisitorId, room::event::Commitment};

use waiting_room_sim::{Arrivals, EventPromise, Oracle, Report, Trace, VisitorNo};

use super::{
    Scenario,
    desk::{Desk, Door, Reply},
    person::{Outcome, Person},
    visitors::Crowd,
};

/// A room, its visitors, and the oracle that watches them.
#[derive(Debug)]
pub(crate) struct World(Run<Desk>);

impl World {
    /// Creates the world of a scenario, before the first arrival. Arrivals follow the trace.
    ///
    /// # Errors
    ///
    /// The first rule of the room or of its event that is invalid.
    pub(crate) fn new(scenario: &Scenario, trace: &Trace) -> Result<Self, ConfigError> {
        let schedule = scenario.schedule(Run::<Desk>::START)?;
        let desk = Desk::new(scenario.rules(), scenario.recovery)?.with_schedule(schedule)?;
        Ok(Self(Run::new(desk, scenario, trace)))
    }

    /// Runs until there are no more events: the trace has ended, and all visitors have gone.
    pub(crate) fn run(self) -> Report {
        self.0.run()
    }
}

/// A run of the simulation against any door.
#[derive(Debug)]
pub(crate) struct Run<D> {
    door: D,
    oracle: Oracle,
    crowd: Crowd,
    rng: Pcg64Mcg,
    seed: u64,
    latency: Duration,
    loss: f64,
    arrivals: Arrivals,
    next_arrival: Option<Timestamp>,
    queue: BinaryHeap<Reverse<(Timestamp, Event)>>,
    people: Vec<Person>,
    vacant: Vec<u32>,
    next_no: u64,
    now: Timestamp,
    event: Option<EventPromise>,
    /// The commitment to the draw, which was published before the event.
    commitment: Option<Commitment>,
}

/// An event. The number is the index of the visitor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// An answer arrives.
    Answer(u32),
    /// A request departs.
    Ask(u32),
    /// The room decides on a request.
    Decide(u32),
    /// The client gives up on a request that was lost, or whose answer was.
    Fail(u32),
    /// A visitor closes the tab.
    GiveUp(u32),
    /// The room loses its memory.
    Restart,
}

impl<D: Door> Run<D> {
    /// The start of every run: a round number that is easy to recognize in a log.
    const START: Timestamp = Timestamp::from_secs(1_700_000_000);
    /// The share of lost requests that are lost on the way back, after the room has decided.
    const LOST_ON_THE_WAY_BACK: f64 = 0.7;
    /// The time after which a client considers a request lost.
    const TIMEOUT: Duration = Duration::from_secs(5);

    pub(crate) fn new(door: D, scenario: &Scenario, trace: &Trace) -> Self {
        let mut seeds = Pcg64Mcg::seed_from_u64(scenario.seed);
        let crowd = Crowd::new(scenario.habits, scenario.limits.place_retention);
        let rng = Pcg64Mcg::from_rng(&mut seeds);
        let mut arrivals =
            Arrivals::new(trace, Self::START, MINUTE, Pcg64Mcg::from_rng(&mut seeds));
        let next_arrival = arrivals.next();
        let mut queue = BinaryHeap::new();
        if let Some(after) = scenario.restart_after {
            queue.push(Reverse((Self::START + after, Event::Restart)));
        }
        let event = scenario.event_promise(Self::START);
        let oracle = Oracle::new(scenario.limits);
        Self {
            commitment: scenario.commitment(Self::START),
            door,
            oracle: match event {
                Some(event) => oracle.with_event(event),
                None => oracle,
            },
            crowd,
            rng,
            seed: scenario.seed,
            latency: scenario.latency,
            loss: scenario.loss,
            arrivals,
            next_arrival,
            queue,
            people: Vec::new(),
            vacant: Vec::new(),
            next_no: 0,
            now: Self::START,
            event,
        }
    }

    pub(crate) fn run(mut self) -> Report {
        while self.step().is_some() {}
        self.oracle.finish(self.now).with_seed(self.seed)
    }

    /// Jumps to the next event and returns its time; `None` when there are no more events.
    pub(crate) fn step(&mut self) -> Option<Timestamp> {
        let queued = self.queue.peek().map(|Reverse((at, _))| *at);
        match self.next_arrival {
            Some(at) if queued.is_none_or(|queued| at <= queued) => {
                self.now = at;
                self.next_arrival = self.arrivals.next();
                self.arrive();
            }
            _ => {
                let Reverse((at, event)) = self.queue.pop()?;
                self.now = at;
                self.happen(event);
            }
        }
        Some(self.now)
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Answer(who) => self.answer(who),
            Event::Ask(who) => self.ask(who),
            Event::Decide(who) => self.decide(who),
            Event::Fail(who) => self.fail(who),
            Event::GiveUp(who) => self.give_up(who),
            Event::Restart => {
                let holds_until = self.door.restart(self.now);
                self.oracle.restarted(self.now, holds_until);
            }
        }
    }

    /// Handles the arrival of a new visitor.
    fn arrive(&mut self) {
        let mut temper = self.crowd.temper(&mut self.rng);
        let is_in_prequeue =
            |event: &EventPromise| (event.prequeue_start..event.start).contains(&self.now);
        if let Some(event) = self.event.filter(is_in_prequeue)
            && self.rng.random_bool(WAITS_FOR_START)
        {
            temper.patience += event.start.since(self.now);
        }
        let person = Person::new(self.next_no(), temper, self.now);
        let who = match self.vacant.pop() {
            Some(who) => {
                self.people[who as usize] = person;
                who
            }
            None => {
                self.people.push(person);
                u32::try_from(self.people.len() - 1).expect("fewer people than bytes of memory")
            }
        };
        self.ask(who);
    }

    fn ask(&mut self, who: u32) {
        let no = self.next_no();
        let person = &mut self.people[who as usize];
        if !person.temper.keeps_cookies {
            // Without cookies, each request is one of a new visitor.
            person.no = no;
        }
        person.sent = self.now;
        self.oracle.sent(person.no, self.now);
        if self.latency.is_zero() {
            self.decide(who);
            self.answer(who);
            return;
        }
        let there = self.delay();
        let back = self.delay();
        let is_lost = self.rng.random_bool(self.loss);
        let is_heard = !is_lost || self.rng.random_bool(Self::LOST_ON_THE_WAY_BACK);
        self.people[who as usize].returns_in = (!is_lost).then_some(back);
        if is_lost {
            self.schedule(Self::TIMEOUT, Event::Fail(who));
        }
        if is_heard {
            self.schedule(there.min(Self::TIMEOUT), Event::Decide(who));
        }
    }

    fn decide(&mut self, who: u32) {
        // Each visitor comes from elsewhere, so no share of a network matters.
        let id = VisitorId::new(self.rng.random()).of_network(None);
        let person = &mut self.people[who as usize];
        let reply = self.door.ask(person.token, id, self.now);
        person.outcome = match reply {
            Reply::Admitted(pass) if person.checks_out_now() => {
                self.door.leave(pass.id, self.now);
                Some(Outcome::CheckedOut)
            }
            reply @ (Reply::Admitted(_) | Reply::Refused { .. } | Reply::Waiting { .. }) => {
                Some(Outcome::Replied(reply))
            }
        };
        if let Some(back) = person.returns_in {
            self.schedule(back, Event::Answer(who));
        }
    }

    /// Handles a failed request: after a moment, the visitor reloads the page or gives up.
    fn fail(&mut self, who: u32) {
        let person = &mut self.people[who as usize];
        person.outcome = None;
        self.oracle.failed(person.no, self.now);
        if self.now >= person.arrived + person.temper.patience && person.pages_seen == 0 {
            return self.give_up(who);
        }
        let pause = Duration::from_millis(self.rng.random_range(0..3_000));
        self.again(who, pause);
    }

    fn give_up(&mut self, who: u32) {
        self.oracle.gave_up(self.people[who as usize].no, self.now);
        self.vacant.push(who);
    }

    /// Schedules the next request of a visitor, after a pause.
    fn again(&mut self, who: u32, pause: Duration) {
        let person = &self.people[who as usize];
        if !person.temper.keeps_cookies {
            self.oracle.gave_up(person.no, self.now);
        }
        self.schedule(pause, Event::Ask(who));
    }

    fn schedule(&mut self, after: Duration, event: Event) {
        self.queue.push(Reverse((self.now + after, event)));
    }

    fn delay(&mut self) -> Duration {
        let factor: f64 = Exp1.sample(&mut self.rng);
        self.latency.mul_f64(factor)
    }

    fn next_no(&mut self) -> VisitorNo {
        self.next_no += 1;
        VisitorNo(self.next_no)
    }
}

/// The duration of a minute of the trace.
const MINUTE: Duration = Duration::from_secs(60);
/// The share of the visitors of a prequeue who wait for the start.
const WAITS_FOR_START: f64 = 0.5;

mod answers;
#[cfg(test)]
mod tests;
