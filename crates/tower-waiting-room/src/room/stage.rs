//! The waiting room as a stage: a valid pass goes through, and everything else asks the store.

use std::{sync::Arc, time::Duration};

use http::HeaderMap;
use waiting_room_core::{
    Pass, Reason, Renewal, RoomSwitch, Store, StoreError, Ticket, Timestamp, Verdict,
};

use super::{
    outage::{BoxFuture, Outage, Question, StoreFailure},
    renewal::PassRenewal,
    sessions::{Sessions, Stale, Visit},
};
use crate::{
    ambient::random_visitor_id,
    telemetry::Telemetry,
    token::{KeyRing, Opened, SealedToken, TokenSource, Tokens, Transport, Verified},
};

/// The room of a layer, as requests meet it.
pub(crate) struct RoomStage<St> {
    store: St,
    tokens: Tokens,
    transport: Transport,
    sessions: Arc<Sessions>,
    outage: Arc<Outage>,
    telemetry: Telemetry,
}

/// What the room says to a request before the store is asked.
pub(crate) enum Entrance {
    /// The store has to decide.
    Ask(BoxFuture<Result<Verdict, StoreError>>),
    /// Its ticket is shown too early, and is answered from the ticket alone.
    Early(Ticket),
    /// It has a valid pass.
    Pass,
    /// It has a valid pass, and asks only whether it has one: the waiting page's script does.
    Poll,
    /// The operator has taken the room away.
    Suspended,
}

/// The session of an admitted visitor, as far as a request has to do with it.
#[derive(Default)]
pub(crate) struct Admission {
    pub(crate) pass: Option<Pass>,
    /// A token on its way to the client.
    pub(crate) token: Option<Token>,
    /// The renewal of the pass, if it is due.
    pub(crate) renewal: Option<PassRenewal>,
}

/// A sealed token, and how long the client is to keep it.
pub(crate) struct Token {
    sealed: SealedToken,
    max_age: Duration,
}

impl Token {
    pub(crate) fn as_str(&self) -> &str {
        self.sealed.as_str()
    }
}

impl<St: Store> RoomStage<St> {
    pub(crate) fn new(
        store: St,
        on_failure: StoreFailure,
        keys: &KeyRing,
        transport: Transport,
        telemetry: Telemetry,
    ) -> Self {
        Self {
            tokens: Tokens::new(keys, store.rules().name()),
            transport,
            sessions: Arc::default(),
            outage: Arc::new(Outage::new(on_failure, telemetry.clone())),
            store,
            telemetry,
        }
    }

    /// Opens the token of a request; says what it proves and how it came.
    pub(crate) fn identify(
        &self,
        headers: &HeaderMap,
        now: Timestamp,
    ) -> (Option<Opened>, TokenSource) {
        let found = self.transport.find(&self.tokens, headers, now);
        if let Some(error) = found.last_error {
            self.telemetry.rejected(found.rejected, error.as_str());
        }
        (found.opened, found.source)
    }

    /// Lets a request through that has a valid pass, with what follows from it in `admission`; has
    /// the store asked about any other.
    pub(crate) fn enter(
        &self,
        proof: Option<&Opened>,
        is_poll: bool,
        now: Timestamp,
        admission: &mut Admission,
    ) -> Entrance {
        // The limits stay: they protect the service from single clients with or without a room.
        if self.store.rules().current_switch() == RoomSwitch::Suspended {
            return Entrance::Suspended;
        }
        match proof {
            Some(Opened::Pass(pass)) if !self.sessions.is_ended(pass) => {
                if self.outage.is_on() {
                    self.outage.saw(pass, now);
                }
                if is_poll {
                    return Entrance::Poll;
                }
                admission.pass = Some(**pass);
                self.renew_if_due(pass, now, admission);
                Entrance::Pass
            }
            Some(Opened::Ticket(ticket)) if ticket.is_early(now) => Entrance::Early(**ticket),
            Some(Opened::Ticket(ticket)) => self.ask(Question::CheckIn(**ticket)),
            Some(Opened::Pass(_)) | None => self.ask(Question::Enter(random_visitor_id())),
        }
    }

    /// The session of a visitor whom the store has let in.
    pub(crate) fn admit(&self, pass: Pass, now: Timestamp) -> Admission {
        self.sessions.sweep(now);
        Admission { pass: Some(pass), token: Some(self.pass_token(&pass, now)), renewal: None }
    }

    /// A token for a visitor who waits.
    pub(crate) fn ticket_token(&self, ticket: &Ticket) -> Token {
        let max_age = self.store.rules().current_place_retention();
        Token { sealed: self.tokens.seal_ticket(ticket), max_age }
    }

    /// Whether visitors are let through when the store cannot decide.
    pub(crate) fn admits_without_store(&self) -> bool {
        self.outage.policy() == StoreFailure::Admit
    }

    /// The handle of the application on the session of a request.
    pub(crate) fn visit(&self, pass: Pass, reason: Reason) -> Visit {
        Visit::new(pass, reason, Arc::clone(&self.sessions))
    }

    /// Ends the session of an admission if the application has said so; otherwise sends the token
    /// that is on its way. Returns what tells the store of the end.
    pub(crate) fn settle(
        &self,
        admission: &mut Admission,
        is_revoked: bool,
        source: TokenSource,
        headers: &mut HeaderMap,
    ) -> Option<BoxFuture<()>> {
        let over = admission.pass.filter(|pass| is_revoked || self.sessions.is_ended(pass));
        if let Some(pass) = over {
            self.sessions.end(&pass);
            self.transport.detach(headers, source);
            return Some(self.leave(pass));
        }
        if let Some(renewed) = admission.renewal.as_ref().and_then(PassRenewal::renewed) {
            admission.token = Some(self.pass_token(&renewed, renewed.last_check_in));
        }
        if let Some(token) = admission.token.take() {
            self.attach(headers, source, token);
        }
        None
    }

    /// Sends a token the way the client's own came.
    pub(crate) fn attach(&self, headers: &mut HeaderMap, source: TokenSource, token: Token) {
        self.transport.attach(headers, source, token.sealed, token.max_age);
    }

    /// Renews a pass beside its request if that is due.
    fn renew_if_due(&self, verified: &Verified<Pass>, now: Timestamp, admission: &mut Admission) {
        let pass = **verified;
        if !verified.is_from_old_key() && !self.is_renewal_due(&pass, now) {
            return;
        }
        match self.sessions.stale(&pass, now, |renewed| self.is_renewal_due(renewed, now)) {
            Stale::GoOn => {}
            Stale::Take(renewed) => admission.token = Some(self.pass_token(&renewed, now)),
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
                admission.renewal = Some(PassRenewal::new(asked, &pass, now));
            }
        }
    }

    /// Whether a pass is old enough to be renewed, or older than the memory of the store.
    fn is_renewal_due(&self, pass: &Pass, now: Timestamp) -> bool {
        self.store.rules().is_renewal_due(now.since(pass.last_check_in))
            || pass.last_check_in < self.store.remembers_since()
    }

    /// Asks the store for a verdict, after it has heard of sessions that ended here.
    fn ask(&self, question: Question) -> Entrance {
        let (store, outage) = (self.store.clone(), Arc::clone(&self.outage));
        let mut owed = self.sessions.take_owed();
        Entrance::Ask(Box::pin(async move {
            while let Some(id) = owed.next() {
                outage.noted(&store, store.leave(id).await)?;
                owed.is_told();
            }
            outage.ask(&store, question).await
        }))
    }

    /// Tells the store that a session is over.
    fn leave(&self, pass: Pass) -> BoxFuture<()> {
        let (store, outage) = (self.store.clone(), Arc::clone(&self.outage));
        let mut owed = self.sessions.take_end(pass.id);
        Box::pin(async move {
            if outage.noted(&store, store.leave(pass.id).await).is_ok() {
                owed.is_told();
            }
        })
    }

    fn pass_token(&self, pass: &Pass, now: Timestamp) -> Token {
        Token { sealed: self.tokens.seal_pass(pass), max_age: pass.expires_at.since(now) }
    }
}
