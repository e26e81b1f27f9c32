//! The line of the room, which its model is told about, and the line of the other site.

use std::{collections::BTreeMap, time::Duration};

use proptest::test_runner::TestCaseError;
use waiting_room_core::{RoomRules, Store, Ticket, Timestamp, Verdict, VisitorId};

use super::{OTHERS, SITE_OF_LINE, Side, World, disagree};
use crate::{escrow::LineFront, model::Admission, site::tests::account::InLine};

/// The maximum number of visitors in a line, so that all of them are in the front. A ledger knows
/// nothing else about a line.
const LONGEST: usize = LineFront::MAX_BUCKETS;
/// Visitors check in at least every five seconds, so that places can lapse within a world.
const REFRESH: Duration = Duration::from_secs(5);
const RETENTION: Duration = Duration::from_secs(12);
/// The stand-ins for visitors ahead of another one have greater ids.
const AHEAD: u128 = 1 << 96;

/// The visitors in line of both sites.
#[derive(Default)]
pub(super) struct Lines {
    /// The visitors with a ticket, who may be present or away.
    tickets: BTreeMap<VisitorId, Ticket>,
    /// The present visitors, in order.
    present: Vec<(Timestamp, VisitorId)>,
    /// The first present visitor, if it is held at the door.
    pub(super) at_door: Option<VisitorId>,
    /// The arrivals of the visitors who wait at the other site, in order.
    other: Vec<Timestamp>,
}

impl Lines {
    /// The rules of a room with a line.
    pub(super) fn rules(rules: RoomRules) -> RoomRules {
        rules.refresh_interval(REFRESH).place_retention(RETENTION)
    }

    /// Takes the ticket of a visitor who is about to enter from the door.
    pub(super) fn take_ticket(&mut self, visitor: VisitorId) -> Option<Ticket> {
        self.at_door.take_if(|known| *known == visitor).and_then(|_| self.tickets.remove(&visitor))
    }

    /// The present visitors ahead of one who arrived at this time.
    fn ahead(&self, arrived: Timestamp, visitor: VisitorId) -> usize {
        self.present.iter().filter(|other| **other < (arrived, visitor)).count()
    }
}

fn front(arrivals: impl Iterator<Item = Timestamp>) -> LineFront {
    let mut front = LineFront::new();
    arrivals.for_each(|arrived| front.add(arrived, 1));
    front
}

impl Side {
    /// Whether the model has a slot for a visitor with `ahead` others ahead, and a slot for each of
    /// these.
    fn has_slot_behind(&self, ahead: usize, now: Timestamp) -> bool {
        let mut model = self.model.clone();
        (0..=ahead as u128).all(|number| {
            let visitor = VisitorId::new(AHEAD + number);
            matches!(model.admit_by(visitor, now, now), Admission::Admit(_))
        })
    }

    fn tell_other_of_line(&mut self, lines: &Lines, now: Timestamp) {
        self.other.set_line(front(lines.other.iter().copied()), now);
        self.tick_other(now);
    }
}

impl World {
    pub(super) async fn run_in_line(&mut self, command: &InLine) -> Result<(), TestCaseError> {
        let now = self.now;
        match *command {
            InLine::CheckIn(index) => {
                let tickets = self.lines.tickets.values();
                let due: Vec<_> =
                    tickets.filter(|ticket| ticket.next_check_in <= now).copied().collect();
                if !due.is_empty() {
                    self.check_in(due[index % due.len()]).await?;
                }
            }
            InLine::Leave(index) if !self.lines.tickets.is_empty() => {
                let index = index % self.lines.tickets.len();
                let visitor = *self.lines.tickets.keys().nth(index).unwrap();
                self.lines.tickets.remove(&visitor);
                self.room.leave(visitor).await.unwrap();
            }
            InLine::Leave(_) => {}
            InLine::ServeOther => self.serve_other(),
            InLine::JoinOther(seconds) if self.lines.other.len() < LONGEST => {
                self.sides[SITE_OF_LINE].other.arrived();
                self.lines.other.push(now.before(Duration::from_secs(seconds)));
                self.lines.other.sort_unstable();
                self.sides[SITE_OF_LINE].tell_other_of_line(&self.lines, now);
            }
            InLine::JoinOther(_) => {}
        }
        Ok(())
    }

    /// A visitor comes to the room, and waits in its line if there is no slot.
    pub(super) async fn come(&mut self) -> Result<(), TestCaseError> {
        if self.lines.tickets.len() >= LONGEST {
            return Ok(());
        }
        let visitor = self.visitor();
        self.arrivals += 1;
        self.sides[SITE_OF_LINE].model.arrived();
        let ahead = self.lines.present.len();
        let verdict = self.room.enter(visitor).await.unwrap();
        self.note(visitor, None, ahead, verdict)
    }

    /// The first visitor in line checks in, and is held at the door if there is no slot. No other
    /// visitor is held, because a ledger that gets a slot admits a visitor who is held, no matter
    /// who is ahead.
    pub(super) async fn wait_at_door(&mut self) -> Result<(), TestCaseError> {
        let now = self.now;
        let Some(&(since, visitor)) = self.lines.present.first() else { return Ok(()) };
        let ticket = self.lines.tickets.get(&visitor).copied();
        let Some(ticket) = ticket.filter(|ticket| ticket.next_check_in <= now) else {
            return Ok(());
        };
        self.check_in(ticket).await?;
        if !self.lines.tickets.contains_key(&visitor) {
            return Ok(());
        }
        let model = &mut self.sides[SITE_OF_LINE].model;
        match model.admit_from_line(visitor, since, Timestamp::MAX, now) {
            Admission::Borrow { request, .. } => {
                self.lines.at_door = Some(visitor);
                match request {
                    Some(request) => self.send(SITE_OF_LINE, request).await,
                    None => Ok(()),
                }
            }
            other => Err(disagree(format!("{other:?} at the door"))),
        }
    }

    /// A visitor shows its ticket. A ticket that has lapsed is lost.
    async fn check_in(&mut self, ticket: Ticket) -> Result<(), TestCaseError> {
        let Ticket { id, first_seen, last_check_in, placed, .. } = ticket;
        let lasts = if placed { RETENTION } else { REFRESH };
        if last_check_in + lasts <= self.now {
            self.lines.tickets.remove(&id);
            return Ok(());
        }
        let ahead = self.lines.ahead(first_seen, id);
        let verdict = self.room.check_in(ticket).await.unwrap();
        self.note(id, Some(first_seen), ahead, verdict)
    }

    /// Compares a verdict with the model. A visitor has been in line since it arrived, or not at
    /// all.
    fn note(
        &mut self,
        visitor: VisitorId,
        since: Option<Timestamp>,
        ahead: usize,
        verdict: Verdict,
    ) -> Result<(), TestCaseError> {
        let now = self.now;
        let side = &mut self.sides[SITE_OF_LINE];
        let is_admitted = side.has_slot_behind(ahead, now);
        match verdict {
            Verdict::Admit { .. } if is_admitted => {
                if let Some(since) = since {
                    self.seen.later += 1;
                    side.model.admit_from_line(visitor, since, now, now);
                } else {
                    self.seen.at_once += 1;
                    side.model.admit_by(visitor, now, now);
                }
                self.lines.tickets.remove(&visitor);
                self.begun.push(visitor);
            }
            Verdict::Wait { ticket, .. } if !is_admitted => {
                self.lines.tickets.insert(visitor, ticket);
            }
            other => {
                return Err(disagree(format!(
                    "{other:?} behind {ahead}, {is_admitted} in the model"
                )));
            }
        }
        Ok(())
    }

    /// The visitors at the front of the other site's line take its slots.
    fn serve_other(&mut self) {
        let now = self.now;
        while let Some(&since) = self.lines.other.first() {
            let visitor = VisitorId::new(OTHERS + self.visitor().bits());
            let side = &mut self.sides[SITE_OF_LINE];
            let admission = side.other.admit_from_line(visitor, since, now, now);
            if !matches!(admission, Admission::Admit(_)) {
                return;
            }
            self.lines.other.remove(0);
            side.tell_other_of_line(&self.lines, now);
        }
    }

    /// Tells the model about the room's line, as it is on the server.
    pub(super) async fn tell_of_line(&mut self) {
        let mut range = redis::cmd("ZRANGE");
        range.arg(format!("{{{}:shop}}:present", self.prefix)).arg(0).arg(-1).arg("WITHSCORES");
        let present: Vec<(Vec<u8>, u64)> = range.query_async(&mut self.server).await.unwrap();
        let visitor = |id: Vec<u8>| VisitorId::new(u128::from_be_bytes(id.try_into().unwrap()));
        let present = present
            .into_iter()
            .map(|(id, rank)| (Timestamp::ZERO + Duration::from_micros(rank), visitor(id)));
        self.lines.present = present.collect();
        let front = front(self.lines.present.iter().map(|(arrived, _)| *arrived));
        let model = &mut self.sides[SITE_OF_LINE].model;
        model.set_line(front, self.now);
        let first = self.lines.present.first().map(|(_, visitor)| *visitor);
        if let Some(visitor) = self.lines.at_door.take_if(|known| Some(*known) != first) {
            model.withdraw(visitor, self.now);
        }
    }
}
