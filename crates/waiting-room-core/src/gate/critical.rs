//! What happens to a gate under its lock.
//!
//! Nobody is woken and nothing foreign is called here: whom a change concerns is gathered, to be
//! woken when the lock is released.

use std::{mem, time::Duration};

use super::{
    arrival::Arrival,
    counter::Counts,
    gate::{Shared, State},
    permit::Grant,
    refused::{GateRefused, RefusedBecause},
    rules::GateRules,
    waiter::{Stage, Waiter},
    waiters::Id,
    wakes::Wakes,
};
use crate::Timestamp;

/// A gate whose lock is held, at one instant.
pub(super) struct Critical<'a> {
    pub(super) shared: &'a Shared,
    pub(super) state: &'a mut State,
    pub(super) now: Timestamp,
    wakes: &'a mut Wakes,
}

/// What becomes of somebody who comes.
pub(super) enum Entered {
    Granted(Grant),
    /// Under this number, until then.
    Queued(Id, Timestamp),
    Refused(GateRefused),
}

impl<'a> Critical<'a> {
    pub(super) const fn new(
        shared: &'a Shared,
        state: &'a mut State,
        now: Timestamp,
        wakes: &'a mut Wakes,
    ) -> Self {
        Self { shared, state, now, wakes }
    }

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

    /// Changes the numbers.
    pub(super) fn change<T>(&self, change: impl Fn(&mut Counts) -> T) -> T {
        let changed = self.shared.counter.change(|counts| Some(change(counts)));
        changed.unwrap_or_else(|| unreachable!("the closure never says no"))
    }

    /// What is to be done before the lock is released.
    pub(super) fn end(self) {
        let counts = self.counts();
        if counts.is_draining && counts.is_idle() {
            mem::take(&mut self.state.idle).into_values().for_each(|waker| self.wakes.add(waker));
        }
        self.invariants();
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

    /// Says to somebody who has waited what became of it.
    fn tell(&mut self, id: Id, stage: Stage) {
        let waiter = &mut self.state.waiters[id];
        debug_assert!(waiter.is_waiting());
        waiter.stage = stage;
        waiter.waker.take().into_iter().for_each(|waker| self.wakes.add(waker));
    }

    /// The refusal, with a time to come back where it is for want of capacity.
    fn refused(&mut self, because: RefusedBecause) -> GateRefused {
        self.count(because);
        let retry_after = match because {
            RefusedBecause::Drained | RefusedBecause::TimedOut => None,
            RefusedBecause::Evicted | RefusedBecause::Full | RefusedBecause::Shed => {
                Some(self.retry_after())
            }
        };
        GateRefused { because, retry_after }
    }

    /// When the next who is refused is to come back.
    pub(super) fn retry_after(&mut self) -> Duration {
        let queued = self.state.queued;
        let slots = &mut self.state.slots;
        match self.state.rate.per_second() {
            Some(rate) => slots.take(self.now, queued, rate),
            None => slots.soon(),
        }
    }

    fn count(&mut self, because: RefusedBecause) {
        let outcomes = &mut self.state.outcomes;
        *match because {
            RefusedBecause::Drained => &mut outcomes.drained,
            RefusedBecause::Evicted => &mut outcomes.evicted,
            RefusedBecause::Full => &mut outcomes.full,
            RefusedBecause::Shed => &mut outcomes.shed,
            RefusedBecause::TimedOut => &mut outcomes.timed_out,
        } += 1;
    }

    pub(super) fn counts(&self) -> Counts {
        self.shared.counter.counts()
    }

    /// Checked after every change, in debug builds.
    fn invariants(&self) {
        let counts = self.counts();
        let queued = self.state.queued;
        debug_assert_eq!(queued as usize, self.state.line.len());
        debug_assert_eq!(queued > 0, counts.has_queue);
        debug_assert!(queued <= self.shared.rules.queue.min(GateRules::MAX_QUEUE));
        debug_assert!(queued == 0 || !counts.has_room(), "somebody waits for nothing");
        let it = &self.state.outcomes;
        // Of those who were shed, drained or timed out, some did not wait before.
        let left = it.granted + it.cancelled + it.evicted + u64::from(queued);
        debug_assert!(left <= it.queued);
        debug_assert!(it.queued <= left + it.drained + it.shed + it.timed_out);
    }
}
