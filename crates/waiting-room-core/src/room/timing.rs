//! Durations that are derived from the rules of a room, for sessions, check-ins, tickets and
//! recovery.
//!
//! The rules specify a few durations. All other durations are computed from the rules alone,
//! without any state, so a room in memory, a room on a server and a node compute the same values.
//!
//! Intervals for clients are whole seconds, because a `Retry-After` header cannot express fractions
//! of a second (RFC 9110 section 10.2.3).

use std::time::Duration;

use crate::{
    Pass, RoomRules, Ticket, Timestamp,
    room::{Recovery, SessionRenewal},
};

/// The durations that follow from the rules of a room, see [`RoomRules::timing`].
///
/// Stores and nodes use these durations. An operator only sets the rules.
#[derive(Clone, Copy, Debug)]
pub struct Timing<'a> {
    rules: &'a RoomRules,
}

impl RoomRules {
    /// Returns the durations that a store or a node derives from these rules.
    #[must_use]
    pub const fn timing(&self) -> Timing<'_> {
        Timing { rules: self }
    }
}

impl Timing<'_> {
    /// The check-in interval of a client that only has to prove that it returns cookies.
    #[doc(hidden)]
    pub const COOKIE_TEST_INTERVAL: Duration = Duration::from_secs(1);

    /// Returns the age at which a pass becomes due for renewal: an eighth of the session duration.
    ///
    /// Renewing the pass on every request would cost one store call per request. With renewal at
    /// this age, a visitor causes at most one call in each eighth of the session duration, and a
    /// slot outlives its session by at most an eighth of that duration.
    #[must_use]
    pub fn renew_after(self) -> Duration {
        self.rules.session_duration / 8
    }

    /// Returns the lifetime of a pass and its slot, counted from the time when the pass was issued
    /// or last renewed.
    ///
    /// In a sliding session, the lifetime is the session duration plus an eighth of it. A visitor
    /// thus stays active for the full duration after its last request, even if its pass was not yet
    /// due for renewal at that time.
    #[must_use]
    pub fn pass_lifetime(self) -> Duration {
        match self.rules.session_renewal {
            SessionRenewal::Fixed => self.rules.session_duration,
            SessionRenewal::Sliding => self.rules.session_duration + self.renew_after(),
        }
    }

    /// Returns the number of admissions per second that the limits allow if each visitor stays for
    /// the lifetime of one pass.
    ///
    /// This rate is used until a rate has been measured. Check-in intervals are never based on a
    /// lower rate.
    #[must_use]
    pub fn configured_rate(self) -> f64 {
        let slots = f64::from(self.rules.total_active_users);
        let by_slots = slots / self.pass_lifetime().as_secs_f64();
        let by_minute =
            self.rules.new_users_per_minute.map_or(f64::INFINITY, |users| f64::from(users) / 60.0);
        by_slots.min(by_minute)
    }

    /// Returns the interval until the next check-in of a visitor with `ahead` visitors ahead of it,
    /// at `per_second` admissions per second.
    ///
    /// The interval is an eighth of the expected wait, but at least
    /// [`SHORTEST_INTERVAL`](RoomRules::SHORTEST_INTERVAL) and at most the refresh interval. `jitter`
    /// adds up to 30%, so that visitors do not all check in at once. The result is rounded up to
    /// whole seconds, so that each client can follow it exactly.
    #[must_use]
    pub fn check_in_interval(self, ahead: u32, per_second: f64, jitter: u64) -> Duration {
        // After a quiet period, the measured rate may be near zero. Intervals based on that rate
        // would be long just when slots become free.
        let per_second = per_second.max(self.configured_rate());
        let pace = Duration::try_from_secs_f64((f64::from(ahead) + 1.0) / per_second);
        let base = pace.unwrap_or(Duration::MAX) / 8;
        spread(base.clamp(RoomRules::SHORTEST_INTERVAL, self.rules.refresh_interval), jitter)
    }

    /// Returns the interval until the second touch of a newcomer, which creates its place.
    ///
    /// The interval is 1 to 2 s for up to a thousand newcomers per second, and grows in proportion
    /// if there are more. Jitter at most doubles the interval, so that a burst of newcomers does
    /// not come back as a burst. The interval never exceeds the longest check-in interval.
    ///
    /// Each newcomer thus sends one more request in its first minute than if it were asked to come
    /// back after the interval of a visitor far back in line.
    #[must_use]
    pub(crate) fn second_touch_after(self, newcomers_per_second: f64, jitter: u64) -> Duration {
        // If jitter doubles this duration, the result is the longest check-in interval: 1.3 refresh
        // intervals.
        let longest = self.rules.refresh_interval.as_secs_f64() * 0.65;
        let base = (newcomers_per_second / 1_000.0).min(longest).max(1.0);
        let thousandths = u32::try_from(jitter % SPREAD).unwrap_or(0);
        let spread = base * (1.0 + f64::from(thousandths) / 300.0);
        // The interval is rounded to the nearest second. If it were rounded up, all but a few
        // newcomers would come back after 2 s.
        Duration::from_secs_f64((spread + 0.5).floor())
    }

    /// Returns the time for which a ticket without a place keeps its order of arrival: one and a
    /// half refresh intervals, and at least a refresh interval and two seconds.
    ///
    /// A client is asked to come back after at most 1.3 refresh intervals, so a client that is on
    /// time keeps its order. A client that is early because the store's clock was set back, and is
    /// asked to wait for another second, also keeps its order. A longer
    /// lifetime would let clients collect tickets and use them later.
    #[must_use]
    pub fn first_ticket_lifetime(self) -> Duration {
        (self.rules.refresh_interval * 3 / 2)
            .max(self.rules.refresh_interval + Duration::from_secs(2))
    }

    /// Returns whether a ticket no longer keeps its order of arrival at `now`.
    ///
    /// A ticket with a place keeps its order of arrival for
    /// [`place_retention`](RoomRules::place_retention()) after the last check-in. A first ticket keeps it
    /// for [`first_ticket_lifetime`](Self::first_ticket_lifetime).
    #[must_use]
    pub fn has_lapsed(self, ticket: &Ticket, now: Timestamp) -> bool {
        ticket.last_check_in + self.ticket_lifetime(ticket) <= now
    }

    /// Returns whether a node that cannot reach its store may reissue this ticket at `now`.
    /// Reissued tickets keep their order of arrival during an outage.
    ///
    /// The ticket must not have lapsed, and the store's last answer must not be too old: less than
    /// one ticket lifetime must have passed since `next_check_in`, which only the store sets.
    /// Without this bound, a copy of a ticket could be reissued forever, and be used again once the
    /// store had forgotten that the ticket was used up.
    #[must_use]
    pub fn may_reissue(self, ticket: &Ticket, now: Timestamp) -> bool {
        !self.has_lapsed(ticket, now) && now < ticket.next_check_in + self.ticket_lifetime(ticket)
    }

    /// Returns the time that it takes for all of a visitor's tickets to lapse after the visitor has
    /// been admitted or has left.
    ///
    /// A ticket is valid for `place_retention` after it was issued. A node may
    /// [reissue](Self::may_reissue) a ticket until `place_retention` after its next check-in. The
    /// next check-in is due less than one `place_retention` after the last check-in, because
    /// `place_retention` is at least two refresh intervals.
    #[must_use]
    pub fn tickets_void_after(self) -> Duration {
        self.rules.place_retention * 3
    }

    fn ticket_lifetime(self, ticket: &Ticket) -> Duration {
        if ticket.placed { self.rules.place_retention } else { self.first_ticket_lifetime() }
    }

    /// Returns the longest check-in interval. It applies while the room admits no visitors.
    #[must_use]
    pub(crate) fn longest_check_in_interval(self, jitter: u64) -> Duration {
        spread(self.rules.refresh_interval, jitter)
    }

    /// Returns the interval until the next check-in of a visitor in the prequeue of an event that
    /// starts after `until_start`.
    ///
    /// A visitor checks in at the longest interval. Its last check-in before the start is postponed
    /// until just after the start. The check-ins of a `crowd` are then spread over 2 s, or over 1 s
    /// for each [`STARTERS_PER_SECOND`](RoomRules::STARTERS_PER_SECOND) visitors if that is longer.
    /// All visitors thus learn the result of the start within a few seconds, and do not all come at
    /// once. The spread is at most the refresh interval.
    ///
    /// The interval is at most 1.4 refresh intervals, or the longest interval if that is longer, so a
    /// visitor loses neither its place nor the order of a first ticket.
    #[must_use]
    pub(crate) fn interval_before_start(
        self,
        until_start: Duration,
        crowd: u32,
        jitter: u64,
    ) -> Duration {
        let usual = self.longest_check_in_interval(jitter);
        if usual + (self.rules.refresh_interval / 4).min(RoomRules::SHORTEST_INTERVAL) < until_start
        {
            return usual;
        }
        let longest = self.rules.refresh_interval * 7 / 5;
        let most = longest.saturating_sub(until_start);
        let spread = Duration::from_secs((crowd / RoomRules::STARTERS_PER_SECOND).into());
        let spread =
            spread.min(self.rules.refresh_interval).min(most).max(RoomRules::SHORTEST_INTERVAL);
        // The fraction of a second until the start is different for each visitor, so rounding up
        // spreads the visitors over the first second.
        let whole = until_start.as_secs() + u64::from(until_start.subsec_nanos() > 0);
        Duration::from_secs((whole + jitter % spread.as_secs()).min(longest.as_secs()).max(1))
    }

    /// Returns the time after the start of an event by which every visitor that was present at the
    /// start has checked in: one and a half of the longest check-in intervals.
    #[cfg(feature = "lottery")]
    pub(crate) fn settles_after(self) -> Duration {
        self.longest_check_in_interval(SPREAD - 1) * 3 / 2
    }

    /// Returns the longest lifetime of a pass under these rules. If the rules specify the longest
    /// earlier session duration, passes issued under earlier rules are taken into account.
    #[must_use]
    pub fn longest_pass_lifetime(self) -> Duration {
        let before = self.rules.longest_session_duration.unwrap_or_default();
        self.pass_lifetime().max(before + before / 8)
    }

    /// Returns the minimum time for which a room that has lost its state admits no newcomers.
    ///
    /// After this pause, admissions before the loss no longer count towards the limit on new
    /// visitors. Every older pass has expired, unless its lifetime was longer than
    /// [`longest_pass_lifetime`](Self::longest_pass_lifetime). With [`Recovery::AdmitAtOnce`], the
    /// pause is zero.
    #[must_use]
    pub fn recovery_pause(self) -> Duration {
        match self.rules.recovery {
            Recovery::AdmitAtOnce => Duration::ZERO,
            Recovery::Pause => self.longest_pass_lifetime().max(RoomRules::MINUTE),
        }
    }

    /// Returns whether a pass is due for renewal at `now`.
    ///
    /// A pass is due at the age of [`renew_after`](Self::renew_after) or, if that is earlier, after
    /// a fraction of its own lifetime: an eighth in a fixed session, or a ninth in a sliding
    /// session. Its own lifetime matters because a pass keeps the lifetime that it was issued with.
    /// If the session duration has been increased since then, an eighth of the new duration may be
    /// longer than that lifetime.
    ///
    /// With [`SessionRenewal::Fixed`], a renewal does not prolong the session. A renewal is still
    /// due after each eighth of the session, so that the node learns whether the session has been
    /// ended through another node.
    #[must_use]
    pub fn is_renewal_due(self, pass: &Pass, now: Timestamp) -> bool {
        let own_part = match self.rules.session_renewal {
            SessionRenewal::Fixed => pass.expires_at.since(pass.accepted_at) / 8,
            SessionRenewal::Sliding => pass.expires_at.since(pass.last_check_in) / 9,
        };
        now.since(pass.last_check_in) >= self.renew_after().min(own_part)
    }

    /// Returns the pass of the same session, renewed at `now`. A renewal never shortens a pass.
    pub(super) fn prolonged(self, pass: &Pass, now: Timestamp) -> Pass {
        let expires_at = match self.rules.session_renewal {
            SessionRenewal::Fixed => pass.expires_at,
            SessionRenewal::Sliding => pass.expires_at.max(now + self.pass_lifetime()),
        };
        Pass { last_check_in: now, expires_at, ..*pass }
    }

    /// Returns whether a sliding session may lapse before a renewal that is sent at `now` reaches
    /// the store, which takes up to `under_way`.
    ///
    /// Unless the store was unavailable, the visitor of such a pass has sent no request for a whole
    /// session: a pass outlasts the session by a ninth of its lifetime, and any request in that
    /// time would have renewed it. A request with such a pass should wait for the store. If it were
    /// forwarded at once, the store might find the session lapsed after the visitor had already
    /// been served.
    #[must_use]
    pub fn may_lapse_first(self, pass: &Pass, now: Timestamp, under_way: Duration) -> bool {
        let margin = pass.expires_at.since(pass.last_check_in) / 9;
        self.rules.session_renewal == SessionRenewal::Sliding
            && pass.expires_at.since(now) < under_way.min(margin)
    }
}

/// The purpose of a check-in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// The visitor takes a slot if it is its turn.
    Enter,
    /// The visitor only confirms that it is still waiting.
    Stay,
}

impl Purpose {
    /// The number of visitors at the front of the line whose presence lasts for the shortest
    /// interval while they stay.
    const FRONT: u32 = 8;

    /// Returns the time until the next check-in of a visitor with `ahead` visitors ahead of it,
    /// given the `interval` after which it would be asked to come back if it sent requests.
    pub(super) fn interval(self, interval: Duration, ahead: u32) -> Duration {
        match self {
            Self::Stay if ahead < Self::FRONT => interval.min(RoomRules::SHORTEST_INTERVAL),
            Self::Enter | Self::Stay => interval,
        }
    }
}

/// Adds up to 30% to an interval, and rounds the result up to whole seconds.
fn spread(base: Duration, jitter: u64) -> Duration {
    let thousandths = u32::try_from(jitter % SPREAD).unwrap_or(0);
    let spread = base + base * thousandths / 1_000;
    Duration::from_secs(spread.as_secs() + u64::from(spread.subsec_nanos() > 0))
}

/// The number of possible jitter values, from 0 to 300 thousandths of an interval.
const SPREAD: u64 = 301;
