//! Visitors whose pass is genuine but does not admit them by itself, because it has expired or is
//! from another site.
//!
//! The times in a pass from another site were set by another clock, so they are not enough to admit
//! its visitor. The store is asked for a slot ahead of the line, and the visitor gets a pass of
//! this site. Its slot at the other site lapses by itself. A visitor can thus hold one slot at each
//! site for a while. Each of its passes is covered by a slot at the site that has issued the pass.

use std::time::Duration;

use waiting_room_core::{
    Pass, Reason, StoreError, Ticket, Timestamp, Verdict, room::SessionRenewal,
};

use super::RoomStage;
use crate::{
    room::outage::{BoxFuture, Question},
    token::{Tokens, Verified},
};

impl RoomStage {
    /// Returns whether the session of a pass that is not accepted may still be active. If so, the
    /// store is asked about it.
    pub(crate) fn may_return(&self, pass: &Pass) -> bool {
        (self.is_sliding() || !self.sessions.trusts(pass))
            && !self.is_from_elsewhere(pass)
            && !self.sessions.is_ended(pass)
    }

    /// Returns whether the visitor of a pass from another site gets a slot of this site as soon as
    /// one is free.
    ///
    /// The time since the pass expired must not exceed the difference that two sites' clocks may
    /// have, and the visitor must not have left on this node.
    pub(crate) fn may_move(&self, pass: &Pass, now: Timestamp) -> bool {
        let leeway = if self.is_sliding() { Tokens::LEEWAY } else { Duration::ZERO };
        self.is_from_elsewhere(pass)
            && now < pass.expires_at + leeway
            && !self.sessions.is_ended(pass)
    }

    /// Asks the store for a slot for a visitor with a pass from another site. Requests with the
    /// same pass share one question, and requests that arrive after the answer get the same pass of
    /// this site.
    ///
    /// # Cancel safety
    ///
    /// As for [`ask`](Self::ask).
    pub(super) fn ask_to_move(
        &self,
        pass: &Verified<Pass>,
        now: Timestamp,
    ) -> BoxFuture<Result<Verdict, StoreError>> {
        let rules = self.store.rules();
        let is_due = |pass: &Pass| rules.timing().is_renewal_due(pass, now);
        if let Some(pass) = self.sessions.renewed(pass.id, now, is_due) {
            let reason = Reason::AdmittedPass;
            return Box::pin(std::future::ready(Ok(Verdict::Admit { pass, reason })));
        }
        let asked = self.put(Question::CheckIn(Ticket::moving(pass, now)), Duration::ZERO);
        let id = pass.id;
        let sessions = self.sessions.clone();
        let moves = self.moves.clone();
        let ends_by = self.ends_by(pass);
        Box::pin(async move {
            let question = async {
                let mut verdict = asked.await?;
                if let Verdict::Admit { pass, reason } = &mut verdict {
                    pass.expires_at = pass.expires_at.min(ends_by);
                    if *reason == Reason::AdmittedActive {
                        *reason = Reason::AdmittedPass;
                    } else if matches!(reason, Reason::AdmittedPassthrough | Reason::AdmittedSlot) {
                        *reason = Reason::AdmittedMoved;
                    }
                    sessions.has_moved(*pass);
                }
                Ok(verdict)
            };
            moves.ask(id, question).await
        })
    }

    /// Returns the time at which the session of a pass ends, or the end of time if requests prolong it.
    ///
    /// The store may hold the slot for longer: a move does not prolong a session of a fixed length,
    /// but the new slot is held for a whole session.
    pub(super) fn ends_by(&self, pass: &Pass) -> Timestamp {
        if self.is_sliding() { Timestamp::MAX } else { pass.expires_at }
    }

    /// Returns whether requests prolong sessions. If so, a session may outlast the pass that its
    /// client holds.
    pub(super) fn is_sliding(&self) -> bool {
        self.store.rules().session_renewal == SessionRenewal::Sliding
    }
}
