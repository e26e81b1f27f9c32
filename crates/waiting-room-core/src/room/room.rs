//! The room: the verbs, each at one instant.
//!
//! Every verb first drops what has lapsed, then decides on what is left. So there is no background
//! task: a room that nobody asks does nothing, and needs nothing.
//!
//! # Admission
//!
//! `free` is what both limits leave: slots, and places in the last 60 seconds. A visitor is let in
//! if and only if fewer than `free` *present* visitors stand before it. Whoever stands before has a
//! slot reserved in this way without being called: it is still there at the next check-in.
//! A newcomer stands behind everybody who is present.
//!
//! # Two touches
//!
//! [`enter`](Room::enter) never makes a place in the line: the first ticket is only handed out. A
//! client that does not return it leaves no trace. [`check_in`](Room::check_in) makes the place,
//! in the order of the *first* touch. A newcomer is asked back after a second or two, and a first
//! ticket keeps its order for [a while](RoomRules::first_ticket_lifetime) only: otherwise a client
//! could claim the front of the line with requests alone, and bring the tickets back when it likes.
//!
//! A client that does return its tickets fills the line with two requests for each place. So the
//! places of one network are [bounded](RoomRules::places_per_network). Over the bound, the second
//! touch is refused, and its order of arrival begins anew: otherwise the tickets that a network holds
//! in reserve would take each place that it gives back, at the front, and get all admissions.

use std::time::Duration;

use crate::{
    ConfigError, ConfigErrorKind, CookieTest, Pass, PlacesPerNetwork, QueueingMethod, Reason,
    Recovery, Renewal, RoomMode, RoomRules, RoomSnapshot, SessionRenewal, Ticket, Timestamp,
    Verdict, VisitorId, WaitEstimate,
    rate::EventLog,
    room::{estimate::Estimate, line::Line, orders::Rank, sessions::Sessions, verdict::bucket},
};

/// One room: its rules and its state.
///
/// See the [crate docs](crate) for the words and an example.
#[derive(Clone, Debug)]
pub struct Room {
    rules: RoomRules,
    sessions: Sessions,
    line: Line,
    minute: EventLog,
    estimate: Estimate,
    /// When the memory of the room began, if passes of before may be about.
    recovered_at: Timestamp,
    hold_until: Timestamp,
    /// The longest that a pass can live under any rules that this room has had.
    longest_lifetime: Duration,
    lottery: u64,
}

impl Room {
    /// A visitor is present until this many halves of its interval have passed.
    const PRESENT_FOR_HALVES: u32 = 3;
    /// The first ticket of a client that only has to show that it keeps cookies.
    const COOKIE_TEST_INTERVAL: Duration = Duration::from_secs(1);
    /// How long the lots of [`QueueingMethod::Random`] stand.
    const LOTTERY: Duration = Duration::from_secs(60);

    /// An empty room.
    ///
    /// # Errors
    ///
    /// The first rule that cannot be obeyed.
    pub fn new(rules: RoomRules) -> Result<Self, ConfigError> {
        let rules = rules.validate()?;
        Ok(Self {
            longest_lifetime: rules.longest_pass_lifetime(),
            rules,
            sessions: Sessions::default(),
            line: Line::default(),
            minute: EventLog::new(RoomRules::MINUTE),
            estimate: Estimate::default(),
            recovered_at: Timestamp::ZERO,
            hold_until: Timestamp::ZERO,
            lottery: 0,
        })
    }

    /// A visitor without a pass or a ticket asks for a slot.
    pub fn enter(&mut self, id: VisitorId, now: Timestamp) -> Verdict {
        self.reap(now);
        self.active(id, now).unwrap_or_else(|| self.newcomer(id, now))
    }

    /// A waiting visitor asks again.
    ///
    /// A visitor with a place keeps it, whichever of its tickets it shows. A place that this room
    /// has never heard of, because it was restarted, is taken up where the ticket says. A ticket
    /// that has lapsed puts its holder at the back.
    pub fn check_in(&mut self, ticket: &Ticket, now: Timestamp) -> Verdict {
        self.reap(now);
        if let Some(verdict) = self.active(ticket.id, now) {
            return verdict;
        }
        if self.sessions.is_ticket_void(ticket.id, ticket.first_seen) {
            return self.newcomer(ticket.id, now);
        }
        let mut ticket = *ticket;
        let has_lapsed = self.rules.has_lapsed(&ticket, now);
        match self.line.arrival(ticket.id) {
            Some(arrival) => {
                // A place may be of a check-in that came to a store too late, when the ticket of then
                // had lapsed; one that has not lapsed still proves the order.
                ticket.first_seen = match has_lapsed {
                    true => arrival,
                    false => arrival.min(ticket.first_seen),
                };
                // What a first ticket says was estimated.
                ticket.shown_position = ticket.shown_position.filter(|_| ticket.placed);
                ticket.placed = true;
            }
            None if has_lapsed => ticket = Ticket::new(ticket.id, now, now, now),
            None => {}
        }
        ticket.first_seen = ticket.first_seen.min(now);
        if !ticket.placed && self.rules.mode == RoomMode::Drain {
            return self.newcomer(ticket.id, now);
        }
        let rank = self.rank(ticket.id, ticket.first_seen, now);
        let ahead = self.line.present_before(rank);
        match self.may_enter(ahead, now) {
            Ok(reason) => self.admit(ticket.id, ticket.first_seen, reason, now),
            Err(reason) => self.stand(ticket, rank, ahead, reason, now),
        }
    }

    /// An admitted visitor is still there.
    ///
    /// A valid pass that this room has never heard of, because it was restarted, is taken up:
    /// a session that has begun is not broken off. The one exception is a pass of before that is shown
    /// after a [hold](crate::Recovery::Pause), when every slot is taken.
    pub fn renew(&mut self, pass: &Pass, now: Timestamp) -> Renewal {
        self.reap(now);
        let known = match self.sessions.pass(pass.id) {
            Some(known) => known,
            None if pass.expires_at <= now => return Renewal::End,
            None if self.sessions.is_pass_void(pass.id, pass.last_check_in) => return Renewal::End,
            None if !self.can_take_up(pass, now) => return Renewal::End,
            None => *pass,
        };
        let renewed = self.prolonged(&known, now);
        self.line.remove(pass.id);
        self.sessions.hold(renewed);
        self.invariants();
        Renewal::Renew(renewed)
    }

    /// A visitor goes: the slot or the place is free at once.
    ///
    /// Copies of the pass or of an older ticket are void from now on.
    pub fn leave(&mut self, id: VisitorId, now: Timestamp) {
        self.reap(now);
        self.line.remove(id);
        let longest = self.rules.pass_lifetime().max(self.rules.place_retention);
        self.sessions.end(id, now, now + longest);
        self.invariants();
    }

    /// Drops what has lapsed. The other verbs do the same first; this one is for quiet times.
    pub fn sweep(&mut self, now: Timestamp) {
        self.reap(now);
        self.invariants();
    }

    /// The room in numbers.
    pub fn snapshot(&mut self, now: Timestamp) -> RoomSnapshot {
        self.reap(now);
        let mut snapshot = RoomSnapshot::empty(now, &self.rules);
        snapshot.active = self.sessions.active();
        snapshot.new_in_last_minute = u32::try_from(self.minute.count(now)).unwrap_or(u32::MAX);
        snapshot.first_touches_in_last_minute = self.estimate.first_touches_in_last_minute(now);
        snapshot.waiting = self.line.len();
        snapshot.present = self.line.present();
        snapshot.oldest_wait =
            self.line.first_arrival().map_or(Duration::ZERO, |first| now.since(first));
        let fallback = self.rules.configured_rate();
        snapshot.admissions_per_minute = self.estimate.rate(now, fallback) * 60.0;
        snapshot
    }

    /// Puts new rules in force, for visitors already inside as well.
    ///
    /// Nobody is put out: a lower limit is reached as sessions end. Passes keep the lifetime they
    /// were issued with.
    ///
    /// # Errors
    ///
    /// The first rule that cannot be obeyed, or another name; the old rules stay.
    pub fn configure(&mut self, rules: RoomRules, now: Timestamp) -> Result<(), ConfigError> {
        let rules = rules.validate()?;
        if rules.name != self.rules.name {
            let expected = format_args!("{:?}, the name of the room in use", self.rules.name);
            let given = format_args!("{:?}", rules.name);
            return Err(ConfigError::new(ConfigErrorKind::Contradicts, "name", given, expected));
        }
        self.reap(now);
        let reorder = rules.queueing_method != self.rules.queueing_method;
        self.longest_lifetime = self.longest_lifetime.max(rules.longest_pass_lifetime());
        self.rules = rules;
        if reorder {
            self.draw_lots(now);
        }
        self.invariants();
        Ok(())
    }

    /// Takes note that the memory was lost at `now` and passes of before may be about: what
    /// follows is for [`RoomRules::recovery`] to say.
    pub fn recover(&mut self, now: Timestamp) {
        self.recovered_at = now;
        if self.rules.recovery == Recovery::Pause {
            self.hold_until = now + self.rules.recovery_pause().max(self.longest_lifetime);
        }
    }

    /// How many visitors wait and check in as they were asked to, as of the last verb.
    #[must_use]
    pub fn present(&self) -> u32 {
        self.line.present()
    }

    /// The rules in force.
    #[must_use]
    pub const fn rules(&self) -> &RoomRules {
        &self.rules
    }

    /// The passes of all who are active, in no order. Some may have lapsed since the last verb.
    pub fn passes(&self) -> impl Iterator<Item = &Pass> {
        self.sessions.passes()
    }

    /// The verdict for a visitor who is active already: the same session, prolonged.
    fn active(&mut self, id: VisitorId, now: Timestamp) -> Option<Verdict> {
        let pass = self.prolonged(&self.sessions.pass(id)?, now);
        self.sessions.hold(pass);
        Some(Verdict::Admit { pass, reason: Reason::AdmittedSlot })
    }

    /// A visitor who stands behind everybody present, and has shown nothing yet.
    fn newcomer(&mut self, id: VisitorId, now: Timestamp) -> Verdict {
        if self.rules.mode == RoomMode::Drain {
            return refuse(None, Reason::RefusedDraining, Some(self.rules.refresh_interval));
        }
        match self.may_enter(self.line.present(), now) {
            Ok(Reason::AdmittedSlot) if self.is_cookie_tested() => {
                self.first_ticket(id, Self::COOKIE_TEST_INTERVAL, Reason::QueuedCookieTest, now)
            }
            Ok(reason) => self.admit(id, now, reason, now),
            Err(reason) if self.rules.queueing_method == QueueingMethod::Reject => {
                self.reject(&reason)
            }
            Err(reason) => {
                let newcomers = self.estimate.first_touches_per_second(now);
                let interval = self.rules.second_touch_after(newcomers, id.draw(now.as_nanos()));
                self.first_ticket(id, interval, reason, now)
            }
        }
    }

    /// A ticket without a place, which says how many are ahead.
    fn first_ticket(
        &mut self,
        id: VisitorId,
        interval: Duration,
        reason: Reason,
        now: Timestamp,
    ) -> Verdict {
        self.estimate.record_first_touch(now);
        let mut ticket = Ticket::new(id, now, now, now + interval);
        if self.rules.queueing_method != QueueingMethod::Random {
            ticket.show(self.line.present().saturating_add(1), true);
        }
        Verdict::Wait { ticket, reason }
    }

    /// Whether a visitor with this many present visitors before it may enter now, and why.
    fn may_enter(&self, ahead: u32, now: Timestamp) -> Result<Reason, Reason> {
        if self.rules.mode == RoomMode::QueueAll {
            return Err(Reason::QueueAll);
        }
        if self.rules.queueing_method == QueueingMethod::Passthrough
            && self.sessions.active() < RoomRules::MAX_USERS
        {
            return Ok(Reason::AdmittedPassthrough);
        }
        if now < self.hold_until {
            return Err(Reason::QueuedRecovery);
        }
        let slots = self.rules.total_active_users.saturating_sub(self.sessions.active());
        if slots == 0 {
            return Err(Reason::QueuedActiveLimit);
        }
        let conforms = |reserved| {
            self.rules
                .new_users_per_minute
                .is_none_or(|limit| self.minute.conforms(limit, reserved, now))
        };
        if !conforms(0) {
            return Err(Reason::QueuedRate);
        }
        if slots <= ahead || !conforms(ahead) {
            return Err(Reason::QueuedBehindOthers);
        }
        Ok(Reason::AdmittedSlot)
    }

    /// Whether a pass that is unknown here is taken up. Under [`Recovery::Pause`], one of before the
    /// room lost its memory shows for how long others may live, so the hold is prolonged to that; one
    /// that is shown after the hold needs a free slot.
    fn can_take_up(&mut self, pass: &Pass, now: Timestamp) -> bool {
        let is_of_before = pass.last_check_in < self.recovered_at;
        if self.rules.recovery != Recovery::Pause || !is_of_before {
            return true;
        }
        if now < self.hold_until {
            let lifetime = pass.expires_at.since(pass.last_check_in);
            self.hold_until = self.hold_until.max(self.recovered_at + lifetime);
            return true;
        }
        self.rules.queueing_method == QueueingMethod::Passthrough
            || self.sessions.active() < self.rules.total_active_users
    }

    fn admit(
        &mut self,
        id: VisitorId,
        first_seen: Timestamp,
        reason: Reason,
        now: Timestamp,
    ) -> Verdict {
        let expires_at = now + self.rules.pass_lifetime();
        let pass = Pass::new(id, bucket(first_seen), now, now, expires_at);
        self.line.remove(id);
        self.sessions.hold(pass);
        self.minute.record(now);
        self.estimate.record(now);
        self.invariants();
        Verdict::Admit { pass, reason }
    }

    /// Sends a visitor away: for good, unless the room is closed and will be opened.
    fn reject(&self, reason: &Reason) -> Verdict {
        let retry_after = is_closed(reason).then_some(self.rules.refresh_interval);
        refuse(None, Reason::RefusedReject, retry_after)
    }

    /// Gives a visitor who checked in a place at its rank, or leaves it the one it has, behind
    /// `ahead` others.
    fn stand(
        &mut self,
        mut ticket: Ticket,
        rank: Rank,
        ahead: u32,
        reason: Reason,
        now: Timestamp,
    ) -> Verdict {
        if !ticket.placed && self.rules.queueing_method == QueueingMethod::Reject {
            return self.reject(&reason);
        }
        let over_share = self.over_share(&ticket);
        if over_share == Some(Reason::RefusedNetworkFull) {
            let interval = self.interval(ticket.id, u32::MAX, &reason, now);
            let ticket = Ticket::new(ticket.id, now, now, now + interval);
            return refuse(Some(ticket), Reason::RefusedNetworkFull, Some(interval));
        }
        ticket.last_check_in = now;
        // A ticket with a place outlives the memory of the room by no more than the place itself,
        // so there are no more of them than there were places.
        if !ticket.placed && self.line.len() >= self.rules.line_capacity {
            let interval = self.interval(ticket.id, u32::MAX, &reason, now);
            ticket.next_check_in = now + interval;
            return refuse(Some(ticket), Reason::RefusedLineFull, Some(interval));
        }
        ticket.wait = self.wait(ahead, &reason, now);
        let interval = self.interval(ticket.id, ahead, &reason, now);
        ticket.next_check_in = now + interval;
        match self.rules.queueing_method {
            QueueingMethod::Random => {
                (ticket.shown_position, ticket.is_approximate) = (None, false)
            }
            _ => ticket.show(ahead.saturating_add(1), false),
        }
        ticket.placed = true;
        let present_until = now + interval * Self::PRESENT_FOR_HALVES / 2;
        let kept_until = now + self.rules.place_retention;
        self.line.stand(rank, ticket.first_seen, present_until, kept_until);
        self.invariants();
        Verdict::Wait { ticket, reason: over_share.unwrap_or(reason) }
    }

    /// What is to be said if a place for this ticket is one too many for its network.
    fn over_share(&self, ticket: &Ticket) -> Option<Reason> {
        let share = self.rules.places_per_network;
        let is_over = |places| !ticket.placed && self.line.of_network(ticket.id) >= places;
        share.number().filter(|places| is_over(*places)).map(|_| match share {
            PlacesPerNetwork::Shadow(_) => Reason::QueuedNetworkFull,
            _ => Reason::RefusedNetworkFull,
        })
    }

    /// The same session under a pass of `now`.
    fn prolonged(&self, pass: &Pass, now: Timestamp) -> Pass {
        let expires_at = match self.rules.session_renewal {
            SessionRenewal::Fixed => pass.expires_at,
            SessionRenewal::Sliding => pass.expires_at.max(now + self.rules.pass_lifetime()),
        };
        Pass { last_check_in: now, expires_at, ..*pass }
    }

    fn wait(&mut self, ahead: u32, reason: &Reason, now: Timestamp) -> Option<WaitEstimate> {
        if is_closed(reason) {
            return None;
        }
        let fallback = self.rules.configured_rate();
        match self.rules.queueing_method {
            QueueingMethod::Random => self.estimate.lottery(self.line.present(), now, fallback),
            _ => self.estimate.wait(ahead, now, fallback),
        }
    }

    /// When to ask again, in whole seconds so that every client can obey it to the letter.
    fn interval(&mut self, id: VisitorId, ahead: u32, reason: &Reason, now: Timestamp) -> Duration {
        let jitter = id.draw(now.as_nanos());
        if is_closed(reason) {
            return self.rules.longest_check_in_interval(jitter);
        }
        let per_second = self.estimate.rate(now, self.rules.configured_rate());
        self.rules.check_in_interval(ahead, per_second, jitter)
    }

    fn is_cookie_tested(&self) -> bool {
        match self.rules.cookie_test {
            CookieTest::Off => false,
            CookieTest::AboveUtilization(percent) => {
                let taken = u64::from(self.sessions.active()) * 100;
                taken >= u64::from(percent) * u64::from(self.rules.total_active_users)
            }
        }
    }

    fn rank(&self, id: VisitorId, first_seen: Timestamp, now: Timestamp) -> Rank {
        match self.rules.queueing_method {
            QueueingMethod::Random => (id.draw(lottery(now)), id),
            _ => (first_seen.as_nanos(), id),
        }
    }

    fn reap(&mut self, now: Timestamp) {
        let retention = self.rules.place_retention;
        self.sessions.reap(now, |pass| pass.accepted_at + retention);
        self.line.reap(now);
        if self.rules.queueing_method == QueueingMethod::Random && self.lottery != lottery(now) {
            self.draw_lots(now);
        }
    }

    fn draw_lots(&mut self, now: Timestamp) {
        self.lottery = lottery(now);
        let mut line = std::mem::take(&mut self.line);
        line.reorder(|id, first_seen| self.rank(id, first_seen, now).0);
        self.line = line;
    }

    fn invariants(&self) {
        self.sessions.invariants();
        self.line.invariants();
        debug_assert!(self.line.len() <= RoomRules::MAX_LINE_CAPACITY, "the line is bounded");
    }
}

/// Whether nobody is let in whatever becomes free, so that there is nothing to expect.
const fn is_closed(reason: &Reason) -> bool {
    matches!(reason, Reason::QueueAll | Reason::QueuedRecovery)
}

/// Which lots are valid at `now`.
fn lottery(now: Timestamp) -> u64 {
    now.as_secs() / Room::LOTTERY.as_secs()
}

fn refuse(ticket: Option<Ticket>, reason: Reason, retry_after: Option<Duration>) -> Verdict {
    Verdict::Refuse { ticket, reason, retry_after }
}

#[cfg(test)]
mod tests;
