//! One request, from its departure to its answer.

use std::sync::Arc;

use tower_waiting_room::time::{Clock, Timestamp};
use waiting_room_sim::{Seen, VisitorNo};

use super::witness::{Trouble, View, Witness};

/// A request under way. Dropped without an answer, it has failed.
#[derive(Debug)]
pub(super) struct Flight {
    witness: Arc<Witness>,
    visitor: VisitorNo,
    purpose: Purpose,
    sent: Timestamp,
    trouble: Trouble,
    is_over: bool,
}

/// What a request is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// To be let in, or told to wait: it is decided upon.
    GetIn,
    /// To see the next page, with a pass.
    GoOn,
    /// To end the session.
    Leave,
}

impl Flight {
    /// A request is about to leave.
    pub(super) fn departs(witness: &Arc<Witness>, visitor: VisitorNo, purpose: Purpose) -> Self {
        let mut view = witness.lock();
        let sent = view.clock.now();
        view.oracle.sent(visitor, sent);
        view.under_way += 1;
        if purpose == Purpose::Leave {
            view.claims.leaves(visitor);
        }
        let (witness, trouble) = (Arc::clone(witness), view.trouble);
        Self { witness, visitor, purpose, sent, trouble, is_over: false }
    }

    /// The answer says that the store could not be asked.
    pub(super) fn was_undecided(&self) {
        let mut view = self.witness.lock();
        let now = view.clock.now();
        view.trouble.was_undecided(now);
    }

    /// The answer is here.
    pub(super) fn answered(mut self, seen: Seen) {
        let Self { visitor, purpose, sent, trouble, .. } = self;
        self.land(|view, now| {
            let is_in_doubt = trouble.is_in_doubt || view.trouble.is_in_doubt;
            if is_in_doubt {
                view.oracle.failed(visitor, now);
                if let Seen::Waiting { position, .. } = seen {
                    view.oracle.shown(visitor, position);
                }
            } else {
                view.oracle.answered(visitor, now, seen);
            }
            view.claims.answered(visitor, sent, now, seen, is_in_doubt);
            match purpose {
                Purpose::GetIn => {
                    view.latencies.decided(now.since(sent));
                    if seen == Seen::Admitted {
                        view.trouble.was_let_in();
                    }
                }
                Purpose::GoOn => view.latencies.passed(now.since(sent), trouble.is_on),
                Purpose::Leave => {}
            }
            view.refusals += u64::from(seen == Seen::Refused);
        });
    }

    /// The answer to a checkout is here: the session is over.
    pub(super) fn left(mut self) {
        let Self { visitor, sent, trouble, .. } = self;
        self.land(|view, now| {
            // A store that does not hear of it keeps the slot until the session lapses.
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
