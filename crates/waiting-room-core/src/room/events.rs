//! A room follows its schedule: the rules in force, the prequeue, and the order of the entrants.
//!
//! Each operation first checks, with one comparison, whether the phase of the schedule has changed
//! since the last operation. A room that receives no request for hours thus continues as if it had
//! seen each change. The rules in force are derived from the room's own rules, so a change of
//! those rules during an event takes effect wherever the event does not override them.

#[cfg(feature = "lottery")]
use crate::room::event::drawing::Drawing;
use crate::{
    ConfigError, Reason, Room, RoomRules, Ticket, Timestamp, Verdict,
    error::ConfigErrorKind,
    room::{
        HeadStart, QueueingMethod,
        course::{Course, Stage},
        event::{Entrant, Event, Phase, RoomPlan, Schedule},
        line::{Number, PlaceOrder},
        snapshot::EventFigures,
    },
};

impl Room {
    /// Gives a new room its schedule, whose events may already be running or over.
    ///
    /// # Errors
    ///
    /// Returns an error if the events contradict the room's own rules, or if the seed of a draw is
    /// missing or for another room.
    pub fn with_schedule(mut self, schedule: Schedule) -> Result<Self, ConfigError> {
        let plan = RoomPlan { schedule, ..self.course.plan.clone() };
        self.take_over(plan.validate()?);
        // The first operation determines the phase.
        self.course.next_change = Some(Timestamp::ZERO);
        Ok(self)
    }

    /// Replaces the events of the room. Two events are the same if they have the same name.
    ///
    /// The [`event`](crate::room::event#changes-to-a-running-event) module describes which changes
    /// of a running event are possible. Seeds that are already known need not be repeated.
    ///
    /// # Errors
    ///
    /// Returns an error under the same conditions as [`Schedule::replace`], if the events contradict
    /// the room's own rules, or if the seed of a draw is missing or for another room. After an error,
    /// the old schedule stays in effect.
    pub fn schedule(&mut self, next: Schedule, now: Timestamp) -> Result<(), ConfigError> {
        self.reap(now);
        let plan = self.course.plan.clone().follow(next, now)?;
        self.take_over(plan);
        self.change_phase(now);
        self.invariants();
        Ok(())
    }

    /// Applies new rules, which also affect visitors who are already active or waiting.
    ///
    /// These are the room's own rules: an event that overrides some of them keeps doing so until it
    /// ends. No session is ended: a lower limit takes effect as sessions lapse. Passes keep the
    /// lifetime that they were issued with.
    ///
    /// # Errors
    ///
    /// Returns an error for the first rule that is out of bounds or contradicts another rule or an
    /// event, or if the name differs from the room's name. After an error, the old rules stay in
    /// effect.
    pub fn configure(&mut self, rules: RoomRules, now: Timestamp) -> Result<(), ConfigError> {
        let rules = rules.validate()?;
        if rules.name != self.rules.name {
            let expected = format_args!("{:?}, the name of the room in use", self.rules.name);
            let given = format_args!("{:?}", rules.name);
            return Err(ConfigError::new(ConfigErrorKind::Contradicts, "name", given, expected));
        }
        self.course.plan.schedule.check_with(&rules)?;
        self.reap(now);
        self.course.plan.rules = rules;
        self.apply(self.course.plan.rules_at(now));
        self.invariants();
        Ok(())
    }

    /// Returns the room's own rules, which are in force while no event is in progress.
    pub(crate) const fn own_rules(&self) -> &RoomRules {
        &self.course.plan.rules
    }

    /// Returns what is planned for the room, or `None` if it has no events.
    #[must_use]
    pub fn plan(&self) -> Option<RoomPlan> {
        let Course { plan, .. } = &self.course;
        let has_events = !plan.schedule.events().is_empty();
        has_events.then(|| RoomPlan {
            #[cfg(feature = "lottery")]
            reveal: self.course.drawing.as_ref().and_then(|drawing| drawing.reveal().cloned()),
            ..plan.clone()
        })
    }

    /// Returns the time at which the phase of the schedule changes next, or `None` if it never
    /// changes again.
    pub(crate) const fn next_change(&self) -> Option<Timestamp> {
        self.course.next_change
    }

    /// Returns a number that is different after each change of the rules in force or of the
    /// [plan](Self::plan).
    pub(crate) fn revision(&self) -> u64 {
        let is_drawn =
            self.course.drawing.as_ref().is_some_and(|drawing| drawing.entrants().is_some());
        self.course.revision * 2 + u64::from(is_drawn)
    }

    /// Applies the phase at `now`, if it differs from the phase at the last operation.
    pub(super) fn follow_schedule(&mut self, now: Timestamp) {
        if self.course.next_change.is_some_and(|at| at <= now) {
            self.change_phase(now);
        }
    }

    /// Takes note of the entrants who were admitted or have left since the last operation, and moves
    /// some entrants to their places just after a draw.
    pub(super) fn note_departures(&mut self, now: Timestamp) {
        let departed = self.line.take_departed();
        if let Some(drawing) = &mut self.course.drawing {
            let tag = drawing.tag();
            let of_draw = departed.into_iter().filter(|entrant| entrant.draw == tag);
            of_draw.for_each(|entrant| drawing.depart(entrant.number));
            if let Some((from, start)) = drawing.to_move() {
                let places_of = |numbers: &[u32]| drawing.places_of(numbers);
                let next = self.line.move_entrants(from, start, MOVED_AT_ONCE, tag, places_of);
                drawing.moved(next, now);
            }
            drawing.advance(now);
        }
    }

    /// Returns whether the place of an entrant is not known yet, because the room has lost its
    /// state.
    pub(super) fn awaits_draw(&self, ticket: &Ticket) -> bool {
        ticket.entrant.is_some()
            && self.course.drawing.as_ref().is_some_and(|drawing| drawing.is_recovering())
    }

    /// Updates the number on a ticket, and returns the time that determines its visitor's rank.
    ///
    /// A number counts only in the draw in which it was assigned. A room that has lost its state
    /// learns the number from the ticket.
    pub(super) fn recognize(
        &mut self,
        ticket: &mut Ticket,
        arrival: Option<PlaceOrder>,
    ) -> Timestamp {
        let Some(drawing) = &mut self.course.drawing else {
            ticket.entrant = None;
            return ticket.arrival();
        };
        let tag = drawing.tag();
        let own = arrival.and_then(|arrival| arrival.number).filter(|number| number.draw == tag);
        let shown = ticket.entrant.filter(|entrant| entrant.draw == tag);
        if let (None, Some(shown)) = (own, shown) {
            drawing.recognize(shown);
            let position = ticket.position_after_draw();
            if let Some((place, position)) = shown.place.zip(position)
                && ticket.last_check_in < self.recovered_at
            {
                drawing.recall(shown.number, place, position);
            }
        }
        let number = own.map(|own| own.number).or(shown.map(|shown| shown.number));
        ticket.entrant = number.map(|number| {
            let order = arrival.filter(|_| own.is_some()).map(|arrival| arrival.order.as_nanos());
            let known = order.and_then(|order| u32::try_from(order).ok());
            let place = known.or_else(|| drawing.place_of(number));
            Entrant { place, entrants: drawing.entrants(), ..Entrant::new(number, tag) }
        });
        order(ticket)
    }

    /// Returns the number of present visitors ahead of a visitor that is ordered by `order`.
    ///
    /// Just after a draw, entrants who have not checked in yet count as ahead of all visitors that
    /// they precede.
    pub(super) fn ahead_of(&mut self, ticket: &Ticket, order: Timestamp, now: Timestamp) -> u32 {
        let ahead = self.line.ahead_of(ticket.id, self.draw(now), order);
        let Some(drawing) = &mut self.course.drawing else { return ahead };
        let Some(start) = drawing.unsettled_since(now) else { return ahead };
        match ticket.entrant.and_then(|entrant| Some((entrant.number, entrant.place?))) {
            Some((number, place)) => ahead.max(drawing.least_ahead(number, place)),
            // A visitor who came before the start, but got no place before it, is behind all
            // entrants, including those who are still ordered by arrival.
            None if order < start => ahead.max(self.line.others_before(ticket.id, start)),
            None => ahead,
        }
    }

    /// Admits a visitor who has waited. If the room learns an entrant's number only now, after a
    /// loss of state, no place has that number, so the entrant's departure is noted here.
    pub(super) fn admit_waiting(
        &mut self,
        ticket: &Ticket,
        arrival: Option<PlaceOrder>,
        reason: Reason,
        now: Timestamp,
    ) -> Verdict {
        let known = arrival.and_then(|arrival| arrival.number);
        if let Some(number) = number(ticket).filter(|number| known != Some(*number)) {
            self.line.depart(number);
        }
        self.admit(ticket.id, ticket.first_seen, reason, now)
    }

    /// Returns the arrival of a visitor who gets or keeps a place. In a prequeue, the visitor gets
    /// a number, unless it has one. An entrant counts as waiting again once its place has its
    /// number. Until then, the entrant may have a place without a number, created with a ticket
    /// that had lapsed.
    pub(super) fn arrive(&mut self, ticket: &mut Ticket, now: Timestamp) -> PlaceOrder {
        if self.course.will_be_drawn()
            && ticket.entrant.is_none()
            && let Some(drawing) = &mut self.course.drawing
        {
            let tag = drawing.tag();
            ticket.entrant = drawing.assign(now).map(|number| Entrant::new(number, tag));
        }
        let number = number(ticket);
        let known = self.line.arrival(ticket.id).and_then(|arrival| arrival.number);
        if let Some(number) = number
            && known != Some(number)
            && let Some(drawing) = &mut self.course.drawing
        {
            self.line.take_back(number);
            let place = ticket.entrant.and_then(|entrant| entrant.place);
            drawing.returns(number.number, place);
        }
        let known = self.line.arrival(ticket.id);
        let late = self.late_order(ticket, known);
        if late.is_some() {
            ticket.head_start = HeadStart::NONE;
        }
        let total = self.rules.total_active_users;
        if !ticket.placed
            && self.is_by_arrival(ticket)
            && let Some(shares) = self.rules.shares.slots(total)
        {
            self.line.charge(ticket.id, shares, total);
        }
        let order = late.unwrap_or_else(|| order(ticket));
        let place = PlaceOrder { arrived: ticket.arrival(), order, number };
        ticket.late_by = self.line.late_by(place);
        place
    }

    /// Returns the figures of the current or next event.
    pub(super) fn event_figures(&self, now: Timestamp) -> Option<EventFigures> {
        let drawing = self.course.drawing.as_ref();
        EventFigures::of(self.course.plan.phase_at(now), now, |commitment| {
            let drawing = drawing.filter(|drawing| drawing.is_of(commitment));
            drawing.map_or(0, |drawing| drawing.entrants().unwrap_or(drawing.numbered()))
        })
    }

    /// Applies the phase at `now`.
    fn change_phase(&mut self, now: Timestamp) {
        let at = self.course.plan.schedule.advance(now);
        let before = self.course.stage;
        let phase = self.course.plan.phase_at(at);
        self.course.stage = phase.into();
        if let Phase::Active { event, .. } | Phase::Prequeue { event, .. } = phase {
            let event = event.clone();
            self.prepare_draw(&event, at);
        }
        if matches!(self.course.stage, Stage::Active(_)) && self.course.stage != before {
            self.estimate.restart(now);
        }
        self.course.next_change = self.course.plan.next_change(at);
        self.apply(self.course.plan.rules_at(at));
    }

    /// Prepares the draw of an event that has begun, and starts it if the event has started.
    #[cfg(feature = "lottery")]
    fn prepare_draw(&mut self, event: &Event, now: Timestamp) {
        let Some(commitment) = event.shuffle_at_start else { return };
        let Some(lottery) = self.course.plan.lottery(event).cloned() else { return };
        let settles_after = self.rules.timing().settles_after();
        // A room that began in the middle of a prequeue may have had a predecessor that assigned
        // numbers.
        let numbered_from = if self.recovered_at > event.begins_at() {
            self.recovered_at + settles_after
        } else {
            Timestamp::ZERO
        };
        let is_known =
            self.course.drawing.as_ref().is_some_and(|drawing| drawing.is_of(commitment));
        if !is_known {
            self.course.drawing = Some(Box::new(Drawing::new(lottery, numbered_from)));
        }
        if event.start <= now
            && let Some(drawing) = &mut self.course.drawing
        {
            let is_complete = is_known && numbered_from <= event.start;
            drawing.start(event.start, now, now + settles_after, is_complete);
        }
    }

    #[cfg(not(feature = "lottery"))]
    #[expect(clippy::unused_self, reason = "the signature is that with the feature")]
    fn prepare_draw(&mut self, _event: &Event, _now: Timestamp) {}

    /// Puts valid rules into force.
    fn apply(&mut self, rules: RoomRules) {
        let is_random = |rules: &RoomRules| rules.queueing_method == QueueingMethod::Random;
        if is_random(&self.rules) && !is_random(&rules) {
            self.line.forget_lots();
        }
        self.longest_lifetime = self.longest_lifetime.max(rules.timing().longest_pass_lifetime());
        self.rules = rules;
        self.course.revision += 1;
    }

    /// Stores a plan that has been checked.
    fn take_over(&mut self, plan: RoomPlan) {
        self.longest_lifetime = self.longest_lifetime.max(plan.longest_pass_lifetime());
        self.course.plan = plan;
    }
}

impl Ticket {
    /// Returns the position of an entrant at its last check-in, or a position up to a sixteenth
    /// higher, because a ticket does not record small rises. Returns `None` if that check-in was
    /// not after the draw, or if the position was not known.
    ///
    /// A store that has lost its state learns from this position how many entrants with better
    /// places were still waiting.
    #[must_use]
    pub fn position_after_draw(&self) -> Option<u32> {
        self.entrant?.place?;
        let shown = self.shown_position.filter(|_| self.placed)?;
        Some(if self.is_approximate { shown.saturating_add(shown / 16) } else { shown })
    }
}

/// The number of places in the line that one operation looks at after a draw, to move their entrants.
/// Computing the place of one entrant takes about 14 µs, or less in a draw of a few thousand entrants.
const MOVED_AT_ONCE: usize = 32;

/// Returns the time that determines the rank of the visitor with this ticket: its place in a draw
/// that has taken place, or its arrival.
fn order(ticket: &Ticket) -> Timestamp {
    let place = ticket.entrant.and_then(|entrant| entrant.place);
    place.map_or(ticket.arrival(), |place| Timestamp::from_nanos(place.into()))
}

/// Returns the number of the entrant with this ticket.
fn number(ticket: &Ticket) -> Option<Number> {
    ticket.entrant.map(|entrant| Number { draw: entrant.draw, number: entrant.number })
}

#[cfg(test)]
#[cfg(feature = "lottery")]
mod tests;
