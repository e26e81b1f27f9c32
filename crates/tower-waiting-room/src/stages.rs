//! The stages of one request, in order.
//!
//! ```text
//! request ─► bypass? ─► token ─► too early? ─► rate limits ─┬─ refuse ─► answer
//!                                     └► answer from ticket ├─ hold ─┐
//!                                                           └────────┴─► the room:
//!    ┌─ valid pass, or no room, or a suspended one ──────────────────► gates ─┬─► forward
//!    ├─ ticket ──► check_in ─┬─ admit ──────────────────────────────────┤      ├─ queue ─┘
//!    └─ nothing ─► enter ────┴─ wait, refuse ─► answer    shadow mode ──┘      └─ refuse ─► answer
//! ```
//!
//! [`look`](Gatekeeper::look) is everything that needs no store; it decides alone about every
//! request with a valid pass, and where there is no room, unless the limits are in a store: then
//! [`limited`](Gatekeeper::limited) goes on with what that has said.
//! [`conclude`](Gatekeeper::conclude) turns the verdict of the store into the next step, and
//! [`settle`](Gatekeeper::settle) finishes the response of the application. Between them stands
//! [`ResponseFuture`](crate::ResponseFuture), which only waits.

mod away;
mod gate;
mod limits;
mod room;
mod settle;

pub use self::settle::{COMMAND_HEADER, REASON_HEADER, reason_of};
pub(crate) use self::{
    gate::Queue,
    limits::{Hold, Limiting},
    settle::Settled,
};

use std::{mem, sync::Arc, time::Duration};

use bytes::Bytes;
use http::{Extensions, Response, StatusCode};
use waiting_room_core::{Pass, Reason, Store, StoreError, Ticket, Timestamp, Verdict};

use crate::{
    config::WaitingRoomConfig,
    gate::{GateStage, HeldAll, PermitHandle},
    rate::{Now, RateStage, Source as RulesSource, Told},
    request::{self, RequestHead},
    respond::Refusal,
    room::{Outage, PassRenewal, Sessions, StoreFailure, Visit},
    rules_file::Watch,
    telemetry::Telemetry,
    token::{KeyRing, Opened, SealedToken, Source, TokenKey, Tokens, Transport},
};

/// A future of a store, boxed: a valid pass that is not due for renewal never makes one.
pub(crate) use crate::room::BoxFuture as Asked;

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
    outage: Arc<Outage>,
}

/// What is to be done with a request.
pub(crate) enum Step {
    /// Answer it without the application.
    Answer(Response<Bytes>),
    /// Ask the store.
    Ask(Asked<Result<Verdict, StoreError>>, Carried),
    /// Let it through.
    Forward(Forward),
    /// Ask the store of the limits.
    Limit(Box<Limiting>),
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
    /// The renewal of the pass, if it is due.
    pub(crate) renewal: Option<PassRenewal>,
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
        let outage = Arc::new(Outage::new(on_failure, telemetry.clone()));
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
            outage,
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

    /// Turns what the store said into the next step.
    pub(crate) fn conclude(
        &self,
        head: RequestHead<'_>,
        carried: Carried,
        verdict: Result<Verdict, StoreError>,
    ) -> Step {
        self.through_gates(head, self.told(head, carried, verdict))
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
            let ours = PermitHandle::new(forward.held.clone());
            let all = match extensions.remove::<PermitHandle>() {
                Some(outer) => ours.and(outer),
                None => ours,
            };
            extensions.insert(all);
        }
    }

    /// The file that limits come from.
    pub(crate) fn rules_file(&self) -> Option<&RulesSource> {
        self.config.rates.source.as_ref()
    }

    /// Whether the request concerns neither the limits nor the room, and by which rule.
    fn bypass(&self, head: &RequestHead<'_>) -> Option<Reason> {
        if request::is_preflight(head.method(), head.headers()) {
            return Some(Reason::Bypass("preflight".into()));
        }
        let rule = self.config.bypass.iter().find(|rule| rule.covers(head))?;
        Some(Reason::Bypass(rule.name().clone()))
    }

    /// Opens the token of a request.
    fn bearer(&self, head: &RequestHead<'_>, now: Timestamp) -> Bearer {
        let found = self.transport.find(&self.tokens, head.headers(), now);
        if let Some(error) = found.last_error {
            self.telemetry.rejected(found.rejected, error);
        }
        Bearer { opened: found.opened, source: found.source }
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
