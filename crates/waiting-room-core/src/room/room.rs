//! The operations of a room, each of which takes effect at one instant.
//!
//! Each operation decides as if all lapsed sessions and places had been removed, and removes some
//! of them. A room therefore needs no background task, and does nothing between calls. An operation
//! takes a bounded number of steps, no matter how many visitors there are and what has happened
//! since the last operation: see "Bounded steps" in `sessions.rs` and `line.rs`.
//!
//! # Admission
//!
//! The limits on slots and on new visitors in any 60 seconds allow a number of further admissions,
//! called `free`. A visitor is admitted if, and only if, fewer than `free` *present* visitors are
//! ahead of it. Slots are thus reserved for the visitors ahead, who need not be notified, because a
//! slot will still be free at their next check-in. A newcomer is behind all present visitors.
//!
//! ```text
//!  in order of arrival     present    away    present    present    newcomer
//!  present visitors ahead     0        1         1          2          3
//!  with free = 2           admitted     –     admitted    waits      waits
//! ```
//!
//! # Two touches
//!
//! [`enter`](Room::enter) never creates a place in the line. A visitor that has to wait gets only a
//! first ticket, so a client that does not return the ticket leaves no trace.
//! [`check_in`](Room::check_in) creates the place, and orders it by the time of the *first* touch.
//! A newcomer is asked to come back after a second or two, and a first ticket keeps its order of
//! arrival only for a [limited time](crate::room::Timing::first_ticket_lifetime). Without that time
//! limit, a client could collect claims to places at the front of the line, one with each request,
//! and use them at any later time.
//!
//! A client that does return its tickets gets a place for every two requests. The number of places
//! per network is therefore [bounded](RoomRules::shares()). Beyond that bound, the second
//! touch is refused, and the visitor loses its order of arrival. Otherwise a network could hold
//! early tickets in reserve: whenever it gave up a place at the front, a reserved ticket would take
//! over that place, and the network would receive all admissions.
//!
//! # What it does not do
//!
//! A room does not check that a pass or ticket is genuine: callers unseal and verify them first. A
//! room does not notify visitors, and makes decisions only when an operation is called. A room
//! generates no random numbers: jitter and lots are derived from the random ids of visitors.

use std::time::Duration;

use crate::{
    ConfigError, Pass, Reason, RoomRules, Ticket, Timestamp, Verdict, VisitorId,
    rate::EventLog,
    room::{
        HeadStart, QueueingMethod, Renewal, RoomMode, RoomSnapshot, WaitEstimate,
        course::Course,
        estimate::Estimate,
        line::{Draw, Line, PlaceOrder},
        sessions::Sessions,
        timing::{Purpose, Timing},
        verdict::bucket,
    },
};

/// A room, with its rules and its state.
///
/// See the [crate docs](crate) for the terms and an example.
#[derive(Clone, Debug)]
pub struct Room {
    /// The rules in force as of the last operation. An event may have overridden some of them.
    pub(super) rules: RoomRules,
    /// The active visitors, and the sessions that have ended recently.
    pub(super) sessions: Sessions,
    /// The waiting visitors.
    pub(super) line: Line,
    /// The admissions of the last 60 seconds, for the limit on new visitors.
    pub(super) minute: EventLog,
    pub(super) estimate: Estimate,
    /// The time at which state was lost, or zero if no state has ever been lost. The room may not
    /// know about passes that were issued before that time.
    pub(super) recovered_at: Timestamp,
    /// The end of the hold after a loss of state, during which no newcomer is admitted.
    pub(super) hold_until: Timestamp,
    /// The longest lifetime of a pass under any rules that this room has had.
    pub(super) longest_lifetime: Duration,
    /// The events, and the rules that are in force while no event is in progress.
    pub(super) course: Course,
}

impl Room {
    /// The time for which a visitor is present after a check-in, in half check-in intervals. The
    /// third half interval allows for delays in the client and its network.
    const PRESENT_FOR_HALVES: u32 = 3;
    /// The time between two draws of [`QueueingMethod::Random`].
    const LOTTERY: Duration = Duration::from_secs(60);

    /// Creates an empty room.
    ///
    /// # Errors
    ///
    /// Returns an error for the first rule that is out of bounds or contradicts another rule.
    pub fn new(rules: RoomRules) -> Result<Self, ConfigError> {
        let rules = rules.validate()?;
        Ok(Self {
            longest_lifetime: rules.timing().longest_pass_lifetime(),
            course: Course::new(rules.clone()),
            rules,
            sessions: Sessions::default(),
            line: Line::default(),
            minute: EventLog::new(RoomRules::MINUTE),
            estimate: Estimate::default(),
            recovered_at: Timestamp::ZERO,
            hold_until: Timestamp::ZERO,
        })
    }

    /// Requests a slot for a visitor that has neither a pass nor a ticket.
    ///
    /// The visitor is admitted if a slot is free for it. Otherwise, it receives a first ticket, or
    /// is refused if the rules do not allow waiting. A visitor that is already active keeps its
    /// session.
    pub fn enter(&mut self, id: VisitorId, now: Timestamp) -> Verdict {
        self.settle(id, now);
        self.active(id, now).unwrap_or_else(|| self.newcomer(id, now))
    }

    /// Requests a slot for a waiting visitor, and confirms that the visitor is still waiting.
    ///
    /// A visitor with a place keeps the place, whichever of its tickets it presents. If the room
    /// has been restarted and therefore does not know about the place, the place is restored with
    /// the ticket's order of arrival. A visitor whose ticket has lapsed goes to the back of the
    /// line.
    pub fn check_in(&mut self, ticket: &Ticket, now: Timestamp) -> Verdict {
        self.check_in_for(Purpose::Enter, ticket, now)
    }

    /// Checks in a waiting visitor for a purpose.
    pub(super) fn check_in_for(
        &mut self,
        purpose: Purpose,
        shown: &Ticket,
        now: Timestamp,
    ) -> Verdict {
        self.settle(shown.id, now);
        if let Some(verdict) = self.active(shown.id, now) {
            return verdict;
        }
        let arrival = self.line.arrival(shown.id);
        // The ticket was used up by a session that has ended, so its order of arrival is void.
        if self.is_void(shown, arrival) {
            return match purpose {
                Purpose::Enter => self.newcomer(shown.id, now),
                Purpose::Stay => Verdict::Wait { ticket: *shown, reason: Reason::QueuedTurn },
            };
        }
        let mut ticket = Ticket { resumes: false, ..*shown };
        let has_lapsed = self.rules.timing().has_lapsed(&ticket, now);
        // Otherwise, a client could keep a ticket to use its head start or number later.
        if has_lapsed {
            ticket.head_start = HeadStart::NONE;
            ticket.entrant = None;
        }
        // A reissued ticket may outlive its place by one retention time. It then gets a place only
        // under the same conditions as a first ticket. Otherwise the clients of one network could
        // get their places twice.
        let claims_place = !ticket.placed || ticket.is_reissued();
        let needs_place = claims_place && arrival.is_none();
        match arrival {
            Some(PlaceOrder { arrived, .. }) => {
                // The place may have been created by a check-in that reached the store only after
                // its ticket had lapsed. The arrival time of the place is then too late, and a
                // ticket that was reissued in the meantime proves the correct, earlier time.
                let arrived = if ticket.is_reissued() && !has_lapsed {
                    arrived.min(ticket.arrival())
                } else {
                    arrived
                };
                ticket.first_seen = arrived + ticket.head_start.duration();
                // The position on a first ticket was an estimate, and does not affect the next
                // position.
                ticket.shown_position = ticket.shown_position.filter(|_| ticket.placed);
                ticket.placed = true;
            }
            None if has_lapsed => ticket = Ticket::new(ticket.id, now, now, now),
            None => {}
        }
        // If the clock has been set back, the ticket may be dated in the future. A date in the
        // future must not put the visitor behind newcomers. A place that was created with a shorter
        // head start moves ahead, but not beyond the head start of the ticket.
        ticket.first_seen = ticket.first_seen.min(now);
        // In drain mode, a visitor without a place is refused like a newcomer.
        if !ticket.placed && self.rules.mode == RoomMode::Drain {
            return self.newcomer(ticket.id, now);
        }
        let order = self.recognize(&mut ticket, arrival);
        let order = self.late_order(&ticket, arrival).unwrap_or(order);
        let ahead = self.ahead_of(&ticket, order, now);
        let decision = if self.awaits_draw(&ticket) {
            Err(Reason::QueuedRecovery)
        } else {
            self.may_enter(ahead, now)
        };
        match decision {
            Ok(_) if purpose == Purpose::Stay => self.turn(shown, ticket, needs_place, now),
            Ok(reason) => self.admit_waiting(&ticket, arrival, reason, now),
            Err(reason) => self.stand(purpose, ticket, needs_place, ahead, reason, now),
        }
    }

    /// Extends the session of an admitted visitor.
    ///
    /// A room that has been restarted may not know about a valid pass. It accepts the pass, so that
    /// the session is not interrupted. The only exception is an old pass that is first presented
    /// after the end of a [hold](crate::room::Recovery::Pause) while every slot is taken.
    pub fn renew(&mut self, pass: &Pass, now: Timestamp) -> Renewal {
        self.settle(pass.id, now);
        let known = match self.sessions.pass(pass.id) {
            Some(known) => known,
            None if pass.expires_at <= now => return Renewal::End,
            None if self.sessions.is_pass_void(pass.id, pass.last_check_in) => return Renewal::End,
            None if self.sessions.may_be_forgotten(pass.id, pass.last_check_in) => {
                return Renewal::End;
            }
            None if !self.can_take_up(pass, now) => return Renewal::End,
            None => *pass,
        };
        // A visitor holds a slot or a place, never both. After a restart, an old ticket may have
        // created a place before the pass was presented.
        self.line.remove(pass.id);
        let renewed = self.prolong(&known, now);
        self.invariants();
        Renewal::Renew(renewed)
    }

    /// Ends a visitor's session, or gives up the visitor's place. The slot or place becomes free
    /// immediately.
    ///
    /// From then on, all copies of the visitor's pass and tickets are void.
    pub fn leave(&mut self, id: VisitorId, now: Timestamp) {
        self.settle(id, now);
        self.line.abandon(id);
        // The visitor's pass and tickets are valid for at most `longest`, so the end of the session
        // is remembered for that time.
        let timing = self.rules.timing();
        let longest = timing.pass_lifetime().max(timing.tickets_void_after());
        self.sessions.end(id, now, now + longest);
        self.invariants();
    }

    /// Removes a limited number of lapsed sessions and places, to free memory.
    ///
    /// All other operations also remove lapsed sessions and places first, so `sweep` is useful only
    /// while no requests arrive.
    pub fn sweep(&mut self, now: Timestamp) {
        self.reap(now);
        self.invariants();
    }

    /// Returns the figures of the room at `now`.
    ///
    /// All figures are exact, except that lapsed places count as [waiting](RoomSnapshot::waiting)
    /// until they are removed, and may determine the [oldest wait](RoomSnapshot::oldest_wait) until
    /// then.
    pub fn snapshot(&mut self, now: Timestamp) -> RoomSnapshot {
        self.reap(now);
        let mut snapshot = RoomSnapshot::empty(now, &self.rules);
        snapshot.active = self.sessions.active();
        snapshot.new_in_last_minute = u32::try_from(self.minute.count(now)).unwrap_or(u32::MAX);
        snapshot.first_touches_in_last_minute = self.estimate.first_touches_in_last_minute(now);
        snapshot.waiting = self.line.len();
        snapshot.abandoned = self.line.abandoned();
        snapshot.present = self.line.present();
        snapshot.slots_of_one_network = self.sessions.most_of_one_network();
        snapshot.places_of_one_network = self.line.most_of_one_network();
        snapshot.oldest_wait =
            self.line.first_arrival().map_or(Duration::ZERO, |first| now.since(first));
        let fallback = self.rules.timing().configured_rate();
        snapshot.admissions_per_minute = self.estimate.rate(now, fallback) * 60.0;
        snapshot.event = self.event_figures(now);
        snapshot
    }

    /// Returns the number of waiting visitors who check in when due, as of the last operation.
    #[must_use]
    pub fn present(&self) -> u32 {
        self.line.present()
    }

    /// Returns the rules in force as of the last operation. An event may override some of them.
    #[must_use]
    pub const fn rules(&self) -> &RoomRules {
        &self.rules
    }

    /// Returns the passes of all visitors that were active at the last operation, in no particular
    /// order.
    pub fn passes(&self) -> impl Iterator<Item = Pass> {
        self.sessions.passes()
    }

    /// Renews the session of a visitor that is already active, and returns the verdict. Returns
    /// `None` if the visitor is not active.
    fn active(&mut self, id: VisitorId, now: Timestamp) -> Option<Verdict> {
        let pass = self.prolong(&self.sessions.pass(id)?, now);
        Some(Verdict::Admit { pass, reason: Reason::AdmittedActive })
    }

    /// Admits or refuses a newcomer, or lets it wait. A newcomer is behind all present visitors,
    /// and has not yet proved that it returns its tickets.
    fn newcomer(&mut self, id: VisitorId, now: Timestamp) -> Verdict {
        if self.rules.mode == RoomMode::Drain {
            return refuse(None, Reason::RefusedDraining, Some(self.rules.refresh_interval));
        }
        match self.may_enter(self.line.present(), now) {
            Ok(Reason::AdmittedSlot) if self.is_cookie_tested() => {
                self.first_ticket(id, Timing::COOKIE_TEST_INTERVAL, Reason::QueuedCookieTest, now)
            }
            Ok(reason) => self.admit(id, now, reason, now),
            Err(reason) if self.rules.queueing_method == QueueingMethod::Reject => {
                self.reject(&reason)
            }
            Err(reason) => {
                let newcomers = self.estimate.first_touches_per_second(now);
                let interval =
                    self.rules.timing().second_touch_after(newcomers, id.draw(now.as_nanos()));
                self.first_ticket(id, interval, reason, now)
            }
        }
    }

    /// Issues a ticket without a place. The position on the ticket is an estimate: the number of
    /// present visitors plus one. If the order is drawn by lot, this is only the length of the line.
    fn first_ticket(
        &mut self,
        id: VisitorId,
        interval: Duration,
        reason: Reason,
        now: Timestamp,
    ) -> Verdict {
        self.estimate.record_first_touch(now);
        let mut ticket = Ticket::new(id, now, now, now + interval);
        ticket.show(self.line.present().saturating_add(1), true);
        Verdict::Wait { ticket, reason }
    }

    /// Begins a session and counts the admission. If the visitor has a place, gives up the place.
    pub(super) fn admit(
        &mut self,
        id: VisitorId,
        first_seen: Timestamp,
        reason: Reason,
        now: Timestamp,
    ) -> Verdict {
        let expires_at = now + self.rules.timing().pass_lifetime();
        let pass = Pass::new(id, bucket(first_seen), now, now, expires_at);
        self.line.remove(id);
        let shares = self.rules.shares.slots(self.rules.total_active_users);
        let crowded = self.sessions.withdraw(id, shares);
        self.sessions.hold(pass, crowded.is_none(), false);
        self.minute.record(now);
        self.estimate.record(now);
        self.invariants();
        Verdict::Admit { pass, reason }
    }

    /// Refuses a visitor because the room does not queue visitors. The refusal states when to retry
    /// only if the room is closed, because a closed room will open again.
    fn reject(&self, reason: &Reason) -> Verdict {
        let retry_after = is_closed(reason).then_some(self.rules.refresh_interval);
        refuse(None, Reason::RefusedReject, retry_after)
    }

    /// Gives a visitor a place behind `ahead` present visitors, or confirms its existing place.
    /// Refuses the visitor if it needs a new place but the rules do not allow one.
    pub(super) fn stand(
        &mut self,
        purpose: Purpose,
        mut ticket: Ticket,
        needs_place: bool,
        ahead: u32,
        reason: Reason,
        now: Timestamp,
    ) -> Verdict {
        if !ticket.placed && self.rules.queueing_method == QueueingMethod::Reject {
            return self.reject(&reason);
        }
        let over_share = self.over_share(ticket.id).filter(|_| needs_place);
        // The section "Two touches" in the module docs explains why the visitor loses its order of
        // arrival.
        if over_share == Some(Reason::RefusedNetworkFull) {
            let interval = self.interval(ticket.id, u32::MAX, &reason, now);
            let ticket = Ticket::new(ticket.id, now, now, now + interval);
            return refuse(Some(ticket), Reason::RefusedNetworkFull, Some(interval));
        }
        ticket.last_check_in = now;
        // The capacity of the line applies only to new places. Unless it was reissued, a ticket
        // with a place is accepted even if the room has lost its state. Such a ticket is valid for
        // no longer than its place, so no more of these tickets are valid than there were places.
        // If a ticket without a place is refused because the line is full, it keeps its order of
        // arrival.
        if needs_place && self.line.len() >= self.rules.line_capacity {
            let interval = self.interval(ticket.id, u32::MAX, &reason, now);
            ticket.next_check_in = now + interval;
            return refuse(Some(ticket), Reason::RefusedLineFull, Some(interval));
        }
        let arrival = self.arrive(&mut ticket, now);
        // Places that enter the line before a late place will be ahead of that place.
        let behind = self.line.in_order().saturating_add(ticket.late_by.saturating_sub(1));
        let is_late = ticket.late_by > 0 && reason != Reason::QueuedTurn;
        let told = if is_late { ahead.max(behind) } else { ahead };
        ticket.wait = self.wait(told, &reason, now);
        let interval = purpose.interval(self.interval(ticket.id, ahead, &reason, now), ahead);
        ticket.next_check_in = now + interval;
        if self.rules.queueing_method == QueueingMethod::Random || self.course.will_be_drawn() {
            ticket.shown_position = None;
            ticket.is_approximate = false;
        } else {
            ticket.show(told.saturating_add(1), false);
        }
        ticket.placed = true;
        let present_until = now + interval * Self::PRESENT_FOR_HALVES / 2;
        let kept_until = now + self.rules.place_retention;
        let draw = self.draw(now);
        self.line.stand(ticket.id, draw, arrival, present_until, kept_until);
        self.invariants();
        Verdict::Wait { ticket, reason: over_share.unwrap_or(reason) }
    }

    /// Returns the expected wait behind `ahead` visitors, or `None` if no visitor is being
    /// admitted.
    fn wait(&mut self, ahead: u32, reason: &Reason, now: Timestamp) -> Option<WaitEstimate> {
        if is_closed(reason) {
            return None;
        }
        let fallback = self.rules.timing().configured_rate();
        match self.rules.queueing_method {
            QueueingMethod::Random => self.estimate.lottery(self.line.present(), now, fallback),
            QueueingMethod::Fifo | QueueingMethod::Passthrough | QueueingMethod::Reject => {
                self.estimate.wait(ahead, now, fallback)
            }
        }
    }

    /// Returns the time until the next check-in of a visitor with `ahead` visitors ahead of it.
    ///
    /// The interval is in whole seconds, so that each client can follow it exactly.
    fn interval(&mut self, id: VisitorId, ahead: u32, reason: &Reason, now: Timestamp) -> Duration {
        let jitter = id.draw(now.as_nanos());
        let timing = self.rules.timing();
        if *reason == Reason::Prequeue {
            let until = self.course.until_start(now);
            return timing.interval_before_start(until, self.line.present(), jitter);
        }
        if is_closed(reason) {
            return timing.longest_check_in_interval(jitter);
        }
        let per_second = self.estimate.rate(now, timing.configured_rate());
        timing.check_in_interval(ahead, per_second, jitter)
    }

    /// Returns the draw at `now`, if the order of the line is random.
    ///
    /// A visitor draws a lot when it checks in, and keeps the lot until its first check-in in
    /// another minute. Further check-ins in the same minute do not change the lot.
    pub(super) fn draw(&self, now: Timestamp) -> Option<Draw> {
        let minute = u32::try_from(now.as_secs() / Self::LOTTERY.as_secs()).unwrap_or(u32::MAX);
        (self.rules.queueing_method == QueueingMethod::Random).then_some(Draw(minute))
    }

    /// Advances the time to `now` before an operation for this visitor, and removes the visitor's
    /// own session and place if they have lapsed.
    fn settle(&mut self, id: VisitorId, now: Timestamp) {
        self.reap(now);
        self.sessions.settle(id);
        self.line.settle(id);
    }

    /// Advances the time to `now`, and removes some of the lapsed sessions and places.
    pub(super) fn reap(&mut self, now: Timestamp) {
        self.follow_schedule(now);
        self.sessions.reap(now, self.rules.timing().tickets_void_after());
        self.line.reap(now);
        self.note_departures(now);
    }

    /// Checks the invariants after each change, in debug builds.
    pub(super) fn invariants(&self) {
        self.sessions.invariants();
        self.line.invariants();
        debug_assert!(self.line.len() <= RoomRules::MAX_LINE_CAPACITY, "the line is bounded");
    }
}

/// Returns whether a reason implies that the room is closed. A closed room admits no visitor even
/// if slots are free, so there is no wait to estimate.
const fn is_closed(reason: &Reason) -> bool {
    matches!(reason, Reason::Prequeue | Reason::QueueAll | Reason::QueuedRecovery)
}

fn refuse(ticket: Option<Ticket>, reason: Reason, retry_after: Option<Duration>) -> Verdict {
    Verdict::Refuse { ticket, reason, retry_after }
}

#[cfg(test)]
mod tests;
