//! One request, from its departure to its answer.

use std::{sync::Arc, time::Duration};

use tower_waiting_room::time::Timestamp;
use waiting_room_sim::{Seen, VisitorNo};

use super::{
    answer::Basis,
    claims::Surety,
    idle::{By, Step},
    trips::{Purpose, was_over},
    witness::{Trouble, View, Witness},
};
use crate::calls::Calls;

/// A request under way. If it is dropped without an answer, it counts as failed.
#[derive(Debug)]
pub(super) struct Flight {
    witness: Arc<Witness>,
    visitor: VisitorNo,
    purpose: Purpose,
    sent: Timestamp,
    trouble: Trouble,
    /// Whether the answer is not a decision of the store.
    is_undecided: bool,
    is_over: bool,
    /// Until when the slot is held, counted from the answer, if the answer has a new pass.
    holds_for: Option<Duration>,
    /// Whether the visitor had no token.
    is_new: bool,
    /// The calls to the store, as far as the answer tells them.
    calls: Calls,
    /// Whether the answer promises a whole session to a visitor with a pass.
    is_whole: bool,
}

impl Flight {
    /// Records that a request is about to be sent.
    pub(super) fn departs(witness: &Arc<Witness>, visitor: VisitorNo, purpose: Purpose) -> Self {
        let mut view = witness.lock();
        let sent = view.clock.now();
        view.oracle.sent(visitor, sent);
        view.under_way += 1;
        if purpose == Purpose::Leave {
            view.claims.leaves(visitor);
        }
        let witness = Arc::clone(witness);
        let trouble = view.trouble;
        let is_undecided = false;
        let is_over = false;
        let holds_for = None;
        let is_new = false;
        let calls = Calls::default();
        let is_whole = true;
        Self {
            witness,
            visitor,
            purpose,
            sent,
            trouble,
            is_undecided,
            is_over,
            holds_for,
            is_new,
            calls,
            is_whole,
        }
    }

    /// Records the calls to the store that the request has made, as its answer tells. `is_new` is
    /// whether the visitor had no token, and `is_whole` whether the answer promises a whole session to a
    /// visitor with a pass.
    pub(super) const fn made(&mut self, is_new: bool, calls: Calls, is_whole: bool) {
        self.is_new = is_new;
        self.calls = calls;
        self.is_whole = is_whole;
    }

    /// Records what the answer is based on. Without a decision, the answer proves nothing about the
    /// store.
    pub(super) fn is_based_on(&mut self, basis: Basis) {
        self.is_undecided = basis != Basis::Decision;
        if basis != Basis::Decision {
            let mut view = self.witness.lock();
            let now = view.clock.now();
            view.trouble.was_undecided(now);
        }
    }

    /// Records that the answer has a new pass, with which the visitor holds its slot for this time.
    pub(super) const fn holds_for(&mut self, lifetime: Duration) {
        self.holds_for = Some(lifetime);
    }

    /// Records the answer.
    pub(super) fn answered(mut self, seen: Seen) {
        let Self { visitor, purpose, sent, trouble, is_undecided, holds_for, .. } = self;
        let Self { is_new, calls, is_whole, .. } = self;
        self.land(|view, now| {
            view.trips.add(purpose, is_new, calls);
            // A visitor whose session was over has been admitted anew.
            let is_served = purpose == Purpose::GoOn && seen == Seen::Admitted && !was_over(calls);
            if is_served {
                view.trips.served(calls);
            }
            let is_whole = !is_served || is_whole;
            let is_in_doubt = is_undecided || trouble.is_in_doubt || view.trouble.is_in_doubt;
            let surety = match (is_in_doubt, is_whole) {
                (true, _) => Surety::InDoubt,
                (false, false) => Surety::NotExtended,
                (false, true) => Surety::Sure,
            };
            match surety {
                Surety::InDoubt => view.oracle.failed(visitor, now),
                Surety::NotExtended => view.oracle.passed(visitor, now),
                Surety::Sure => view.oracle.answered(visitor, now, seen),
            }
            if let (Surety::InDoubt, Seen::Waiting { position, .. }) = (surety, seen) {
                view.oracle.shown(visitor, position);
            }
            view.claims.answered(visitor, sent, now, seen, surety);
            match (seen, holds_for) {
                (Seen::Admitted, Some(lifetime)) => {
                    view.steps(visitor, now, |now| Step::Inside(now + lifetime));
                }
                (Seen::Waiting { interval, returned_ticket: true, .. }, _) => {
                    view.steps(visitor, now, |now| Step::Waits(now + interval * 3 / 2, By::Poll));
                }
                (Seen::Refused, _) => view.steps(visitor, now, |_| Step::Gone),
                _ => {}
            }
            match purpose {
                Purpose::GetIn => {
                    view.latencies.decided(now.since(sent));
                    if seen == Seen::Admitted {
                        view.trouble.was_let_in();
                    }
                }
                Purpose::GoOn if was_over(calls) => view.latencies.decided(now.since(sent)),
                Purpose::GoOn => view.latencies.passed(now.since(sent), trouble.is_on),
                Purpose::Leave => {}
            }
            view.refusals += u64::from(seen == Seen::Refused);
        });
    }

    /// Records the answer to a checkout, which ends the session.
    pub(super) fn left(mut self) {
        let Self { visitor, sent, trouble, .. } = self;
        self.land(|view, now| {
            view.steps(visitor, now, |_| Step::Gone);
            // If the store does not receive the end of the session, it keeps the slot until the
            // session lapses.
            if trouble.is_in_doubt || view.trouble.is_in_doubt {
                view.oracle.failed(visitor, now);
            } else {
                view.oracle.left(visitor, sent, now);
            }
        });
    }

    fn land(&mut self, tell: impl FnOnce(&mut View, Timestamp)) {
        if std::mem::replace(&mut self.is_over, true) {
            return;
        }
        let mut view = self.witness.lock();
        let now = view.clock.now();
        tell(&mut view, now);
        view.under_way -= 1;
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        let Self { visitor, sent, .. } = *self;
        self.land(|view, now| {
            view.oracle.failed(visitor, now);
            view.claims.failed(visitor, sent);
            view.failures += 1;
        });
    }
}
