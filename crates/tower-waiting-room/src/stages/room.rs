//! The room, between the rate limits and the gates.

use std::{sync::Arc, time::Duration};

use waiting_room_core::{
    Pass, Reason, Renewal, RoomSwitch, Store, StoreError, Ticket, Timestamp, Verdict,
};

use super::{Bearer, Carried, Gatekeeper, Step, away::Away};
use crate::{
    rate::Told,
    request::{self, RequestHead},
    respond::Outcome,
    room::{PassRenewal, Question, Stale, StoreFailure},
    token::{self, Opened, Source, Verified},
};

impl<St: Store> Gatekeeper<St> {
    /// Has a request meet the room, once its rate limits allow it.
    pub(super) fn meet_room(
        &self,
        head: &RequestHead<'_>,
        Bearer { opened, source }: Bearer,
        told: Option<Box<Told>>,
        now: Timestamp,
    ) -> Step {
        if !self.config.has_room {
            let reason = told.as_ref().map_or(Reason::AdmittedLimits, |it| it.admitted.clone());
            return Step::Forward(self.forward(reason, None, source, told));
        }
        if self.is_suspended() {
            let reason = Reason::Bypass("suspended".into());
            return Step::Forward(self.forward(reason, None, source, told));
        }
        match opened {
            Some(Opened::Pass(pass)) if !self.sessions.is_ended(&pass) => {
                self.with_pass(head, &pass, source, told, now)
            }
            Some(Opened::Ticket(ticket)) => {
                let ticket = *ticket;
                let carried = Carried { ticket: Some(ticket), source, told };
                self.ask(carried, Question::CheckIn(ticket))
            }
            Some(Opened::Pass(_)) | None => {
                let id = token::random_visitor_id();
                let carried = Carried { ticket: None, source, told };
                self.ask(carried, Question::Enter(id))
            }
        }
    }

    /// What follows from what the store said.
    pub(super) fn told(
        &self,
        head: RequestHead<'_>,
        Carried { ticket, source, told }: Carried,
        verdict: Result<Verdict, StoreError>,
    ) -> Step {
        let now = self.store.now();
        match verdict {
            Ok(Verdict::Admit { pass, reason }) => {
                self.sessions.sweep(now);
                let token = self.pass_token(&pass, now);
                if head.headers().contains_key(request::POLL_HEADER) {
                    return Step::Answer(self.let_in(&head, reason, source, Some(token), now));
                }
                Step::Forward(self.forward(reason, Some(pass), source, told).with_token(token))
            }
            Ok(Verdict::Wait { ticket, reason }) => {
                let token = Some(self.ticket_token(&ticket));
                let retry_after = Some(ticket.retry_after(now));
                let away = Away {
                    outcome: Outcome::Wait,
                    reason,
                    ticket: Some(ticket),
                    retry_after,
                    told,
                };
                self.turn_away(&head, source, away, token, now)
            }
            Ok(Verdict::Refuse { ticket, reason, retry_after }) => {
                let token = ticket.as_ref().map(|ticket| self.ticket_token(ticket));
                let away = Away { outcome: Outcome::Refuse, reason, ticket, retry_after, told };
                self.turn_away(&head, source, away, token, now)
            }
            Err(_) => {
                let reason = Reason::StoreUnavailable;
                if self.outage.policy() == StoreFailure::Admit {
                    return Step::Forward(self.forward(reason, None, source, told));
                }
                let retry_after = Some(STORE_RETRY);
                let away = Away { outcome: Outcome::Wait, reason, ticket, retry_after, told };
                self.turn_away(&head, source, away, None, now)
            }
        }
    }

    /// Whether the operator has taken the room away. The limits stay: they protect the service
    /// from single clients, whether there is a room or not.
    pub(super) fn is_suspended(&self) -> bool {
        self.store.rules().current_switch() == RoomSwitch::Suspended
    }

    /// Lets a visitor with a valid pass through, and renews the pass beside it if that is due.
    fn with_pass(
        &self,
        head: &RequestHead<'_>,
        verified: &Verified<Pass>,
        source: Source,
        told: Option<Box<Told>>,
        now: Timestamp,
    ) -> Step {
        let pass = **verified;
        self.outage.saw(&pass, now);
        if head.headers().contains_key(request::POLL_HEADER) {
            return Step::Answer(self.let_in(head, Reason::AdmittedPass, source, None, now));
        }
        let mut forward = self.forward(Reason::AdmittedPass, Some(pass), source, told);
        if !verified.is_from_old_key() && !self.is_renewal_due(&pass, now) {
            return Step::Forward(forward);
        }
        match self.sessions.stale(&pass, now, |renewed| self.is_renewal_due(renewed, now)) {
            Stale::GoOn => {}
            Stale::Take(renewed) => forward.token = Some(self.pass_token(&renewed, now)),
            Stale::Renew(renewing) => {
                let (store, outage) = (self.store.clone(), Arc::clone(&self.outage));
                let asked = Box::pin(async move {
                    match outage.renew(&store, pass).await {
                        Ok(Renewal::Renew(renewed)) => {
                            renewing.renewed(renewed);
                            Some(renewed)
                        }
                        Ok(Renewal::End) => {
                            renewing.ended(&pass);
                            None
                        }
                        Err(_) => None,
                    }
                });
                forward.renewal = Some(PassRenewal::new(asked, &pass, now));
            }
        }
        Step::Forward(forward)
    }

    /// Answers a ticket that is shown too early from the ticket alone.
    pub(super) fn too_early(
        &self,
        head: &RequestHead<'_>,
        ticket: Ticket,
        source: Source,
        now: Timestamp,
    ) -> Step {
        let away = Away {
            outcome: Outcome::Wait,
            reason: Reason::QueuedEarly,
            ticket: Some(ticket),
            retry_after: Some(ticket.retry_after(now)),
            told: None,
        };
        self.turn_away(head, source, away, None, now)
    }

    /// Asks the store for a verdict, after it has heard of sessions that ended here.
    fn ask(&self, carried: Carried, question: Question) -> Step {
        let (store, outage) = (self.store.clone(), Arc::clone(&self.outage));
        let mut owed = self.sessions.take_owed();
        let asked = Box::pin(async move {
            while let Some(id) = owed.next() {
                outage.noted(&store, store.leave(id).await)?;
                owed.is_told();
            }
            outage.ask(&store, question).await
        });
        Step::Ask(asked, carried)
    }

    /// Whether a pass is old enough to be renewed, or older than the memory of the store.
    fn is_renewal_due(&self, pass: &Pass, now: Timestamp) -> bool {
        self.store.rules().is_renewal_due(now.since(pass.last_check_in))
            || pass.last_check_in < self.store.remembers_since()
    }
}

/// How soon a visitor asks again whom the store could not answer.
const STORE_RETRY: Duration = Duration::from_secs(5);
