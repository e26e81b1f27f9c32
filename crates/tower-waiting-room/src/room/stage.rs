//! The room stage: accepts valid passes, and asks the store about all other visitors.
//!
//! [`RoomStage`] provides the steps. The pipeline (`pipeline/order.rs`, `pipeline/verdict.rs`)
//! calls these steps in order, and turns the verdict of the store into a response:
//!
//! ```text
//!  identify ─┬─ pass ────► accepts ─► refresh ─► application ─► end, or renewed_token
//!            ├─ ticket ──► pace ────► ask ─┐
//!            └─ neither ─► challenge ► ask ┴─► verdict ─► admit, or ticket_token
//! ```
//!
//! A node that is too busy to ask the store answers on its own: `first_ticket` and
//! `overload_interval` send visitors away for a while, without a call to the store.

mod people;
mod returning;
mod scripts;
mod tokens;

pub(crate) use self::scripts::TRANSFER_HEADER;

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use http::{Extensions, HeaderMap, Response};
use waiting_room_core::{
    Pass, Reason, RoomRules, StoreError, Ticket, Timestamp, Verdict, VisitorId,
    room::event::{Phase, RoomPlan},
    time::Clock,
};

use super::{
    challenge::{Challenge, Challenger},
    ends::Undelivered,
    moves::Moves,
    outage::{BoxFuture, Outage, Question, StoreFailure},
    pace::CheckInPace,
    people::{IdentityOf, OTHER_PERSON, People},
    post_path::PostPath,
    renewal::PassRenewal,
    sessions::{Sessions, Stale, Visit},
    store::{Operated, RoomStore, SharedRoom},
    streams::Streams,
    visitor::{Token, Visitor},
};
use crate::{
    ambient::StageClock,
    request::{Caller, RequestHead, is_native_grpc},
    telemetry::Telemetry,
    token::{Identities, KeyRing, Opened, TokenSource, Tokens, Transport, Verified},
};

/// The room of a layer: its store, its tokens, and the memory of this node.
pub(crate) struct RoomStage {
    store: Arc<dyn RoomStore>,
    clock: StageClock,
    tokens: Tokens,
    identities: Identities,
    transport: Transport,
    /// The sessions, shared with the [`Visit`] of each request, which the application may keep.
    sessions: Arc<Sessions>,
    /// The state of outages, shared with the futures that call the store.
    outage: Arc<Outage>,
    /// The open questions about visitors from other sites, shared with the futures that ask.
    moves: Arc<Moves>,
    /// The limits on how often tickets may be presented, checked before the store is asked.
    pub(crate) pace: CheckInPace,
    /// The challenge for newcomers, or `None` if none is configured.
    challenger: Option<Challenger>,
    /// The identities of visitors, or `None` if none are configured.
    identity: Option<IdentityOf>,
    /// The push streams, or `None` if the layer has no push.
    pub(crate) push: Option<Arc<Streams>>,
    leave_path: Option<PostPath>,
    pub(crate) transfer_path: Option<PostPath>,
    people: People,
    telemetry: Telemetry,
}

impl RoomStage {
    /// The longest time that a renewal is expected to take to reach the store. A pass that becomes
    /// due within this time is renewed now, because the visitor may return a whole session later,
    /// and the session must not have lapsed by then.
    const UNDER_WAY: Duration = Duration::from_millis(250);

    /// Creates the stage for a room whose state is in the store of `shared`, which has this clock.
    ///
    /// `keys` seal the tokens. A secret derived from the sealing key also hashes the networks in
    /// visitor ids, so all nodes with the same sealing key agree on these hashes.
    pub(crate) fn new(
        shared: SharedRoom,
        clock: StageClock,
        keys: &KeyRing,
        transport: Transport,
        push: Option<Arc<Streams>>,
        telemetry: Telemetry,
    ) -> Self {
        let SharedRoom { store, on_failure } = shared;
        let pace = CheckInPace::new().expect("the quotas are constants that a limiter accepts");
        Self {
            tokens: Tokens::new(keys, &store.rules().name),
            identities: Identities::new(keys),
            transport,
            sessions: Arc::new(Sessions::new(clock.clone(), telemetry.clone())),
            outage: Arc::new(Outage::new(on_failure, telemetry.clone())),
            moves: Arc::default(),
            pace,
            challenger: None,
            identity: None,
            push,
            leave_path: None,
            transfer_path: None,
            people: People::default(),
            clock,
            store,
            telemetry,
        }
    }

    /// Sets how newcomers are challenged, and how persons are identified.
    pub(super) fn with_newcomers(
        self,
        challenge: Option<Challenge>,
        identity: Option<IdentityOf>,
    ) -> Self {
        Self { challenger: challenge.map(Challenger::new), identity, ..self }
    }

    /// Sets the paths to which visitors send a POST to leave, and to continue on another device.
    pub(super) fn with_paths(self, leave: Option<PostPath>, transfer: Option<PostPath>) -> Self {
        Self { leave_path: leave, transfer_path: transfer, ..self }
    }

    /// Returns the paths that the room itself answers, each with the field that configures it.
    pub(crate) fn own_paths(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let push = self.push.iter().map(|streams| ("push.path", &*streams.push.path));
        let posts = self.leave_path.iter().chain(&self.transfer_path);
        push.chain(posts.map(|path| (path.field, path.as_str())))
    }

    /// Opens the token of a request. Returns the content of the token and the way in which to send
    /// the next token: in a cookie or in a header, depending on how the client sent this one.
    ///
    /// Another person's token is treated as if it were missing (see `people.rs`).
    #[inline]
    pub(crate) fn identify(
        &self,
        head: &RequestHead<'_>,
        now: Timestamp,
    ) -> (Visitor, TokenSource) {
        let headers = head.headers();
        let found = self.transport.find(&self.tokens, headers, now);
        if let Some(error) = found.last_error {
            self.telemetry.rejected(found.rejected, error.as_str());
        }
        match found.opened {
            Some(opened) if self.is_of_another(&opened, head) => {
                self.telemetry.rejected(1, OTHER_PERSON);
                (Visitor::Unknown, found.source)
            }
            Some(opened) => (Visitor::Proven(opened), found.source),
            // gRPC libraries store no cookies, so even the first token is sent in the header.
            None if is_native_grpc(headers) => (Visitor::Unknown, TokenSource::Header),
            None => (Visitor::Unknown, found.source),
        }
    }

    /// Returns the parts of the room that its operator observes and changes.
    pub(crate) fn operated(&self) -> Operated {
        Operated {
            store: Arc::clone(&self.store),
            push: self.push.clone(),
            telemetry: self.telemetry.clone(),
        }
    }

    /// Returns the current rules of the room.
    pub(crate) fn rules(&self) -> Arc<RoomRules> {
        self.store.rules()
    }

    /// Returns the plan of the room, or `None` if it has no events.
    pub(crate) fn plan(&self) -> Option<Arc<RoomPlan>> {
        self.store.plan()
    }

    /// Returns `true` unless the pass is from another site, its session may have ended, or the
    /// session may lapse before the store hears of the request. During an outage, the local room of the
    /// node counts the pass.
    ///
    /// The pass was valid when the request arrived, and may have expired while the request waited.
    #[inline]
    pub(crate) fn accepts(&self, pass: &Verified<Pass>, rules: &RoomRules, now: Timestamp) -> bool {
        let is_here = !self.is_from_elsewhere(pass) && !self.sessions.is_ended(pass);
        if !is_here || !self.sessions.trusts(pass) || pass.expires_at <= now {
            return false;
        }
        if self.outage.is_on() {
            self.outage.saw(pass, now);
        }
        !rules.timing().may_lapse_first(pass, now, Self::UNDER_WAY)
    }

    /// Returns whether a pass is from elsewhere: from another site, from another set of sites, or
    /// from before this room shared its limit.
    fn is_from_elsewhere(&self, pass: &Pass) -> bool {
        pass.home.map(|home| home.site) != self.store.home().map(|home| home.site)
    }

    /// Returns the application's response to a newcomer who is challenged before the store is
    /// asked. Returns `None` if no challenge is configured, or if the application does not
    /// challenge this request.
    pub(crate) fn challenge(&self, caller: &Caller<'_>, now: Timestamp) -> Option<Response<Bytes>> {
        self.challenger.as_ref()?.ask(caller, &|| self.store.present(), now)
    }

    /// Asks the store about a visitor who checks in with a ticket, who continues the session of a
    /// pass that has expired or is about to, who moves from another site, or who enters as a newcomer.
    ///
    /// If the store has not been told yet that an earlier session of the visitor has ended, this
    /// end is delivered first. If this end cannot be delivered, the store is not asked about the
    /// visitor, and the error of the delivery is returned. The ends of a few other sessions are
    /// delivered at the same time as the question, which does not wait for these deliveries.
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
        let now = self.clock.now();
        let may_move = |pass: &Pass| self.may_move(pass, now);
        let question = match visitor {
            Visitor::Proven(Opened::Ticket(ticket)) => Question::CheckIn(**ticket),
            Visitor::Proven(Opened::Lapsed(pass) | Opened::Pass(pass)) if may_move(pass) => {
                return self.ask_to_move(pass, now);
            }
            Visitor::Proven(Opened::Lapsed(pass) | Opened::Pass(pass)) if self.may_return(pass) => {
                Question::Return(**pass, self.newcomer(head), self.resuming(pass, head))
            }
            Visitor::Inside(_)
            | Visitor::Outside(_)
            | Visitor::Preflight
            | Visitor::Proven(_)
            | Visitor::Unknown => Question::Enter(self.newcomer(head)),
        };
        self.put(question, Duration::ZERO)
    }

    /// Asks the store, once the time `after` has passed, about a visitor who opens a push stream
    /// with this ticket.
    ///
    /// # Cancel safety
    ///
    /// As for [`ask`](Self::ask).
    pub(crate) fn check_in(
        &self,
        ticket: Ticket,
        after: Duration,
    ) -> BoxFuture<Result<Verdict, StoreError>> {
        self.put(Question::CheckIn(ticket), after)
    }

    /// Confirms to the store that the visitor of an open push stream is present, and asks whether
    /// it is the visitor's turn.
    ///
    /// # Cancel safety
    ///
    /// As for [`ask`](Self::ask), except that the visitor cannot have been admitted, unless the
    /// store has no [`stay`](waiting_room_core::Store::stay) of its own.
    pub(crate) fn stay(&self, ticket: Ticket) -> BoxFuture<Result<Verdict, StoreError>> {
        self.put(Question::Stay(ticket), Duration::ZERO)
    }

    /// Waits for the time `after`, and puts a question to the store while ends of sessions are
    /// delivered.
    fn put(&self, question: Question, after: Duration) -> BoxFuture<Result<Verdict, StoreError>> {
        let ends = Arc::clone(&self.sessions.ends);
        self.store.ask(question, after, ends, Arc::clone(&self.outage))
    }

    /// Decides how a request with a valid pass continues. Returns the token of a pass that another
    /// request has renewed, or a renewal to poll alongside the application. Returns neither if the
    /// pass is not due, or if another request is renewing it.
    ///
    /// Apart from its age, a pass can be renewed for three reasons: the store has lost its memory
    /// since the pass was issued, the pass was sealed with an old key, or the clock was set back.
    #[inline]
    pub(crate) fn refresh(
        &self,
        verified: &Verified<Pass>,
        rules: &RoomRules,
        now: Timestamp,
    ) -> (Option<Token>, Option<Box<PassRenewal>>) {
        let mut pass = **verified;
        // A pass counts as due if it will be due by the time the renewal reaches the store. A pass
        // that is older than the store's memory may be unknown to the store. The renewal then makes
        // the store count the visitor again.
        let heard = now + Self::UNDER_WAY;
        let is_due = |pass: &Pass| {
            rules.timing().is_renewal_due(pass, heard)
                || pass.last_check_in < self.store.remembers_since()
        };
        if verified.is_ahead() {
            // The clock was set back, possibly across a restart of the store, so the store may not
            // know this session. The last check-in is set to just before the start of the store's
            // memory, which makes the pass due.
            pass.last_check_in = self.store.remembers_since().before(Duration::from_nanos(1));
        }
        if !verified.is_from_old_key() && !is_due(&pass) {
            return (None, None);
        }
        match self.sessions.stale(&pass, now, is_due) {
            Stale::GoOn => (None, None),
            Stale::Take(renewed) => (Some(self.pass_token(&renewed, now)), None),
            Stale::Renew(renewing) => {
                let ends_by = self.ends_by(&pass);
                let asked = self.store.renew(pass, ends_by, renewing, Arc::clone(&self.outage));
                // A pass that is due because of its age expires before a whole session is over, so
                // it is worth waiting for the fresh pass.
                let patience = if rules.timing().is_renewal_due(&pass, heard) {
                    PassRenewal::PATIENCE
                } else {
                    PassRenewal::SHORT_PATIENCE
                };
                (None, Some(Box::new(PassRenewal::new(asked, patience))))
            }
        }
    }

    /// Returns whether this room has already admitted the request, which happens if the layer is
    /// mounted twice.
    #[inline]
    pub(crate) fn has_let_in(&self, extensions: &Extensions) -> bool {
        extensions.get::<Visit>().is_some_and(|visit| visit.is_of(&self.sessions))
    }

    /// Returns a guard for the session of a newcomer, to be held until the pass is sent. Returns
    /// `None` for a person, whose session may be in use on another device, and whose next request
    /// continues the session even without the pass.
    pub(crate) fn undelivered(&self, id: VisitorId) -> Option<Box<Undelivered>> {
        let guard = || Box::new(Undelivered::new(id, Arc::clone(&self.sessions.ends)));
        (!Identities::is_person(id)).then(guard)
    }

    /// Returns the first ticket of a newcomer, for a node that cannot ask the store in time, or
    /// does not ask it until the ticket returns. `interval` gets a random number, and
    /// returns the time after which the ticket is due.
    ///
    /// The ticket is equivalent to a first ticket from the store, because it states nothing but the
    /// time of arrival. If the store processes check-ins separately (as `waiting-room-redis` does),
    /// a visitor with a ticket no longer competes with newcomers.
    pub(crate) fn first_ticket(
        &self,
        head: &RequestHead<'_>,
        now: Timestamp,
        interval: impl FnOnce(u64) -> Duration,
    ) -> Ticket {
        let id = self.newcomer(head);
        self.telemetry.touched();
        let mut ticket = Ticket::new(id, now, now, now + interval(id.draw(0)));
        ticket.head_start = self.head_start(head);
        ticket
    }

    /// Reports a verdict about a visitor. If this is the visitor's first ticket with a place, also
    /// records in the ticket how long the visitor is told to wait.
    pub(crate) fn observe(&self, visitor: &Visitor, verdict: &mut Verdict) {
        match verdict {
            // The session of a visitor who is already active continues.
            Verdict::Admit { reason: Reason::AdmittedActive | Reason::AdmittedPass, .. } => {}
            Verdict::Admit { pass, .. } if pass.accepted_at == pass.last_check_in => {
                let ticket = if let Visitor::Proven(Opened::Ticket(ticket)) = visitor {
                    let has_lapsed =
                        self.store.rules().timing().has_lapsed(ticket, pass.accepted_at);
                    (!ticket.is_ahead() && !has_lapsed).then_some(&**ticket)
                } else {
                    None
                };
                self.telemetry.admitted(pass, ticket);
            }
            Verdict::Wait { ticket, .. } if ticket.placed => ticket.promise(),
            Verdict::Wait { .. } => self.telemetry.touched(),
            Verdict::Admit { .. } | Verdict::Refuse { .. } => {}
        }
    }

    /// Returns the time after which a visitor is asked to come back if this node cannot ask the
    /// store.
    pub(crate) fn overload_interval(&self, draw: u64) -> Duration {
        spread(self.store.rules().refresh_interval, draw)
    }

    /// Returns whether visitors are let through at `now` while the store cannot decide. In a
    /// prequeue, no visitor is let through.
    pub(crate) fn admits_without_store(&self, now: Timestamp) -> bool {
        let is_prequeue =
            |plan: Arc<RoomPlan>| matches!(plan.phase_at(now), Phase::Prequeue { .. });
        self.outage.policy() == StoreFailure::Admit && !self.store.plan().is_some_and(is_prequeue)
    }

    /// Returns the application's handle to the session of a request.
    #[inline]
    pub(crate) fn visit(&self, pass: Pass, reason: Reason) -> Visit {
        Visit::new(pass, reason, Arc::clone(&self.sessions))
    }

    /// Ends the session of a pass if the response revokes the pass, or if the session has ended in
    /// the meantime, either through its [`Visit`] or because a renewal found that the session was
    /// over. The response then deletes the visitor's token.
    ///
    /// Returns the call that ends the session in the store, or `None` if the session continues.
    #[inline]
    pub(crate) fn end(
        &self,
        pass: &Pass,
        is_revoked: bool,
        source: TokenSource,
        headers: &mut HeaderMap,
    ) -> Option<BoxFuture<()>> {
        if is_revoked {
            self.sessions.end_by_application(pass);
        } else if !self.sessions.is_ended(pass) {
            return None;
        }
        self.transport.detach(headers, source);
        Some(self.leave(pass.id))
    }

    /// Returns whether a token does not belong to the person who sent the request.
    fn is_of_another(&self, opened: &Opened, head: &RequestHead<'_>) -> bool {
        let Some(identity) = self.identity_of(head) else { return false };
        match opened {
            Opened::Ticket(ticket) => !self.identities.is_of(ticket.id, &identity),
            Opened::Lapsed(pass) | Opened::Pass(pass) => {
                Identities::is_person(pass.id) && !self.identities.is_of(pass.id, &identity)
            }
        }
    }

    /// Returns whether a ticket does not belong to the person who sent the request.
    fn is_ticket_of_another(&self, ticket: &Ticket, head: &RequestHead<'_>) -> bool {
        let identity = self.identity_of(head);
        identity.is_some_and(|identity| !self.identities.is_of(ticket.id, &identity))
    }

    /// Ends a session in the store. If the call fails or is dropped, the end is put back on the
    /// list, and a later request delivers it.
    fn leave(&self, id: VisitorId) -> BoxFuture<()> {
        let owed = self.sessions.ends.take_end(id);
        self.store.leave(owed, self.push.clone(), Arc::clone(&self.outage))
    }
}

/// Returns the time after which a visitor comes back to an overloaded store: between a quarter and
/// all of the longest time, rounded down to whole seconds, plus 1 s.
///
/// `draw` spreads visitors evenly over this range, so that a flood of visitors does not come back
/// all at once.
fn spread(longest: Duration, draw: u64) -> Duration {
    let share = u32::try_from(draw % 1_000).unwrap_or(0);
    let interval = longest / 4 + longest * 3 / 4 * share / 1_000;
    Duration::from_secs(interval.as_secs() + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn visitors_come_back_evenly_between_a_quarter_of_the_interval_and_the_whole() {
        let longest = Duration::from_secs(20);
        let seconds = |draw| spread(longest, draw).as_secs();
        assert_eq!([0, 500, 999, 1_000, 1_500].map(seconds), [6, 13, 20, 6, 13]);
    }
}
