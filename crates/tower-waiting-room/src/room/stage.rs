//! The waiting room as a stage: a valid pass goes through, and everything else asks the store.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use http::{Extensions, HeaderMap, Response};
use waiting_room_core::{
    Pass, Reason, Renewal, RoomRules, SessionRenewal, Store, StoreError, Ticket, Timestamp,
    Verdict, VisitorId,
};

use super::{
    challenge::{Challenge, Challenger},
    outage::{BoxFuture, Outage, Question, StoreFailure},
    pace::CheckInPace,
    renewal::PassRenewal,
    sessions::{Sessions, Stale, Undelivered, Visit},
};
use crate::{
    request::{Caller, RequestHead, is_native_grpc},
    telemetry::Telemetry,
    token::{Identities, KeyRing, Opened, SealedToken, TokenSource, Tokens, Transport, Verified},
};

/// The room of a layer, as requests meet it.
pub(crate) struct RoomStage<St> {
    store: St,
    tokens: Tokens,
    identities: Identities,
    transport: Transport,
    sessions: Arc<Sessions>,
    outage: Arc<Outage>,
    pub(crate) pace: CheckInPace,
    challenger: Option<Challenger>,
    telemetry: Telemetry,
}

/// The visitor of a request, as far as its token and the room have told.
pub(crate) enum Visitor {
    /// The room has let it in.
    Inside(Pass),
    /// It waits in line, if there is a ticket, or is not let into it.
    Outside(Option<Ticket>),
    /// A CORS preflight that skips the room.
    Preflight,
    /// Its token proves this; the room has not been asked yet.
    Proven(Opened),
    /// Nothing is known.
    Unknown,
}

/// A sealed token, and how long the client is to keep it.
pub(crate) struct Token {
    sealed: SealedToken,
    max_age: Duration,
}

impl<St: Store> RoomStage<St> {
    /// The longest way of a renewal to the store that is reckoned with. A visitor whose pass is not due
    /// may come back a whole session later, and the renewal has to be there before the session ends.
    const UNDER_WAY: Duration = Duration::from_millis(250);

    pub(crate) fn new(
        store: St,
        on_failure: StoreFailure,
        keys: &KeyRing,
        transport: Transport,
        challenge: Option<Challenge>,
        telemetry: Telemetry,
    ) -> Self {
        let pace = CheckInPace::new().expect("its quotas are constants that a limiter can keep");
        Self {
            tokens: Tokens::new(keys, store.rules().name()),
            identities: Identities::new(keys),
            transport,
            sessions: Arc::default(),
            outage: Arc::new(Outage::new(on_failure, telemetry.clone())),
            pace,
            challenger: challenge.map(Challenger::new),
            store,
            telemetry,
        }
    }

    /// Opens the token of a request; says what it proves, and how the next one travels.
    pub(crate) fn identify(&self, headers: &HeaderMap, now: Timestamp) -> (Visitor, TokenSource) {
        let found = self.transport.find(&self.tokens, headers, now);
        if let Some(error) = found.last_error {
            self.telemetry.rejected(found.rejected, error.as_str());
        }
        match found.opened {
            Some(opened) => (Visitor::Proven(opened), found.source),
            // Libraries for gRPC keep no cookies.
            None if is_native_grpc(headers) => (Visitor::Unknown, TokenSource::Header),
            None => (Visitor::Unknown, found.source),
        }
    }

    /// The rules in force.
    pub(crate) fn rules(&self) -> Arc<RoomRules> {
        self.store.rules()
    }

    /// Whether a valid pass is of a session that has not ended. The pass is counted while the store
    /// is away.
    pub(crate) fn accepts(&self, pass: &Verified<Pass>, now: Timestamp) -> bool {
        if self.sessions.is_ended(pass) {
            return false;
        }
        if self.outage.is_on() {
            self.outage.saw(pass, now);
        }
        true
    }

    /// What a newcomer is answered that is to prove something before the store is asked about it.
    pub(crate) fn challenge(&self, caller: &Caller<'_>, now: Timestamp) -> Option<Response<Bytes>> {
        self.challenger.as_ref()?.ask(caller, &|| self.store.present(), now)
    }

    /// Asks the store about a visitor, after it has heard of sessions that ended here.
    pub(crate) fn ask(
        &self,
        visitor: &Visitor,
        head: &RequestHead<'_>,
    ) -> BoxFuture<Result<Verdict, StoreError>> {
        let question = match visitor {
            Visitor::Proven(Opened::Ticket(ticket)) => Question::CheckIn(**ticket),
            Visitor::Proven(Opened::Lapsed(pass)) if self.may_return(pass) => {
                Question::Return(**pass, self.newcomer(head))
            }
            _ => Question::Enter(self.newcomer(head)),
        };
        let (store, outage) = (self.store.clone(), Arc::clone(&self.outage));
        let mut owed = self.sessions.take_owed();
        Box::pin(async move {
            while let Some(id) = owed.next() {
                outage.noted(&store, store.leave(id).await)?;
                owed.is_told();
            }
            outage.ask(&store, question).await
        })
    }

    /// What a request with a valid pass goes on with: a token that another request has renewed, or
    /// the renewal beside it, if that is due.
    pub(crate) fn refresh(
        &self,
        verified: &Verified<Pass>,
        rules: &RoomRules,
        now: Timestamp,
    ) -> (Option<Token>, Option<Box<PassRenewal>>) {
        let mut pass = **verified;
        // Old enough by the time at which the store hears of it, or older than its memory.
        let heard = now + Self::UNDER_WAY;
        let is_due = |pass: &Pass| {
            rules.is_renewal_due(pass, heard) || pass.last_check_in < self.store.remembers_since()
        };
        if verified.is_ahead() {
            // The clock was set back over a restart, so the store may never have heard of it.
            pass.last_check_in = self.store.remembers_since().before(Duration::from_nanos(1));
        }
        if !verified.is_from_old_key() && !is_due(&pass) {
            return (None, None);
        }
        match self.sessions.stale(&pass, now, is_due) {
            Stale::GoOn => (None, None),
            Stale::Take(renewed) => (Some(self.pass_token(&renewed, now)), None),
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
                let patience = match rules.is_renewal_due(&pass, heard) {
                    true => PassRenewal::PATIENCE,
                    false => PassRenewal::SHORT_PATIENCE,
                };
                (None, Some(Box::new(PassRenewal::new(asked, patience))))
            }
        }
    }

    /// Whether this very room has let a request in already: the layer is mounted twice.
    pub(crate) fn has_let_in(&self, extensions: &Extensions) -> bool {
        extensions.get::<Visit>().is_some_and(|visit| visit.is_of(&self.sessions))
    }

    /// The session of a newcomer, until its pass is sent.
    pub(crate) fn undelivered(&self, id: VisitorId) -> Undelivered {
        Undelivered::new(id, Arc::clone(&self.sessions))
    }

    /// The token of a visitor whom the store has let in.
    pub(crate) fn admit(&self, pass: &Pass, now: Timestamp) -> Token {
        self.sessions.sweep(now);
        self.pass_token(pass, now)
    }

    /// A token for a visitor who waits.
    pub(crate) fn ticket_token(&self, ticket: &Ticket) -> Token {
        let max_age = self.store.rules().place_retention();
        Token { sealed: self.tokens.seal_ticket(ticket), max_age }
    }

    /// The first ticket of a newcomer whom this node has no time to ask the store about.
    ///
    /// As the store would hand it out: it claims nothing but the time of arrival. Its holder asks in
    /// a queue of the node that is not the newcomers'.
    pub(crate) fn first_ticket(&self, head: &RequestHead<'_>, now: Timestamp) -> Ticket {
        let id = self.newcomer(head);
        Ticket::new(id, now, now, now + self.overload_interval(id.draw(0)))
    }

    /// When a visitor is to come back whom this node has no time to ask the store about: spread over
    /// what the slowest visitors are asked to wait, so that a flood does not come back at once.
    pub(crate) fn overload_interval(&self, draw: u64) -> Duration {
        let longest = self.store.rules().refresh_interval();
        let share = u32::try_from(draw % 1_000).unwrap_or(0);
        let interval = longest / 4 + longest * 3 / 4 * share / 1_000;
        Duration::from_secs(interval.as_secs() + 1)
    }

    /// Whether visitors are let through when the store cannot decide.
    pub(crate) fn admits_without_store(&self) -> bool {
        self.outage.policy() == StoreFailure::Admit
    }

    /// The handle of the application on the session of a request.
    pub(crate) fn visit(&self, pass: Pass, reason: Reason) -> Visit {
        Visit::new(pass, reason, Arc::clone(&self.sessions))
    }

    /// Ends the session of a pass if the application has said so, or it has ended elsewhere.
    /// Returns what tells the store of the end.
    pub(crate) fn end(
        &self,
        pass: &Pass,
        is_revoked: bool,
        source: TokenSource,
        headers: &mut HeaderMap,
    ) -> Option<BoxFuture<()>> {
        if !is_revoked && !self.sessions.is_ended(pass) {
            return None;
        }
        self.sessions.end(pass);
        self.transport.detach(headers, source);
        Some(self.leave(pass.id))
    }

    /// The token of a pass that was renewed beside its request.
    pub(crate) fn renewed_token(&self, renewal: &PassRenewal) -> Option<Token> {
        renewal.renewed().map(|renewed| self.pass_token(&renewed, renewed.last_check_in))
    }

    /// A token as a client sends it back that keeps no cookies.
    pub(crate) fn line(&self, token: &Token) -> String {
        self.transport.line(token.sealed.as_str())
    }

    /// Sends a token the way the client's own came.
    pub(crate) fn attach(&self, headers: &mut HeaderMap, source: TokenSource, token: Token) {
        self.transport.attach(headers, source, token.sealed, token.max_age);
    }

    /// The id of a visitor who was never seen before.
    fn newcomer(&self, head: &RequestHead<'_>) -> VisitorId {
        self.identities.draw(head.network_in_line())
    }

    /// Tells the store that a session is over.
    fn leave(&self, id: VisitorId) -> BoxFuture<()> {
        let (store, outage) = (self.store.clone(), Arc::clone(&self.outage));
        let mut owed = self.sessions.take_end(id);
        Box::pin(async move {
            if outage.noted(&store, store.leave(id).await).is_ok() {
                owed.is_told();
            }
        })
    }

    /// Whether the session of a pass that has run out may go on, so that it is worth asking.
    fn may_return(&self, pass: &Pass) -> bool {
        self.is_sliding() && !self.sessions.is_ended(pass)
    }

    /// Whether a session may outlast a pass.
    fn is_sliding(&self) -> bool {
        self.store.rules().session_renewal() == SessionRenewal::Sliding
    }

    /// A client keeps its pass for as long as the session may last: where only the store has heard of
    /// its last request, the pass that has run out shows whose session goes on.
    fn pass_token(&self, pass: &Pass, now: Timestamp) -> Token {
        let until = match self.is_sliding() {
            true => Tokens::session_may_last(pass),
            false => pass.expires_at,
        };
        Token { sealed: self.tokens.seal_pass(pass), max_age: until.since(now) }
    }
}
