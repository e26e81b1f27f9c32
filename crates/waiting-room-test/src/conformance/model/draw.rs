//! The draw of an event, as the model knows it.

use std::{collections::BTreeMap, time::Duration};

use waiting_room_core::{Timestamp, room::event::Shuffle};

use super::super::schedule::PlannedEvent;

/// The draw of an event.
#[derive(Clone, Debug)]
pub(super) struct ModelDraw {
    pub(super) event: PlannedEvent,
    pub(super) highest: u32,
    /// The start of the event, and the time until which entrants who have not checked in count as
    /// ahead.
    pub(super) started: Option<(Timestamp, Timestamp)>,
    /// The order of the entrants, once their number is known.
    pub(super) order: Option<Shuffle>,
    /// The numbers of the entrants who were admitted or have left.
    pub(super) departed: Vec<u32>,
    /// For each entrant whose ticket is from before a loss of state: the number of entrants with
    /// better places who no longer waited.
    pub(super) waited: BTreeMap<u32, u32>,
}

impl ModelDraw {
    pub(super) fn new(event: PlannedEvent) -> Self {
        Self {
            event,
            highest: 0,
            started: None,
            order: None,
            departed: Vec::new(),
            waited: BTreeMap::new(),
        }
    }

    pub(super) fn tag(&self) -> u32 {
        self.event.lottery().commitment().tag()
    }

    pub(super) fn freeze(&mut self, entrants: u32) {
        let lottery = self.event.lottery();
        let commitment = self.event.lottery().commitment();
        self.order =
            lottery.reveal(entrants, None).and_then(|reveal| reveal.verify(&commitment)).ok();
    }

    pub(super) fn place_of(&self, number: u32) -> Option<u32> {
        self.order.as_ref()?.place_of(number)
    }

    pub(super) fn is_unsettled(&self, now: Timestamp) -> bool {
        self.started.is_some_and(|(_, settled_at)| now < settled_at)
    }

    /// Starts the event. The room notices the start at `now`. A room that has not noticed the
    /// prequeue does not know the number of entrants.
    pub(super) fn start(&mut self, at: Timestamp, now: Timestamp, refresh: Duration, knows: bool) {
        if self.started.is_none() {
            self.started = Some((at, now + settles_after(refresh)));
            if knows {
                self.freeze(self.highest);
            }
        }
    }

    /// Records that every entrant has its place in the line as of `now`.
    pub(super) fn settle_at(&mut self, now: Timestamp) {
        self.started = self.started.map(|(start, _)| (start, now));
    }

    /// Fixes the number of entrants, once all of them have had time to present their numbers.
    pub(super) fn settle(&mut self, now: Timestamp) {
        let is_settled = self.started.is_some_and(|(_, settled_at)| settled_at <= now);
        if is_settled && self.order.is_none() {
            self.freeze(self.highest);
        }
    }

    /// Returns the number of entrants with better places who were neither admitted nor have left.
    pub(super) fn expected_before(&self, number: Option<u32>, place: u32) -> usize {
        let is_gone = |number: &u32| self.departed.contains(number);
        let is_better = |number: &u32| self.place_of(*number).is_some_and(|own| own < place);
        let entrants = self.order.as_ref().map_or(0, Shuffle::entrants);
        let expected =
            (1..=entrants).filter(|number| is_better(number) && !is_gone(number)).count();
        let waited = number.and_then(|number| self.waited.get(&number)).copied().unwrap_or(0);
        expected.saturating_sub(waited as usize)
    }
}

/// Returns the time after a start by which all present visitors have checked in.
fn settles_after(refresh: Duration) -> Duration {
    let longest = (refresh + refresh * 300 / 1_000).as_millis().div_ceil(1_000);
    Duration::from_millis(u64::try_from(longest).unwrap_or(u64::MAX) * 1_500)
}
