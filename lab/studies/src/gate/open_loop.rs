//! Clients that arrive independently of each other.

use std::time::Duration;

use rand_pcg::Pcg64Mcg;
use waiting_room_core::{Timestamp, gate::GateRules};
use waiting_room_sim::Arrivals;

use super::{
    door::{Agenda, Door, Said},
    tally::Tally,
    traffic::{Abandonment, MEAN_HOLD, START, Source, Traffic, chance, hold},
};

/// The duration of a run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    /// The time before the measurement.
    pub(super) warm_up: Duration,
    pub(super) counted: Duration,
}

/// Runs a gate under this traffic. Returns the tally of each source.
pub(super) fn run(rules: &GateRules, traffic: &Traffic, span: Span, seed: u64) -> Vec<Tally> {
    let mut run = Run::new(rules, traffic, span, seed);
    let until = run.until + traffic.patience;
    while let Some((now, event)) = run.agenda.next() {
        if now > until {
            break;
        }
        run.door.advance_to(now);
        run.happens(now, event);
        for (who, said) in run.door.called() {
            run.hears(who, said, now);
        }
    }
    run.sources.into_iter().map(|source| source.tally).collect()
}

struct Run<'a> {
    traffic: &'a Traffic,
    from: Timestamp,
    until: Timestamp,
    door: Door,
    agenda: Agenda<Event>,
    sources: Vec<Coming<'a>>,
    clients: Vec<Client>,
    /// The generator of service times.
    holds: Pcg64Mcg,
}

/// A source, and the tally of its clients.
struct Coming<'a> {
    source: &'a Source,
    arrivals: Arrivals,
    names: Pcg64Mcg,
    tally: Tally,
}

struct Client {
    source: usize,
    came: Timestamp,
    hold: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// The next client of a source arrives.
    Come(usize),
    Deadline(usize),
    Finish(usize),
    /// A client loses patience, and the server notices.
    Leave(usize),
}

impl<'a> Run<'a> {
    fn new(rules: &GateRules, traffic: &'a Traffic, span: Span, seed: u64) -> Self {
        let from = START + span.warm_up;
        let length = span.warm_up + span.counted + traffic.patience;
        let sources = traffic.sources.iter().enumerate().map(|(number, source)| Coming {
            source,
            arrivals: source.arrivals(length, chance(seed, 2 * number + 1)),
            names: chance(seed, 2 * number + 2),
            tally: Tally::default(),
        });
        let mut run = Self {
            traffic,
            from,
            until: from + span.counted,
            door: Door::new(rules, seed),
            agenda: Agenda::new(),
            sources: sources.collect(),
            clients: Vec::new(),
            holds: chance(seed, 0),
        };
        (0..run.sources.len()).for_each(|source| run.expect_next(source));
        run
    }

    fn happens(&mut self, now: Timestamp, event: Event) {
        match event {
            Event::Come(source) => self.comes(source, now),
            Event::Deadline(who) => {
                if let Some(said) = self.door.time_out(who) {
                    self.hears(who, said, now);
                }
            }
            Event::Finish(who) => self.finishes(who, now),
            Event::Leave(who) => self.door.leave(who),
        }
    }

    fn comes(&mut self, source: usize, now: Timestamp) {
        let who = self.clients.len();
        let hold = hold(MEAN_HOLD, &mut self.holds);
        self.clients.push(Client { source, came: now, hold });
        let is_counted = self.counts(now);
        let coming = &mut self.sources[source];
        coming.tally.came += u64::from(is_counted);
        let arrival = coming.source.arrival(source, &mut coming.names);
        let said = self.door.enter(who, arrival);
        self.hears(who, said, now);
        self.expect_next(source);
    }

    fn hears(&mut self, who: usize, said: Said, now: Timestamp) {
        let client = &self.clients[who];
        match said {
            Said::Refused(_) => {}
            Said::Run => self.agenda.set(now + client.hold, Event::Finish(who)),
            Said::Wait(deadline) => {
                self.agenda.set(deadline, Event::Deadline(who));
                if self.traffic.abandonment == Abandonment::Noticed {
                    self.agenda.set(client.came + self.traffic.patience, Event::Leave(who));
                }
            }
        }
    }

    fn finishes(&mut self, who: usize, now: Timestamp) {
        self.door.finish(who);
        let client = &self.clients[who];
        let latency = now.since(client.came);
        let is_useful = latency <= self.traffic.patience;
        let came_counted = self.counts(client.came);
        let is_counted = self.counts(now);
        let tally = &mut self.sources[client.source].tally;
        tally.succeeded += u64::from(is_useful && came_counted);
        if is_counted {
            tally.useful += u64::from(is_useful);
            tally.latencies.push(latency);
            tally.held += client.hold;
        }
    }

    fn expect_next(&mut self, source: usize) {
        if let Some(at) = self.sources[source].arrivals.next() {
            self.agenda.set(at, Event::Come(source));
        }
    }

    fn counts(&self, at: Timestamp) -> bool {
        (self.from..self.until).contains(&at)
    }
}
