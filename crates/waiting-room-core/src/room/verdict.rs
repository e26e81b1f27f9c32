//! A room's answers to visitors, the proof of a place in line, and the reasons for decisions.
//!
//! A pass proves that its visitor was admitted, and a ticket proves its visitor's order of arrival.
//! In this crate, passes and tickets are plain values. A layer seals them before a client receives
//! them, and verifies them when the client presents them again.

use std::{borrow::Cow, sync::Arc, time::Duration};

use crate::{
    Timestamp,
    room::{HeadStart, Pass, VisitorId, estimate::WaitEstimate, event::Entrant},
};

/// Proof of a place in line, or of a first touch.
///
/// A ticket contains everything that is needed to restore the visitor's place, so places survive a
/// restart of the room. The holder of a first ticket, for which [`placed`](Self::placed) is false,
/// has no place yet. The visitor gets a place by presenting that ticket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Ticket {
    /// The visitor that holds the ticket.
    pub id: VisitorId,
    /// The time of the visitor's first touch. The line is ordered by this time, less the
    /// [head start](Self::head_start), and then by the id.
    pub first_seen: Timestamp,
    /// The time by which the visitor is ordered ahead of its first touch.
    pub head_start: HeadStart,
    /// Whether the visitor returns from a session that has lapsed, see
    /// [`resuming`](Self::resuming). A room issues no ticket with this mark.
    pub resumes: bool,
    /// The time at which this ticket was issued.
    pub last_check_in: Timestamp,
    /// The time at which the next check-in is due. An earlier check-in has no effect.
    pub next_check_in: Timestamp,
    /// The position last shown to the visitor, where 1 is the front of the line, or `None` if the
    /// order is random. Before the first check-in, it is the position at the back of the line at
    /// the time of the first touch.
    pub shown_position: Option<u32>,
    /// Whether the shown position is approximate. A position is approximate before the first
    /// check-in, and after visitors have come back to places ahead.
    pub is_approximate: bool,
    /// The expected wait at the time when this ticket was issued, or `None` if it was unknown.
    pub wait: Option<WaitEstimate>,
    /// Whether the visitor has already returned a ticket, and therefore has a place.
    pub placed: bool,
    /// The whole wait, counted from the first touch, that the visitor was told to expect when it
    /// first had a place and an estimate; `None` before that. The value is in whole seconds.
    ///
    /// The layer [records](Self::promise) this value, in order to measure how accurate the
    /// estimates are. It has no effect on the order of the line. A store keeps the value for as
    /// long as the visitor keeps its order of arrival.
    pub promised_wait: Option<Duration>,
    /// The visitor's number in the draw of an event, or `None` if it does not take part in a draw.
    pub entrant: Option<Entrant>,
    /// The number of places that enter the line before this one, because the visitor's network has
    /// more than its [share](crate::room::Shares) of the line. It is 0 for a place that is in its
    /// order of arrival. A store only decreases it.
    pub late_by: u32,
}

impl Ticket {
    /// The longest wait that [`promised_wait`](Self::promised_wait) can have, about 36 hours.
    /// Longer waits are recorded as this value.
    pub const MAX_PROMISED_WAIT: Duration = Duration::from_secs((1 << 17) - 2);

    /// Creates a first ticket, without a place, a position, or an expected wait.
    #[must_use]
    pub const fn new(
        id: VisitorId,
        first_seen: Timestamp,
        last_check_in: Timestamp,
        next_check_in: Timestamp,
    ) -> Self {
        Self {
            id,
            first_seen,
            head_start: HeadStart::NONE,
            resumes: false,
            last_check_in,
            next_check_in,
            shown_position: None,
            is_approximate: false,
            wait: None,
            placed: false,
            promised_wait: None,
            entrant: None,
            late_by: 0,
        }
    }

    /// Records the whole wait that the visitor is told to expect, unless a wait has already been
    /// recorded. Does nothing if the visitor has no place, or if there is no estimate.
    pub fn promise(&mut self) {
        if let (true, None, Some(wait)) = (self.placed, self.promised_wait, self.wait) {
            let so_far = Duration::from_secs(self.last_check_in.since(self.first_seen).as_secs());
            self.promised_wait = Some((so_far + wait.p50).min(Self::MAX_PROMISED_WAIT));
        }
    }

    /// Sets the position to show, which is exact unless `estimated` is true.
    ///
    /// A position may rise when visitors who were away come back to their places. A position that
    /// has risen is marked as approximate. A rise of up to a sixteenth of the shown position is not
    /// shown, so that the shown position does not fluctuate. The position shown to a newcomer
    /// without a place has no effect on later positions.
    pub fn show(&mut self, position: u32, estimated: bool) {
        let shown = self.shown_position.filter(|_| self.placed);
        self.is_approximate = estimated || shown.is_some_and(|shown| position > shown);
        let is_near = |shown: &u32| position > *shown && position - shown <= shown / 16;
        self.shown_position = Some(shown.filter(is_near).unwrap_or(position));
    }

    /// Returns the minute of arrival, as a count of minutes since the Unix epoch.
    #[must_use]
    pub fn bucket(&self) -> u32 {
        bucket(self.first_seen)
    }

    /// Returns the time from `now` until the next check-in, or zero if the check-in is due.
    #[must_use]
    pub fn retry_after(&self, now: Timestamp) -> Duration {
        self.next_check_in.since(now)
    }

    /// Returns the ticket as reissued by a node that cannot reach its store. Only `last_check_in`
    /// changes: to `now`, or to `next_check_in` if the client is a little [early](Self::is_early).
    #[must_use]
    pub fn reissued(&self, now: Timestamp) -> Self {
        let last_check_in = now.max(self.last_check_in).max(self.next_check_in);
        Self { last_check_in, ..*self }
    }

    /// Returns whether a node has [reissued](Self::reissued) this ticket because it could not reach its
    /// store. A store, in contrast, always sets `next_check_in` to a time later than `last_check_in`.
    #[must_use]
    pub fn is_reissued(&self) -> bool {
        self.last_check_in >= self.next_check_in
    }

    /// Returns whether a check-in at `now` would be too early to have an effect: more than 250 ms before
    /// the next check-in.
    ///
    /// A client that returns when it was asked to may be a little early by the clock of the room, because
    /// its timer is inexact, or because the clock of a store was set back.
    #[must_use]
    pub fn is_early(&self, now: Timestamp) -> bool {
        now + TOLERANCE < self.next_check_in
    }
}

/// The time by which a client may be early.
const TOLERANCE: Duration = Duration::from_millis(250);

/// Returns the minute that contains `at`, as a count of minutes since the Unix epoch.
pub(crate) fn bucket(at: Timestamp) -> u32 {
    u32::try_from(at.as_secs() / 60).unwrap_or(u32::MAX)
}

/// A room's answer to a visitor that requests a slot.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a visitor is admitted, waits or is refused")]
pub enum Verdict {
    /// The visitor is active from now on.
    Admit {
        /// The proof of admission.
        pass: Pass,
        /// The reason for the admission.
        reason: Reason,
    },
    /// The visitor gets neither a slot nor a place.
    Refuse {
        /// A ticket for the next attempt. Only a visitor that has presented a ticket receives one.
        ticket: Option<Ticket>,
        /// The reason for the refusal.
        reason: Reason,
        /// The time to wait before retrying, or `None` if a retry is pointless.
        retry_after: Option<Duration>,
    },
    /// The visitor has to wait, and to check in with the ticket.
    Wait {
        /// The proof of the visitor's place, or a first ticket, with which the visitor can get a
        /// place.
        ticket: Ticket,
        /// The reason for the wait.
        reason: Reason,
    },
}

impl Verdict {
    /// Returns the reason for the verdict.
    #[must_use]
    pub const fn reason(&self) -> &Reason {
        match self {
            Self::Admit { reason, .. }
            | Self::Refuse { reason, .. }
            | Self::Wait { reason, .. } => reason,
        }
    }
}

/// A room's answer to a request to renew a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a session continues or is over")]
pub enum Renewal {
    /// The session is over: it was ended, or it expired before the renewal arrived.
    End,
    /// The session continues under this pass.
    Renew(Pass),
}

/// The reason for a decision on a request, whichever stage made that decision.
///
/// The [`Display`](std::fmt::Display) form of a reason is stable, and is used in logs, metrics and the
/// debug header.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Reason {
    /// `admitted:active`: the visitor was already active, and presented a ticket from before its
    /// admission. No further session begins.
    AdmittedActive,
    /// `admitted:limits`: no room is configured, and all rate limits allowed the request.
    AdmittedLimits,
    /// `admitted:local_share`: during an outage of a store, the request was within this node's
    /// share of the limits.
    AdmittedLocalShare,
    /// `admitted:moved`: the visitor has a valid pass from another site, and got a slot at this
    /// site.
    AdmittedMoved,
    /// `admitted:pass`: the client has a valid pass.
    AdmittedPass,
    /// `admitted:passthrough`: the room counts visitors, but does not limit them.
    AdmittedPassthrough,
    /// `admitted:slot`: a slot was free and not reserved for a visitor ahead, and the limit on new
    /// visitors allowed the admission.
    AdmittedSlot,
    /// `admitted:unlimited`: no room is configured, and the rate limit store could not decide.
    AdmittedUnlimited,
    /// `bypass:<rule>`: one of the operator's rules exempts the request from the room.
    Bypass(Cow<'static, str>),
    /// `left`: the visitor gave up its session or its place.
    Left,
    /// `prequeue`: the event that the visitor waits for has not started.
    Prequeue,
    /// `queue_all`: the operator has stopped all admissions.
    QueueAll,
    /// `queued:active_limit`: all slots are in use.
    QueuedActiveLimit,
    /// `queued:behind_others`: the free slots are reserved for visitors ahead.
    QueuedBehindOthers,
    /// `queued:cookie_test`: the client has to return a cookie before it can get a slot.
    QueuedCookieTest,
    /// `queued:early`: the client checked in before it was due to, and was answered from the ticket
    /// alone.
    QueuedEarly,
    /// `queued:network_full`: the client's network already holds as many places in the line as its
    /// limit allows, but the limit is in [shadow mode](crate::room::Shares::Shadow), so
    /// the visitor still gets a place.
    QueuedNetworkFull,
    /// `queued:rate`: the limit on new visitors in 60 seconds is used up.
    QueuedRate,
    /// `queued:recovery`: the room has lost its state, and admits no visitors until older passes
    /// have expired.
    QueuedRecovery,
    /// `queued:store_busy`: the store answers, but more slowly than this node receives requests.
    QueuedStoreBusy,
    /// `queued:turn`: it is the visitor's turn, and its next check-in takes a slot. Only
    /// [`Room::stay`](crate::Room::stay) gives this reason.
    QueuedTurn,
    /// `refused:address_unknown`: a limit or a gate needs the address of the client, which the
    /// server does not provide to the layer.
    RefusedAddressUnknown,
    /// `refused:ambiguous_route`: servers may interpret the path or the host of the request in ways
    /// that belong to different rooms.
    RefusedAmbiguousRoute,
    /// `refused:challenged`: the application answered a newcomer with a challenge, which the
    /// newcomer has to satisfy first.
    RefusedChallenged,
    /// `refused:crawler`: a crawler is asked to come back, because visitors wait.
    RefusedCrawler,
    /// `refused:draining`: the room serves the visitors in its line, and no other visitor may join
    /// the line.
    RefusedDraining,
    /// `refused:gate_cancelled`: the client disconnected while its request waited for a permit.
    RefusedGateCancelled,
    /// `refused:gate_drained`: the gate is being drained.
    RefusedGateDrained,
    /// `refused:gate_full`: the queue of the gate is full.
    RefusedGateFull,
    /// `refused:gate_shed`: the request would have had to wait for too long, or had already waited
    /// for too long under overload.
    RefusedGateShed,
    /// `refused:gate_timeout`: the request waited as long as the gate or the client allows.
    RefusedGateTimeout,
    /// `refused:gate_unknown`: there is one gate per value of a key, and the request lacks that
    /// key.
    RefusedGateUnknown,
    /// `refused:key_missing:<policy>`: the request lacks the key of a rate limit.
    RefusedKeyMissing(Arc<str>),
    /// `refused:limits_busy`: the rate limit store answers, but more slowly than this node receives
    /// requests.
    RefusedLimitsBusy,
    /// `refused:limits_unavailable`: the rate limit store could not decide.
    RefusedLimitsUnavailable,
    /// `refused:line_full`: the line has no free place.
    RefusedLineFull,
    /// `refused:network_full`: the client's network already holds as many places in the line as
    /// [its limit](crate::room::Shares) allows.
    RefusedNetworkFull,
    /// `refused:not_a_visit`: a browser without a token asks for a part of a page, or for a page that
    /// no person has requested yet.
    RefusedNotAVisit,
    /// `refused:push_ended`: the node ends all push streams, because it is shutting down.
    RefusedPushEnded,
    /// `refused:push_full`: as many push streams are open as the node, or the visitor, may hold.
    RefusedPushFull,
    /// `refused:push_invalid`: a request to the push path has no valid ticket, or does not ask for
    /// an event stream.
    RefusedPushInvalid,
    /// `refused:push_network_full`: the client's network holds as many push streams as it may.
    RefusedPushNetworkFull,
    /// `refused:rate:<policy>`: a rate limit is exhausted.
    RefusedRate(Arc<str>),
    /// `refused:reject`: the room is full, and is configured to refuse visitors instead of queueing
    /// them.
    RefusedReject,
    /// `refused:too_often`: a ticket was presented more often than a client that follows its
    /// check-in intervals would present it.
    RefusedTooOften,
    /// `refused:transfer_invalid`: a request to the transfer path has no valid link, or its visitor
    /// has no place that a link could transfer.
    RefusedTransferInvalid,
    /// `store_unavailable`: the store could not decide.
    StoreUnavailable,
    /// `transferred`: the visitor got a link to its place, or took over a place with such a link.
    Transferred,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_promise_counts_from_the_first_touch_and_is_made_once() {
        let secs = Duration::from_secs;
        let at = |millis: u64| Timestamp::from_nanos(millis * 1_000_000);
        let mut ticket =
            Ticket::new(VisitorId::new(1), at(1_000_200), at(1_031_100), at(1_040_000));
        let wait = |p50| Some(WaitEstimate::new(secs(0), secs(p50), secs(200_000)));
        ticket.promise();
        assert_eq!(ticket.promised_wait, None);
        ticket.wait = wait(60);
        ticket.promise();
        assert_eq!(ticket.promised_wait, None, "the visitor has no place");
        ticket.placed = true;
        ticket.promise();
        assert_eq!(ticket.promised_wait, Some(secs(90)));
        ticket.wait = wait(10);
        ticket.promise();
        assert_eq!(ticket.promised_wait, Some(secs(90)));

        let mut late = Ticket { promised_wait: None, ..ticket };
        late.last_check_in = at(200_000_000);
        late.promise();
        assert_eq!(late.promised_wait, Some(Ticket::MAX_PROMISED_WAIT));
    }
}
