//! The order of the stages, and what a request carries through them.

use std::{
    ops::ControlFlow::{self, Break, Continue},
    time::Duration,
};

use waiting_room_core::{Reason, RoomMode, Store, Ticket, Timestamp};

use super::{
    pending::{Pending, Resumed},
    reply::Reply,
};
use crate::{
    ambient::StageClock,
    config::{DebugHeader, Enforcement, Preflight, WaitingRoomConfig},
    gate::{GateStage, Gated, Permits, body_read_timeout},
    misconfiguration::Misconfiguration,
    rate::{RateReport, RateStage, Rated},
    rate_headers::Field,
    request::{Bypass, Caller, Callers, Findings, POLL_HEADER, RequestHead},
    respond::{Outcome, Responder},
    room::{BoxFuture, PassRenewal, RoomStage, StoreFailure, Token, Undelivered, Visitor},
    rules_file::{RulesSource, Watch},
    telemetry::Telemetry,
    token::{KeyRing, Opened, TokenKey, TokenSource, Transport},
};

/// The stages of a layer and what stands around them, shared by all of its services.
pub(crate) struct Pipeline<St> {
    pub(crate) store: St,
    pub(crate) limits: RateStage,
    /// `None` for a layer of rate limits and gates alone.
    pub(super) room: Option<RoomStage<St>>,
    pub(crate) gates: GateStage,
    /// [`Stage::order`], unless a test adds a stage.
    pub(super) order: fn(&Visitor) -> &'static [Stage],
    pub(crate) rules_file: Option<RulesSource>,
    /// Keeps the limits to what their file says.
    _watch: Option<Watch>,
    bypass: Vec<Bypass>,
    preflight: Preflight,
    callers: Callers,
    enforcement: Enforcement,
    pub(super) responder: Responder,
    /// The headers that tell of limits.
    pub(super) rate_headers: &'static [Field],
    pub(super) debug_header: DebugHeader,
    pub(crate) telemetry: Telemetry,
}

/// Everything that a request carries from the first look at it to its response.
pub(crate) struct Journey {
    /// The stages that it has not reached yet.
    ahead: &'static [Stage],
    /// The time at which it arrived.
    arrived: Timestamp,
    /// The time at which it was last looked at.
    pub(super) now: Timestamp,
    /// How its token came, and how the next one leaves.
    pub(super) source: TokenSource,
    /// The token on its way to the client.
    pub(super) token: Option<Token>,
    /// The session of a newcomer whose pass is in `token`.
    pub(super) undelivered: Option<Box<Undelivered>>,
    /// Its visitor, by its token and by the room.
    pub(super) visitor: Visitor,
    /// The renewal of its pass, if that is due.
    pub(super) renewal: Option<Box<PassRenewal>>,
    /// The decisions of its rate limits.
    pub(super) report: Option<Box<RateReport>>,
    /// The permits of the gates that it has passed.
    pub(crate) permits: Permits,
    /// The reason for which it goes on.
    pub(super) admitted: Reason,
    /// The first reason for which it would not have gone on outside of shadow mode.
    shadowed: Option<Reason>,
    /// What tells the store that the session is over, once the application has said so.
    pub(super) leaving: Option<BoxFuture<()>>,
}

/// A stage that a request passes on its way to the application.
#[derive(Clone, Copy, Debug)]
pub(super) enum Stage {
    Gates,
    Limits,
    /// Does nothing but count the requests that pass it.
    #[cfg(test)]
    Probe(&'static std::sync::atomic::AtomicU32),
    Room,
}

/// What keeps a request from its next stage, and so from the application.
pub(crate) enum Stop {
    /// It is answered by the layer itself.
    Reply(Reply),
    /// It waits; then it is [resumed](Pipeline::resume).
    Wait(Pending),
}

impl Stage {
    /// The stages of a request, in order, by the token that it brought.
    ///
    /// This is also the rule for when a request is charged, once each. The limits protect the
    /// application, so a visitor in line is charged when the room lets it in: otherwise its
    /// check-ins would use up what its address may do. Without a token a request is charged first,
    /// so that a flood of newcomers costs the store of the room nothing. A pass asks no store.
    /// A preflight skips the room and nothing else.
    pub(super) fn order(visitor: &Visitor) -> &'static [Self] {
        match visitor {
            Visitor::Preflight => &[Self::Limits, Self::Gates],
            Visitor::Proven(Opened::Ticket(_)) => &[Self::Room, Self::Limits, Self::Gates],
            Visitor::Proven(Opened::Pass(_)) => &[Self::Limits, Self::Room, Self::Gates],
            Visitor::Proven(Opened::Lapsed(_))
            | Visitor::Unknown
            | Visitor::Inside(_)
            | Visitor::Outside(_) => &[Self::Limits, Self::Room, Self::Gates],
        }
    }
}

impl<St: Store> Pipeline<St> {
    pub(crate) fn new(config: WaitingRoomConfig, store: St, on_failure: StoreFailure) -> Self {
        let telemetry = Telemetry::new(config.rules.name().into());
        let source = store.clone();
        let clock = StageClock::new(move || source.now());
        let limits = RateStage::new(&config.rates, telemetry.clone(), clock.clone())
            .expect("a config is built only with limits that can be kept");
        let watch = config.rules_file.as_ref().and_then(|file| file.follow(&limits.in_force));
        if config.has_room && *store.given_rules() != config.rules {
            telemetry.misconfigured(Misconfiguration::RulesDiffer);
        }
        let room = config.has_room.then(|| {
            let keys = config.keys.clone().unwrap_or_else(|| {
                let room = config.rules.name();
                tracing::warn!(
                    room,
                    "no key is configured: passes and places end with this process"
                );
                KeyRing::new(TokenKey::random())
            });
            let transport = Transport::new(&config.cookie, config.rules.name())
                .expect("a config is built only with a cookie that can be set");
            let (store, telemetry) = (store.clone(), telemetry.clone());
            RoomStage::new(store, on_failure, &keys, transport, config.challenge, telemetry)
        });
        Self {
            room,
            gates: GateStage::new(&config.gates, &clock, &telemetry)
                .expect("a config is built only with gates that can be kept"),
            limits,
            order: Stage::order,
            callers: Callers::new(config.rates.client_ip.clone()),
            enforcement: config.enforcement,
            responder: Responder::new(
                config.rules.name().into(),
                config.page,
                config.refusal,
                config.statuses,
                config.rates.headers,
            ),
            rate_headers: config.rates.headers.fields(),
            debug_header: config.debug_header,
            rules_file: config.rules_file,
            _watch: watch,
            bypass: config.bypass,
            preflight: config.preflight,
            store,
            telemetry,
        }
    }

    /// A request as all rules of this layer see it.
    pub(crate) fn head<'a, B>(
        &'a self,
        request: &'a http::Request<B>,
        findings: &'a Findings,
    ) -> RequestHead<'a> {
        RequestHead::new(request, &self.callers.client_ip, Some(findings))
    }

    /// Looks at a request for the first time: at the rules of bypass, at whether it is a preflight,
    /// then at its token.
    pub(crate) fn begin(&self, head: RequestHead<'_>, journey: &mut Journey) {
        if self.bypass.iter().any(Bypass::needs_address) && head.client_ip().is_none() {
            self.telemetry.misconfigured(Misconfiguration::PeerUnknown);
        }
        if let Some(rule) = self.bypass.iter().find(|rule| rule.covers(&head)) {
            journey.admitted = Reason::Bypass(rule.name().clone());
            return;
        }
        let preflight = head.is_preflight().then_some(self.preflight);
        if preflight == Some(Preflight::Bypass) {
            journey.admitted = Reason::Bypass("preflight".into());
            return;
        }
        if let Some(room) = &self.room {
            if preflight == Some(Preflight::SkipRoom) {
                journey.admitted = Reason::Bypass("preflight".into());
                journey.visitor = Visitor::Preflight;
            } else {
                (journey.visitor, journey.source) = room.identify(head.headers(), journey.now);
            }
        }
        journey.ahead = (self.order)(&journey.visitor);
    }

    /// For how long the application waits for a frame of the request's body; none in shadow mode, which
    /// has no effect.
    pub(crate) fn body_read_timeout(&self, journey: &Journey) -> Option<Duration> {
        match self.enforcement {
            Enforcement::Enforce if !journey.permits.is_empty() => {
                body_read_timeout(&journey.permits)
            }
            Enforcement::Enforce | Enforcement::Shadow => None,
        }
    }

    /// Takes a request as far as it comes without waiting.
    pub(crate) fn advance(
        &self,
        head: RequestHead<'_>,
        journey: &mut Journey,
    ) -> ControlFlow<Stop> {
        let flow = self.run(head, journey);
        self.count(journey, &flow);
        flow
    }

    /// Takes a request further that has waited.
    pub(crate) fn resume(
        &self,
        head: RequestHead<'_>,
        journey: &mut Journey,
        resumed: Resumed,
    ) -> ControlFlow<Stop> {
        journey.now = self.store.now();
        let flow = match resumed {
            Resumed::Charged(reply) => self.rated(journey, self.limits.replied(reply, journey.now)),
            Resumed::Decided(verdict) => self.decided(head, journey, verdict),
            Resumed::Turn => Continue(()),
            Resumed::Waited(waited) => {
                let (caller, now) = (self.caller(head, journey), journey.now);
                let gated = self.gates.resume(&caller, waited, &mut journey.permits, now);
                Self::gated(gated, now)
            }
        };
        let flow = match self.in_effect(journey, flow) {
            Continue(()) => self.run(head, journey),
            stop => stop,
        };
        self.count(journey, &flow);
        flow
    }

    /// The only loop over the stages.
    fn run(&self, head: RequestHead<'_>, journey: &mut Journey) -> ControlFlow<Stop> {
        while let [stage, ahead @ ..] = journey.ahead {
            journey.ahead = ahead;
            let flow = match stage {
                Stage::Gates => self.enter_gates(head, journey),
                Stage::Limits => self.charge(head, journey),
                #[cfg(test)]
                Stage::Probe(passed) => {
                    passed.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                    Continue(())
                }
                Stage::Room => self.enter_room(head, journey),
            };
            if flow.is_break() {
                self.in_effect(journey, flow)?;
            }
        }
        Continue(())
    }

    /// The effect of what a stage has said. In shadow mode a request waits only for the answers
    /// that it takes to decide about it, and goes on whatever is decided.
    fn in_effect(&self, journey: &mut Journey, flow: ControlFlow<Stop>) -> ControlFlow<Stop> {
        let is_shadow = self.enforcement == Enforcement::Shadow;
        match flow {
            Break(Stop::Reply(reply)) if is_shadow && reply.outcome != Outcome::Admit => {
                journey.shadowed.get_or_insert(reply.reason);
                Continue(())
            }
            Break(Stop::Wait(pending)) if is_shadow && !pending.is_question() => {
                pending.skip();
                Continue(())
            }
            flow => flow,
        }
    }

    /// Counts the verdict of a request, once it has one.
    fn count(&self, journey: &Journey, flow: &ControlFlow<Stop>) {
        let reason = match flow {
            Break(Stop::Wait(_)) => return,
            Break(Stop::Reply(reply)) => &reply.reason,
            Continue(()) => &journey.admitted,
        };
        self.telemetry.verdict(journey.shadowed.as_ref().unwrap_or(reason));
    }

    /// The sender of a request, as far as it is known by now.
    fn caller<'a>(&'a self, head: RequestHead<'a>, journey: &Journey) -> Caller<'a> {
        let visitor = match &journey.visitor {
            Visitor::Inside(pass) => Some(pass.id),
            Visitor::Proven(Opened::Pass(pass)) => Some(pass.id),
            _ => None,
        };
        self.callers.of(head, visitor)
    }

    fn charge(&self, head: RequestHead<'_>, journey: &mut Journey) -> ControlFlow<Stop> {
        let policies = self.limits.in_force.policies.load();
        if policies.is_empty() {
            return Continue(());
        }
        let rated = self.limits.charge(&policies, &self.caller(head, journey), journey.now);
        self.rated(journey, rated)
    }

    fn rated(&self, journey: &mut Journey, rated: Rated) -> ControlFlow<Stop> {
        let (report, flow) = match rated {
            Rated::Pending(charge) => return Break(Stop::Wait(Pending::Charge(charge))),
            Rated::Delay(report, turn) => (report, Break(Stop::Wait(Pending::Turn(turn)))),
            Rated::Free => return Continue(()),
            Rated::Pass(report) => (report, Continue(())),
            Rated::Refuse(report) => {
                let reply = Reply::over_limit(&report);
                (report, Break(Stop::Reply(reply)))
            }
            Rated::KeyMissing(policy) => return Break(Stop::Reply(Reply::key_missing(&policy))),
            Rated::Stranger => return Break(Stop::Reply(Reply::address_unknown())),
            Rated::Busy => return Break(Stop::Reply(Reply::limits_overloaded())),
            Rated::Unavailable => return Break(Stop::Reply(Reply::limits_unavailable())),
        };
        // Where there is a room, it says why a request goes on.
        if self.room.is_none() {
            journey.admitted = report.admitted.clone();
        }
        journey.report = Some(report);
        flow
    }

    fn enter_room(&self, head: RequestHead<'_>, journey: &mut Journey) -> ControlFlow<Stop> {
        let Some(room) = &self.room else { return Continue(()) };
        let (now, rules) = (journey.now, room.rules());
        // The limits stay: they protect the service from single clients with or without a room.
        if rules.mode() == RoomMode::Suspended {
            journey.admitted = Reason::Bypass("suspended".into());
            return Continue(());
        }
        match &journey.visitor {
            Visitor::Proven(Opened::Pass(pass)) if room.accepts(pass, now) => {
                if head.headers().contains_key(POLL_HEADER) {
                    return Break(Stop::Reply(Reply::admitted_poll(Reason::AdmittedPass)));
                }
                (journey.token, journey.renewal) = room.refresh(pass, &rules, now);
                journey.visitor = Visitor::Inside(**pass);
                journey.admitted = Reason::AdmittedPass;
                Continue(())
            }
            Visitor::Proven(Opened::Ticket(ticket)) => {
                if let Err(pause) = room.pace.charge(ticket, &self.callers.of(head, None), now) {
                    return Break(Stop::Reply(Reply::too_often(pause)));
                }
                if ticket.is_early(now) {
                    return Break(Stop::Reply(Reply::queued(Reason::QueuedEarly, ticket, now)));
                }
                Break(Stop::Wait(Pending::Verdict(room.ask(&journey.visitor, &head))))
            }
            _ if room.has_let_in(head.extensions()) => {
                self.telemetry.misconfigured(Misconfiguration::CountedTwice);
                journey.admitted = Reason::AdmittedPass;
                Continue(())
            }
            _ => {
                if let Some(response) = room.challenge(&self.callers.of(head, None), now) {
                    // In shadow mode, the room has yet to be asked.
                    let flow = Break(Stop::Reply(Reply::challenged(response)));
                    self.in_effect(journey, flow)?;
                }
                Break(Stop::Wait(Pending::Verdict(room.ask(&journey.visitor, &head))))
            }
        }
    }

    fn enter_gates(&self, head: RequestHead<'_>, journey: &mut Journey) -> ControlFlow<Stop> {
        if self.gates.is_empty() {
            return Continue(());
        }
        let (caller, arrived, now) = (self.caller(head, journey), journey.arrived, journey.now);
        Self::gated(self.gates.enter(&caller, arrived, &mut journey.permits, now), now)
    }

    fn gated(gated: Gated, now: Timestamp) -> ControlFlow<Stop> {
        match gated {
            Gated::Admitted => Continue(()),
            Gated::Gone => Break(Stop::Reply(Reply::client_gone())),
            Gated::Refused(gate, refused) => {
                Break(Stop::Reply(Reply::at_gate(gate, &refused, now)))
            }
            Gated::Stranger => Break(Stop::Reply(Reply::address_unknown())),
            Gated::Unknown => Break(Stop::Reply(Reply::gate_unknown())),
            Gated::Waiting(waiting) => Break(Stop::Wait(Pending::Permit(waiting))),
        }
    }
}

impl Journey {
    /// That of a request that has just arrived.
    pub(crate) fn new(now: Timestamp) -> Self {
        Self {
            ahead: &[],
            arrived: now,
            now,
            source: TokenSource::Cookie,
            token: None,
            undelivered: None,
            visitor: Visitor::Unknown,
            renewal: None,
            report: None,
            permits: Permits::new(),
            admitted: Reason::AdmittedLimits,
            shadowed: None,
            leaving: None,
        }
    }

    /// The reason that its response states: why it went on, or would not have.
    pub(super) fn reason(&mut self) -> Reason {
        self.shadowed.take().unwrap_or_else(|| self.admitted.clone())
    }

    /// The place in line of its visitor, if it has one.
    pub(super) fn ticket(&self) -> Option<&Ticket> {
        match &self.visitor {
            Visitor::Outside(ticket) => ticket.as_ref(),
            Visitor::Proven(Opened::Ticket(ticket)) => Some(ticket),
            _ => None,
        }
    }
}
