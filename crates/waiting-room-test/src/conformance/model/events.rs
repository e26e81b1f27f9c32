//! The events of the model: the rules in force, the numbers of entrants, and their places.

use std::time::Duration;

use waiting_room_core::{
    Ticket, Timestamp, VisitorId,
    room::{
        EventFigures, RoomMode,
        event::{Entrant, Schedule, Shuffle},
    },
};

use super::{super::schedule::PlannedEvent, Model, Place, draw::ModelDraw};

impl Model {
    /// Puts the rules of the current phase into force, and prepares and starts draws.
    pub(super) fn follow(&mut self, now: Timestamp) {
        let is_now = |event: &&PlannedEvent| event.begins_at() <= now && now < event.end;
        let current = self.events.iter().find(is_now).cloned();
        self.settings = match &current {
            Some(event) => event.settings(&self.base, now),
            None => self.base.clone(),
        };
        self.prequeue = current.clone().filter(|event| now < event.start);
        if let Some(event) = current.filter(|event| event.is_drawn) {
            let is_known = self.draw.as_ref().is_some_and(|draw| draw.event.name() == event.name());
            if !is_known {
                self.draw = Some(ModelDraw::new(event.clone()));
            }
            if let Some(draw) = self.draw.as_mut()
                && event.start <= now
            {
                let is_first = draw.started.is_none();
                draw.start(event.start, now, self.settings.refresh_interval, is_known);
                let is_awake = now.since(event.start) <= PROMPT;
                if is_first && is_known && is_awake {
                    for place in &mut self.places {
                        let number = place.number.filter(|(tag, _)| *tag == draw.tag());
                        if let Some(drawn) = number.and_then(|(_, drawn)| draw.place_of(drawn)) {
                            place.order = drawn.into();
                            place.is_moved = true;
                        }
                    }
                    draw.settle_at(now);
                }
            }
        }
        if let Some(draw) = &mut self.draw {
            draw.settle(now);
        }
    }

    /// Replaces the events.
    pub(crate) fn schedule(&mut self, events: &[PlannedEvent], next: Schedule, now: Timestamp) {
        self.sweep(now);
        self.events = events.to_vec();
        self.events.sort_by_key(PlannedEvent::begins_at);
        self.schedule = next;
        self.follow(now);
    }

    /// Returns whether visitors wait for the start of an event.
    pub(crate) fn is_prequeue(&self) -> bool {
        self.prequeue.is_some() && self.base.mode == RoomMode::Auto
    }

    /// Returns whether the order of the line is unknown until the start of an event.
    pub(super) fn will_be_drawn(&self) -> bool {
        self.prequeue.as_ref().is_some_and(|event| event.is_drawn)
    }

    /// Returns whether entrants who have not checked in since a start count as ahead.
    pub(crate) fn is_unsettled(&self, now: Timestamp) -> bool {
        self.draw.as_ref().is_some_and(|draw| draw.is_unsettled(now))
    }

    /// Returns whether the line has entrants who have not checked in since the start.
    pub(crate) fn has_moved_entrants(&self) -> bool {
        self.places.iter().any(|place| place.is_moved)
    }

    /// Returns the name of the latest draw's event and the number of entrants, once the draw has
    /// taken place.
    pub(crate) fn drawn(&self) -> Option<(String, u32)> {
        let draw = self.draw.as_ref()?;
        Some((draw.event.name(), draw.order.as_ref()?.entrants()))
    }

    /// Returns the figures of the event that is in progress or comes next.
    pub(crate) fn event_figures(&self, now: Timestamp) -> Option<EventFigures> {
        let draw = self.draw.as_ref();
        EventFigures::of(self.schedule.phase_at(now), now, |commitment| {
            let draw = draw.filter(|draw| draw.event.lottery().commitment() == commitment);
            let numbered =
                |draw: &ModelDraw| draw.order.as_ref().map_or(draw.highest, Shuffle::entrants);
            draw.map_or(0, numbered)
        })
    }

    /// Updates the number in a ticket, and returns the order of its visitor.
    pub(super) fn recognize(&mut self, ticket: &mut Ticket) -> u64 {
        let place = self.places.iter().find(|place| place.id == ticket.id);
        let own = place.and_then(|place| Some((place.number?, place.order)));
        let position = ticket.position_after_draw();
        let shown = ticket.entrant.take();
        let arrival = ticket.arrival().as_nanos();
        let since = self.since;
        let Some(draw) = &mut self.draw else { return arrival };
        let tag = draw.tag();
        let own = own.filter(|((of, _), _)| *of == tag);
        let shown = shown.filter(|shown| shown.draw == tag);
        if let (None, Some(shown), None) = (own, shown, &draw.order) {
            match shown.entrants {
                Some(entrants) if draw.started.is_some() => draw.freeze(entrants),
                _ => draw.highest = draw.highest.max(shown.number),
            }
        }
        if let (None, Some(it)) = (own, shown)
            && let Some((place, position)) = it.place.zip(position)
            && ticket.last_check_in < since
        {
            draw.waited.entry(it.number).or_insert(place.saturating_sub(position));
        }
        let number = own.map(|((_, number), _)| number).or(shown.map(|shown| shown.number));
        let Some(number) = number else { return arrival };
        let stood_at = own.and_then(|(_, order)| u32::try_from(order).ok());
        let mut entrant = Entrant::new(number, tag);
        entrant.place = stood_at.or_else(|| draw.place_of(number));
        entrant.entrants = draw.order.as_ref().map(Shuffle::entrants);
        ticket.entrant = Some(entrant);
        entrant.place.map_or(arrival, u64::from)
    }

    /// Gives a number to a visitor who stands in a prequeue and has none.
    pub(super) fn number(&mut self, ticket: &mut Ticket) {
        let will_be_drawn = self.will_be_drawn();
        if let Some(draw) = &mut self.draw
            && will_be_drawn
            && ticket.entrant.is_none()
            && draw.started.is_none()
        {
            draw.highest += 1;
            ticket.entrant = Some(Entrant::new(draw.highest, draw.tag()));
        }
    }

    /// Returns whether the place of a visitor is not known yet, although the event has started.
    pub(super) fn awaits_draw(&self, ticket: &Ticket) -> bool {
        let is_open = |draw: &ModelDraw| draw.started.is_some() && draw.order.is_none();
        ticket.entrant.is_some() && self.draw.as_ref().is_some_and(is_open)
    }

    /// Returns the number of entrants who count as ahead although they may not have checked in yet.
    pub(super) fn expected_ahead(&self, ticket: &Ticket, order: u64, now: Timestamp) -> usize {
        let Some(draw) = self.draw.as_ref().filter(|draw| draw.is_unsettled(now)) else { return 0 };
        match (ticket.entrant.and_then(|entrant| entrant.place), draw.started) {
            (Some(place), _) => {
                draw.expected_before(ticket.entrant.map(|entrant| entrant.number), place)
            }
            (None, Some((start, _))) if order < start.as_nanos() => {
                let start = start.as_nanos();
                self.others(ticket.id, now).filter(|place| place.order < start).count()
            }
            _ => 0,
        }
    }

    /// Takes note of an entrant who is admitted.
    pub(super) fn depart(&mut self, ticket: &Ticket) {
        if let (Some(draw), Some(entrant)) = (&mut self.draw, ticket.entrant) {
            draw.departed.push(entrant.number);
        }
    }

    /// Takes note of an entrant who is in line, perhaps again.
    pub(super) fn take_back(&mut self, ticket: &Ticket) {
        if let (Some(draw), Some(entrant)) = (&mut self.draw, ticket.entrant) {
            draw.departed.retain(|number| *number != entrant.number);
        }
    }

    pub(super) fn others(&self, id: VisitorId, now: Timestamp) -> impl Iterator<Item = &Place> {
        self.present(now).filter(move |place| place.id != id)
    }

    /// Removes the places of some visitors, and returns how many there were.
    pub(super) fn remove_places(&mut self, is_gone: impl Fn(&Place) -> bool) -> usize {
        let before = self.places.len();
        let (gone, kept) = self.places.iter().partition(|place| is_gone(place));
        let gone: Vec<Place> = gone;
        let gone_late = gone.iter().filter(|place| place.is_late()).count() as u64;
        self.places = kept;
        if let Some(draw) = &mut self.draw {
            let tag = draw.tag();
            let numbers = gone.iter().filter_map(|place| place.number);
            draw.departed.extend(numbers.filter(|(of, _)| *of == tag).map(|(_, number)| number));
        }
        self.entered += gone_late;
        self.forget_shares();
        before - self.places.len()
    }
}

/// The longest time after a start at which a room still knows which entrants are present.
const PROMPT: Duration = Duration::from_secs(5);
