//! The world in virtual time: arrivals, questions, and the spreading of information.

mod people;
#[cfg(test)]
mod tests;

use std::{cmp::Reverse, collections::BinaryHeap};

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use waiting_room_core::ConfigError;

use super::{
    clock::{SECOND, Wheel, from_seconds},
    crowd::{Crowd, Newcomer},
    door::{Door, Say},
    news::News,
    notes::{Moment, Notes},
    recent::Pace,
    report::Report,
    scenario::{FaultKind, Policy, Scenario},
    truth::Truth,
    visitor::Visitors,
};

/// The sites of a scenario under one policy.
#[derive(Debug)]
pub(super) struct World<'a> {
    scenario: &'a Scenario,
    policy: Policy,
    door: Door,
    news: News,
    truth: Truth,
    crowd: Crowd,
    next: Option<Newcomer>,
    visitors: Visitors,
    wheel: Wheel,
    agenda: BinaryHeap<Reverse<(u32, Happening)>>,
    habits: Pcg64Mcg,
    /// The number of active visitors, by the site at which they were last.
    active: Vec<u32>,
    /// The number of nodes of each site; 0 for a dead site.
    nodes: Vec<u16>,
    admissions: Pace,
    lapses: Pace,
    notes: Notes,
    length: u32,
    now: u32,
}

/// Events that concern the world as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Happening {
    /// A fault begins.
    Begin(usize),
    /// A fault is over.
    End(usize),
    /// The last report of a dead site has become too old.
    Forget(usize),
    Line,
    Note,
    Publish,
}

impl<'a> World<'a> {
    /// The time for which the last report of a dead site is used.
    const REPORT_LIVES: u32 = 180 * SECOND;

    pub(super) fn new(
        scenario: &'a Scenario,
        policy: Policy,
        seed: u64,
    ) -> Result<Self, ConfigError> {
        let sites = scenario.sites.nodes.len();
        let length = scenario.length_ms();
        let mut seeds = Pcg64Mcg::seed_from_u64(seed);
        let mut crowd = Crowd::new(scenario, seeds.random());
        let next = crowd.next();
        let delay = from_seconds(scenario.network.news_delay);
        let line_delay = match policy {
            // The heartbeats of the ledgers carry it, one per second.
            Policy::Escrow => HEARTBEAT + scenario.network.wan_rtt_ms[1] / 2,
            Policy::Counters
            | Policy::Curve
            | Policy::Even
            | Policy::Ideal
            | Policy::IdealHolds => delay,
        };
        let mut news = News::new(sites, delay, line_delay);
        news.begin(&scenario.sites.nodes);
        let ticks = [Happening::Line, Happening::Note, Happening::Publish];
        let mut agenda: BinaryHeap<_> = ticks.map(|tick| Reverse((0, tick))).into();
        for (index, fault) in scenario.faults.iter().enumerate() {
            agenda.push(Reverse((from_seconds(fault.from), Happening::Begin(index))));
            if fault.until.is_finite() {
                agenda.push(Reverse((from_seconds(fault.until), Happening::End(index))));
            }
        }
        Ok(Self {
            policy,
            door: Door::new(policy, scenario, seeds.random())?,
            news,
            truth: Truth::new(scenario.limits, length, HEARTBEAT + scenario.network.wan_rtt_ms[1]),
            crowd,
            next,
            visitors: Visitors::default(),
            wheel: Wheel::new(),
            agenda,
            habits: Pcg64Mcg::from_rng(&mut seeds),
            active: vec![0; sites],
            nodes: scenario.sites.nodes.clone(),
            admissions: Pace::new(),
            lapses: Pace::new(),
            notes: Notes::new(),
            length,
            now: 0,
            scenario,
        })
    }

    /// Runs to the end of the traffic.
    pub(super) fn run(self) -> Report {
        self.run_with_notes().0
    }

    fn run_with_notes(mut self) -> (Report, Notes) {
        self.play();
        let seen = self.truth.seen.clone();
        let trips = self.door.trips();
        let at_end = self.truth.waiting_and_asking();
        let facts = (&seen, &self.notes);
        let report = Report::new(self.scenario, facts, trips, at_end);
        (report, self.notes)
    }

    /// Processes all events.
    fn play(&mut self) {
        loop {
            let happening = self.agenda.peek().map_or(u32::MAX, |Reverse((at, _))| *at);
            let arrival = self.next.map_or(u32::MAX, |next| next.at);
            let wake = self.next_wake();
            let until = happening.min(arrival).min(wake).min(self.length);
            if let Some((at, who)) = self.wheel.pop(until) {
                self.now = at;
                self.act(who);
            } else if until == self.length {
                break;
            } else {
                self.now = until;
                if wake <= happening.min(arrival) {
                    let outcomes = self.door.wake(until);
                    outcomes.into_iter().for_each(|outcome| self.hear(outcome.who, outcome.say));
                } else if happening <= arrival {
                    self.happen();
                } else if let Some(newcomer) = self.next {
                    self.next = self.crowd.next();
                    self.arrive(newcomer);
                }
            }
            self.fill_at_an_ideal_door();
        }
        self.truth.advance(self.length);
    }

    /// The next time at which the door has to act by itself.
    fn next_wake(&self) -> u32 {
        let slot = self.door.holds_for_a_slot().then(|| self.truth.minute_frees_at()).flatten();
        self.door.next_wake().into_iter().chain(slot).min().unwrap_or(u32::MAX)
    }

    /// Admits visitors who stand at an ideal door while slots are free.
    fn fill_at_an_ideal_door(&mut self) {
        while self.door.holds_for_a_slot() && self.truth.free(self.now) > 0 {
            let first = self.door.take_first();
            first.into_iter().for_each(|who| self.hear(who, Say::Admit));
        }
    }

    fn happen(&mut self) {
        let Some(Reverse((at, happening))) = self.agenda.pop() else { return };
        let again = |every| Some((at + every, happening));
        let next = match happening {
            Happening::Begin(index) => {
                let fault = self.scenario.faults[index];
                self.news.cut(fault.site, at);
                match fault.what {
                    FaultKind::Cut => {
                        self.door.cut(fault.site);
                        None
                    }
                    FaultKind::Dead => {
                        self.crowd.close(fault.site);
                        self.nodes[fault.site] = 0;
                        let lost = self.door.kill(fault.site);
                        lost.into_iter().for_each(|who| self.lose_the_door(who));
                        Some((at + Self::REPORT_LIVES, Happening::Forget(fault.site)))
                    }
                }
            }
            Happening::End(index) => {
                self.news.join(self.scenario.faults[index].site);
                self.door.join(self.scenario.faults[index].site);
                None
            }
            Happening::Forget(site) => {
                self.news.forget(site);
                None
            }
            Happening::Line => {
                self.look_for_stranded_slots();
                let line = self.line_news();
                self.news.publish_line(line, at);
                again(SECOND)
            }
            Happening::Note => {
                let messages = self.door.trips().messages;
                self.notes.moment(&mut self.truth, messages, at);
                again(Moment::EVERY)
            }
            Happening::Publish => {
                self.news.publish(&self.active, &self.nodes, at);
                again(from_seconds(self.scenario.network.news_every))
            }
        };
        self.agenda.extend(next.map(Reverse));
    }
}

/// The interval of the ledgers' heartbeats while no visitor waits, in milliseconds: the default of
/// `EscrowRules`. A slot that has been free for less than this time and a round trip does not count
/// against a policy.
const HEARTBEAT: u32 = SECOND;
