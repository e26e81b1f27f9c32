//! The events of a room as plain fields, which the model reads and the commands change.

use std::time::Duration;

use rand::{RngExt, seq::IndexedRandom};
use rand_pcg::Pcg64Mcg;
use waiting_room_core::{
    ConfigError, RoomRules, Timestamp,
    room::{
        QueueingMethod, RoomMode, SessionRenewal,
        event::{Event, Lottery, Schedule, Seed},
    },
};

use super::settings;

/// One event, with what it overrides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PlannedEvent {
    /// The number of the event, from which its name and its seed follow.
    index: u32,
    pub(super) prequeue_start: Option<Timestamp>,
    pub(super) start: Timestamp,
    pub(super) end: Timestamp,
    /// Whether the order of the prequeue is drawn at the start.
    pub(super) is_drawn: bool,
    limits: Option<(u32, Option<u32>)>,
    session: Option<Duration>,
    renewal: Option<SessionRenewal>,
    method: Option<QueueingMethod>,
}

impl PlannedEvent {
    /// Draws an event that begins at `from` or later, mostly with a prequeue and a draw.
    #[must_use]
    pub(super) fn draw(rng: &mut Pcg64Mcg, index: u32, from: Timestamp) -> Self {
        let millis = |rng: &mut Pcg64Mcg, range: std::ops::Range<u64>| {
            Duration::from_millis(rng.random_range(range))
        };
        let begins_at = from + millis(rng, 0..60_000);
        let has_prequeue = rng.random_bool(0.8);
        let start = if has_prequeue { begins_at + millis(rng, 30_000..200_000) } else { begins_at };
        let other = settings::draw(rng);
        // The methods that contradict a prequeue or a draw are not overridden here, so that no change
        // of the room's own rules contradicts an event.
        let method = if has_prequeue {
            Some(QueueingMethod::Fifo)
        } else {
            Some(other.queueing_method).filter(|_| rng.random_bool(0.3))
        };
        Self {
            index,
            prequeue_start: has_prequeue.then_some(begins_at),
            start,
            end: start + millis(rng, 1_000..200_000),
            is_drawn: has_prequeue && rng.random_bool(0.8),
            limits: rng
                .random_bool(0.5)
                .then_some((other.total_active_users, other.new_users_per_minute)),
            session: Some(other.session_duration).filter(|_| rng.random_bool(0.2)),
            renewal: Some(other.session_renewal).filter(|_| rng.random_bool(0.2)),
            method,
        }
    }

    /// Returns this event with a different start, end, prequeue or override. The result may be
    /// invalid.
    #[must_use]
    pub(super) fn change(&self, rng: &mut Pcg64Mcg, now: Timestamp) -> Self {
        let later = Duration::from_millis(rng.random_range(0..60_000));
        let other = settings::draw(rng);
        let mut event = self.clone();
        match [0, 1, 2, 3, 4].choose(rng) {
            Some(0) => event.end = now + later,
            Some(1) => event.start = now + later,
            Some(2) => event.is_drawn = !event.is_drawn && event.prequeue_start.is_some(),
            Some(3) => {
                event.prequeue_start = Some(now + later);
                event.method = Some(QueueingMethod::Fifo);
            }
            _ => event.limits = Some((other.total_active_users, other.new_users_per_minute)),
        }
        // Until they check in, visitors without a number cannot be told apart from entrants. In a
        // prequeue that is long enough, all who are present check in.
        if let Some(begins_at) = event.prequeue_start.filter(|_| event.is_drawn) {
            event.start = event.start.max(begins_at + Duration::from_secs(30));
        }
        event
    }

    /// Returns the time from which the room follows the rules of the event.
    pub(super) fn begins_at(&self) -> Timestamp {
        self.prequeue_start.unwrap_or(self.start)
    }

    /// Returns the rules of the event, for a room with these rules of its own.
    pub(super) fn settings(&self, base: &RoomRules, now: Timestamp) -> RoomRules {
        let mut rules = base.clone();
        if let Some((slots, minute)) = self.limits {
            rules = rules.total_active_users(slots).new_users_per_minute(minute);
        }
        rules = rules
            .session_duration(self.session.unwrap_or(base.session_duration))
            .session_renewal(self.renewal.unwrap_or(base.session_renewal))
            .queueing_method(self.method.unwrap_or(base.queueing_method));
        let waits = now < self.start && base.mode == RoomMode::Auto;
        if waits { rules.mode(RoomMode::QueueAll) } else { rules }
    }

    pub(super) fn name(&self) -> String {
        format!("event-{}", self.index)
    }

    /// Returns the draw of the event.
    pub(super) fn lottery(&self) -> Lottery {
        Lottery::new(settings::NAME, self.name(), self.seed()).expect("both names are valid")
    }

    fn seed(&self) -> Seed {
        let mut bits = [7; 32];
        bits[..4].copy_from_slice(&self.index.to_be_bytes());
        Seed::new(bits)
    }

    fn event(&self) -> Event {
        let mut event =
            Event::new(self.name(), self.start, self.end).prequeue_start(self.prequeue_start);
        if let Some((slots, minute)) = self.limits {
            event = event.limits(slots, minute);
        }
        if let Some(session) = self.session {
            event = event.session_duration(session);
        }
        if let Some(renewal) = self.renewal {
            event = event.session_renewal(renewal);
        }
        if let Some(method) = self.method {
            event = event.queueing_method(method);
        }
        event
    }
}

/// Returns the schedule of these events, with the seeds of their draws.
///
/// # Errors
///
/// Returns an error if the events are invalid, as [`PlannedEvent::change`] may leave them.
pub(super) fn schedule_of(events: &[PlannedEvent]) -> Result<Schedule, ConfigError> {
    let schedule = Schedule::new(events.iter().map(PlannedEvent::event))?;
    events.iter().filter(|event| event.is_drawn).try_fold(schedule, |schedule, event| {
        schedule.with_seed(settings::NAME, &event.name(), event.seed())
    })
}
