//! The queue of a gate, under its lock: arrivals, turns, and waits that end without a permit.

use super::{
    arrival::{Arrival, GateRefused, RefusedBecause},
    counter::Counts,
    gate::State,
    locked::Locked,
    waiters::{Grant, Id, Stage, Waiter},
};
use crate::Timestamp;

/// What becomes of somebody who comes.
pub(super) enum Entered {
    Granted(Grant),
    /// Under this number, until then.
    Queued(Id, Timestamp),
    Refused(GateRefused),
}

impl Locked<'_> {
    /// Somebody comes who cannot run at once, or could not a moment ago.
    pub(super) fn enter(&mut self, arrival: &Arrival) -> Entered {
        let lane = self.state.line.lane(arrival.class, arrival.tenant);
        let (deadline, on_deadline) = self.deadline(arrival);
        let is_hopeless = self.is_hopeless(lane, deadline);
        let most = self.shared.rules.queue;
        let has_its_turn = arrival.is_inside && self.state.serves_those_inside;
        let (queued, now) = (self.state.queued, self.now);
        // One look at the numbers decides, since they may change until then.
        let entered = self.shared.counter.change(|counts| {
            Some(if counts.is_draining && !has_its_turn {
                Err(RefusedBecause::Drained)
            } else if !counts.has_queue && counts.has_room() {
                Ok(Some(Grant { at: now, in_flight: counts.enter() }))
            } else if is_hopeless {
                Err(RefusedBecause::Shed)
            } else if queued < most {
                counts.has_queue = true;
                Ok(None)
            } else {
                Err(RefusedBecause::Full)
            })
        });
        match entered {
            Some(Ok(Some(grant))) => return Entered::Granted(grant),
            Some(Ok(None)) => self.begin_to_wait(),
            Some(Err(RefusedBecause::Full)) if self.evict_for(lane) => {}
            Some(Err(because)) => return Entered::Refused(self.refused(because)),
            None => unreachable!("each look decides"),
        }
        self.queue(arrival.class, lane, (deadline, on_deadline))
    }

    /// One who ran since then leaves, which concerns somebody else.
    pub(super) fn leave(&mut self, given_at: Timestamp) {
        let counts = self.counts();
        if self.state.queued > 0 {
            self.state.rate.served(self.now);
            self.state.typical_hold.ran(self.now.since(given_at));
        } else if self.shared.rules.queue == 0 && !counts.has_room() {
            self.state.rate.ran(self.now.since(given_at), counts.in_flight);
        }
        // It goes to the next as it is, unless the limit was lowered meanwhile.
        let heir = if counts.in_flight <= counts.limit { self.next() } else { None };
        if let Some(id) = heir {
            return self.give(id, counts.in_flight);
        }
        self.change(|counts| counts.in_flight -= 1);
        self.grant();
    }

    /// Gives permits to those who wait, as far as there are any.
    pub(super) fn grant(&mut self) {
        while self.counts().has_room() {
            let Some(id) = self.next() else { return };
            let in_flight = self.change(Counts::enter);
            self.give(id, in_flight);
        }
    }

    /// Somebody waits no longer, if it still does; says what became of it.
    pub(super) fn time_out(&mut self, id: Id) -> Waiter {
        if self.leaves_line(id) {
            let refused = self.refused(self.state.waiters[id].on_deadline);
            self.state.waiters[id].stage = Stage::Refused(refused);
        }
        self.state.waiters.remove(id)
    }

    /// Somebody went away; says what had become of it.
    pub(super) fn cancel(&mut self, id: Id) -> Waiter {
        if self.leaves_line(id) {
            self.state.outcomes.cancelled += 1;
        }
        self.state.waiters.remove(id)
    }

    /// Refuses all who wait.
    pub(super) fn refuse_all(&mut self) {
        let now = self.now;
        while let State { line, waiters, .. } = &mut *self.state
            && let Some(id) = line.next(now, false, &|_| 0, waiters)
        {
            self.refuse(id, RefusedBecause::Drained);
        }
    }

    /// Somebody comes into the queue, perhaps the first.
    fn begin_to_wait(&mut self) {
        if self.state.queued == 0 {
            self.state.last_empty = self.now;
            let idle = self.state.rate.resume(self.now);
            self.state.slots.relax(idle);
        }
    }

    /// Puts somebody in line.
    fn queue(&mut self, class: u8, lane: u64, deadline: (Timestamp, RefusedBecause)) -> Entered {
        let state = &mut *self.state;
        let id = state.waiters.insert(Waiter::new(lane, class, self.now, deadline));
        state.line.push(id, &mut state.waiters);
        state.queued += 1;
        state.outcomes.queued += 1;
        Entered::Queued(id, deadline.0)
    }

    /// Takes somebody out of the line, if it is there.
    fn leaves_line(&mut self, id: Id) -> bool {
        let State { line, waiters, rate, .. } = &mut *self.state;
        let is_waiting = waiters[id].is_waiting();
        if is_waiting {
            line.remove(id, waiters);
            rate.waited(self.now);
            self.left_line();
        }
        is_waiting
    }

    /// Takes out who is next. Whoever is found to be too late is refused.
    fn next(&mut self) -> Option<Id> {
        while self.state.queued > 0 {
            let (is_standing, shared) = (self.is_standing(), self.shared);
            let State { line, waiters, .. } = &mut *self.state;
            let next = line.next(self.now, is_standing, &|class| shared.running.of(class), waiters);
            let Some(id) = next else { unreachable!("as many are in line as are counted") };
            let Waiter { deadline, on_deadline, .. } = waiters[id];
            if self.now <= deadline {
                return Some(id);
            }
            self.refuse(id, on_deadline);
        }
        None
    }

    /// Somebody was taken out of the line, and nobody takes the place.
    fn left_line(&mut self) {
        self.state.queued -= 1;
        if self.state.queued == 0 {
            self.change(|counts| counts.has_queue = false);
        }
    }

    /// Gives a permit, with which so many run, to somebody who was taken out of the line.
    fn give(&mut self, id: Id, in_flight: u32) {
        // The permit was counted before, or somebody would take it who finds no queue.
        self.left_line();
        self.shared.running.begins(self.state.waiters[id].class);
        self.state.outcomes.granted += 1;
        self.tell(id, Stage::Granted(Grant { at: self.now, in_flight }));
    }

    /// Has somebody make room in the queue, if the discipline knows whom.
    fn evict_for(&mut self, lane: u64) -> bool {
        let State { line, waiters, .. } = &mut *self.state;
        let Some(evicted) = line.evict_for(lane, waiters) else { return false };
        let refused = self.refused(RefusedBecause::Evicted);
        // Somebody waits at any instant: another takes the place.
        self.state.queued -= 1;
        self.tell(evicted, Stage::Refused(refused));
        true
    }

    /// Refuses somebody who was taken out of the line.
    fn refuse(&mut self, id: Id, because: RefusedBecause) {
        self.left_line();
        let refused = self.refused(because);
        self.tell(id, Stage::Refused(refused));
    }
}
