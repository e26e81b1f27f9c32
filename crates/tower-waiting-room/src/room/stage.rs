//! The room stage: accepts valid passes, and asks the store about all other visitors.
//!
//! [`RoomStage`] offers the steps; the pipeline (`pipeline/order.rs`, `pipeline/verdict.rs`) calls
//! them in order and turns the verdict of the store into a response:
//!
//! ```text
//!  identify ─┬─ pass ────► accepts ─► refresh ─► application ─► end, or renewed_token
//!            ├─ ticket ──► pace ────► ask ─┐
//!            └─ neither ─► challenge ► ask ┴─► verdict ─► admit, or ticket_token
//! ```
//!
//! A node that is too busy to ask the store answers by itself: `first_ticket` and
//! `overload_interval` send visitors away for a while without a call of the store.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use http::{Extensions, HeaderMap, Response};
use waiting_room_core::{
    Pass, Reason, RoomRules, Store, StoreError, Ticket, Timestamp, Verdict, VisitorId,
    room::{Renewal, SessionRenewal},
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

/// The room of a layer: its store, its tokens, and the memory of this node.
pub(crate) struct RoomStage<St> {
    store: St,
    tokens: Tokens,
    identities: Identities,
    transport: Transport,
    /// Shared with the [`Visit`] of each request, which the application may keep.
    sessions: Arc<Sessions>,
    /// Shared with the futures that call the store.
    outage: Arc<Outage>,
    /// Bounds how often tickets are shown. Charged before the store is asked.
    pub(crate) pace: CheckInPace,
    /// Decides which newcomers are challenged; `None` without a challenge in the configuration.
    challenger: Option<Challenger>,
    telemetry: Telemetry,
}

/// The visitor of a request, as far as it is known from its token and from the room.
pub(crate) enum Visitor {
    /// The room admitted the visitor, in this request or, by the pass, in an earlier one.
    Inside(Pass),
    /// The room did not admit the visitor. It waits with the ticket; without one, it was not let
    /// into the line.
    Outside(Option<Ticket>),
    /// A CORS preflight that skips the room.
    Preflight,
    /// The token was opened, and this is its content. The room has not decided yet: the session of
    /// a pass may have ended.
    Proven(Opened),
    /// The request has no valid token.
    Unknown,
}

/// A sealed token, and the time for which the client is to keep it (`Max-Age` of the cookie).
pub(crate) struct Token {
    sealed: SealedToken,
    max_age: Duration,
}

impl<St: Store> RoomStage<St> {
    /// The longest time that a renewal is expected to take on its way to the store. A pass that
    /// becomes due within it is renewed now: the visitor may return a whole session later, and
    /// until then the session must not have lapsed.
    const UNDER_WAY: Duration = Duration::from_millis(250);

    /// Makes the stage for a room whose state is in `store`.
    ///
    /// `keys` seal the tokens. Their secret also hashes the networks in visitor ids, so that all
    /// nodes with the same keys agree on them.
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

    /// Opens the token of a request. Returns its content, and the way in which the next token is to
    /// travel: in a cookie or in a header, as the client sent this one.
    pub(crate) fn identify(&self, headers: &HeaderMap, now: Timestamp) -> (Visitor, TokenSource) {
        let found = self.transport.find(&self.tokens, headers, now);
        if let Some(error) = found.last_error {
            self.telemetry.rejected(found.rejected, error.as_str());
        }
        match found.opened {
            Some(opened) => (Visitor::Proven(opened), found.source),
            // gRPC libraries keep no cookies, so even the first token goes into the header.
            None if is_native_grpc(headers) => (Visitor::Unknown, TokenSource::Header),
            None => (Visitor::Unknown, found.source),
        }
    }

    /// The rules of the room in force.
    pub(crate) fn rules(&self) -> Arc<RoomRules> {
        self.store.rules()
    }

    /// Whether the session of a valid pass has not ended. During an outage the pass is counted in
    /// the node's own room, so that its visitor takes up a part of the node's share.
    pub(crate) fn accepts(&self, pass: &Verified<Pass>, now: Timestamp) -> bool {
        if self.sessions.is_ended(pass) {
            return false;
        }
        if self.outage.is_on() {
            self.outage.saw(pass, now);
        }
        true
    }

    /// The answer of the application to a newcomer that has to prove something before the store is
    /// asked; `None` if there is no challenge, or if this request passes it.
    pub(crate) fn challenge(&self, caller: &Caller<'_>, now: Timestamp) -> Option<Response<Bytes>> {
        self.challenger.as_ref()?.ask(caller, &|| self.store.present(), now)
    }

    /// Asks the store about a visitor: to check in with a ticket, to continue the session of an
    /// expired pass, or to enter as a newcomer.
    ///
    /// Ends that are still owed to the store are delivered first, a few of them, because the slots
    /// that they free may be the ones that this visitor waits for. If one cannot be delivered, the
    /// store is away, and its error is the answer.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future puts ends that were not delivered back on the list. The visitor may or
    /// may not have been admitted.
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

    /// Decides how a request with a valid pass continues: with a token that another request has
    /// renewed, or with a renewal to poll beside the application. With neither if the pass is not
    /// due, or if another request is renewing it.
    ///
    /// A pass is renewed early for three reasons besides its age: the store has lost its memory
    /// since the pass was issued, an outdated key has sealed it, or the clock was set back.
    pub(crate) fn refresh(
        &self,
        verified: &Verified<Pass>,
        rules: &RoomRules,
        now: Timestamp,
    ) -> (Option<Token>, Option<Box<PassRenewal>>) {
        let mut pass = **verified;
        // Judged by the time at which the renewal reaches the store. A pass that is older than the
        // store's memory may be unknown to it: the renewal makes the store count its visitor again.
        let heard = now + Self::UNDER_WAY;
        let is_due = |pass: &Pass| {
            rules.is_renewal_due(pass, heard) || pass.last_check_in < self.store.remembers_since()
        };
        if verified.is_ahead() {
            // The clock was set back, possibly over a restart of the store, which then may not know
            // this session. A time just before the start of its memory makes the pass due.
            pass.last_check_in = self.store.remembers_since().before(Duration::from_nanos(1));
        }
        if !verified.is_from_old_key() && !is_due(&pass) {
            return (None, None);
        }
        match self.sessions.stale(&pass, now, is_due) {
            Stale::GoOn => (None, None),
            Stale::Take(renewed) => (Some(self.pass_token(&renewed, now)), None),
            Stale::Renew(renewing) => {
                // `renewing` moves into the future. If the future is dropped without an outcome, so
                // is `renewing`, and the next request of the visitor may try again.
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
                // A pass that is due by its age ends before a whole session is over, so it is worth
                // waiting for the fresh one.
                let patience = match rules.is_renewal_due(&pass, heard) {
                    true => PassRenewal::PATIENCE,
                    false => PassRenewal::SHORT_PATIENCE,
                };
                (None, Some(Box::new(PassRenewal::new(asked, patience))))
            }
        }
    }

    /// Whether this room has admitted the request before, because the layer is mounted twice.
    pub(crate) fn has_let_in(&self, extensions: &Extensions) -> bool {
        extensions.get::<Visit>().is_some_and(|visit| visit.is_of(&self.sessions))
    }

    /// A guard for the session of a newcomer, to be kept until the pass is sent.
    pub(crate) fn undelivered(&self, id: VisitorId) -> Undelivered {
        Undelivered::new(id, Arc::clone(&self.sessions))
    }

    /// The token for a visitor that the store has just admitted.
    pub(crate) fn admit(&self, pass: &Pass, now: Timestamp) -> Token {
        self.sessions.sweep(now);
        self.pass_token(pass, now)
    }

    /// The token for a visitor that waits. The client keeps it for as long as its place lasts
    /// without a check-in.
    pub(crate) fn ticket_token(&self, ticket: &Ticket) -> Token {
        let max_age = self.store.rules().place_retention();
        Token { sealed: self.tokens.seal_ticket(ticket), max_age }
    }

    /// The first ticket of a newcomer, issued by this node because it cannot ask the store in time.
    ///
    /// It is the same as a first ticket of the store: it claims nothing but the time of arrival.
    /// With it the visitor leaves the crowd of newcomers, because a store may process check-ins
    /// apart from newcomers (as `waiting-room-redis` does).
    pub(crate) fn first_ticket(&self, head: &RequestHead<'_>, now: Timestamp) -> Ticket {
        let id = self.newcomer(head);
        Ticket::new(id, now, now, now + self.overload_interval(id.draw(0)))
    }

    /// The time after which a visitor is asked to come back if this node cannot ask the store about
    /// it: a quarter to all of the refresh interval, rounded down to whole seconds, and 1 s more.
    ///
    /// `draw` spreads visitors evenly over this range, so that a flood does not come back at once.
    pub(crate) fn overload_interval(&self, draw: u64) -> Duration {
        let longest = self.store.rules().refresh_interval();
        let share = u32::try_from(draw % 1_000).unwrap_or(0);
        let interval = longest / 4 + longest * 3 / 4 * share / 1_000;
        Duration::from_secs(interval.as_secs() + 1)
    }

    /// Whether visitors are let through while the store cannot decide.
    pub(crate) fn admits_without_store(&self) -> bool {
        self.outage.policy() == StoreFailure::Admit
    }

    /// The application's handle on the session of a request.
    pub(crate) fn visit(&self, pass: Pass, reason: Reason) -> Visit {
        Visit::new(pass, reason, Arc::clone(&self.sessions))
    }

    /// Ends the session of a pass if the response revokes it, or if it was ended meanwhile: by its
    /// [`Visit`], or by a renewal that found it over. The response then deletes the visitor's
    /// token.
    ///
    /// Returns the call that ends the session in the store; `None` if the session goes on.
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

    /// The token of a pass that was renewed while the application worked.
    pub(crate) fn renewed_token(&self, renewal: &PassRenewal) -> Option<Token> {
        renewal.renewed().map(|renewed| self.pass_token(&renewed, renewed.last_check_in))
    }

    /// A token in the form in which a client without cookies sends it back: behind the room's name.
    pub(crate) fn line(&self, token: &Token) -> String {
        self.transport.line(token.sealed.as_str())
    }

    /// Adds a token to a response, in the way in which the client's own token came.
    pub(crate) fn attach(&self, headers: &mut HeaderMap, source: TokenSource, token: Token) {
        self.transport.attach(headers, source, token.sealed, token.max_age);
    }

    /// Draws the id of a newcomer. It includes the hash of the client's network, if that is known.
    fn newcomer(&self, head: &RequestHead<'_>) -> VisitorId {
        self.identities.draw(head.network_in_line())
    }

    /// Ends a session in the store. If that fails or is dropped, the end is owed again, and a later
    /// request delivers it.
    fn leave(&self, id: VisitorId) -> BoxFuture<()> {
        let (store, outage) = (self.store.clone(), Arc::clone(&self.outage));
        let mut owed = self.sessions.take_end(id);
        Box::pin(async move {
            if outage.noted(&store, store.leave(id).await).is_ok() {
                owed.is_told();
            }
        })
    }

    /// Whether the session of an expired pass may go on, so that the store is asked about it.
    fn may_return(&self, pass: &Pass) -> bool {
        self.is_sliding() && !self.sessions.is_ended(pass)
    }

    /// Whether requests prolong sessions, so that a session may outlast a pass that a client holds.
    fn is_sliding(&self) -> bool {
        self.store.rules().session_renewal() == SessionRenewal::Sliding
    }

    /// The token of a pass, to be kept for as long as its session may last.
    ///
    /// A sliding session may outlast this pass: a renewal may reach the store while its response is
    /// lost. With the expired pass, the visitor can still show whose session goes on.
    fn pass_token(&self, pass: &Pass, now: Timestamp) -> Token {
        let until = match self.is_sliding() {
            true => Tokens::session_may_last(pass),
            false => pass.expires_at,
        };
        Token { sealed: self.tokens.seal_pass(pass), max_age: until.since(now) }
    }
}
