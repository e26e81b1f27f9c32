//! The counters of the article, as the rooms of real sites keep them: a room counts its visitors by the
//! minute, and one of its nodes draws tickets of Anywhere's counter for all who are about to enter.

mod room;
#[cfg(test)]
mod tests;

use std::{collections::BTreeMap, time::Duration};

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use rustc_hash::FxHashMap;
use waiting_room_core::{ConfigError, RoomRules};
use waiting_room_ledger::{
    EscrowRules, SiteId, Term,
    model::{Census, GlobalLedger, Minute, RulesDigest, SlotRules, Tally, ToSite},
};

use self::room::{Room, Standing};
use super::{
    escrow::DOOR_WAIT,
    question::{Asker, Outcome, Say, Trips},
    slots,
};
use crate::sites::{
    clock::{SECOND, timestamp},
    crowd::Skew,
    scenario::Scenario,
};

/// The rooms of all sites, and the census, which has Anywhere's counter. The census and the split of the
/// slots are the code of production; the rooms are written after the scripts of a real one.
#[derive(Debug)]
pub(super) struct CountingDoor {
    rules: SlotRules,
    sites: Vec<Site>,
    census: Census,
    ledger: GlobalLedger,
    digest: RulesDigest,
    /// The sites of the active visitors.
    homes: FxHashMap<u32, u16>,
    /// The next events, by time and then in the order in which it was decided.
    agenda: BTreeMap<(u32, u64), (u16, Event)>,
    decided: u64,
    rtt_ms: [u32; 2],
    rng: Pcg64Mcg,
    outcomes: Vec<Outcome>,
    trips: Trips,
}

#[derive(Debug)]
struct Site {
    room: Room,
    by_node: Skew,
    /// The number of the last report of each node. Its next one is planned then.
    reports: Vec<u32>,
    sent: Option<Sent>,
    is_cut: bool,
    is_dead: bool,
}

/// The last message of a site to the census.
#[derive(Clone, Copy, Debug)]
struct Sent {
    at: u32,
    /// The tickets that it asked for, and their minute.
    wanted: (Minute, u32),
    is_answered: bool,
}

#[derive(Clone, Debug)]
enum Event {
    /// A visitor who still stands at the door has stood there for long enough.
    Close { who: u32 },
    /// A message of the census reaches the site.
    Down(ToSite),
    /// A node of the site reports to the room, unless it has reported since.
    Report { node: usize, number: u32 },
    /// A node that has decided about a visitor goes on with the next one.
    Serve { node: usize },
    /// A message of the site reaches the census.
    Up(Tally),
}

impl CountingDoor {
    pub(super) fn new(scenario: &Scenario, seed: u64) -> Result<Self, ConfigError> {
        let rules = slots::limits(scenario).validate()?;
        let limits = scenario.limits;
        let rate = RoomRules::new("shop", limits.total_active_users)
            .session_duration(Duration::from_secs(limits.session.into()))
            .new_users_per_minute(limits.new_users_per_minute)
            .timing()
            .configured_rate();
        let length = scenario.length_ms();
        let site = |(number, nodes): (u16, &u16)| Site {
            room: Room::new(SiteId::new(number), rate, (*nodes).into(), length),
            by_node: Skew::zipf((*nodes).into(), scenario.sites.node_skew),
            reports: vec![0; (*nodes).into()],
            sent: None,
            is_cut: false,
            is_dead: false,
        };
        let sites: Vec<_> = (0..).zip(&scenario.sites.nodes).map(site).collect();
        let kept = Duration::from_millis(scenario.pass_ms().into());
        let ids = sites.iter().map(|site| site.room.site);
        let limit = limits.total_active_users;
        let escrow = EscrowRules::new().session(kept);
        let ledger = GlobalLedger::new(limit, ids, Term::new(1), escrow)?;
        let mut door = Self {
            rules,
            census: Census::new(&escrow, timestamp(0)),
            ledger,
            digest: RulesDigest::of(&escrow),
            homes: FxHashMap::default(),
            sites,
            agenda: BTreeMap::new(),
            decided: 0,
            rtt_ms: scenario.network.wan_rtt_ms,
            rng: Pcg64Mcg::seed_from_u64(seed),
            outcomes: Vec::new(),
            trips: Trips::default(),
        };
        door.begin();
        for (site, nodes) in (0..).zip(&scenario.sites.nodes) {
            for node in 0..(*nodes).into() {
                door.plan(0, site, Event::Report { node, number: 0 });
            }
        }
        Ok(door)
    }

    /// Gives all sites a first snapshot of an empty world, which there is once all have reported.
    fn begin(&mut self) {
        for site in (0..self.sites.len()).chain(0..self.sites.len()) {
            let room = &mut self.sites[site].room;
            let tally = room.tally(self.digest, timestamp(0));
            for message in self.census.receive(&tally, &self.ledger, timestamp(0)) {
                if let ToSite::World(world) = message {
                    room.learn(&world);
                }
            }
        }
    }

    /// Requests a slot for a visitor, at a node that is chosen by `place`, from 0 to 1.
    pub(super) fn arrive(&mut self, asker: &Asker, place: f64) -> Say {
        let &Asker { who, site: number, now, arrived, is_new, .. } = asker;
        let site = &mut self.sites[usize::from(number)];
        site.room.turn(&self.rules, now);
        let node = site.by_node.choose(place);
        let until = now + DOOR_WAIT;
        let visitor = Standing { who, arrived, is_new, node, until };
        if site.room.admits(&visitor) {
            self.homes.insert(who, number);
            return Say::Admit;
        }
        if !site.room.may_stand(&visitor) {
            return Say::Queue;
        }
        site.room.stand(visitor);
        self.trips.wan += 1;
        self.plan(until, number, Event::Close { who });
        // The visitor knocks, so its node reports at once.
        self.report(number, node, now);
        Say::Wait
    }

    /// A visitor who has arrived at this time is in the line of a site from now on.
    pub(super) fn joins_line(&mut self, site: u16, arrived: u32) {
        self.sites[usize::from(site)].room.joins_line(arrived);
    }

    /// Such a visitor has left the line.
    pub(super) fn leaves_line(&mut self, site: u16, arrived: u32) {
        self.sites[usize::from(site)].room.leaves_line(arrived);
    }

    /// Ends a session.
    pub(super) fn lapse(&mut self, who: u32) {
        if let Some(home) = self.homes.remove(&who) {
            self.sites[usize::from(home)].room.active -= 1;
        }
    }

    /// The next time at which something happens.
    pub(super) fn next_wake(&self) -> Option<u32> {
        self.agenda.keys().next().map(|(at, _)| *at)
    }

    /// Lets happen what is due, until it decides about a visitor. The line is then another one, so the
    /// rest waits for the next call.
    pub(super) fn wake(&mut self, now: u32) -> Vec<Outcome> {
        while self.outcomes.is_empty()
            && let Some(next) = self.agenda.first_entry().filter(|next| next.key().0 <= now)
        {
            let (number, event) = next.remove();
            if !self.sites[usize::from(number)].is_dead {
                self.happen(number, event, now);
            }
        }
        std::mem::take(&mut self.outcomes)
    }

    pub(super) const fn trips(&self) -> Trips {
        self.trips
    }

    /// Disconnects a site from the census: no message arrives.
    pub(super) fn cut(&mut self, site: usize) {
        self.sites[site].is_cut = true;
    }

    /// Reconnects a site.
    pub(super) fn join(&mut self, site: usize) {
        self.sites[site].is_cut = false;
    }

    /// Kills a site. Returns the visitors who stood at its door.
    pub(super) fn kill(&mut self, site: usize) -> Vec<u32> {
        self.sites[site].is_dead = true;
        self.sites[site].room.close()
    }

    fn happen(&mut self, number: u16, event: Event, now: u32) {
        let site = &mut self.sites[usize::from(number)];
        match event {
            Event::Close { who } => {
                if site.room.closes_on(who, now) {
                    self.outcomes.push(Outcome { who, say: Say::Queue });
                }
            }
            Event::Up(tally) if !site.is_cut => {
                for message in self.census.receive(&tally, &self.ledger, timestamp(now)) {
                    let at = now + self.one_way();
                    self.plan(at, number, Event::Down(message));
                }
            }
            Event::Report { node, number: report } if site.reports[node] == report => {
                self.report(number, node, now);
            }
            Event::Serve { node } => self.serve(number, node, now),
            Event::Down(ToSite::World(world)) if !site.is_cut => {
                site.room.learn(&world);
                self.report(number, SPEAKER, now);
            }
            Event::Down(ToSite::Tickets(tickets)) if !site.is_cut => {
                site.sent.iter_mut().for_each(|sent| sent.is_answered = true);
                site.room.hear(&tickets);
                self.rest(number, SPEAKER, now);
                self.serve(number, SPEAKER, now);
            }
            Event::Down(_) | Event::Report { .. } | Event::Up(_) => {}
        }
    }

    /// A node reports to the room of its site. If it speaks for the site, it draws tickets.
    fn report(&mut self, number: u16, node: usize, now: u32) {
        let site = &mut self.sites[usize::from(number)];
        site.room.turn(&self.rules, now);
        site.room.report(node);
        if node == SPEAKER {
            self.speak(number, now);
        }
        self.rest(number, node, now);
        self.serve(number, node, now);
    }

    /// A node rests until its next report.
    fn rest(&mut self, number: u16, node: usize, now: u32) {
        let site = &mut self.sites[usize::from(number)];
        site.reports[node] += 1;
        let report = Event::Report { node, number: site.reports[node] };
        let pause = match (node, site.room.has_visitors_at(node)) {
            (_, true) => LOOK,
            (SPEAKER, false) => HASTE,
            (_, false) => HEARTBEAT,
        };
        self.plan(now + pause, number, report);
    }

    /// Sends what the room has counted and the tickets that it wants, if it is time.
    fn speak(&mut self, number: u16, now: u32) {
        let site = &mut self.sites[usize::from(number)];
        let tally = site.room.tally(self.digest, timestamp(now));
        let minute = tally.draw.minute;
        let total = tally.draw.total;
        if !site.is_due(total, now) {
            return;
        }
        let had = site.sent.filter(|sent| sent.wanted.0 == minute).map_or(0, |sent| sent.wanted.1);
        site.sent = Some(Sent { at: now, wanted: (minute, total), is_answered: false });
        if !site.is_cut {
            self.trips.asking += u64::from(total > had);
            let at = now + self.one_way();
            self.plan(at, number, Event::Up(tally));
        }
    }

    /// Decides about the first visitor at a node of whom the room knows enough by now. If there are more,
    /// they follow.
    fn serve(&mut self, number: u16, node: usize, now: u32) {
        let site = &mut self.sites[usize::from(number)];
        let Some((who, say)) = site.room.serve(node) else { return };
        if say == Say::Admit {
            self.homes.insert(who, number);
        }
        self.outcomes.push(Outcome { who, say });
        self.plan(now, number, Event::Serve { node });
    }

    fn plan(&mut self, at: u32, site: u16, event: Event) {
        self.decided += 1;
        self.agenda.insert((at, self.decided), (site, event));
    }

    fn one_way(&mut self) -> u32 {
        let [least, most] = self.rtt_ms;
        self.rng.random_range(least..=most) / 2
    }
}

impl Site {
    /// Returns whether a message has to be sent, as `Channel` decides it at a real site.
    fn is_due(&self, total: u32, now: u32) -> bool {
        let Some(sent) = self.sent else { return true };
        let elapsed = now - sent.at;
        let wants_tickets = total > self.room.tickets();
        elapsed >= HEARTBEAT || wants_tickets && (sent.is_answered || elapsed >= HASTE)
    }
}

/// The node that speaks for its site.
const SPEAKER: usize = 0;

/// The intervals of reports in milliseconds, with the default rules: those of a node that does not speak for
/// the site, of one that does, and of one whose door visitors stand at.
const HEARTBEAT: u32 = SECOND;
const HASTE: u32 = HEARTBEAT / 5;
const LOOK: u32 = 100;
