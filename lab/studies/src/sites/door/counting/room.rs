//! The room of a site that counts.

use waiting_room_core::Timestamp;
use waiting_room_ledger::{
    Incarnation, SiteId, Term,
    model::{Draw, Minute, RulesDigest, SlotRules, Slots, Tally, Tickets, World, WorldSnapshot},
};

use super::Say;
use crate::sites::{
    clock::{SECOND, timestamp},
    door::escrow::DOOR_WAIT,
    line::Line,
};

/// The counts of the room of a site in this minute, and its visitors.
#[derive(Debug)]
pub(super) struct Room {
    pub(super) site: SiteId,
    world: Option<WorldSnapshot>,
    pub(super) active: u32,
    minute: Minute,
    /// The slots of this minute: those of the site, and Anywhere's.
    slots: u32,
    anywhere: u32,
    knows_world: bool,
    /// The visitors admitted in the minute before, and in this one.
    taken_before: u32,
    taken: u32,
    /// The tickets of Anywhere's that the site has.
    tickets: u32,
    is_dry: bool,
    /// The visitors in line, by intervals of this length in milliseconds.
    line: Line,
    interval: u32,
    /// The visitors at the doors of the nodes.
    standing: Vec<Standing>,
    /// The new visitors at the door of each node, as last reported.
    at_doors: Vec<u32>,
    /// The most visitors in line for whom tickets are drawn, and the most that stand at the door.
    drawn_for: u32,
    front: u32,
}

/// A visitor at the door of a node.
#[derive(Clone, Copy, Debug)]
pub(super) struct Standing {
    pub(super) who: u32,
    pub(super) arrived: u32,
    /// Whether the visitor has no place in line.
    pub(super) is_new: bool,
    pub(super) node: usize,
    /// Until when the visitor stands there.
    pub(super) until: u32,
}

impl Room {
    /// A room that admits this number of visitors per second if all slots of the world are in use, for a
    /// run of this length in milliseconds.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
    pub(super) fn new(site: SiteId, rate: f64, nodes: usize, length: u32) -> Self {
        let interval = length.div_ceil(INTERVALS).max(INTERVAL);
        Self {
            site,
            world: None,
            active: 0,
            minute: Minute::new(0),
            slots: 0,
            anywhere: 0,
            knows_world: false,
            taken_before: 0,
            taken: 0,
            tickets: 0,
            is_dry: false,
            line: Line::new(length / interval),
            interval,
            standing: Vec::new(),
            at_doors: vec![0; nodes],
            drawn_for: ((rate * SOON_S).ceil() as u32).max(FEW),
            front: ((rate * f64::from(DOOR_WAIT) / f64::from(SECOND)) as u32).max(FRONT),
        }
    }

    /// Learns a snapshot of the world, unless a newer one is known.
    pub(super) fn learn(&mut self, world: &World) {
        if self.version() < world.version {
            self.world = Some(world.snapshot());
        }
    }

    /// Begins to count again if a minute has begun. Its slots are those of the newest snapshot.
    pub(super) fn turn(&mut self, rules: &SlotRules, now: u32) {
        let now = timestamp(now);
        let is_over = self.minute != Minute::of(now);
        if is_over {
            self.taken_before = self.taken;
            self.minute = Minute::of(now);
            self.taken = 0;
            self.tickets = 0;
            self.is_dry = false;
        }
        if is_over || !self.knows_world {
            self.split(rules, now);
        }
    }

    fn split(&mut self, rules: &SlotRules, now: Timestamp) {
        let (slots, knows_world) = Slots::known(rules, self.world.as_ref(), self.minute, now);
        self.slots = slots.site(self.site);
        self.anywhere = slots.anywhere();
        self.knows_world = knows_world;
    }

    /// A visitor who has arrived at this time is in the line from now on.
    pub(super) fn joins_line(&mut self, arrived: u32) {
        self.line.join(arrived / self.interval);
    }

    /// Such a visitor has left the line.
    pub(super) fn leaves_line(&mut self, arrived: u32) {
        self.line.leave(arrived / self.interval);
    }

    /// Admits a visitor if there is a slot beyond those of the visitors who came before. Returns whether it
    /// does.
    pub(super) fn admits(&mut self, visitor: &Standing) -> bool {
        let is_admitted = self.free() > self.ahead_of(visitor);
        self.taken += u32::from(is_admitted);
        self.active += u32::from(is_admitted);
        is_admitted
    }

    /// Returns whether a visitor without a slot may get one in a moment.
    pub(super) fn may_stand(&self, visitor: &Standing) -> bool {
        !self.has_run_dry() && self.ahead_of(visitor) < self.front
    }

    /// A visitor stands at the door from now on.
    pub(super) fn stand(&mut self, visitor: Standing) {
        self.standing.push(visitor);
    }

    /// A visitor leaves the door if it has stood there for long enough. Returns whether it does.
    pub(super) fn closes_on(&mut self, who: u32, now: u32) -> bool {
        let found =
            self.standing.iter().position(|visitor| visitor.who == who && visitor.until <= now);
        found.map(|at| self.standing.remove(at)).is_some()
    }

    /// No visitor stands at the door any more. Returns those who did.
    pub(super) fn close(&mut self) -> Vec<u32> {
        self.standing.drain(..).map(|visitor| visitor.who).collect()
    }

    /// Decides about the first visitor at a node who has a slot, or cannot get one in this minute.
    pub(super) fn serve(&mut self, node: usize) -> Option<(u32, Say)> {
        let is_dry = self.has_run_dry();
        for at in 0..self.standing.len() {
            let visitor = self.standing[at];
            if visitor.node != node {
                continue;
            }
            let is_admitted = self.admits(&visitor);
            if is_admitted || is_dry {
                self.standing.remove(at);
                return Some((visitor.who, if is_admitted { Say::Admit } else { Say::Queue }));
            }
        }
        None
    }

    /// A node tells how many new visitors stand at its door.
    pub(super) fn report(&mut self, node: usize) {
        let new = self.standing.iter().filter(|visitor| visitor.node == node && visitor.is_new);
        self.at_doors[node] = u32::try_from(new.count()).unwrap_or(u32::MAX);
    }

    pub(super) fn has_visitors_at(&self, node: usize) -> bool {
        self.standing.iter().any(|visitor| visitor.node == node)
    }

    /// The report of the site, with the tickets that it wants: one for each visitor who is about to enter
    /// and finds no slot.
    pub(super) fn tally(&self, rules: RulesDigest, now: Timestamp) -> Tally {
        let in_line = self.line.waiting().min(self.drawn_for);
        let about_to_enter = self.at_doors.iter().sum::<u32>() + in_line;
        let more = about_to_enter.saturating_sub(self.free()).min(self.anywhere);
        Tally {
            site: self.site,
            incarnation: Incarnation::new(1),
            term: Term::new(1),
            sent_at: now,
            rules,
            knows: self.version(),
            active: self.active,
            minute: self.minute.previous(),
            admitted: self.taken_before,
            draw: Draw {
                minute: self.minute,
                total: self.tickets + if self.is_dry { 0 } else { more },
                slots: self.anywhere,
                knows_world: self.knows_world,
            },
        }
    }

    pub(super) const fn tickets(&self) -> u32 {
        self.tickets
    }

    /// Tickets arrive.
    pub(super) fn hear(&mut self, tickets: &Tickets) {
        if tickets.minute == self.minute {
            self.tickets = self.tickets.max(tickets.total);
            self.is_dry |= tickets.is_dry;
        }
    }

    fn version(&self) -> u64 {
        self.world.as_ref().map_or(0, WorldSnapshot::version)
    }

    fn free(&self) -> u32 {
        (self.slots + self.tickets).saturating_sub(self.taken)
    }

    fn ahead_of(&self, visitor: &Standing) -> u32 {
        self.line.ahead(visitor.arrived / self.interval)
    }

    /// Returns whether Anywhere's counter has nothing left for this site in this minute.
    const fn has_run_dry(&self) -> bool {
        self.is_dry || self.knows_world && self.anywhere == 0
    }
}

/// The line has the order of visitors who arrived in different intervals of this length, in milliseconds, as
/// a room admits its visitors one by one. In long runs, intervals are longer, so that there are not more than
/// this.
const INTERVAL: u32 = 10;
const INTERVALS: u32 = 1 << 16;

/// The seconds whose admissions are expected to be visitors who are about to enter, and the least number of
/// those, as in the scripts of a real room.
const SOON_S: f64 = 3.0;
const FEW: u32 = 8;

/// The least number of visitors at the front of the line that stand at the door, as at a real site.
const FRONT: u32 = 16;
