//! The stages of one request, in order.
//!
//! ```text
//! request ─► bypass? ─► token ─► too early? ─► rate limits ─┬─ refuse ─► answer
//!                                     └► answer from ticket ├─ hold ─┐
//!                                                           └────────┴─► the room:
//!    ┌─ valid pass, or no room, or a suspended one ──────────────────► forward
//!    ├─ ticket ──► check_in ─┬─ admit ──────────────────────────────────┤
//!    └─ nothing ─► enter ────┴─ wait, refuse ─► answer    shadow mode ──┘
//! ```
//!
//! [`look`](Gatekeeper::look) is everything that needs no store; it decides alone about every
//! request with a valid pass, and where there is no room. [`conclude`](Gatekeeper::conclude) turns
//! the verdict of the store into the next step, and [`settle`](Gatekeeper::settle) finishes the response of the
//! application. Between them stands [`ResponseFuture`](crate::ResponseFuture), which only waits.

mod away;
mod gate;
mod limits;
mod settle;

pub use self::settle::{COMMAND_HEADER, REASON_HEADER, reason_of};
pub(crate) use self::{gate::Queue, limits::Hold, settle::Settled};

use std::{future::Future, mem, pin::Pin, sync::Arc, time::Duration};

use bytes::Bytes;
use http::{Extensions, Response, StatusCode};
use waiting_room_core::{
    Pass, Reason, Renewal, RoomSwitch, Store, StoreError, Ticket, Timestamp, Verdict,
};

use self::away::Away;
use crate::{
    config::WaitingRoomConfig,
    gate::{GateStage, HeldAll, PermitHandle},
    head::RequestHead,
    rate::{Now, RateStage, Source as RulesSource, Told},
    respond::{Outcome, Refusal},
    rules_file::Watch,
    session::{Sessions, Stale, Visit},
    telemetry::Telemetry,
    token::{self, KeyRing, Opened, SealedToken, Source, TokenKey, Tokens, Transport, Verified},
    visit,
};

/// A future of a store, boxed: a valid pass that is not due for renewal never makes one.
pub(crate) type Asked<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// What to tell a visitor without a pass when the store cannot decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StoreFailure {
    /// Let the visitor through, uncounted and without a pass.
    Admit,
    /// Have the visitor ask again; a place is kept.
    Wait,
}

/// Everything that the services of one layer share.
pub(crate) struct Gatekeeper<St> {
    pub(crate) store: St,
    config: WaitingRoomConfig,
    room: Arc<str>,
    tokens: Tokens,
    transport: Transport,
    sessions: Arc<Sessions>,
    pub(crate) rates: Arc<RateStage>,
    pub(crate) gates: GateStage,
    /// Keeps the limits to what their file says.
    _watch: Option<Watch>,
    refusal: Refusal,
    pub(crate) telemetry: Telemetry,
    on_failure: StoreFailure,
}

/// What is to be done with a request.
pub(crate) enum Step {
    /// Answer it without the application.
    Answer(Response<Bytes>),
    /// Ask the store.
    Ask(Asked<Result<Verdict, StoreError>>, Carried),
    /// Let it through.
    Forward(Forward),
    /// Wait until it is its turn.
    Hold(Box<Hold>),
    /// Wait for a permit.
    Queue(Box<Queue>),
}

/// Who sent a request, as far as its token says.
pub(crate) struct Bearer {
    opened: Option<Opened>,
    source: Source,
}

/// What a request brought along that its answer depends on.
pub(crate) struct Carried {
    ticket: Option<Ticket>,
    source: Source,
    told: Option<Box<Told>>,
}

/// A request on its way to the application.
pub(crate) struct Forward {
    /// The renewal of the pass, which runs beside the application.
    pub(crate) renewal: Option<Asked<Option<Pass>>>,
    pass: Option<Pass>,
    reason: Reason,
    source: Source,
    token: Option<Token>,
    /// What its rate limits said.
    told: Option<Box<Told>>,
    /// The permits of the gates.
    held: HeldAll,
}

/// A token on its way to the client.
struct Token {
    sealed: SealedToken,
    max_age: Duration,
}

impl<St: Store> Gatekeeper<St> {
    pub(crate) fn new(config: WaitingRoomConfig, store: St, on_failure: StoreFailure) -> Self {
        let room: Arc<str> = config.rules.name().into();
        let keys = config.keys.clone().unwrap_or_else(|| {
            if config.has_room {
                tracing::warn!(%room, "no key is configured: passes and places end with this process");
            }
            KeyRing::new(TokenKey::random())
        });
        let telemetry = Telemetry::new(Arc::clone(&room));
        let clock = store.clone();
        let now: Now = Arc::new(move || clock.now());
        let rates = RateStage::new(&config.rates, telemetry.clone(), Arc::clone(&now))
            .expect("a config is built only with limits that can be kept");
        let gates = GateStage::new(&config.gates, &now, &telemetry)
            .expect("a config is built only with gates that can be kept");
        let rates = Arc::new(rates);
        let watch = config.rates.source.clone().and_then(|source| source.follow(&rates));
        Self {
            tokens: Tokens::new(&keys, &room),
            transport: Transport::new(&config.cookie, &room)
                .expect("a config is built only with a cookie that can be set"),
            sessions: Arc::default(),
            telemetry,
            rates,
            gates,
            _watch: watch,
            refusal: Refusal::new(config.rates.headers),
            room,
            config,
            store,
            on_failure,
        }
    }

    /// Looks at a request, without asking the store.
    pub(crate) fn look(&self, head: RequestHead<'_>) -> Step {
        if let Some(reason) = self.bypass(&head) {
            return Step::Forward(self.forward(reason, None, Source::Cookie, None));
        }
        let now = self.store.now();
        let bearer = if self.config.has_room { self.bearer(&head, now) } else { Bearer::NOBODY };
        if let Some(Opened::Ticket(ticket)) = &bearer.opened
            && ticket.is_early(now)
            && !self.is_suspended()
        {
            return self.too_early(&head, **ticket, bearer.source, now);
        }
        self.through_gates(head, self.rate(head, bearer, now))
    }

    /// Has a request meet the room, once its rate limits allow it.
    fn meet_room(
        &self,
        head: &RequestHead<'_>,
        Bearer { opened, source }: Bearer,
        told: Option<Box<Told>>,
        now: Timestamp,
    ) -> Step {
        if !self.config.has_room {
            return Step::Forward(self.forward(Reason::AdmittedLimits, None, source, told));
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
                self.ask(carried, move |store| async move { store.check_in(ticket).await })
            }
            Some(Opened::Pass(_)) | None => {
                let id = token::random_visitor_id();
                let carried = Carried { ticket: None, source, told };
                self.ask(carried, move |store| async move { store.enter(id).await })
            }
        }
    }

    /// Turns what the store said into the next step.
    pub(crate) fn conclude(
        &self,
        head: RequestHead<'_>,
        carried: Carried,
        verdict: Result<Verdict, StoreError>,
    ) -> Step {
        self.through_gates(head, self.told(head, carried, verdict))
    }

    /// What follows from what the store said.
    fn told(
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
                if head.headers().contains_key(visit::POLL_HEADER) {
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
            Err(error) => {
                self.telemetry.store_failed(&error);
                let reason = Reason::StoreUnavailable;
                if self.on_failure == StoreFailure::Admit {
                    return Step::Forward(self.forward(reason, None, source, told));
                }
                let retry_after = Some(STORE_RETRY);
                let away = Away { outcome: Outcome::Wait, reason, ticket, retry_after, told };
                self.turn_away(&head, source, away, None, now)
            }
        }
    }

    /// Gives the application its handles.
    pub(crate) fn equip(&self, forward: &mut Forward, extensions: &mut Extensions) {
        self.telemetry.verdict(&forward.reason);
        if let Some(pass) = forward.pass {
            let (reason, sessions) = (forward.reason.clone(), Arc::clone(&self.sessions));
            extensions.insert(Visit::new(pass, reason, sessions));
        }
        if let Some(told) = &mut forward.told {
            told.equip(extensions);
        }
        if !forward.held.is_empty() {
            extensions.insert(PermitHandle::new(forward.held.clone()));
        }
    }

    /// The file that limits come from.
    pub(crate) fn rules_file(&self) -> Option<&RulesSource> {
        self.config.rates.source.as_ref()
    }

    /// Whether the request concerns neither the limits nor the room, and by which rule.
    fn bypass(&self, head: &RequestHead<'_>) -> Option<Reason> {
        if visit::is_preflight(head.method(), head.headers()) {
            return Some(Reason::Bypass("preflight".into()));
        }
        let rule = self.config.bypass.iter().find(|rule| rule.covers(head))?;
        Some(Reason::Bypass(rule.name().clone()))
    }

    /// Whether the operator has taken the room away. The limits stay: they protect the service
    /// from single clients, whether there is a room or not.
    fn is_suspended(&self) -> bool {
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
        if head.headers().contains_key(visit::POLL_HEADER) {
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
                let (store, telemetry) = (self.store.clone(), self.telemetry.clone());
                forward.renewal = Some(Box::pin(async move {
                    match store.renew(pass).await {
                        Ok(Renewal::Renew(renewed)) => {
                            renewing.renewed(renewed);
                            Some(renewed)
                        }
                        Ok(Renewal::End) => {
                            renewing.ended(&pass);
                            None
                        }
                        Err(error) => {
                            telemetry.store_failed(&error);
                            None
                        }
                    }
                }));
            }
        }
        Step::Forward(forward)
    }

    /// Answers a ticket that is shown too early from the ticket alone.
    fn too_early(
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

    /// Opens the token of a request.
    fn bearer(&self, head: &RequestHead<'_>, now: Timestamp) -> Bearer {
        let found = self.transport.find(&self.tokens, head.headers(), now);
        if let Some(error) = found.last_error {
            self.telemetry.rejected(found.rejected, error);
        }
        Bearer { opened: found.opened, source: found.source }
    }

    /// Asks the store for a verdict, after it has heard of every session that ended here.
    fn ask<F>(&self, carried: Carried, verb: impl FnOnce(St) -> F + Send + 'static) -> Step
    where
        F: Future<Output = Result<Verdict, StoreError>> + Send,
    {
        let (store, owed) = (self.store.clone(), self.sessions.take_owed());
        let asked = Box::pin(async move {
            for id in owed {
                store.leave(id).await?;
            }
            verb(store).await
        });
        Step::Ask(asked, carried)
    }

    /// Whether a pass is old enough to be renewed, or older than the memory of the store.
    fn is_renewal_due(&self, pass: &Pass, now: Timestamp) -> bool {
        self.store.rules().is_renewal_due(now.since(pass.last_check_in))
            || pass.last_check_in < self.store.remembers_since()
    }

    fn forward(
        &self,
        reason: Reason,
        pass: Option<Pass>,
        source: Source,
        told: Option<Box<Told>>,
    ) -> Forward {
        let held = HeldAll::new();
        Forward { renewal: None, pass, reason, source, token: None, told, held }
    }

    fn pass_token(&self, pass: &Pass, now: Timestamp) -> Token {
        Token { sealed: self.tokens.seal_pass(pass), max_age: pass.expires_at.since(now) }
    }

    fn ticket_token(&self, ticket: &Ticket) -> Token {
        let max_age = self.store.rules().current_place_retention();
        Token { sealed: self.tokens.seal_ticket(ticket), max_age }
    }
}

impl Bearer {
    /// Who brings no token.
    const NOBODY: Self = Self { opened: None, source: Source::Cookie };
}

impl Forward {
    /// The permits that the body of the response holds; those that the head held are free.
    pub(crate) fn held_by_body<B>(&mut self, response: &Response<B>) -> HeldAll {
        let is_overloaded = OVERLOADED.contains(&response.status());
        let mut held = mem::take(&mut self.held);
        held.retain(|held| {
            held.answered(is_overloaded);
            let is_held = held.gate().concurrency().is_held_by_body();
            if !is_held {
                held.over();
            }
            is_held
        });
        held
    }

    fn with_token(mut self, token: Token) -> Self {
        self.token = Some(token);
        self
    }
}

/// The statuses by which an application says that it cannot keep up.
const OVERLOADED: [StatusCode; 2] = [StatusCode::SERVICE_UNAVAILABLE, StatusCode::GATEWAY_TIMEOUT];

/// How soon a visitor asks again whom the store could not answer.
const STORE_RETRY: Duration = Duration::from_secs(5);
