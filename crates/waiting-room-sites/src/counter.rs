//! The counters that nodes draw slots from.

use waiting_room_core::Timestamp;

use crate::Minute;

/// Slots that several nodes draw from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "slots belong to a site or to none")]
pub enum Pool {
    /// Those of no site, drawn by all nodes of the world.
    Anywhere,
    /// Those of one site, drawn by its nodes.
    Site,
}

/// A node asks a counter for a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CounterRequest {
    /// Which counter.
    pub pool: Pool,
    /// Of which minute. A reply that comes late is still about this one.
    pub minute: Minute,
    /// How many slots the pool has, as far as the node knows.
    pub slots: u32,
    /// Whether the node knows the world, and does not make do without.
    pub knows_world: bool,
    /// How many of them may be used so early in the minute, see [`Pacing`](crate::Pacing).
    pub open: u32,
}

/// What a counter replies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CounterReply {
    /// How many slots of the pool had been drawn before. The ticket number of the article: it is
    /// good for a slot if it is less than the slots that are open.
    pub before: u32,
    /// How many slots the pool has, as was fixed by the first who asked in this minute and knew the
    /// world; until then as the one who asked has it.
    pub slots: u32,
}

impl CounterReply {
    /// Whether the one who asked may use a slot of the pool.
    #[must_use]
    pub fn admits(&self, ask: &CounterRequest) -> bool {
        self.before < self.slots.min(ask.open)
    }

    /// Whether the pool has no slot left for anybody in this minute.
    #[must_use]
    pub const fn is_dry(&self) -> bool {
        self.before >= self.slots
    }
}

/// Counts the slots drawn from one pool, minute by minute.
///
/// The first who asks in a minute and knows the world fixes how many slots there are. The others may
/// know a newer snapshot: a sum of slots that changes while a count goes on from the start of the
/// minute either counts the admitted twice, or not at all. A node that has just been started knows
/// nothing, and speaks for itself only.
///
/// A reply may be on its way while the minute turns, so the minute before is kept too; an older
/// one is dry. Clocks may differ, so the minute after that of the counter's own clock is as good; a
/// later one is dry, lest a node whose clock is far ahead end the minute for all others.
#[derive(Clone, Debug, Default)]
pub struct TicketCounter {
    current: Option<Drawn>,
    previous: Option<Drawn>,
}

#[derive(Clone, Copy, Debug)]
struct Drawn {
    minute: Minute,
    /// Fixed by the first who knew the world.
    slots: Option<u32>,
    count: u32,
}

impl TicketCounter {
    /// A counter that nobody has asked yet.
    #[must_use]
    pub const fn new() -> Self {
        Self { current: None, previous: None }
    }

    /// Draws a slot, if one is open, and says how many were drawn before. `now` is by the clock of
    /// the counter.
    ///
    /// The count stops where the reply admits nobody: otherwise a visitor who comes before a slot
    /// is open would use it up for the one who comes in time.
    pub fn take(&mut self, ask: &CounterRequest, now: Timestamp) -> CounterReply {
        let Some(drawn) = self.drawn(ask, Minute::of(now).next()) else {
            return CounterReply { before: 0, slots: 0 };
        };
        if ask.knows_world {
            drawn.slots.get_or_insert(ask.slots);
        }
        let slots = drawn.slots.unwrap_or(ask.slots);
        let reply = CounterReply { before: drawn.count, slots };
        if reply.admits(ask) {
            drawn.count += 1;
        }
        reply
    }

    /// What was drawn of the minute that is asked for, if it is kept and not after `last`.
    fn drawn(&mut self, ask: &CounterRequest, last: Minute) -> Option<&mut Drawn> {
        if ask.minute > last {
            return None;
        }
        if self.current.is_some_and(|current| current.minute > last) {
            // The clock of the counter was far ahead and has been set right.
            self.current = self.previous.take().filter(|previous| previous.minute <= last);
        }
        let is_new = self.current.is_none_or(|current| current.minute < ask.minute);
        if is_new {
            self.previous = self.current;
            self.current = Some(Drawn { minute: ask.minute, slots: None, count: 0 });
        }
        let minutes = [self.current.as_mut(), self.previous.as_mut()];
        minutes.into_iter().flatten().find(|drawn| drawn.minute == ask.minute)
    }
}
