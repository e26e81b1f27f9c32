//! The ids of newcomers, and what the room grants to some visitors: head starts, the bypass for
//! crawlers, and the return after a session has lapsed.

use std::net::IpAddr;

use http::header::SEC_WEBSOCKET_VERSION;
use waiting_room_core::{
    Pass, RoomRules, Ticket, Timestamp, Verdict, VisitorId,
    room::{HeadStart, QueueingMethod, RoomMode, Shares},
    time::Clock,
};

use super::RoomStage;
use crate::{
    misconfiguration::Misconfiguration,
    request::{RequestHead, RequestPurpose},
    room::{people::People, post_path::is_same_origin, visitor::Visitor},
    token::{Identities, Opened, TokenSource, Verified},
};

impl RoomStage {
    /// Sets the options that concern only some visitors.
    pub(in crate::room) fn with_people(self, people: People) -> Self {
        Self { people, ..self }
    }

    /// Gives a head start to a visitor whose order of arrival begins with this verdict, and records
    /// whether the room makes visitors wait.
    pub(crate) fn grant(&self, head: &RequestHead<'_>, verdict: &mut Verdict, now: Timestamp) {
        if let Some(priority) = &self.people.priority {
            priority.give(head, verdict);
        }
        if let Some(crawlers) = &self.people.crawlers {
            crawlers.observe(verdict, now);
        }
    }

    /// Returns the head start of the visitor who sends this request.
    pub(super) fn head_start(&self, head: &RequestHead<'_>) -> HeadStart {
        self.people.priority.as_ref().map_or(HeadStart::NONE, |priority| priority.of(head))
    }

    /// Returns the identity of the person who sends this request, if the application knows it.
    pub(super) fn identity_of(&self, head: &RequestHead<'_>) -> Option<String> {
        self.identity.as_ref().and_then(|identity| identity.of(head))
    }

    /// Returns the id of a newcomer: the person's id if the application identifies the person, and
    /// otherwise a random id. A random id includes the hash of the client's network, if the network
    /// is known.
    pub(super) fn newcomer(&self, head: &RequestHead<'_>) -> VisitorId {
        match self.identity_of(head) {
            Some(identity) => self.identities.of_person(&identity),
            None => self.identities.draw(self.network_of(head)),
        }
    }

    /// Returns the network whose places a newcomer uses. If places are limited for each network but
    /// the server provides no address, this is reported, because the limit then has no effect.
    fn network_of(&self, head: &RequestHead<'_>) -> Option<IpAddr> {
        let is_limited = || self.store.rules().shares != Shares::Off;
        if head.client_ip().is_none() && is_limited() {
            self.telemetry.misconfigured(Misconfiguration::PeerUnknown);
        }
        head.network_in_line()
    }

    /// Returns the purpose of a newcomer's request. The request always counts as a visit if the
    /// visitor's session may continue, if the client sends its tokens in a header, if the
    /// application knows the person, or if no visitor ever waits in the room.
    pub(crate) fn purpose(
        &self,
        visitor: &Visitor,
        head: &RequestHead<'_>,
        source: TokenSource,
        rules: &RoomRules,
        now: Timestamp,
    ) -> RequestPurpose {
        let is_known = matches!(visitor, Visitor::Proven(Opened::Lapsed(pass) | Opened::Pass(pass))
            if self.may_return(pass) || self.may_move(pass, now));
        if is_known
            || matches!(source, TokenSource::Header)
            || rules.queueing_method == QueueingMethod::Passthrough
        {
            return RequestPurpose::Visit;
        }
        match RequestPurpose::of(head.headers()) {
            // Chromium opens WebSockets without Fetch Metadata. Clients that are not browsers may
            // state an origin too, but it is their own.
            RequestPurpose::Visit
                if head.headers().contains_key(SEC_WEBSOCKET_VERSION) && !is_same_origin(head) =>
            {
                RequestPurpose::Embedded
            }
            RequestPurpose::Visit => RequestPurpose::Visit,
            RequestPurpose::Background | RequestPurpose::Embedded
                if self.identity_of(head).is_some() =>
            {
                RequestPurpose::Visit
            }
            stated @ (RequestPurpose::Background | RequestPurpose::Embedded) => stated,
        }
    }

    /// Returns whether a request comes from a crawler that the operator has verified.
    #[inline]
    pub(crate) fn is_crawler(&self, head: &RequestHead<'_>) -> bool {
        self.people.crawlers.as_ref().is_some_and(|crawlers| crawlers.is_one(head))
    }

    /// Returns whether visitors wait or are refused, as far as this node knows without a call to the
    /// store.
    pub(crate) fn is_queueing(&self, rules: &RoomRules, now: Timestamp) -> bool {
        rules.mode != RoomMode::Auto
            || self.outage.is_on() && !self.admits_without_store(now)
            || self.store.present().is_some_and(|present| present > 0)
            || self
                .people
                .crawlers
                .as_ref()
                .is_some_and(|crawlers| crawlers.has_queued_within(rules.refresh_interval, now))
    }

    /// Returns the ticket with which the visitor of a lapsed session returns ahead of the line, or
    /// `None` if the visitor may not return.
    ///
    /// A store remembers only for a limited time that a visitor has left, and forgets this if it
    /// loses its memory. The pass must not be older than this memory.
    pub(super) fn resuming(&self, pass: &Verified<Pass>, head: &RequestHead<'_>) -> Option<Ticket> {
        let grace = self.people.grace?;
        let now = self.clock.now();
        let rules = self.store.rules();
        let is_known = pass.last_check_in >= self.store.remembers_since()
            && now < pass.last_check_in + rules.timing().tickets_void_after();
        // A lapsed session from before the visitor's login belongs to no person.
        let is_of_person = Identities::is_person(pass.id) || self.identity_of(head).is_none();
        let is_in_time = now < pass.expires_at + grace;
        if is_known && is_of_person && is_in_time && !pass.is_ahead() {
            Ticket::resuming(pass, now)
        } else {
            None
        }
    }
}
