//! The order of the stages, and what a request carries through them.
//!
//! [`Pipeline`] is the shared part, one per layer; [`Journey`] is the part of one request. A stage
//! either lets a request continue or stops it with a [`Stop`]: a reply, or a wait that is resumed
//! later. `run` is the only loop over the stages, and `in_effect` the only place that knows of
//! shadow mode. So a stage that is added takes part in both without code of its own.
//!
//! A request is counted once, when its outcome is known: `advance` and `resume` report it, unless
//! the request waits once more.

use std::{
    ops::ControlFlow::{self, Break, Continue},
    sync::Arc,
    time::Duration,
};

use waiting_room_core::{Reason, Store, Ticket, Timestamp, room::RoomMode};

use super::{
    pending::{Pending, Resumed},
    reply::Reply,
};
use crate::{
    config::{DebugHeader, Enforcement, Preflight},
    gate::{GateStage, Gated, Permits, body_read_timeout},
    misconfiguration::Misconfiguration,
    rate::{RateReport, RateStage, Rated},
    rate_headers::Field,
    request::{Bypass, Caller, Callers, Findings, POLL_HEADER, RequestHead},
    respond::{Outcome, Responder},
    room::{BoxFuture, Opened, PassRenewal, RoomStage, Token, TokenSource, Undelivered, Visitor},
    rules_file::{FollowedFile, Watch},
    telemetry::Telemetry,
};

/// The stages of a layer and everything around them, shared by all services that the layer makes.
pub(crate) struct Pipeline<St> {
    /// The store of the room. Its clock is that of all stages, also in a layer without a room.
    pub(crate) store: St,
    /// Present even without rate limits, because the operator's handle may add some later.
    pub(crate) limits: RateStage,
    /// `None` for a layer with rate limits and gates only.
    pub(crate) room: Option<RoomStage<St>>,
    /// Sorted by the order in which requests pass them; empty without gates.
    pub(crate) gates: GateStage,
    /// [`Stage::order`]; a test replaces it to add stages.
    pub(super) order: fn(&Visitor) -> &'static [Stage],
    /// The file of rate limits, for the operator's handle.
    pub(crate) rules_file: Option<Arc<FollowedFile>>,
    /// Applies changes of the rules file to the limits until it is dropped with the pipeline.
    pub(super) _watch: Option<Watch>,
    /// The first rule that covers a request gives its name to the reason.
    pub(super) bypass: Vec<Bypass>,
    /// The stages that a CORS preflight passes.
    pub(super) preflight: Preflight,
    /// Finds the address of a client, and hashes keys with a secret of this process.
    pub(super) callers: Callers,
    /// Whether decisions take effect, or are only reported (shadow mode).
    pub(super) enforcement: Enforcement,
    /// Renders all answers of the layer.
    pub(super) responder: Responder,
    /// The header fields that report the limits to clients; empty if the configuration has none.
    pub(super) rate_headers: &'static [Field],
    /// Whether every response states its reason in a header.
    pub(super) debug_header: DebugHeader,
    pub(crate) telemetry: Telemetry,
}

/// The state of one request, from its arrival to its response.
///
/// # Cancel safety
///
/// Dropping it releases what the request holds: the permits return to their gates, a session whose
/// pass was not sent is ended, and an end that was not delivered is owed again. The charges of rate
/// limits are not undone.
pub(crate) struct Journey {
    /// The stages that the request has not reached yet. Empty for a request that is bypassed.
    ahead: &'static [Stage],
    /// The time of arrival. The client's deadline at a gate counts from here.
    pub(super) arrived: Timestamp,
    /// The time of the current step. It is read again after each wait, so that all stages of one
    /// step decide by the same time.
    pub(super) now: Timestamp,
    /// The way in which the client's token arrived, and in which the next one is sent.
    pub(super) source: TokenSource,
    /// The token that the response is to deliver.
    pub(super) token: Option<Token>,
    /// The guard of a newcomer's session, while its pass is in `token` and not sent yet.
    pub(super) undelivered: Option<Box<Undelivered>>,
    /// The visitor, as far as it is known from the token and from the room.
    pub(super) visitor: Visitor,
    /// The renewal of the pass, if one is under way.
    pub(super) renewal: Option<Box<PassRenewal>>,
    /// The decisions of the rate limits; `None` if no limit applies.
    pub(super) report: Option<Box<RateReport>>,
    /// The permits of the gates that the request has passed. They move into the body of the
    /// response.
    pub(crate) permits: Permits,
    /// The reason for which the request may continue.
    pub(super) admitted: Reason,
    /// In shadow mode, the first reason for which the request would have been stopped.
    shadowed: Option<Reason>,
    /// The call that ends the session in the store, after the application has ended it.
    pub(super) leaving: Option<BoxFuture<()>>,
}

/// A stage that a request passes on its way to the application.
#[derive(Clone, Copy, Debug)]
pub(super) enum Stage {
    /// Takes the permits of gates.
    Gates,
    /// Charges the rate limits.
    Limits,
    /// Counts the requests that pass it, and lets all of them continue.
    #[cfg(all(test, feature = "room"))]
    Probe(&'static std::sync::atomic::AtomicU32),
    /// Accepts a pass, answers an early ticket, or asks the store.
    Room,
}

/// The reason for which a request does not continue with its next stage.
pub(crate) enum Stop {
    /// The layer answers the request itself.
    Reply(Reply),
    /// The request waits, and is [resumed](Pipeline::resume) afterwards.
    Wait(Pending),
}

impl Stage {
    /// The stages of a request in order, by the token that it carries.
    ///
    /// The order is also the rule for when a request is charged, exactly once:
    ///
    /// - **A ticket: the room first.** The limits protect the application, so a waiting visitor is
    ///   charged when the room admits it. Otherwise its check-ins would use up the quota of its
    ///   address.
    /// - **No token: the limits first.** A flood of newcomers is then refused without a call of the
    ///   room's store.
    /// - **A pass: the limits first.** The room accepts a pass without asking the store, so the
    ///   order costs nothing, and a refused request needs no renewal.
    /// - **A preflight** skips the room and nothing else.
    ///
    /// The gates come last: a permit is held from the moment it is given, so it is taken only by
    /// requests that no other stage can stop.
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
    /// The head of a request, as all rules of this layer see it. `findings` keeps what a rule has
    /// computed, such as the client's address, for the rules after it.
    pub(crate) fn head<'a, B>(
        &'a self,
        request: &'a http::Request<B>,
        findings: &'a Findings,
    ) -> RequestHead<'a> {
        RequestHead::new(request, &self.callers.client_ip, Some(findings))
    }

    /// Begins the journey of a request: checks the bypass rules, then whether it is a preflight,
    /// then opens its token. Selects the stages; a bypassed request has none.
    pub(crate) fn begin(&self, head: RequestHead<'_>, journey: &mut Journey) {
        // Without an address no rule by network covers any request: the rule silently has no
        // effect.
        if self.bypass.iter().any(Bypass::needs_address) && head.client_ip().is_none() {
            self.telemetry.misconfigured(Misconfiguration::PeerUnknown);
        }
        if let Some(rule) = self.bypass.iter().find(|rule| rule.covers(&head)) {
            journey.admitted = Reason::Bypass(rule.name().clone());
            return;
        }
        // Any client can send a request that looks like a preflight. So only the room is skipped by
        // default, and the limits and gates apply.
        let preflight = head.is_preflight().then_some(self.preflight);
        if preflight == Some(Preflight::Bypass) {
            journey.admitted = Reason::Bypass("preflight".into());
            return;
        }
        if let Some(room) = &self.room {
            // Browsers send preflights without cookies, so there is no token to open, and the
            // visitor would be taken for a newcomer.
            if preflight == Some(Preflight::SkipRoom) {
                journey.admitted = Reason::Bypass("preflight".into());
                journey.visitor = Visitor::Preflight;
            } else {
                (journey.visitor, journey.source) = room.identify(head.headers(), journey.now);
            }
        }
        journey.ahead = (self.order)(&journey.visitor);
    }

    /// The longest time that the application waits for a frame of the request's body. `None`
    /// without a bound, and in shadow mode, which must not affect requests.
    pub(crate) fn body_read_timeout(&self, journey: &Journey) -> Option<Duration> {
        match self.enforcement {
            Enforcement::Enforce if !journey.permits.is_empty() => {
                body_read_timeout(&journey.permits)
            }
            Enforcement::Enforce | Enforcement::Shadow => None,
        }
    }

    /// Takes a request as far through the stages as it gets without waiting.
    pub(crate) fn advance(
        &self,
        head: RequestHead<'_>,
        journey: &mut Journey,
    ) -> ControlFlow<Stop> {
        let flow = self.run(head, journey);
        self.count(journey, &flow);
        flow
    }

    /// Continues with a request after a wait. The stage that made it wait gets what it waited for,
    /// and the stages after it follow.
    pub(crate) fn resume(
        &self,
        head: RequestHead<'_>,
        journey: &mut Journey,
        resumed: Resumed,
    ) -> ControlFlow<Stop> {
        // The wait may have been long. Tickets, limits and gates have to be judged by the present
        // time.
        journey.now = self.store.now();
        let flow = match resumed {
            Resumed::Charged(reply) => self.rated(journey, self.limits.replied(reply, journey.now)),
            Resumed::Decided(verdict) => self.decided(head, journey, verdict),
            // The limits were charged before the request was held. Nothing is left to decide.
            Resumed::Turn => Continue(()),
            Resumed::Waited(waited) => {
                let (caller, now) = (self.caller(head, journey), journey.now);
                let gated = self.gates.resume(&caller, waited, &mut journey.permits, now);
                Self::gated(gated, now)
            }
        };
        // The result of the stage passes through `in_effect` like that of any other stage: in
        // shadow mode a refusal after a wait has no effect either.
        let flow = match self.in_effect(journey, flow) {
            Continue(()) => self.run(head, journey),
            stop => stop,
        };
        self.count(journey, &flow);
        flow
    }

    /// The only loop over the stages. It breaks with the first stop that takes effect.
    fn run(&self, head: RequestHead<'_>, journey: &mut Journey) -> ControlFlow<Stop> {
        while let [stage, ahead @ ..] = journey.ahead {
            // Removed before the stage runs: a request that waits there continues behind it, so no
            // stage decides about a request twice.
            journey.ahead = ahead;
            let flow = match stage {
                Stage::Gates => self.enter_gates(head, journey),
                Stage::Limits => self.charge(head, journey),
                #[cfg(all(test, feature = "room"))]
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

    /// The effect of a stage's outcome on the request.
    ///
    /// In shadow mode, a request waits only for the answers that a decision about it needs, and
    /// continues whatever is decided. The first decision against it is kept as its reason.
    fn in_effect(&self, journey: &mut Journey, flow: ControlFlow<Stop>) -> ControlFlow<Stop> {
        let is_shadow = self.enforcement == Enforcement::Shadow;
        match flow {
            // A poll of the waiting page that is answered with "admit" is no decision against the
            // request, and its script needs the answer in shadow mode too.
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

    /// Counts the outcome of a request, once it is known.
    fn count(&self, journey: &Journey, flow: &ControlFlow<Stop>) {
        let reason = match flow {
            // Not known yet. If the client disconnects before the end of the wait, the request has
            // no outcome, and only the gate that it waited at counts it.
            Break(Stop::Wait(_)) => return,
            Break(Stop::Reply(reply)) => &reply.reason,
            Continue(()) => &journey.admitted,
        };
        self.telemetry.verdict(journey.shadowed.as_ref().unwrap_or(reason));
    }

    /// The client of a request, as far as it is known by now. A visitor counts as known only with a
    /// pass: a ticket costs a client nothing, so a limit by visitor would have no effect.
    fn caller<'a>(&'a self, head: RequestHead<'a>, journey: &Journey) -> Caller<'a> {
        // With the limits first, the pass has not been accepted by the room yet, but it is valid. A
        // copy of it counts for the same visitor from whichever address it is sent.
        let visitor = match &journey.visitor {
            Visitor::Inside(pass) => Some(pass.id),
            Visitor::Proven(Opened::Pass(pass)) => Some(pass.id),
            _ => None,
        };
        self.callers.of(head, visitor)
    }

    /// The stage of the limits: charges those that apply.
    fn charge(&self, head: RequestHead<'_>, journey: &mut Journey) -> ControlFlow<Stop> {
        // Loaded once: a live change of the limits applies to a request completely or not at all.
        let policies = self.limits.in_force.policies.load();
        if policies.is_empty() {
            return Continue(());
        }
        let rated = self.limits.charge(&policies, &self.caller(head, journey), journey.now);
        self.rated(journey, rated)
    }

    /// Translates the outcome of the limits, and keeps their report for the headers of the
    /// response.
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
            // In these cases no limit has decided, so there is no report for the headers.
            Rated::KeyMissing(policy) => return Break(Stop::Reply(Reply::key_missing(&policy))),
            Rated::Stranger => return Break(Stop::Reply(Reply::address_unknown())),
            Rated::Busy => return Break(Stop::Reply(Reply::limits_overloaded())),
            Rated::Unavailable => return Break(Stop::Reply(Reply::limits_unavailable())),
        };
        // In a layer with a room, the reason of a request is that of the room.
        if self.room.is_none() {
            journey.admitted = report.admitted.clone();
        }
        journey.report = Some(report);
        flow
    }

    /// The stage of the room: lets a valid pass through, answers a ticket that is not due, and asks
    /// the store about all others.
    fn enter_room(&self, head: RequestHead<'_>, journey: &mut Journey) -> ControlFlow<Stop> {
        let Some(room) = &self.room else { return Continue(()) };
        let (now, rules) = (journey.now, room.rules());
        // Only the room is suspended. The limits and gates stay in force: they protect the service
        // from single clients, with or without a room.
        if rules.mode() == RoomMode::Suspended {
            journey.admitted = Reason::Bypass("suspended".into());
            return Continue(());
        }
        match &journey.visitor {
            Visitor::Proven(Opened::Pass(pass)) if room.accepts(pass, now) => {
                // The waiting page asks whether it may load the page again. The answer is yes, and
                // a poll is not for the application.
                if head.headers().contains_key(POLL_HEADER) {
                    return Break(Stop::Reply(Reply::admitted_poll(Reason::AdmittedPass)));
                }
                // At most one of the two: a fresh token that another request has fetched, or a
                // renewal to poll while the application works.
                (journey.token, journey.renewal) = room.refresh(pass, &rules, now);
                journey.visitor = Visitor::Inside(**pass);
                journey.admitted = Reason::AdmittedPass;
                Continue(())
            }
            Visitor::Proven(Opened::Ticket(ticket)) => {
                // The pace comes first: a ticket that is shown too often is refused even if it is
                // due.
                if let Err(pause) = room.pace.charge(ticket, &self.callers.of(head, None), now) {
                    return Break(Stop::Reply(Reply::too_often(pause)));
                }
                // Answered from the ticket alone. Before it is due, the store could not change
                // anything.
                if ticket.is_early(now) {
                    return Break(Stop::Reply(Reply::queued(Reason::QueuedEarly, ticket, now)));
                }
                Break(Stop::Wait(Pending::Verdict(room.ask(&journey.visitor, &head))))
            }
            // The layer is mounted twice, and the outer instance has admitted the request. The
            // request itself still carries no pass, so the store would give its visitor a second
            // slot.
            _ if room.has_let_in(head.extensions()) => {
                self.telemetry.misconfigured(Misconfiguration::CountedTwice);
                journey.admitted = Reason::AdmittedPass;
                Continue(())
            }
            _ => {
                if let Some(response) = room.challenge(&self.callers.of(head, None), now) {
                    // In shadow mode the challenge is not sent, and the room is asked as usual.
                    let flow = Break(Stop::Reply(Reply::challenged(response)));
                    self.in_effect(journey, flow)?;
                }
                Break(Stop::Wait(Pending::Verdict(room.ask(&journey.visitor, &head))))
            }
        }
    }

    /// The stage of the gates: takes a permit from each gate that covers the request.
    fn enter_gates(&self, head: RequestHead<'_>, journey: &mut Journey) -> ControlFlow<Stop> {
        if self.gates.is_empty() {
            return Continue(());
        }
        // `arrived` is earlier than `now` if the room or the limits had to ask a store. The client
        // has been waiting since then.
        let (caller, arrived, now) = (self.caller(head, journey), journey.arrived, journey.now);
        Self::gated(self.gates.enter(&caller, arrived, &mut journey.permits, now), now)
    }

    /// Translates the outcome of the gates.
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
    /// The journey of a request that arrives at `now`, before anything is known about it.
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

    /// The reason that the response states: why the request went on or, in shadow mode, why it
    /// would have been stopped.
    pub(super) fn reason(&mut self) -> Reason {
        self.shadowed.take().unwrap_or_else(|| self.admitted.clone())
    }

    /// The ticket of the visitor, for the answer to describe its place in line.
    pub(super) fn ticket(&self) -> Option<&Ticket> {
        match &self.visitor {
            Visitor::Outside(ticket) => ticket.as_ref(),
            Visitor::Proven(Opened::Ticket(ticket)) => Some(ticket),
            _ => None,
        }
    }
}
