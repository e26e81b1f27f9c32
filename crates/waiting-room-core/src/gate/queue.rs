//! The operations on the queue of a gate: arrivals, grants, and waits that end without a permit.
//! All of these operations run under the gate's lock.
//!
//! ```text
//!             enter                   grant, leave
//!  arrival ──────────► in the line ──────────────────► granted
//!     │                     │
//!     │ drained, shed,      │ time_out, cancel, evicted, drained, or found too late
//!     ▼ full                ▼
//!  refused               refused, or gone
//! ```
//!
//! A request that finds a free permit and an empty queue usually does not reach this code, because
//! the fast path admits the request without the lock. While the lock is held, no other thread
//! changes the limit or the flags of the counter, but the number of running requests may change.
//! See [`counter`](super::counter).

use super::{
    arrival::{Arrival, GateRefused, RefusedBecause},
    counter::Counts,
    gate::State,
    locked::Locked,
    waiters::{Grant, Id, Stage, Waiter},
};
use crate::Timestamp;

/// The outcome of an arriving request's attempt to enter the gate.
pub(super) enum Entered {
    Granted(Grant),
    /// The request waits in the queue under this id, until this deadline at the latest.
    Queued(Id, Timestamp),
    Refused(GateRefused),
}

impl Locked<'_> {
    /// Admits, queues or refuses a request that the fast path did not admit. A permit may have
    /// become free in the meantime.
    ///
    /// The order of the checks is part of the contract. The draining flag is checked first. A
    /// request that can run immediately is never refused because of its deadline. A request that
    /// could not be served in time is refused even if there is space in the queue, and never evicts
    /// another request.
    pub(super) fn enter(&mut self, arrival: &Arrival) -> Entered {
        let lane = self.state.line.lane(arrival.class, arrival.tenant);
        let (deadline, on_deadline) = self.deadline(arrival);
        let is_hopeless = self.is_hopeless(lane, deadline);
        let most = self.shared.rules.queue;
        let has_its_turn = arrival.is_inside && self.state.serves_those_inside;
        let queued = self.state.queued;
        let now = self.now;
        // The decision is a single atomic change, because a running request may end at any moment
        // without taking the lock. A decision based on an earlier reading of the counter could
        // queue this request while a permit is free, and nothing would ever wake the request.
        // Everything else that the decision depends on changes only under the lock.
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
            // This request replaces the evicted request in the queue.
            Some(Err(RefusedBecause::Full)) if self.evict_for(lane) => {}
            Some(Err(because)) => return Entered::Refused(self.refused(because)),
            None => unreachable!("the closure always returns a value"),
        }
        self.queue(arrival.class, lane, (deadline, on_deadline))
    }

    /// Releases the permit of a request that has run since `given_at`. This method handles every
    /// release for which the counter alone is not enough.
    pub(super) fn leave(&mut self, given_at: Timestamp) {
        let counts = self.counts();
        // Releases that happen while no request is waiting show the demand rather than the capacity
        // of the service, so they are not measured. At a gate without a queue, releases are
        // measured while the gate is full.
        if self.state.queued > 0 {
            self.state.rate.served(self.now);
            self.state.typical_hold.ran(self.now.since(given_at));
        } else if self.shared.rules.queue == 0 && !counts.has_room() {
            self.state.rate.ran(self.now.since(given_at), counts.in_flight);
        }
        // The permit goes to the next waiter without the count being decremented and incremented
        // again, so no newcomer can take the permit in the meantime. While more requests are
        // running than a lowered limit allows, no waiter gets the permit.
        let heir = if counts.in_flight <= counts.limit { self.next() } else { None };
        if let Some(id) = heir {
            return self.give(id, counts.in_flight);
        }
        self.change(|counts| counts.in_flight -= 1);
        // If the count was above a lowered limit, other requests may have left without the lock
        // since the count was read. If their releases brought the count down to the limit, this
        // release frees a permit. That permit has to be granted to a waiter now, because there may
        // be no later release.
        self.grant();
    }

    /// Grants free permits to waiting requests until no permit is free or no request is waiting.
    pub(super) fn grant(&mut self) {
        while self.counts().has_room() {
            let Some(id) = self.next() else { return };
            let in_flight = self.change(Counts::enter);
            self.give(id, in_flight);
        }
    }

    /// Ends the wait of a request whose owner has stopped waiting, and returns the request's entry
    /// with its outcome.
    ///
    /// A request that has already been granted a permit keeps that permit, even if the permit was
    /// granted exactly at the deadline.
    pub(super) fn time_out(&mut self, id: Id) -> Waiter {
        if self.leaves_line(id) {
            let refused = self.refused(self.state.waiters[id].on_deadline);
            self.state.waiters[id].stage = Stage::Refused(refused);
        }
        self.state.waiters.remove(id)
    }

    /// Ends the wait of a request whose future was dropped, and returns the request's entry.
    ///
    /// If the request has already been granted a permit, the caller has to release that permit.
    pub(super) fn cancel(&mut self, id: Id) -> Waiter {
        if self.leaves_line(id) {
            self.state.outcomes.cancelled += 1;
        }
        self.state.waiters.remove(id)
    }

    /// Refuses all waiting requests because the gate is being drained.
    pub(super) fn refuse_all(&mut self) {
        let now = self.now;
        // All waiting requests are refused, so neither their order nor the number of running
        // requests matters.
        while let State { line, waiters, .. } = &mut *self.state
            && let Some(id) = line.next(now, false, &|_| 0, waiters)
        {
            self.refuse(id, RefusedBecause::Drained);
        }
    }

    /// Records that the queue is no longer empty if the arriving request is the first to wait.
    ///
    /// The service rate is measured from this time on. The time during which the queue was empty
    /// shortens the retry schedule, because the service had capacity that returning clients did not
    /// use.
    fn begin_to_wait(&mut self) {
        if self.state.queued == 0 {
            self.state.last_empty = self.now;
            let idle = self.state.rate.resume(self.now);
            self.state.slots.relax(idle);
        }
    }

    /// Adds a request to the line. The caller must already have made sure that the queue has space,
    /// and must have set the queue flag.
    fn queue(&mut self, class: u8, lane: u64, deadline: (Timestamp, RefusedBecause)) -> Entered {
        let state = &mut *self.state;
        let id = state.waiters.insert(Waiter::new(lane, class, self.now, deadline));
        state.line.push(id, &mut state.waiters);
        state.queued += 1;
        state.outcomes.queued += 1;
        Entered::Queued(id, deadline.0)
    }

    /// Removes a request from the line if the request is still waiting, and returns whether it was
    /// removed.
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

    /// Removes and returns the next request in line. Requests whose deadline has passed are refused
    /// along the way.
    ///
    /// A request may still be in the line after its deadline, because its owner may not have called
    /// `time_out` yet. A permit granted to such a request would be wasted, because its client has
    /// given up.
    ///
    /// The returned request is still counted in `queued` until the request is passed to
    /// [`give`](Self::give).
    fn next(&mut self) -> Option<Id> {
        while self.state.queued > 0 {
            let is_standing = self.is_standing();
            let shared = self.shared;
            let State { line, waiters, .. } = &mut *self.state;
            let next = line.next(self.now, is_standing, &|class| shared.running.of(class), waiters);
            let Some(id) = next else { unreachable!("the line contains `queued` requests") };
            let Waiter { deadline, on_deadline, .. } = waiters[id];
            if self.now <= deadline {
                return Some(id);
            }
            self.refuse(id, on_deadline);
        }
        None
    }

    /// Stops counting a request that has been removed from the line and is not replaced by another
    /// request.
    fn left_line(&mut self) {
        self.state.queued -= 1;
        if self.state.queued == 0 {
            self.change(|counts| counts.has_queue = false);
        }
    }

    /// Grants a permit to a request that has been removed from the line. `in_flight` is the number
    /// of running requests, including this request.
    fn give(&mut self, id: Id, in_flight: u32) {
        // The caller has already counted the permit. If the queue flag were cleared before the
        // permit was counted, a newcomer could find an empty queue and a free permit, and take the
        // permit that is meant for this request.
        self.left_line();
        self.shared.running.begins(self.state.waiters[id].class);
        self.state.outcomes.granted += 1;
        self.tell(id, Stage::Granted(Grant { at: self.now, in_flight }));
    }

    /// Evicts a waiting request in favour of a newcomer that would join `lane`, if the discipline
    /// allows it. Returns whether a request was evicted.
    fn evict_for(&mut self, lane: u64) -> bool {
        let State { line, waiters, .. } = &mut *self.state;
        let Some(evicted) = line.evict_for(lane, waiters) else { return false };
        let refused = self.refused(RefusedBecause::Evicted);
        // The queue flag stays set even if the evicted request was the only waiter, because the
        // newcomer joins the queue within the same critical section.
        self.state.queued -= 1;
        self.tell(evicted, Stage::Refused(refused));
        true
    }

    /// Refuses a request that has been removed from the line.
    fn refuse(&mut self, id: Id, because: RefusedBecause) {
        self.left_line();
        let refused = self.refused(because);
        self.tell(id, Stage::Refused(refused));
    }
}
