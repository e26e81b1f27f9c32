//! The counters from which nodes draw slots.

use waiting_room_core::Timestamp;

use crate::slots::Minute;

/// A pool of slots from which several nodes draw.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(clippy::exhaustive_enums, reason = "slots belong to a site or to none")]
pub enum Pool {
    /// The slots of no site, from which all nodes of the world draw.
    Anywhere,
    /// The slots of one site, from which its nodes draw.
    Site,
}

/// A request of a node to a counter, for one slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CounterRequest {
    /// The pool to draw from.
    pub pool: Pool,
    /// The minute of the slot, even if the reply arrives after it has ended.
    pub minute: Minute,
    /// The number of slots in the pool, as computed by the node.
    pub slots: u32,
    /// Whether the node has computed `slots` from a recent snapshot. A node without one knows only
    /// the floor of Anywhere's share.
    pub knows_world: bool,
    /// The number of slots that may be used at this time of the minute.
    pub open: u32,
}

/// The reply of a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CounterReply {
    /// The number of slots that were drawn from the pool before. The article calls this number a
    /// ticket: the ticket is valid for a slot if it is less than the number of open slots.
    pub before: u32,
    /// The number of slots in the pool, as fixed by the first request of the minute from a node
    /// with a recent snapshot. Until there is such a request, it is the number in the answered
    /// request.
    pub slots: u32,
}

impl CounterReply {
    /// Returns whether the node that sent `request` may use a slot of the pool.
    #[must_use]
    pub fn admits(&self, request: &CounterRequest) -> bool {
        self.before < self.slots.min(request.open)
    }

    /// Returns whether the pool has no slot left in this minute, for any node.
    #[must_use]
    pub const fn is_dry(&self) -> bool {
        self.before >= self.slots
    }
}

/// Counts the slots drawn from one pool, minute by minute.
///
/// The first request of a minute from a node with a recent snapshot fixes the number of slots.
/// Later requests may be based on a newer snapshot, but the number must not change while the count
/// goes on: visitors admitted in this minute would be counted twice or not at all. A node without a
/// snapshot, for example one that has just been started, does not fix the number for others.
///
/// Replies may be under way when a minute ends, so the previous minute is kept as well; older
/// minutes are dry. Clocks may differ, so requests for the minute after the counter's own are
/// served. Later minutes are dry, because otherwise a node whose clock is far ahead could end the
/// minute for all others.
#[derive(Clone, Debug, Default)]
pub struct TicketCounter {
    current: Option<Drawn>,
    previous: Option<Drawn>,
}

/// The slots drawn in one minute.
#[derive(Clone, Copy, Debug)]
struct Drawn {
    minute: Minute,
    /// The number of slots; `None` until a request has fixed it.
    slots: Option<u32>,
    /// The number of slots that were drawn.
    count: u32,
}

impl TicketCounter {
    /// Creates a counter from which nothing was drawn.
    #[must_use]
    pub const fn new() -> Self {
        Self { current: None, previous: None }
    }

    /// Draws a slot if one is open, and returns how many were drawn before. `now` is the time by
    /// the clock of the counter.
    ///
    /// The count grows only if the reply admits a visitor. Otherwise a request that comes before a
    /// slot is open would use up that slot.
    pub fn take(&mut self, request: &CounterRequest, now: Timestamp) -> CounterReply {
        let Some(drawn) = self.drawn(request, Minute::of(now).next()) else {
            return CounterReply { before: 0, slots: 0 };
        };
        if request.knows_world {
            drawn.slots.get_or_insert(request.slots);
        }
        let slots = drawn.slots.unwrap_or(request.slots);
        let reply = CounterReply { before: drawn.count, slots };
        if reply.admits(request) {
            drawn.count += 1;
        }
        reply
    }

    /// The slots drawn in the minute of the request; `None` if that minute is no longer kept, or is
    /// after `last`.
    fn drawn(&mut self, request: &CounterRequest, last: Minute) -> Option<&mut Drawn> {
        if request.minute > last {
            return None;
        }
        if self.current.is_some_and(|current| current.minute > last) {
            // The clock of the counter was far ahead and has been corrected.
            self.current = self.previous.take().filter(|previous| previous.minute <= last);
        }
        let is_new = self.current.is_none_or(|current| current.minute < request.minute);
        if is_new {
            self.previous = self.current;
            self.current = Some(Drawn { minute: request.minute, slots: None, count: 0 });
        }
        let minutes = [self.current.as_mut(), self.previous.as_mut()];
        minutes.into_iter().flatten().find(|drawn| drawn.minute == request.minute)
    }
}
