//! The event of a run: a sale with a prequeue, whose order is drawn at the start.
//!
//! ```text
//!   the doors of the shop open                 start            the last visitor arrives
//!   ──────┼──────────────────────────────────────┼──────────────────────┼───────► time
//!         │ prequeue: three quarters arrive      │ draw, then the sale  │
//! ```

use std::time::Duration;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use tower_waiting_room::{
    ConfigError, KeyRing, WaitingRoomConfig,
    room::{
        Push,
        event::{Event, Seed},
    },
    time::Timestamp,
};
use waiting_room_sim::{DrawBias, EventPromise, EventReport, draw_bias};

use super::{draw::Recomputed, idle::IdleSlots};
use crate::room::RoomArgs;

/// The times of a sale.
#[derive(Clone, Copy, Debug)]
pub(super) struct SalePlan {
    pub(super) opens: Timestamp,
    pub(super) start: Timestamp,
    end: Timestamp,
}

/// A sale as its visitors saw it.
#[derive(Clone, Debug)]
pub(super) struct SaleOutcome {
    pub(super) bias: DrawBias,
    pub(super) idle: IdleSlots,
    pub(super) draw: Recomputed,
    /// The time within which 95 in 100 visitors were shown their position or admitted, from their
    /// arrival or, if they came before the start, from the start on.
    pub(super) first_position_p95: Duration,
    /// The number of visitors who were shown a position, or admitted.
    pub(super) placed: usize,
}

impl SalePlan {
    /// The names of the room and of its event, which are part of what determines the draw.
    pub(super) const ROOM: &str = "shop";
    pub(super) const EVENT: &str = "doors";
    /// The path of the push streams.
    pub(super) const STREAMS: &str = "/waiting-room/events";
    /// The number of seeds with which the fairness of the draw is measured in the simulator.
    const DRAWS: u32 = 100;
    /// More streams than a crowd has visitors.
    const MAX_STREAMS: u32 = 100_000;
    /// The time from the start of the server to the prequeue. A room that begins in the middle of a
    /// prequeue gives no numbers for a while, because there may have been a room before it.
    const LEAD: Duration = Duration::from_secs(1);
    /// The event is still on when the last visitor leaves.
    const LENGTH: Duration = Duration::from_secs(60 * 60);

    /// A sale whose prequeue begins shortly after now.
    pub(super) fn new(now: Timestamp, prequeue: Duration) -> Self {
        let opens = now + Self::LEAD;
        let start = opens + prequeue;
        Self { opens, start, end: start + Self::LENGTH }
    }

    /// The announcement to visitors.
    pub(super) fn promise(&self, room: &RoomArgs) -> EventPromise {
        EventPromise {
            prequeue_start: self.opens,
            start: self.start,
            end: self.end,
            is_drawn: true,
            total_active_users: room.limit,
            new_users_per_minute: Some(room.rate),
        }
    }

    /// The configuration of a room with this event. The secret seed of the draw is derived from the
    /// seed of the crowd, so that a run can be repeated.
    pub(super) fn config(
        &self,
        room: &RoomArgs,
        keys: KeyRing,
        seed: u64,
    ) -> Result<WaitingRoomConfig, ConfigError> {
        let doors = Event::new(Self::EVENT, self.start, self.end).prequeue_start(self.opens);
        let streams = Push::at(Self::STREAMS)
            .max_streams(Self::MAX_STREAMS)
            .max_streams_per_network(Self::MAX_STREAMS);
        room.builder(Some(keys))
            .event(doors)
            .event_seed(Self::EVENT, Seed::new(Pcg64::seed_from_u64(seed).random()))
            .push(streams)
            .build()
    }

    /// Measures in the simulator whether draws favor anyone, with seeds that are derived from this
    /// one.
    pub(super) fn bias(seed: u64) -> Result<DrawBias, ConfigError> {
        draw_bias(seed, Self::DRAWS)
    }
}

impl SaleOutcome {
    /// The largest share of the slots that may stand idle while a visitor with a stream waits.
    pub(super) const IDLE: f64 = 0.01;
    /// The time after which 95 in 100 visitors must know their position.
    const FIRST_POSITION: Duration = Duration::from_secs(3);

    /// The rows of the table: a figure, what was seen, and what was promised.
    pub(super) fn rows(&self, event: Option<EventReport>) -> Vec<[String; 3]> {
        let EventReport { event_early, draw_mismatches, .. } = event.unwrap_or_default();
        let Recomputed { entrants, recomputed, mismatches, .. } = &self.draw;
        let seconds = |slots: f64| format!("{slots:.0} s");
        let p95 = self.first_position_p95.as_secs_f64();
        [
            ("entrants of the draw", entrants.to_string(), String::new()),
            ("let in before the start", event_early.to_string(), "0".into()),
            ("places recomputed", recomputed.to_string(), entrants.to_string()),
            ("answers against the draw", (mismatches + draw_mismatches).to_string(), "0".into()),
            (
                "bias of 100 draws, p",
                format!("{:.3}", self.bias.p),
                format!("≥ {}", DrawBias::LEAST_P),
            ),
            ("slot time while somebody waited", seconds(self.idle.total), String::new()),
            (
                "idle for a visitor with a stream",
                format!("{} = {:.2} %", seconds(self.idle.for_push), self.idle.share() * 100.0),
                format!("≤ {} %", Self::IDLE * 100.0),
            ),
            ("idle for a visitor who polls", seconds(self.idle.for_polls), String::new()),
            ("first position, 95 in 100", format!("{p95:.1} s"), "≤ 3.0 s".into()),
        ]
        .map(|(name, seen, promised)| [name.to_owned(), seen, promised])
        .into()
    }

    /// The names of the figures that are worse than promised.
    pub(super) fn violations(&self) -> impl Iterator<Item = &'static str> {
        [
            ("draw_bias_p", !self.bias.is_fair()),
            ("draws_recomputed", self.draw.mismatches > 0 || self.draw.recomputed == 0),
            ("idle_slot_seconds", self.idle.share() > Self::IDLE),
            // If no visitor waited in the line, nothing was put to the test.
            ("nobody_waited", self.placed == 0 || self.idle.total <= 0.0),
            ("first_position_p95_s", self.first_position_p95 > Self::FIRST_POSITION),
        ]
        .into_iter()
        .filter_map(|(name, broken)| broken.then_some(name))
    }
}

#[cfg(test)]
mod tests {
    use waiting_room_sim::DrawTally;

    use super::*;

    /// A sale in which every promise was kept.
    fn kept() -> SaleOutcome {
        SaleOutcome {
            bias: DrawTally::new(32, 8).bias(),
            idle: IdleSlots { total: 1_000.0, for_push: 10.0, for_polls: 500.0 },
            draw: Recomputed { entrants: 7, recomputed: 7, ..Recomputed::default() },
            first_position_p95: Duration::from_secs(3),
            placed: 9,
        }
    }

    #[test]
    fn each_figure_that_is_worse_than_promised_is_named() {
        let mut by_arrival = DrawTally::new(32, 8);
        (0..100).for_each(|_| by_arrival.record(&(1..=32).collect::<Vec<_>>()));
        let cases = [
            (kept(), None),
            (SaleOutcome { bias: by_arrival.bias(), ..kept() }, Some("draw_bias_p")),
            (
                SaleOutcome { draw: Recomputed { mismatches: 1, ..kept().draw }, ..kept() },
                Some("draws_recomputed"),
            ),
            (SaleOutcome { draw: Recomputed::default(), ..kept() }, Some("draws_recomputed")),
            (
                SaleOutcome { idle: IdleSlots { for_push: 10.1, ..kept().idle }, ..kept() },
                Some("idle_slot_seconds"),
            ),
            (SaleOutcome { placed: 0, ..kept() }, Some("nobody_waited")),
            (SaleOutcome { idle: IdleSlots::default(), ..kept() }, Some("nobody_waited")),
            (
                SaleOutcome { first_position_p95: Duration::from_millis(3_001), ..kept() },
                Some("first_position_p95_s"),
            ),
        ];
        for (sale, expected) in cases {
            assert_eq!(sale.violations().collect::<Vec<_>>(), Vec::from_iter(expected), "{sale:?}");
        }
    }
}
