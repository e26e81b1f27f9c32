//! The ids of newcomers, and what the room grants to some visitors: head starts, crawlers, and the way
//! back after a session that has lapsed.

use std::net::IpAddr;

use waiting_room_core::{
    Pass, RoomRules, Ticket, Timestamp, Verdict, VisitorId,
    room::{HeadStart, RoomMode},
    time::Clock,
};

use super::RoomStage;
use crate::{
    misconfiguration::Misconfiguration,
    request::RequestHead,
    room::people::People,
    token::{Identities, Verified},
};

impl RoomStage {
    /// Sets what the room grants to some visitors.
    pub(in crate::room) fn with_people(self, people: People) -> Self {
        Self { people, ..self }
    }

    /// Gives a head start to a visitor whose order of arrival begins with this verdict, and notes
    /// whether the room queues.
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

    /// Returns the id of a newcomer: that of the person, if the application identifies it, and
    /// otherwise a random one. A random id includes the hash of the client's network, if the network
    /// is known.
    pub(super) fn newcomer(&self, head: &RequestHead<'_>) -> VisitorId {
        match self.identity_of(head) {
            Some(identity) => self.identities.of_person(&identity),
            None => self.identities.draw(self.network_of(head)),
        }
    }

    /// Returns the network whose places a newcomer uses. If the server provides no address although
    /// the places of networks are limited, this is reported, because the limit has no effect.
    fn network_of(&self, head: &RequestHead<'_>) -> Option<IpAddr> {
        let is_limited = || self.store.rules().places_per_network.number().is_some();
        if head.client_ip().is_none() && is_limited() {
            self.telemetry.misconfigured(Misconfiguration::PeerUnknown);
        }
        head.network_in_line()
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
    /// `None` if it does not.
    ///
    /// A store remembers for a limited time that a visitor has left, and not beyond a loss of its
    /// memory, so the pass must not be older than that.
    pub(super) fn resuming(&self, pass: &Verified<Pass>, head: &RequestHead<'_>) -> Option<Ticket> {
        let grace = self.people.grace?;
        let now = self.clock.now();
        let rules = self.store.rules();
        let is_known = pass.last_check_in >= self.store.remembers_since()
            && now < pass.last_check_in + rules.timing().tickets_void_after();
        // The session of a visitor that has logged in since then belongs to no person.
        let is_of_person = Identities::is_person(pass.id) || self.identity_of(head).is_none();
        let is_in_time = now < pass.expires_at + grace;
        if is_known && is_of_person && is_in_time && !pass.is_ahead() {
            Ticket::resuming(pass, now)
        } else {
            None
        }
    }
}
