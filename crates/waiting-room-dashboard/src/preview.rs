//! The effect of a change, in words, before it is made.
//!
//! The words are computed from the figures of the room at that moment, so they are estimates. The
//! estimates assume that visitors keep arriving and leaving as they did in the last minutes. Times
//! are those that the room would tell its visitors ([`WaitEstimate`]), at the rate of the binding
//! limit.

use std::time::Duration;

use waiting_room_core::room::{RoomMode, RoomSnapshot, WaitEstimate};

use super::{change::Change, waits::millis};

/// Describes what this change will do to a room with these figures.
pub(super) fn preview(change: Change, room: &RoomSnapshot) -> String {
    match change {
        Change::Limits { total_active_users, new_users_per_minute } => {
            limits(room, total_active_users, new_users_per_minute)
        }
        Change::Mode(RoomMode::Drain) => drain(room),
        Change::Mode(RoomMode::QueueAll) => queue_all(room),
        Change::Mode(RoomMode::Suspended) => suspend(room),
        Change::Mode(RoomMode::Auto) => resume(room),
    }
}

/// Returns the wait that the room estimates for a visitor who arrives now, in milliseconds. A room
/// that is held or drained announces no wait to newcomers.
pub(super) fn told_to_newcomers(room: &RoomSnapshot) -> Option<u32> {
    if room.mode != RoomMode::Auto {
        return None;
    }
    let ahead = room.present.saturating_add(1);
    time_to_serve(ahead, room.admissions_per_minute).map(millis)
}

/// Returns how long it takes to admit this number of visitors at this number of admissions per
/// minute, capped at a day, or `None` if no visitor is admitted.
fn time_to_serve(visitors: u32, per_minute: f64) -> Option<Duration> {
    let Some(ahead) = visitors.checked_sub(1) else {
        return (per_minute > 0.0).then_some(Duration::ZERO);
    };
    WaitEstimate::behind(ahead, per_minute / 60.0, 1.0).map(|wait| wait.p50)
}

/// Returns how long the line takes to drain under these limits, or `None` if it never drains.
///
/// Sessions end as often as visitors are admitted now. With more slots, proportionally more
/// sessions end. While slots are free, only the limit on new visitors matters. Visitors are then
/// admitted faster than sessions end, and the difference fills the free slots.
///
/// ```text
///  too many active:  ── they leave ──┐
///  slots are free:   ── the limit on new visitors ──┐
///  then:             ── that limit, or the ends of sessions, whichever allows fewer ──►
/// ```
fn time_to_drain(room: &RoomSnapshot, slots: u32, new_limit: Option<u32>) -> Option<Duration> {
    let ending = room.admissions_per_minute;
    let by_slots = ending * f64::from(slots) / f64::from(room.active.max(1));
    let lasting = new_limit.map_or(by_slots, |limit| by_slots.min(limit.into()));
    let Some(free) = slots.checked_sub(room.active) else {
        let leaving = time_to_serve(room.active - slots, ending)?;
        return Some(leaving + time_to_serve(room.present, lasting)?);
    };
    let Some(limit) = new_limit else {
        return match room.present.saturating_sub(free) {
            0 => Some(Duration::ZERO),
            rest => time_to_serve(rest, lasting),
        };
    };
    // If the limit on new visitors does not exceed the rate at which sessions end, slots stay free.
    let until_full = time_to_serve(free, f64::from(limit) - ending).unwrap_or_default();
    let served = u64::from(limit).saturating_mul(until_full.as_secs()) / 60;
    match u64::from(room.present).checked_sub(served) {
        None | Some(0) => time_to_serve(room.present, limit.into()),
        Some(rest) => {
            let rest = u32::try_from(rest).unwrap_or(u32::MAX);
            Some(until_full + time_to_serve(rest, lasting)?)
        }
    }
}

/// Returns a duration in words, such as `about 7 min`.
fn about(time: Duration) -> String {
    match time.as_secs() {
        0..90 => format!("about {} s", time.as_secs().max(1)),
        seconds @ 90..7_200 => format!("about {} min", seconds.div_ceil(60)),
        seconds @ 7_200..86_400 => format!("about {} h", seconds.div_ceil(3_600)),
        _ => "a day or more".to_owned(),
    }
}

fn limits(room: &RoomSnapshot, active: u32, per_minute: Option<u32>) -> String {
    let new = |limit: Option<u32>| match limit {
        Some(limit) => format!("{limit} new visitors per minute"),
        None => "any number of new visitors per minute".to_owned(),
    };
    let mut words = format!(
        "Allows {active} active visitors instead of {}, and {} instead of {}.",
        room.total_active_users,
        new(per_minute),
        new(room.new_users_per_minute),
    );
    match room.mode {
        RoomMode::QueueAll => return words + " No visitor is admitted until you resume.",
        RoomMode::Suspended => return words + " The limits apply once you resume.",
        RoomMode::Auto | RoomMode::Drain => {}
    }
    let free = active.saturating_sub(room.active);
    let at_once = free.min(per_minute.unwrap_or(u32::MAX)).min(room.present);
    if room.active > active {
        words += &format!(
            " No session ends: {} are active now, so no visitor is admitted until {} have left.",
            visitors(room.active),
            visitors(room.active - active),
        );
    } else if at_once > 0 {
        let at_once = visitors(at_once);
        words += &format!(" Admits {at_once} of the line within the next minute, into free slots.");
    }
    match time_to_drain(room, active, per_minute) {
        None if at_once > 0 => {
            words + " No sessions end at the moment, so the rest of the line waits."
        }
        drained => words + &line_in(room, drained, "if sessions last as long as before"),
    }
}

fn drain(room: &RoomSnapshot) -> String {
    let words = "Refuses newcomers, and serves the visitors in line.";
    if matches!(room.mode, RoomMode::QueueAll | RoomMode::Suspended) {
        // Since the line has not moved, there is no rate.
        let next = visitors(next_minute(room));
        return format!("{words} Up to {next} are admitted within the next minute.");
    }
    let condition =
        format!("at this rate of {:.0} admissions per minute", room.admissions_per_minute);
    let drained = time_to_serve(room.present, room.admissions_per_minute);
    words.to_owned() + &line_in(room, drained, &condition)
}

fn queue_all(room: &RoomSnapshot) -> String {
    let mut words = format!(
        "Admits no visitor until you resume. The {} keep their sessions, and the line of {} grows.",
        counted(room.active, "active visitor"),
        room.waiting,
    );
    let room_left = room.line_capacity.saturating_sub(room.waiting);
    let arriving = f64::from(room.first_touches_in_last_minute);
    if let Some(full) = time_to_serve(room_left, arriving) {
        words += &format!(
            " If {} arrive per minute, as in the last minute, the line is full in {}.",
            room.first_touches_in_last_minute,
            about(full),
        );
    }
    words
}

fn suspend(room: &RoomSnapshot) -> String {
    let together = room.active.saturating_add(room.waiting);
    format!(
        "Switches the room off: the {} in line are let through at once, together with the {}. \
         That is {} for a limit of {}. Rate limits and gates stay in effect.",
        visitors(room.waiting),
        counted(room.active, "active visitor"),
        visitors(together),
        room.total_active_users,
    )
}

fn resume(room: &RoomSnapshot) -> String {
    let limit =
        room.new_users_per_minute.map_or(String::new(), |new| format!(" and {new} new per minute"));
    let words = format!("Admits visitors again, up to {} active{limit}.", room.total_active_users);
    let next = next_minute(room);
    if next == 0 {
        words
    } else {
        words + &format!(" {} of the line are admitted within the next minute.", visitors(next))
    }
}

/// Returns how many visitors are admitted within the next minute from a line that has not moved.
fn next_minute(room: &RoomSnapshot) -> u32 {
    let free = room.total_active_users.saturating_sub(room.active);
    free.min(room.present).min(room.new_users_per_minute.unwrap_or(u32::MAX))
}

/// States when the line will be empty, given that draining it takes `drained`.
fn line_in(room: &RoomSnapshot, drained: Option<Duration>, condition: &str) -> String {
    match (room.present, drained) {
        (0, _) => " The line is empty.".to_owned(),
        (_, None) => {
            format!(" The line of {} does not move at the moment.", visitors(room.present))
        }
        (present, Some(time)) => {
            format!(" The line of {} drains in {} {condition}.", visitors(present), about(time))
        }
    }
}

fn visitors(count: u32) -> String {
    counted(count, "visitor")
}

fn counted(count: u32, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

#[cfg(test)]
mod tests {
    use waiting_room_core::{RoomRules, Timestamp};

    use super::*;

    fn room() -> RoomSnapshot {
        let rules = RoomRules::new("shop", 200).new_users_per_minute(100);
        let mut room = RoomSnapshot::empty(Timestamp::from_secs(0), &rules);
        room.active = 200;
        room.waiting = 300;
        room.present = 280;
        room.admissions_per_minute = 40.0;
        room
    }

    #[test]
    fn a_drain_states_when_the_line_is_empty() {
        let words = preview(Change::Mode(RoomMode::Drain), &room());
        let end = "The line of 280 visitors drains in about 7 min at this rate of 40 admissions per minute.";
        assert!(words.ends_with(end), "{words}");
    }

    #[test]
    fn a_higher_limit_states_how_many_enter_and_how_the_line_drains() {
        let change = Change::Limits { total_active_users: 400, new_users_per_minute: Some(100) };
        let words = preview(change, &room());
        let expected = "Allows 400 active visitors instead of 200, and 100 new visitors per minute \
            instead of 100 new visitors per minute. Admits 100 visitors of the line within the \
            next minute, into free slots. The line of 280 visitors drains in about 3 min if \
            sessions last as long as before.";
        assert_eq!(words, expected);
    }

    #[test]
    fn the_line_drains_at_the_rate_of_the_limit_that_binds() {
        // Of 200 slots, 100 are free, because only 50 visitors may enter per minute.
        let mut room = room();
        room.active = 100;
        room.new_users_per_minute = Some(50);
        room.admissions_per_minute = 50.0;
        for (total_active_users, new_users_per_minute, time) in [
            // More than 200 slots do not help, and 100 are enough.
            (400, Some(50), "about 6 min"),
            (100, Some(50), "about 6 min"),
            // With fewer than 100 slots, the ends of sessions decide: 25 per minute, after 50
            // visitors have left.
            (50, Some(50), "about 13 min"),
            // The free slots are taken within 2 min, and then 100 sessions end per minute.
            (200, Some(100), "about 3 min"),
            // All free slots are taken at once, and 180 visitors wait for the ends of sessions.
            (200, None, "about 2 min"),
            (400, None, "about 1 s"),
        ] {
            let change = Change::Limits { total_active_users, new_users_per_minute };
            let words = preview(change, &room);
            let end = format!(
                " The line of 280 visitors drains in {time} if sessions last as long as before."
            );
            assert!(words.ends_with(&end), "{change:?}: {words}");
        }
    }

    #[test]
    fn free_slots_are_taken_even_if_no_session_has_ended_for_minutes() {
        let mut room = room();
        room.active = 200;
        room.admissions_per_minute = 0.0;
        let words = |slots, per_minute| {
            let limits = (slots, per_minute);
            let (total_active_users, new_users_per_minute) = limits;
            preview(Change::Limits { total_active_users, new_users_per_minute }, &room)
        };
        let end =
            "The line of 280 visitors drains in about 3 min if sessions last as long as before.";
        assert!(words(500, Some(100)).ends_with(end), "{}", words(500, Some(100)));
        let end = "The line of 280 visitors does not move at the moment.";
        assert!(words(200, Some(100)).ends_with(end), "{}", words(200, Some(100)));
        let end = "Admits 50 visitors of the line within the next minute, into free slots. \
            No sessions end at the moment, so the rest of the line waits.";
        assert!(words(250, Some(100)).ends_with(end), "{}", words(250, Some(100)));
    }

    #[test]
    fn a_lower_limit_states_that_no_session_ends() {
        let change = Change::Limits { total_active_users: 150, new_users_per_minute: None };
        let words = preview(change, &room());
        let part = "No session ends: 200 visitors are active now, so no visitor is admitted until 50 visitors have left.";
        assert!(words.contains(part), "{words}");
        // 50 visitors leave in 75 s, and then 30 sessions end per minute.
        assert!(words.contains(" drains in about 11 min if "), "{words}");
    }

    #[test]
    fn queueing_all_states_when_the_line_is_full() {
        let mut room = room();
        room.line_capacity = 1_300;
        room.first_touches_in_last_minute = 50;
        let words = preview(Change::Mode(RoomMode::QueueAll), &room);
        assert!(
            words.ends_with("as in the last minute, the line is full in about 20 min."),
            "{words}"
        );
    }

    #[test]
    fn suspending_states_how_many_enter_together() {
        let words = preview(Change::Mode(RoomMode::Suspended), &room());
        assert!(words.contains("That is 500 visitors for a limit of 200."), "{words}");
    }

    #[test]
    fn resuming_states_how_many_enter_next() {
        let mut room = room();
        room.active = 190;
        let words = preview(Change::Mode(RoomMode::Auto), &room);
        let expected = "Admits visitors again, up to 200 active and 100 new per minute. \
            10 visitors of the line are admitted within the next minute.";
        assert_eq!(words, expected);
    }

    #[test]
    fn a_change_of_the_limits_of_a_room_that_is_held_admits_no_visitor() {
        let change = Change::Limits { total_active_users: 400, new_users_per_minute: Some(100) };
        for (mode, end) in [
            (RoomMode::QueueAll, "No visitor is admitted until you resume."),
            (RoomMode::Suspended, "The limits apply once you resume."),
        ] {
            let mut room = room();
            room.mode = mode;
            let words = preview(change, &room);
            assert!(words.ends_with(end), "{words}");
        }
    }

    #[test]
    fn a_drain_after_the_room_was_held_admits_visitors_at_once() {
        let mut room = room();
        room.active = 120;
        room.mode = RoomMode::QueueAll;
        room.admissions_per_minute = 0.0;
        let words = preview(Change::Mode(RoomMode::Drain), &room);
        let end = "Up to 80 visitors are admitted within the next minute.";
        assert!(words.ends_with(end), "{words}");
    }

    #[test]
    fn an_empty_or_stopped_line_has_no_time() {
        let mut room = room();
        room.admissions_per_minute = 0.0;
        let words = preview(Change::Mode(RoomMode::Drain), &room);
        assert!(
            words.ends_with("The line of 280 visitors does not move at the moment."),
            "{words}"
        );
        room.present = 0;
        let words = preview(Change::Mode(RoomMode::Drain), &room);
        assert!(words.ends_with("The line is empty."), "{words}");
    }

    #[test]
    fn durations_have_one_unit() {
        for (seconds, words) in [
            (0, "about 1 s"),
            (89, "about 89 s"),
            (90, "about 2 min"),
            (7_199, "about 120 min"),
            (7_201, "about 3 h"),
            (86_399, "about 24 h"),
            (u64::MAX, "a day or more"),
        ] {
            assert_eq!(about(Duration::from_secs(seconds)), words);
        }
    }
}
