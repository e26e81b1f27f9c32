//! A scheduled event, as it was announced to visitors, and what is known of its draw.
//!
//! The order of the entrants is known only when an answer after the start publishes the draw. Until
//! then, the oracle holds back what it sees, so that it judges everything by the right order.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use waiting_room_core::{Timestamp, room::event::Shuffle};

use super::{
    limits::{Limits, Seen, ShownPosition, VisitorNo},
    report::EventReport,
    visitor::Span,
};

/// The promises of a scheduled event with a prequeue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "an observer states all promises")]
pub struct EventPromise {
    /// From this time on, no visitor is admitted, and the limits of the event apply.
    pub prequeue_start: Timestamp,
    /// From this time on, visitors are admitted again.
    pub start: Timestamp,
    /// From this time on, the limits of the room apply again.
    pub end: Timestamp,
    /// Whether the visitors of the prequeue are ordered by a draw at the start.
    pub is_drawn: bool,
    /// At most this many visitors are active after an admission during the event.
    pub total_active_users: u32,
    /// At most this many visitors are admitted within any 60 seconds that end during the event;
    /// `None` means no such limit.
    pub new_users_per_minute: Option<u32>,
}

/// The known facts about an event.
#[derive(Clone, Debug)]
pub(super) struct EventWatch {
    pub promise: EventPromise,
    pub draw: Draw,
    /// The time from which all entrants who are present have certainly checked in.
    pub settled_at: Option<Timestamp>,
    pub report: EventReport,
    entrants: FxHashMap<VisitorNo, Entrant>,
    owners: FxHashMap<u32, VisitorNo>,
    /// The places of the entrants who were admitted, and when their answers arrived.
    gone: BTreeMap<u32, Timestamp>,
}

/// The draw of an event.
#[derive(Clone, Debug)]
pub(super) enum Draw {
    /// It has not been published. These calls wait for it.
    Unknown(Vec<Call>),
    /// It was published.
    Known(Box<Shuffle>),
    /// There is none, or it was never published.
    None,
}

/// A visitor with a number in the draw.
#[derive(Clone, Copy, Debug)]
struct Entrant {
    number: u32,
    place: Option<u32>,
}

/// An observation that is reported to the oracle.
#[derive(Clone, Copy, Debug)]
pub(super) enum Call {
    Answered(VisitorNo, Timestamp, Seen),
    Failed(VisitorNo, Timestamp),
    GaveUp(VisitorNo, Timestamp),
    Left(VisitorNo, Timestamp, Timestamp),
    Numbered(VisitorNo, u32, Option<u32>),
    Passed(VisitorNo, Timestamp),
    Restarted(Timestamp, Timestamp),
    Sent(VisitorNo, Timestamp),
    Shown(VisitorNo, ShownPosition),
}

/// The most visitors who may be active after an admission, and who may be admitted in 60 seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Allowed {
    pub active: u64,
    pub new: u64,
}

impl EventWatch {
    pub(super) fn new(promise: EventPromise) -> Self {
        let draw = if promise.is_drawn { Draw::Unknown(Vec::new()) } else { Draw::None };
        Self {
            promise,
            draw,
            settled_at: None,
            report: EventReport::default(),
            entrants: FxHashMap::default(),
            owners: FxHashMap::default(),
            gone: BTreeMap::new(),
        }
    }

    /// Whether no visitor may be admitted at some time of this interval.
    pub(super) fn is_closed_in(&self, decided: Span) -> bool {
        decided.from < self.promise.start && self.promise.prequeue_start <= decided.to
    }

    /// Whether the room may have taken back slots at some time of this interval, because its prequeue
    /// began or its limits were lowered.
    pub(super) fn takes_back_slots_in(&self, span: Span) -> bool {
        let EventPromise { prequeue_start, end, .. } = self.promise;
        [prequeue_start, end].into_iter().any(|at| span.from <= at && at <= span.to)
    }

    /// The limits that may have applied at some time of this interval.
    pub(super) fn allowed(&self, decided: Span, own: Allowed) -> Allowed {
        let EventPromise { prequeue_start, end, .. } = self.promise;
        let during =
            Allowed::new(self.promise.total_active_users, self.promise.new_users_per_minute);
        let may_be_own = decided.from < prequeue_start || end <= decided.to;
        let may_be_during = decided.from < end && prequeue_start <= decided.to;
        match (may_be_own, may_be_during) {
            (true, false) => own,
            (false, true) => during,
            _ => own.or(during),
        }
    }

    /// Records the number of a visitor, and the place that it was told. Returns its place in the
    /// published order.
    pub(super) fn numbered(
        &mut self,
        visitor: VisitorNo,
        number: u32,
        told: Option<u32>,
    ) -> Option<u32> {
        let known = self.entrants.get(&visitor).filter(|known| known.number == number).copied();
        let place = match (known.and_then(|known| known.place), &self.draw) {
            (None, Draw::Known(shuffle)) => shuffle.place_of(number),
            (place, _) => place,
        };
        let owner = *self.owners.entry(number).or_insert(visitor);
        let is_wrong = owner != visitor || told.is_some_and(|told| place != Some(told));
        self.report.draw_mismatches += u64::from(is_wrong);
        self.report.entrants = self.owners.len() as u64;
        self.entrants.insert(visitor, Entrant { number, place });
        place
    }

    /// The place of a visitor in the published order, if it has a number that is not used up.
    pub(super) fn place_of(&mut self, visitor: VisitorNo) -> Option<u32> {
        let entrant = self.entrants.get_mut(&visitor)?;
        if let (None, Draw::Known(shuffle)) = (entrant.place, &self.draw) {
            entrant.place = shuffle.place_of(entrant.number);
        }
        entrant.place
    }

    /// Records that a visitor was admitted, so that its number is used up.
    pub(super) fn leaves(&mut self, visitor: VisitorNo, at: Timestamp) {
        if let Some(place) = self.place_of(visitor) {
            self.gone.insert(place, at);
        }
        self.entrants.remove(&visitor);
    }

    /// The most entrants who may be ahead of a place at any time from `since` on.
    pub(super) fn ahead_of(&self, place: u32, since: Timestamp) -> u64 {
        let gone = self.gone.range(..place).filter(|(_, at)| **at <= since).count() as u64;
        u64::from(place.saturating_sub(1)).saturating_sub(gone)
    }
}

impl Allowed {
    pub(super) fn new(active: u32, new: Option<u32>) -> Self {
        Self { active: active.into(), new: new.map_or(u64::MAX, u64::from) }
    }

    pub(super) fn own(limits: &Limits) -> Self {
        Self::new(limits.total_active_users, limits.new_users_per_minute)
    }

    fn or(self, other: Self) -> Self {
        Self { active: self.active.max(other.active), new: self.new.max(other.new) }
    }
}
