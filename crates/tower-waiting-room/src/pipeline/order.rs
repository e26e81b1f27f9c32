//! The stages of a layer, and the loop that runs them for each request.
//!
//! A layer has one [`Pipeline`], which all its requests share, and each request has a [`Journey`].
//! A stage either lets a request continue or stops it with a [`Stop`]: a reply, or a wait after
//! which the request is resumed. `run` is the only loop over the stages, and `in_effect` is the
//! only function that applies shadow mode to decisions, so a new stage needs no code of its own for
//! sequencing or for shadow mode.
//!
//! A request is counted once, when its outcome is known: `advance` and `resume` report the outcome
//! unless the request has to wait again.

use std::{
    mem,
    ops::ControlFlow::{self, Break, Continue},
    sync::Arc,
    time::Duration,
};

use waiting_room_core::{Reason, Store, Timestamp, VisitorId, room::RoomMode};

use super::{
    journey::{Journey, RequestClock, RequestTimes},
    pending::{Pending, Resumed},
    reply::Reply,
    stage::Stage,
};
#[cfg(feature = "dashboard")]
use crate::streams::DashboardStreams;
use crate::{
    config::{DebugHeader, Enforcement, Preflight},
    gate::{GateStage, Gated, body_read_timeout},
    misconfiguration::Misconfiguration,
    rate::{RateStage, Rated},
    rate_headers::Field,
    request::{Bypass, Callers, Findings, RequestHead, is_poll},
    respond::{Outcome, Responder},
    room::{Opened, RoomStage, Visitor},
    rules_file::{FollowedFile, Watch},
    telemetry::Telemetry,
};

/// The stages of a layer and their settings, shared by all services that the layer creates.
pub(crate) struct Pipeline<St> {
    /// The store of the room. All stages use the clock of this store, even in a layer without a
    /// room.
    pub(crate) store: St,
    /// The rate limit stage. The stage exists even without rate limits, because the operator's
    /// handle may add limits later.
    pub(crate) limits: RateStage,
    /// The room stage, or `None` in a layer that has only rate limits and gates.
    pub(crate) room: Option<RoomStage<St>>,
    /// The gates, if any are configured, in the order in which requests pass them.
    pub(crate) gates: GateStage,
    /// Whether all requests pass the same stages, and no response states its reason.
    pub(super) is_uniform: bool,
    /// The function that selects the stages of a request, out of those that the layer has. A test
    /// replaces it to add stages.
    pub(super) order: fn(&Visitor) -> &'static [Stage],
    /// The rules file with rate limits, for the operator's handle.
    pub(crate) rules_file: Option<Arc<FollowedFile>>,
    /// The watch that updates the limits whenever the rules file changes, until the pipeline is
    /// dropped.
    pub(super) _watch: Option<Watch>,
    /// The bypass rules. The first rule that covers a request provides the name in the request's
    /// reason.
    pub(super) bypass: Vec<Bypass>,
    /// The stages that a CORS preflight goes through.
    pub(super) preflight: Preflight,
    /// Finds the address of a client, and hashes keys with a secret that only this process has.
    pub(super) callers: Callers,
    /// Whether decisions take effect or are only reported (shadow mode).
    pub(super) enforcement: Enforcement,
    /// Renders all answers that the layer gives.
    pub(super) responder: Responder,
    /// The header fields that report the limits to clients; empty if the configuration has none.
    pub(super) rate_headers: &'static [Field],
    /// Whether every response states its reason in a header.
    pub(super) debug_header: DebugHeader,
    pub(crate) telemetry: Telemetry,
    /// The event streams of all dashboards of the layer, for the operator's handle.
    #[cfg(feature = "dashboard")]
    pub(crate) dashboard_streams: DashboardStreams,
}

/// The reason why a request does not continue with its next stage.
pub(crate) enum Stop {
    /// The layer answers the request itself.
    Reply(Reply),
    /// The request has to wait, and is [resumed](Pipeline::resume) afterwards.
    Wait(Pending),
}

impl<St: Store> Pipeline<St> {
    /// Returns the head of a request, which the rules of this layer inspect. `findings` caches
    /// values that one rule has computed, such as the client's address, for later rules.
    pub(crate) fn head<'a, B>(
        &'a self,
        request: &'a http::Request<B>,
        findings: &'a Findings,
    ) -> RequestHead<'a> {
        RequestHead::new(request, &self.callers.client_ip, Some(findings))
    }

    /// Returns whether only the limits decide about requests.
    #[inline]
    pub(crate) fn has_only_limits(&self) -> bool {
        self.is_uniform && matches!((self.order)(&Visitor::Unknown), [Stage::Limits])
    }

    /// Continues the journey of a request that was [charged](Self::charge) before it had one.
    pub(crate) fn go_on_rated(&self, journey: &mut Journey, rated: Rated) -> ControlFlow<Stop> {
        let flow = match self.rated(journey, rated) {
            Break(stop) => self.in_effect(journey, stop),
            Continue(()) => Continue(()),
        };
        self.counted(journey, flow)
    }

    /// Begins the journey of a request: checks the bypass rules, recognizes a preflight, and then
    /// opens the token. This method also selects the stages of the request. A bypassed request has
    /// no stages.
    pub(crate) fn begin(&self, head: &RequestHead<'_>, journey: &mut Journey) {
        // A bypass rule for a network covers no request whose client address is unknown. If this
        // were not reported, the rule would silently have no effect.
        if self.bypass.iter().any(Bypass::needs_address) && head.client_ip().is_none() {
            self.telemetry.misconfigured(Misconfiguration::PeerUnknown);
        }
        if let Some(rule) = self.bypass.iter().find(|rule| rule.covers(head)) {
            journey.admitted = Reason::Bypass(rule.name().clone());
            return;
        }
        // Any client can send a request that looks like a preflight. By default, a preflight
        // therefore skips only the room, and the limits and gates apply.
        let preflight = head.is_preflight().then_some(self.preflight);
        if preflight == Some(Preflight::Bypass) {
            journey.admitted = Reason::Bypass("preflight".into());
            return;
        }
        if let Some(room) = &self.room {
            // Browsers send preflights without cookies, so a preflight has no token, and its
            // visitor would be mistaken for a newcomer.
            if preflight == Some(Preflight::SkipRoom) {
                journey.admitted = Reason::Bypass("preflight".into());
                journey.visitor = Visitor::Preflight;
            } else {
                (journey.visitor, journey.source) =
                    room.identify(head, journey.times(&self.store).now);
            }
        }
        #[cfg(feature = "room")]
        if self.is_for_push(head) {
            journey.ahead = &[Stage::Push];
            return;
        }
        journey.ahead = (self.order)(&journey.visitor);
    }

    /// Returns the longest time that the application waits for a frame of the request's body.
    /// Returns `None` if there is no bound, and in shadow mode, which must not affect requests.
    pub(crate) fn body_read_timeout(&self, journey: &Journey) -> Option<Duration> {
        match self.enforcement {
            Enforcement::Enforce if !journey.permits.is_empty() => {
                body_read_timeout(&journey.permits)
            }
            Enforcement::Enforce | Enforcement::Shadow => None,
        }
    }

    /// Runs the stages of a request until one of them stops the request or makes it wait.
    pub(crate) fn advance(
        &self,
        head: &RequestHead<'_>,
        journey: &mut Journey,
    ) -> ControlFlow<Stop> {
        let flow = self.run(head, journey);
        self.counted(journey, flow)
    }

    /// Stops a request whose path or host belongs to this room or to another one, depending on the
    /// server that reads it. No stage runs.
    pub(crate) fn stop_ambiguous(&self, journey: &mut Journey) -> ControlFlow<Stop> {
        let flow = self.in_effect(journey, Stop::Reply(Reply::ambiguous_route()));
        self.counted(journey, flow)
    }

    /// Continues a request after a wait. The stage that made the request wait receives the result
    /// of the wait, and then the remaining stages run.
    pub(crate) fn resume(
        &self,
        head: &RequestHead<'_>,
        journey: &mut Journey,
        resumed: Resumed,
    ) -> ControlFlow<Stop> {
        // The wait may have been long, so the clock is read again: tickets, limits and gates have
        // to be checked against the current time.
        journey.has_waited(&self.store);
        let now = journey.times(&self.store).now;
        let flow = match resumed {
            Resumed::Charged(reply) => self.rated(journey, self.limits.replied(reply, now)),
            Resumed::Decided(verdict) => self.decided(head, journey, verdict),
            Resumed::Left(response) => Break(Stop::Reply(Reply::left(response))),
            // The request was charged against the limits before it had to wait for its turn, so
            // nothing is left to decide.
            Resumed::Turn => Continue(()),
            Resumed::Waited(waited) => {
                let caller = self.callers.of(*head, known(&journey.visitor));
                let gated = self.gates.resume(&caller, waited, &mut journey.permits, now);
                Self::gated(gated, now)
            }
        };
        // A result after a wait passes through `in_effect` like the result of any other stage, so
        // in shadow mode a refusal after a wait has no effect.
        let in_effect = match flow {
            Break(stop) => self.in_effect(journey, stop),
            Continue(()) => Continue(()),
        };
        let flow = match in_effect {
            Continue(()) => self.run(head, journey),
            Break(stop) => Break(stop),
        };
        self.counted(journey, flow)
    }

    /// Runs the remaining stages, and breaks with the first stop that takes effect. This is the
    /// only loop over the stages.
    fn run(&self, head: &RequestHead<'_>, journey: &mut Journey) -> ControlFlow<Stop> {
        while let [stage, ahead @ ..] = journey.ahead {
            // The stage is removed before it runs. A request that waits in a stage therefore
            // continues with the next stage, and no stage handles a request twice.
            journey.ahead = ahead;
            let flow = match stage {
                Stage::Gates => self.enter_gates(head, journey),
                Stage::Limits => {
                    let rated = self.charge(head, known(&journey.visitor), &journey.clock);
                    self.rated(journey, rated)
                }
                #[cfg(all(test, feature = "room"))]
                Stage::Probe(passed) => {
                    passed.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                    Continue(())
                }
                #[cfg(feature = "room")]
                Stage::Push => self.open_stream(head, journey),
                Stage::Room => self.enter_room(head, journey),
            };
            if let Break(stop) = flow {
                self.in_effect(journey, stop)?;
            }
        }
        Continue(())
    }

    /// Returns the effect on a request of a stage that stops it.
    ///
    /// In shadow mode, a request waits only for the replies on which its decision depends, and
    /// continues whatever the decision is. The first decision against the request is recorded as
    /// its reason.
    fn in_effect(&self, journey: &mut Journey, stop: Stop) -> ControlFlow<Stop> {
        let is_shadow = self.enforcement == Enforcement::Shadow;
        match stop {
            // The answer "admit" to a poll of the waiting page is not a decision against the
            // request. The script of the page needs this answer even in shadow mode.
            Stop::Reply(reply) if is_shadow && reply.outcome != Outcome::Admit => {
                journey.shadowed.get_or_insert(reply.reason);
                Continue(())
            }
            Stop::Wait(pending) if is_shadow && !pending.is_question() => {
                pending.skip();
                Continue(())
            }
            stop @ (Stop::Reply(_) | Stop::Wait(_)) => Break(stop),
        }
    }

    /// Counts the outcome of a request once the outcome is known, and returns the outcome.
    #[inline]
    fn counted(&self, journey: &Journey, flow: ControlFlow<Stop>) -> ControlFlow<Stop> {
        match flow {
            Continue(()) => {
                self.telemetry.verdict(journey.reason());
                Continue(())
            }
            Break(stop) => {
                // While the request waits, the outcome is not known. If the client disconnects
                // before the end of the wait, the request has no outcome, and only the gate at which
                // it waited counts it.
                if let Stop::Reply(reply) = &stop {
                    self.telemetry.verdict(journey.shadowed.as_ref().unwrap_or(&reply.reason));
                }
                Break(stop)
            }
        }
    }

    /// The rate limit stage: charges a request of this visitor against all limits that apply to it.
    ///
    /// In a layer in which only the limits decide, a request that they [allow](Self::allowed) may be
    /// forwarded without a journey. Any other request [goes on](Self::go_on_rated) from here.
    #[inline]
    pub(crate) fn charge(
        &self,
        head: &RequestHead<'_>,
        visitor: Option<VisitorId>,
        clock: &RequestClock,
    ) -> Rated {
        // The limits are loaded once, so that a live change applies to a request completely or not
        // at all.
        let policies = self.limits.in_force.policies.load();
        if policies.is_empty() {
            return Rated::Free;
        }
        let now = || clock.times(&self.store).now;
        self.limits.charge(&policies, &self.callers.of(*head, visitor), &now)
    }

    /// Translates the outcome of the rate limit stage into control flow, and stores the report of
    /// the limits for the response headers.
    fn rated(&self, journey: &mut Journey, rated: Rated) -> ControlFlow<Stop> {
        let (mut report, flow) = match rated {
            Rated::Pending(charge) => return Break(Stop::Wait(Pending::Charge(charge))),
            Rated::Delay(report, turn) => (report, Break(Stop::Wait(Pending::Turn(turn)))),
            Rated::Free => return Continue(()),
            Rated::Pass(report) => (report, Continue(())),
            Rated::Refuse(report) => {
                let reply = Reply::over_limit(&report);
                (report, Break(Stop::Reply(reply)))
            }
            // In the following cases, no limit has made a decision, so there is no report for the
            // headers.
            Rated::KeyMissing(policy) => return Break(Stop::Reply(Reply::key_missing(&policy))),
            Rated::Stranger => return Break(Stop::Reply(Reply::address_unknown())),
            Rated::Busy => return Break(Stop::Reply(Reply::limits_overloaded())),
            Rated::Unavailable => return Break(Stop::Reply(Reply::limits_unavailable())),
        };
        // In a layer with a room, the room provides the reason for admitting a request.
        if self.room.is_none() {
            journey.admitted = mem::replace(&mut report.admitted, Reason::AdmittedLimits);
        }
        journey.report = Some(report);
        flow
    }

    /// The room stage: accepts a valid pass, answers an early ticket, or asks the store.
    ///
    /// The stage is not inlined, because the loop over the stages would then compute the addresses of
    /// all of its data for every request.
    #[inline(never)]
    fn enter_room(&self, head: &RequestHead<'_>, journey: &mut Journey) -> ControlFlow<Stop> {
        let Some(room) = &self.room else { return Continue(()) };
        let (now, rules) = (journey.times(&self.store).now, room.rules());
        // Only the room is suspended. The limits and gates stay in effect, because they protect the
        // service from individual clients even without a room.
        if rules.mode() == RoomMode::Suspended {
            return Self::pass_by(journey, "suspended");
        }
        #[cfg(feature = "room")]
        if let Some(stop) = self.posted(room, head, journey) {
            return Break(stop);
        }
        match &journey.visitor {
            Visitor::Proven(Opened::Pass(pass)) if room.accepts(pass, &rules, now) => {
                // The script of the waiting page sends a poll to ask whether it may reload the
                // page. The answer is yes, and the poll is not forwarded to the application.
                if is_poll(head.headers()) {
                    return Break(Stop::Reply(Reply::admitted_poll(Reason::AdmittedPass)));
                }
                // `refresh` returns at most one value: a fresh token that another request has
                // fetched, or a renewal to poll while the application handles the request.
                (journey.token, journey.renewal) = room.refresh(pass, &rules, now);
                journey.visitor = Visitor::Inside(**pass);
                journey.admitted = Reason::AdmittedPass;
                Continue(())
            }
            _ if room.is_crawler(head) => match room.is_queueing(&rules, now) {
                true => Break(Stop::Reply(Reply::crawler())),
                false => Self::pass_by(journey, "crawler"),
            },
            Visitor::Proven(Opened::Ticket(ticket)) => {
                // The pace is checked first: a ticket that is presented too often is refused even
                // if it is due.
                if let Err(pause) = room.pace.charge(ticket, &self.callers.of(*head, None), now) {
                    return Break(Stop::Reply(Reply::too_often(pause)));
                }
                // An early ticket is answered without asking the store, because the store cannot
                // change anything before the ticket is due.
                if ticket.is_early(now) {
                    return Break(Stop::Reply(Reply::queued(Reason::QueuedEarly, ticket, now)));
                }
                Break(Stop::Wait(Pending::Verdict(room.ask(&journey.visitor, head))))
            }
            // The layer is mounted twice, and the outer instance has already admitted the request.
            // The request has no pass yet, so the store would give the visitor a second slot.
            _ if room.has_let_in(head.extensions()) => {
                self.telemetry.misconfigured(Misconfiguration::CountedTwice);
                journey.admitted = Reason::AdmittedPass;
                Continue(())
            }
            visitor @ (Visitor::Inside(_)
            | Visitor::Outside(_)
            | Visitor::Preflight
            | Visitor::Proven(_)
            | Visitor::Unknown) => {
                // A visitor whose session may still be active is not challenged.
                let is_known = matches!(visitor, Visitor::Proven(Opened::Pass(pass))
                    if room.may_return(pass) || room.may_move(pass, now));
                if !is_known
                    && let Some(response) = room.challenge(&self.callers.of(*head, None), now)
                {
                    // In shadow mode the challenge is not sent, and the room is asked as usual.
                    self.in_effect(journey, Stop::Reply(Reply::challenged(response)))?;
                }
                Break(Stop::Wait(Pending::Verdict(room.ask(&journey.visitor, head))))
            }
        }
    }

    /// Lets a request continue that the room does not decide about.
    fn pass_by(journey: &mut Journey, rule: &'static str) -> ControlFlow<Stop> {
        journey.admitted = Reason::Bypass(rule.into());
        Continue(())
    }

    /// The gate stage: takes a permit from each gate that covers the request. Not inlined, as the room
    /// stage.
    #[inline(never)]
    fn enter_gates(&self, head: &RequestHead<'_>, journey: &mut Journey) -> ControlFlow<Stop> {
        if self.gates.is_empty() {
            return Continue(());
        }
        // `arrived` is earlier than `now` if the room or the limits had to ask a store. The client
        // has been waiting since `arrived`.
        let (caller, RequestTimes { arrived, now }) =
            (self.callers.of(*head, known(&journey.visitor)), journey.times(&self.store));
        Self::gated(self.gates.enter(&caller, arrived, &mut journey.permits, now), now)
    }

    /// Translates the outcome of the gate stage into control flow.
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

/// Returns the visitor if it is known, which it is only if its request has a pass. A client can get any
/// number of tickets, so a limit by visitor would have no effect if tickets counted too.
fn known(visitor: &Visitor) -> Option<VisitorId> {
    // If the limits come first, the room has not accepted the pass yet, but the pass is valid. A copy of
    // a pass counts as the same visitor, whatever address it is sent from.
    match visitor {
        Visitor::Inside(pass) => Some(pass.id),
        Visitor::Proven(Opened::Pass(pass)) => Some(pass.id),
        Visitor::Outside(_) | Visitor::Preflight | Visitor::Proven(_) | Visitor::Unknown => None,
    }
}
