//! Random rules for a room, with limits so small that all of them are reached.

use std::time::Duration;

use rand::{RngExt, seq::IndexedRandom};
use rand_pcg::Pcg64Mcg;
use waiting_room_core::{
    RoomRules,
    room::{CookieTest, QueueingMethod, Recovery, RoomMode, SessionRenewal, Setting, Shares},
};

/// The name of every room in the suite.
pub(super) const NAME: &str = "conformance";

/// Draws small limits, so that all of them are reached, and mostly default rules.
///
/// All times are whole milliseconds, and so is an eighth of a session.
#[must_use]
pub(super) fn draw(rng: &mut Pcg64Mcg) -> RoomRules {
    let refresh = Duration::from_secs(rng.random_range(2..=12));
    let minute = rng.random_bool(0.7).then(|| rng.random_range(1..=8));
    let cookie_test = if rng.random_bool(0.15) {
        CookieTest::AboveUtilization(rng.random_range(0..=100))
    } else {
        CookieTest::Off
    };
    let share = rng.random_range(1..=3);
    let visit = rng.random_bool(0.5).then(|| Duration::from_secs(rng.random_range(1..=240)));
    RoomRules::new(NAME, rng.random_range(1..=6))
        .new_users_per_minute(minute)
        .session_duration(Duration::from_secs(rng.random_range(1..=120)))
        .longest_visit(visit)
        .session_renewal(rarely(rng, SessionRenewal::Sliding, &[SessionRenewal::Fixed]))
        .queueing_method(rarely(rng, QueueingMethod::Fifo, QueueingMethod::ALL))
        .mode(rarely(rng, RoomMode::Auto, RoomMode::ALL))
        .line_capacity(rng.random_range(1..=12))
        .place_retention(
            (refresh * 2).max(Duration::from_secs(5))
                + Duration::from_millis(rng.random_range(0..60_000)),
        )
        .refresh_interval(refresh)
        .cookie_test(cookie_test)
        .recovery(rarely(rng, Recovery::AdmitAtOnce, &[Recovery::Pause]))
        .shares(rarely(rng, Shares::Limit(share), &[Shares::Off, Shares::Shadow(share)]))
}

/// Returns these rules with one setting replaced by a random one. Settings that depend on each
/// other are replaced together.
#[must_use]
pub(super) fn change(rules: &RoomRules, rng: &mut Pcg64Mcg) -> RoomRules {
    let other = draw(rng);
    let mut changed = rules.clone();
    let drawn = RoomRules::SETTINGS.iter().filter(|setting| !AT_START.contains(&setting.name()));
    let drawn = drawn.collect::<Vec<_>>().choose(rng).map_or("", |setting| setting.name());
    let is_changed = |setting: &&Setting| match drawn {
        "place_retention" => ["place_retention", "refresh_interval"].contains(&setting.name()),
        _ => setting.name() == drawn,
    };
    for setting in RoomRules::SETTINGS.iter().filter(is_changed) {
        setting.set(&mut changed, &setting.get(&other)).expect("a drawn value is valid");
    }
    changed
}

/// The settings that matter only when a room is opened, and `refresh_interval`, which changes
/// together with `place_retention`.
const AT_START: [&str; 3] = ["longest_session_duration", "recovery", "refresh_interval"];

/// Returns the default value in 70 % of the cases, and otherwise one of the others.
fn rarely<T: Copy>(rng: &mut Pcg64Mcg, plain: T, others: &[T]) -> T {
    if rng.random_bool(0.7) {
        return plain;
    }
    others.choose(rng).copied().unwrap_or(plain)
}
