//! The stages of a layer, and the loop that runs them for each request.
//!
//! A layer has one [`Pipeline`], which all its requests share, and each request has a [`Journey`].
//! A stage either lets a request continue or stops it with a [`Stop`]: a reply, or a wait after
//! which the request is resumed. `run` is the only loop over the stages, and `in_effect` is the
//! only function that applies shadow mode to decisions, so a new stage needs no code of its own for
//! sequencing or for shadow mode.
//!
//! A request is counted once, when its outcome is known: `set_off` and `resume` report the outcome
//! unless the request has to wait again.

use std::{
    convert::Infallible,
    mem,
    ops::ControlFlow::{self, Break, Continue},
    pin::Pin,
    sync::Arc,
};

use bytes::Bytes;
use http::{Extensions, HeaderMap};
use http_body::Body;
use waiting_room_core::{
    Pass, Reason, RoomRules, StoreError, Timestamp, Verdict, VisitorId, room::event::RoomPlan,
};

use super::{
    journey::{Journey, Opening, Pending, RequestClock, RequestTimes, Resumed, Stage},
    reply::Reply,
};
#[cfg(feature = "files")]
use crate::rules_file::{FollowedFile, Watch};
use crate::{
    ambient::StageClock,
    config::{DebugHeader, Enforcement, Preflight},
    gate::{GateStage, Gated, min_rate},
    misconfiguration::Misconfiguration,
    rate::{RateStage, Rated},
    rate_headers::Field,
    request::{Bypass, Callers, Findings, MinRate, RequestHead},
    respond::{Outcome, Responder},
    room::{BoxFuture, Opened, PassRenewal, Token, TokenSource, Visitor},
    telemetry::Telemetry,
};

/// The stages of a layer and their settings, shared by all services that the layer creates.
pub(crate) struct Pipeline {
    /// The clock of all stages. With a room, it is the clock of the room's store.
    pub(crate) clock: StageClock,
    /// The rate limit stage. The stage exists even without rate limits, because the operator's
    /// handle may add limits later.
    pub(crate) limits: RateStage,
    /// The room stage, or `None` in a layer that has only rate limits and gates.
    pub(crate) room: Option<Arc<dyn RoomPart>>,
    /// The gates, if any are configured, in the order in which requests pass them.
    pub(crate) gates: GateStage,
    /// Whether only the limits decide about requests, and no response states its reason.
    pub(crate) has_only_limits: bool,
    /// The function that selects the stages of a request. A test replaces it to add stages.
    pub(super) order: fn(&Visitor) -> &'static [Stage],
    /// The rules file with rate limits, and the watch that updates the limits whenever the file
    /// changes, until the pipeline is dropped.
    #[cfg(feature = "files")]
    pub(crate) rules_file: Option<(Arc<FollowedFile>, Option<Watch>)>,
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
}

/// The reason why a request does not continue with its next stage.
pub(crate) enum Stop {
    /// The layer answers the request itself.
    Reply(Reply),
    /// The request has to wait, and is [resumed](Pipeline::resume) afterwards.
    Wait(Pending),
}

/// The events of a push stream, as the body of an answer.
pub(super) type PushBody = Pin<Box<dyn Body<Data = Bytes, Error = Infallible> + Send>>;

/// The room of a layer, as the other parts of the layer see it.
///
/// This trait is implemented only with the feature `room`. Without the feature, no layer has a
/// room.
pub(crate) trait RoomPart: Send + Sync {
    /// Opens the token of a request. Records the visitor, whether the room accepts its pass, and
    /// how the next token is sent.
    fn identify(&self, head: &RequestHead<'_>, now: Timestamp, journey: &mut Journey);

    /// Returns whether the visitor has a pass that the room accepts at `now`.
    fn accepts(&self, visitor: &Visitor, now: Timestamp) -> bool;

    /// Returns whether a request asks for a push stream.
    fn is_for_push(&self, head: &RequestHead<'_>) -> bool;

    /// The push stage: opens a stream for a waiting visitor, or refuses to.
    fn open_stream(
        &self,
        pipeline: &Pipeline,
        head: &RequestHead<'_>,
        journey: &mut Journey,
    ) -> ControlFlow<Stop>;

    /// The room stage: accepts a valid pass, answers an early ticket, or asks the store.
    fn enter(
        &self,
        pipeline: &Pipeline,
        head: &RequestHead<'_>,
        journey: &mut Journey,
    ) -> ControlFlow<Stop>;

    /// Applies the store's verdict, or the effect of a store failure, to a request.
    fn decided(
        &self,
        pipeline: &Pipeline,
        head: &RequestHead<'_>,
        journey: &mut Journey,
        verdict: Result<Verdict, StoreError>,
    ) -> ControlFlow<Stop>;

    /// Gives the application the handle to the session of a request.
    fn insert_visit(&self, pass: Pass, reason: Reason, extensions: &mut Extensions);

    /// Ends the session of a pass if the response revokes the pass, or if the session has ended in
    /// the meantime. Returns the call that ends the session in the store.
    fn end(
        &self,
        pass: &Pass,
        is_revoked: bool,
        source: TokenSource,
        headers: &mut HeaderMap,
    ) -> Option<BoxFuture<()>>;

    /// Returns the token of a pass that was renewed while the application handled the request.
    fn renewed_token(&self, renewal: &PassRenewal) -> Option<Token>;

    /// Returns a token in the form in which a client without cookies sends it back.
    fn line(&self, token: &Token) -> String;

    /// Adds a token to a response.
    fn attach(&self, headers: &mut HeaderMap, source: TokenSource, token: Token);

    /// Returns the push stream that the answer to a request has as its body.
    fn events(self: Arc<Self>, pipeline: &Arc<Pipeline>, opening: Opening) -> Option<PushBody>;

    /// Returns the rules in force.
    fn rules(&self) -> Arc<RoomRules>;

    /// Returns the plan of the room, or `None` if it has no events.
    fn plan(&self) -> Option<Arc<RoomPlan>>;

    /// Returns the paths that the room itself answers, each with the field that configures it.
    fn own_paths(&self) -> Vec<(&'static str, &str)>;

    /// Returns the name of the room's cookie.
    fn cookie_name(&self) -> &str;

    /// Returns the parts of the room that its operator observes and changes.
    #[cfg(feature = "room")]
    fn operated(&self) -> crate::room::Operated;
}

impl Pipeline {
    /// Returns the head of a request, which the rules of this layer inspect. `findings` caches
    /// values that one rule has computed, such as the client's address, for later rules.
    pub(crate) fn head<'a, B>(
        &'a self,
        request: &'a http::Request<B>,
        findings: &'a Findings,
    ) -> RequestHead<'a> {
        RequestHead::new(request, &self.callers.client_ip, Some(findings))
    }

    /// Continues the journey of a request that was [charged](Self::charge) before it had one.
    pub(crate) fn go_on_rated(&self, journey: &mut Journey, rated: Rated) -> ControlFlow<Stop> {
        let flow = match self.rated(journey, rated) {
            Break(stop) => self.in_effect(journey, stop),
            Continue(()) => Continue(()),
        };
        self.counted(journey, flow)
    }

    /// Begins the journey of a request, and runs its stages until one of them stops the request or
    /// makes it wait.
    pub(crate) fn set_off(
        &self,
        head: &RequestHead<'_>,
        journey: &mut Journey,
    ) -> ControlFlow<Stop> {
        self.begin(head, journey);
        let flow = self.run(head, journey);
        self.counted(journey, flow)
    }

    /// Checks the bypass rules, recognizes a preflight, and then opens the token. This method also
    /// selects the stages of the request. A bypassed request has no stages.
    #[inline]
    fn begin(&self, head: &RequestHead<'_>, journey: &mut Journey) {
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
        if matches!(preflight, Some(Preflight::Bypass)) {
            journey.admitted = Reason::Bypass("preflight".into());
            return;
        }
        if let Some(room) = &self.room {
            // Browsers send preflights without cookies, so a preflight has no token, and its
            // visitor would be mistaken for a newcomer.
            if matches!(preflight, Some(Preflight::SkipRoom)) {
                journey.admitted = Reason::Bypass("preflight".into());
                journey.visitor = Visitor::Preflight;
            } else {
                room.identify(head, journey.times(&self.clock).now, journey);
            }
        }
        if self.enforces() && self.room.as_ref().is_some_and(|room| room.is_for_push(head)) {
            journey.ahead = &[Stage::Push];
            return;
        }
        journey.ahead = (self.order)(&journey.visitor);
    }

    /// Returns whether decisions take effect.
    pub(crate) fn enforces(&self) -> bool {
        matches!(self.enforcement, Enforcement::Enforce)
    }

    /// Returns the minimum rate at which the client has to send the request's body. Returns `None`
    /// if there is none, and in shadow mode, which must not affect requests.
    pub(crate) fn min_rate(&self, journey: &Journey) -> Option<MinRate> {
        match self.enforcement {
            Enforcement::Enforce if !journey.permits.is_empty() => min_rate(&journey.permits),
            Enforcement::Enforce | Enforcement::Shadow => None,
        }
    }

    /// Stops a request whose path or host may belong to this room or to another one, depending on
    /// how a server interprets it. No stage runs.
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
        journey.has_waited(&self.clock);
        let now = journey.times(&self.clock).now;
        let flow = match resumed {
            Resumed::Charged(reply) => self.rated(journey, self.limits.replied(reply, now)),
            Resumed::Decided(verdict) => {
                self.in_room(|room| room.decided(self, head, journey, verdict))
            }
            Resumed::Left(response) => Break(Stop::Reply(Reply::left(response))),
            // The request was charged against the limits before it had to wait for its turn, so
            // nothing is left to decide.
            Resumed::Turn => Continue(()),
            Resumed::Waited(waited) => {
                let caller = self.callers.of(*head, known(journey));
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
            Continue(()) => {
                self.reconsider(journey, now);
                self.run(head, journey)
            }
            Break(stop) => Break(stop),
        };
        self.counted(journey, flow)
    }

    /// Sends a request back to the first stage if the room no longer accepts its pass after a
    /// wait. The limits have charged the visitor of the pass, so they now charge the newcomer.
    fn reconsider(&self, journey: &mut Journey, now: Timestamp) {
        if let (true, Visitor::Proven(_), Some(room)) =
            (journey.is_accepted, &journey.visitor, &self.room)
        {
            journey.is_accepted = room.accepts(&journey.visitor, now);
            if !journey.is_accepted {
                journey.ahead = (self.order)(&journey.visitor);
            }
        }
    }

    /// Runs the remaining stages, and breaks with the first stop that takes effect. This is the
    /// only loop over the stages.
    #[inline]
    fn run(&self, head: &RequestHead<'_>, journey: &mut Journey) -> ControlFlow<Stop> {
        while let [stage, ahead @ ..] = journey.ahead {
            // The stage is removed before it runs. A request that waits in a stage therefore
            // continues with the next stage, and no stage handles a request twice.
            journey.ahead = ahead;
            let flow = match stage {
                Stage::Gates if self.gates.is_empty() => continue,
                Stage::Gates => self.enter_gates(head, journey),
                Stage::Limits => {
                    let rated = self.charge(head, known(journey), &journey.clock);
                    if let Rated::Free = rated {
                        continue;
                    }
                    self.rated(journey, rated)
                }
                #[cfg(test)]
                Stage::Probe(passed) => {
                    passed.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                    Continue(())
                }
                Stage::Push => self.in_room(|room| room.open_stream(self, head, journey)),
                Stage::Room => self.in_room(|room| room.enter(self, head, journey)),
            };
            if let Break(stop) = flow {
                self.in_effect(journey, stop)?;
            }
        }
        Continue(())
    }

    /// Runs a step of the room. Without a room, a request continues.
    fn in_room(&self, step: impl FnOnce(&dyn RoomPart) -> ControlFlow<Stop>) -> ControlFlow<Stop> {
        self.room.as_deref().map_or(Continue(()), step)
    }

    /// Returns the effect of a stage that stops a request.
    ///
    /// In shadow mode, a request waits only for the replies on which its decision depends, and
    /// continues whatever the decision is. The first decision against the request is recorded as
    /// its reason.
    pub(super) fn in_effect(&self, journey: &mut Journey, stop: Stop) -> ControlFlow<Stop> {
        let is_shadow = !self.enforces();
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
        let now = || clock.times(&self.clock).now;
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

    /// The gate stage: takes a permit from each gate that covers the request. Like the room stage,
    /// this method is not inlined.
    #[inline(never)]
    fn enter_gates(&self, head: &RequestHead<'_>, journey: &mut Journey) -> ControlFlow<Stop> {
        // `arrived` is earlier than `now` if the room or the limits had to ask a store. The client
        // has been waiting since `arrived`.
        let caller = self.callers.of(*head, known(journey));
        let RequestTimes { arrived, now } = journey.times(&self.clock);
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

/// Returns the visitor if it is known, that is, if the room accepts its pass. A client can get any
/// number of tickets and void passes, so a limit by visitor would have no effect if these
/// identified a visitor.
fn known(journey: &Journey) -> Option<VisitorId> {
    // A copy of a pass counts as the same visitor, whatever address it is sent from.
    match &journey.visitor {
        Visitor::Inside(pass) => Some(pass.id),
        Visitor::Proven(Opened::Pass(pass)) if journey.is_accepted => Some(pass.id),
        Visitor::Outside(_) | Visitor::Preflight | Visitor::Proven(_) | Visitor::Unknown => None,
    }
}
