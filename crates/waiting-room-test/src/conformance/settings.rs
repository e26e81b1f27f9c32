//! The rules of a room as plain fields, which the model reads and the commands change.

use std::time::Duration;

use rand::{RngExt, seq::IndexedRandom};
use rand_pcg::Pcg64Mcg;
use waiting_room_core::{
    RoomRules,
    room::{CookieTest, PlacesPerNetwork, QueueingMethod, Recovery, RoomMode, SessionRenewal},
};

/// All rules of a room except its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Settings {
    pub(super) slots: u32,
    pub(super) minute: Option<u32>,
    pub(super) session: Duration,
    pub(super) renewal: SessionRenewal,
    pub(super) method: QueueingMethod,
    pub(super) mode: RoomMode,
    pub(super) capacity: u32,
    pub(super) retention: Duration,
    pub(super) refresh: Duration,
    pub(super) cookie_test: CookieTest,
    pub(super) recovery: Recovery,
    pub(super) share: PlacesPerNetwork,
}

impl Settings {
    /// The name of every room in the suite.
    pub(super) const NAME: &str = "conformance";

    /// Draws small limits, so that all of them are reached, and mostly default rules.
    ///
    /// All times are whole milliseconds, and so is an eighth of a session.
    #[must_use]
    pub(super) fn draw(rng: &mut Pcg64Mcg) -> Self {
        let refresh = Duration::from_secs(rng.random_range(2..=12));
        let minute = rng.random_bool(0.7).then(|| rng.random_range(1..=8));
        let cookie_test = if rng.random_bool(0.15) {
            CookieTest::AboveUtilization(rng.random_range(0..=100))
        } else {
            CookieTest::Off
        };
        let share = rng.random_range(1..=3);
        Self {
            slots: rng.random_range(1..=6),
            minute,
            session: Duration::from_secs(rng.random_range(1..=120)),
            renewal: rarely(rng, SessionRenewal::Sliding, &[SessionRenewal::Fixed]),
            method: rarely(rng, QueueingMethod::Fifo, &QUEUEING_METHODS),
            mode: rarely(rng, RoomMode::Auto, &MODES),
            capacity: rng.random_range(1..=12),
            retention: (refresh * 2).max(Duration::from_secs(5))
                + Duration::from_millis(rng.random_range(0..60_000)),
            refresh,
            cookie_test,
            recovery: rarely(rng, Recovery::AdmitAtOnce, &[Recovery::Pause]),
            share: rarely(
                rng,
                PlacesPerNetwork::Limit(share),
                &[PlacesPerNetwork::Off, PlacesPerNetwork::Shadow(share)],
            ),
        }
    }

    /// Returns these settings with one rule drawn again.
    #[must_use]
    pub(super) fn change(self, rng: &mut Pcg64Mcg) -> Self {
        let other = Self::draw(rng);
        match rng.random_range(0..9) {
            0 => Self { slots: other.slots, ..self },
            1 => Self { minute: other.minute, ..self },
            2 => Self { mode: other.mode, ..self },
            3 => Self { method: other.method, ..self },
            4 => Self { capacity: other.capacity, ..self },
            5 => Self { session: other.session, renewal: other.renewal, ..self },
            6 => Self { retention: other.retention, refresh: other.refresh, ..self },
            7 => Self { share: other.share, ..self },
            _ => Self { cookie_test: other.cookie_test, ..self },
        }
    }

    /// Returns the rules of the room.
    #[must_use]
    pub(crate) fn rules(&self) -> RoomRules {
        RoomRules::new(Self::NAME, self.slots)
            .with_new_users_per_minute(self.minute)
            .with_session_duration(self.session)
            .with_session_renewal(self.renewal)
            .with_queueing_method(self.method)
            .with_mode(self.mode)
            .with_line_capacity(self.capacity)
            .with_place_retention(self.retention)
            .with_refresh_interval(self.refresh)
            .with_cookie_test(self.cookie_test)
            .with_recovery(self.recovery)
            .with_places_per_network(self.share)
    }
}

/// Returns the default value in 70 % of the cases, and otherwise one of the others.
fn rarely<T: Copy>(rng: &mut Pcg64Mcg, plain: T, others: &[T]) -> T {
    if rng.random_bool(0.7) {
        return plain;
    }
    others.choose(rng).copied().unwrap_or(plain)
}

const QUEUEING_METHODS: [QueueingMethod; 3] =
    [QueueingMethod::Passthrough, QueueingMethod::Random, QueueingMethod::Reject];

const MODES: [RoomMode; 3] = [RoomMode::Drain, RoomMode::QueueAll, RoomMode::Suspended];
