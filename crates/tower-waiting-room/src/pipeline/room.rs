//! The room stage, and the room as a part of the pipeline.

use std::{
    ops::ControlFlow::{self, Break, Continue},
    sync::Arc,
};

use http::{Extensions, HeaderMap, Method};
use waiting_room_core::{
    Pass, Reason, RoomRules, StoreError, Ticket, Timestamp, Verdict,
    room::{RoomMode, Timing, event::RoomPlan},
};

use super::{
    journey::{Journey, Opening, Pending},
    order::{Pipeline, PushBody, RoomPart, Stop},
    reply::Reply,
    stream::EventStream,
};
use crate::{
    misconfiguration::Misconfiguration,
    request::{RequestHead, RequestPurpose},
    room::{BoxFuture, Opened, Operated, PassRenewal, RoomStage, Token, TokenSource, Visitor},
};

impl RoomPart for RoomStage {
    fn identify(&self, head: &RequestHead<'_>, now: Timestamp, journey: &mut Journey) {
        (journey.visitor, journey.source) = self.identify(head, now);
        journey.is_accepted = RoomPart::accepts(self, &journey.visitor, now);
    }

    #[inline]
    fn accepts(&self, visitor: &Visitor, now: Timestamp) -> bool {
        match visitor {
            Visitor::Proven(Opened::Pass(pass)) => self.accepts(pass, &self.rules(), now),
            Visitor::Inside(_)
            | Visitor::Outside(_)
            | Visitor::Preflight
            | Visitor::Proven(_)
            | Visitor::Unknown => false,
        }
    }

    fn is_for_push(&self, head: &RequestHead<'_>) -> bool {
        self.push.as_ref().is_some_and(|streams| head.uri().path() == &*streams.push.path)
    }

    fn open_stream(
        &self,
        pipeline: &Pipeline,
        head: &RequestHead<'_>,
        journey: &mut Journey,
    ) -> ControlFlow<Stop> {
        pipeline.open_stream(self, head, journey)
    }

    fn enter(
        &self,
        pipeline: &Pipeline,
        head: &RequestHead<'_>,
        journey: &mut Journey,
    ) -> ControlFlow<Stop> {
        pipeline.enter_room(self, head, journey)
    }

    fn decided(
        &self,
        pipeline: &Pipeline,
        head: &RequestHead<'_>,
        journey: &mut Journey,
        verdict: Result<Verdict, StoreError>,
    ) -> ControlFlow<Stop> {
        pipeline.decided(self, head, journey, verdict)
    }

    fn insert_visit(&self, pass: Pass, reason: Reason, extensions: &mut Extensions) {
        extensions.insert(self.visit(pass, reason));
    }

    fn end(
        &self,
        pass: &Pass,
        is_revoked: bool,
        source: TokenSource,
        headers: &mut HeaderMap,
    ) -> Option<BoxFuture<()>> {
        self.end(pass, is_revoked, source, headers)
    }

    fn renewed_token(&self, renewal: &PassRenewal) -> Option<Token> {
        self.renewed_token(renewal)
    }

    fn line(&self, token: &Token) -> String {
        self.line(token)
    }

    fn attach(&self, headers: &mut HeaderMap, source: TokenSource, token: Token) {
        self.attach(headers, source, token);
    }

    fn events(self: Arc<Self>, pipeline: &Arc<Pipeline>, opening: Opening) -> Option<PushBody> {
        let events = EventStream::new(self, Arc::clone(pipeline), opening)?;
        Some(Box::pin(events))
    }

    fn rules(&self) -> Arc<RoomRules> {
        self.rules()
    }

    fn plan(&self) -> Option<Arc<RoomPlan>> {
        self.plan()
    }

    fn own_paths(&self) -> Vec<(&'static str, &str)> {
        self.own_paths().collect()
    }

    fn cookie_name(&self) -> &str {
        self.cookie_name()
    }

    fn operated(&self) -> Operated {
        self.operated()
    }
}

impl Pipeline {
    /// The room stage: accepts a valid pass, answers an early ticket, or asks the store.
    #[inline]
    fn enter_room(
        &self,
        room: &RoomStage,
        head: &RequestHead<'_>,
        journey: &mut Journey,
    ) -> ControlFlow<Stop> {
        let now = journey.times(&self.clock).now;
        let rules = room.rules();
        // Only the room is suspended. The limits and gates stay in effect, because they protect the
        // service from individual clients even without a room.
        if rules.mode == RoomMode::Suspended {
            Self::without_link(room, head, &Reason::Bypass("suspended".into()))?;
            return Self::pass_by(journey, "suspended");
        }
        if let Some(stop) = self.posted(room, head, journey) {
            return Break(stop);
        }
        match &journey.visitor {
            Visitor::Proven(Opened::Pass(pass)) if journey.is_accepted => {
                Self::admitted(room, head, &Reason::AdmittedPass)?;
                // `refresh` returns at most one value: a fresh token that another request has
                // fetched, or a renewal to poll while the application handles the request.
                (journey.token, journey.renewal) = room.refresh(pass, &rules, now);
                journey.visitor = Visitor::Inside(**pass);
                journey.admitted = Reason::AdmittedPass;
                Continue(())
            }
            // Search engines that get an error for this file do not crawl the site at all.
            _ if is_robots_txt(head) => Self::pass_by(journey, "robots"),
            _ if room.is_crawler(head) => {
                if room.is_queueing(&rules, now) {
                    Break(Stop::Reply(Reply::crawler()))
                } else {
                    Self::pass_by(journey, "crawler")
                }
            }
            Visitor::Proven(Opened::Ticket(ticket)) => self.check_in(room, ticket, head, journey),
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
                let purpose = room.purpose(visitor, head, journey.source, &rules, now);
                if purpose == RequestPurpose::Background {
                    return Break(Stop::Reply(Reply::not_a_visit()));
                }
                // A visitor whose session may still be active is not challenged.
                let is_known = matches!(visitor, Visitor::Proven(Opened::Pass(pass))
                    if room.may_return(pass) || room.may_move(pass, now));
                if !is_known
                    && let Some(response) = room.challenge(&self.callers.of(*head, None), now)
                {
                    // In shadow mode the challenge is not sent, and the room is asked as usual.
                    self.in_effect(journey, Stop::Reply(Reply::challenged(response)))?;
                }
                if purpose == RequestPurpose::Embedded {
                    return Break(Stop::Reply(self.test_cookie(room, head, journey)));
                }
                Break(Stop::Wait(Pending::Verdict(room.ask(&journey.visitor, head))))
            }
        }
    }

    /// Answers an early ticket, or asks the store about a ticket that is due.
    fn check_in(
        &self,
        room: &RoomStage,
        ticket: &Ticket,
        head: &RequestHead<'_>,
        journey: &Journey,
    ) -> ControlFlow<Stop> {
        let now = journey.times(&self.clock).now;
        // The pace is checked first: a ticket that is presented too often is refused even if it is
        // due.
        if let Err(pause) = room.pace.charge(ticket, &self.callers.of(*head, None), now) {
            return Break(Stop::Reply(Reply::too_often(pause)));
        }
        // An early ticket is answered without asking the store, because the store cannot change
        // anything before the ticket is due.
        if ticket.is_early(now) {
            return Break(Stop::Reply(Reply::queued(Reason::QueuedEarly, ticket, now)));
        }
        Break(Stop::Wait(Pending::Verdict(room.ask(&journey.visitor, head))))
    }

    /// Gives a newcomer a first ticket without asking the store. The newcomer gets a slot or a place
    /// when it returns the ticket.
    ///
    /// A page may send many requests before it has a token, and a browser does not keep the token
    /// of every request. A slot for each of these requests would stay unused until its session
    /// lapses.
    fn test_cookie(
        &self,
        room: &RoomStage,
        head: &RequestHead<'_>,
        journey: &mut Journey,
    ) -> Reply {
        let now = journey.times(&self.clock).now;
        let ticket = room.first_ticket(head, now, |_| Timing::COOKIE_TEST_INTERVAL);
        journey.token = Some(room.ticket_token(&ticket));
        journey.visitor = Visitor::Outside(Some(ticket));
        Reply::queued(Reason::QueuedCookieTest, &ticket, now)
    }

    /// Lets a request continue without a decision by the room.
    fn pass_by(journey: &mut Journey, rule: &'static str) -> ControlFlow<Stop> {
        journey.admitted = Reason::Bypass(rule.into());
        Continue(())
    }
}

/// Returns whether a request asks for the file that tells crawlers which pages they may visit (RFC
/// 9309 section 2.3).
fn is_robots_txt(head: &RequestHead<'_>) -> bool {
    head.uri().path() == "/robots.txt" && matches!(*head.method(), Method::GET | Method::HEAD)
}
