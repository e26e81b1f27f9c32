//! One request, from its departure to its answer.

use std::sync::Arc;

use tower_waiting_room::time::Timestamp;
use waiting_room_sim::{Seen, VisitorNo};

use crate::{
    answer::Basis,
    calls::Calls,
    claims::Surety,
    trips::Purpose,
    witness::{Trouble, View, Witness},
};

/// A request under way. If it is dropped without an answer, it counts as failed.
#[derive(Debug)]
pub(crate) struct Flight {
    witness: Arc<Witness>,
    visitor: VisitorNo,
    purpose: Purpose,
    sent: Timestamp,
    trouble: Trouble,
    /// Whether the answer is not a decision of the store.
    is_undecided: bool,
    is_over: bool,
    /// Whether the visitor had no token.
    is_new: bool,
    /// The calls to the store, as far as the answer reports them.
    calls: Calls,
    /// Whether the answer promises a whole session to a visitor with a pass.
    is_whole: bool,
}

impl Flight {
    /// Records that a request is about to be sent.
    pub(crate) fn departs(witness: &Arc<Witness>, visitor: VisitorNo, purpose: Purpose) -> Self {
        let mut view = witness.lock();
        let sent = view.clock.now();
        view.oracle.sent(visitor, sent);
        if purpose == Purpose::Leave {
            view.claims.leaves(visitor);
        }
        Self {
            witness: Arc::clone(witness),
            visitor,
            purpose,
            sent,
            trouble: view.trouble,
            is_undecided: false,
            is_over: false,
            is_new: false,
            calls: Calls::default(),
            is_whole: true,
        }
    }

    /// Records the calls that the request has made to the store, as its answer reports them.
    /// `is_new` says whether the visitor had no token; `is_whole` says whether the answer promises
    /// a whole session to a visitor with a pass.
    pub(crate) const fn made(&mut self, is_new: bool, calls: Calls, is_whole: bool) {
        self.is_new = is_new;
        self.calls = calls;
        self.is_whole = is_whole;
    }

    /// Records what the answer is based on. Without a decision, the answer proves nothing about the
    /// store.
    pub(crate) fn is_based_on(&mut self, basis: Basis) {
        self.is_undecided = basis != Basis::Decision;
        if basis != Basis::Decision {
            let mut view = self.witness.lock();
            let now = view.clock.now();
            view.trouble.was_undecided(now);
        }
    }

    /// Records the answer.
    pub(crate) fn answered(mut self, seen: Seen) {
        let Self { visitor, purpose, sent, trouble, is_undecided, .. } = self;
        let Self { is_new, calls, is_whole, .. } = self;
        self.land(|view, now| {
            view.trips.add(purpose, is_new, calls);
            // A visitor whose session was over has been admitted anew.
            let is_served =
                purpose == Purpose::GoOn && seen == Seen::Admitted && !calls.find_session_over();
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
            match purpose {
                Purpose::GetIn => {
                    view.latencies.decided(now.since(sent));
                    if seen == Seen::Admitted {
                        view.trouble.was_let_in();
                    }
                }
                Purpose::GoOn if calls.find_session_over() => {
                    view.latencies.decided(now.since(sent))
                }
                Purpose::GoOn => view.latencies.passed(now.since(sent), trouble.is_on),
                Purpose::Leave => {}
            }
            view.refusals += u64::from(seen == Seen::Refused);
        });
    }

    /// Records the answer to a checkout, which ends the session.
    pub(crate) fn left(mut self) {
        let Self { visitor, sent, trouble, .. } = self;
        self.land(|view, now| {
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
