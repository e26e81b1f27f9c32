//! Scheduled events: for a set time, a room has other rules, and visitors may wait for the start.
//!
//! An [`Event`] has a start and an end. While it is active, it overrides some of the room's
//! [rules](crate::RoomRules); it inherits all others, including changes that an operator makes in
//! the meantime. An event may be preceded by a *prequeue*, during which visitors take places in the
//! line and no visitor is admitted:
//!
//! ```text
//!          prequeue_start                start                          end
//!  ─────────────┼──────────────────────────┼─────────────────────────────┼───────────► time
//!     Before    │         Prequeue         │           Active            │    Over
//!               │  the event's rules,      │  the event's rules          │
//!    the room's │  and no admissions       │                             │  the room's
//!      rules    │                          │                             │    rules
//!               └─ entrants get numbers ───┴─ the draw orders entrants, ─┘
//!                                             all others are behind them
//! ```
//!
//! A [`Schedule`] contains the events of one room, which do not overlap. It tells which [`Phase`]
//! the room is in and which rules are in force at any time, past or future, so operators can
//! preview an event. The time is an argument of each function. Nodes that share a store pass the
//! store's time, so that an event starts at the same instant on all of them.
//!
//! # Changes to a running event
//!
//! Once visitors rely on a part of an event, that part is fixed:
//!
//! | the event | may change | is fixed |
//! |---|---|---|
//! | has not begun | everything, but it may not begin in the past | its name |
//! | is in its prequeue | start (not into the past), end, overrides | prequeue start, draw |
//! | is active | end (not into the past), overrides | start, prequeue start, draw |
//! | is over | nothing | everything |
//!
//! An event can be removed at any time, after which the room's own rules apply. If it is removed
//! during its prequeue, there is no draw, and the visitors keep their order of arrival.
//!
//! A node that starts with other events follows the same rules, see [`RoomPlan::follow_release`].
//!
//! If the clock is set back to a time before the start, the event stays active, because a schedule
//! never goes back before the latest time that it has been told. If the clock jumps past the start,
//! the event is active at once, without its prequeue; if the clock jumps past the end as well, the
//! event does not take place.
//!
//! # A verifiable draw
//!
//! The visitors in the prequeue can be admitted in a random order instead of their order of arrival,
//! because the order of arrival favors fast connections and scripts. The draw is verifiable: the
//! operator publishes a [`Commitment`] to a secret seed before the prequeue, and the seed itself
//! after the start. Each entrant can then recompute its own place. With the feature `lottery`, the
//! types `Lottery`, `Reveal` and `Shuffle` implement the draw.
//!
//! # In a room
//!
//! A [`Room`](crate::Room) follows a schedule: it applies the [rules](Schedule::rules_at) at each
//! change, numbers the entrants, and orders them at the start. The schedule and the room's own
//! rules form a [`RoomPlan`], which also tells a node what to show to visitors. A schedule by
//! itself does not change a room.

mod commitment;
#[cfg(feature = "lottery")]
pub(super) mod drawing;
#[cfg(not(feature = "lottery"))]
#[path = "event/no_drawing.rs"]
pub(super) mod drawing;
#[expect(clippy::module_inception, reason = "event.rs is the event; the other files are its parts")]
mod event;
#[cfg(feature = "lottery")]
mod lottery;
mod plan;
#[cfg(feature = "serde")]
mod record;
mod schedule;
#[cfg(feature = "lottery")]
mod seeds;
#[cfg(feature = "lottery")]
mod shuffle;

#[cfg(feature = "serde")]
pub use self::record::ScheduleRecord;
pub use self::{
    commitment::{Commitment, Entrant},
    event::Event,
    plan::RoomPlan,
    schedule::{Phase, Schedule},
};
#[cfg(feature = "lottery")]
pub use self::{
    lottery::{Lottery, Reveal, Seed},
    shuffle::Shuffle,
};

#[cfg(test)]
mod tests;
