//! A room that nobody visits for a while.

use super::*;

/// Lets a hundred newcomers come at once, and returns how many are admitted.
fn rush(room: &mut Room, first: u128, now: Timestamp) -> usize {
    let newcomers = first..first + 100;
    newcomers.filter(|who| matches!(room.enter(id(*who), now), Verdict::Admit { .. })).count()
}

#[test]
fn an_idle_hour_saves_up_no_admissions() {
    let mut room = room(rules(1_000).new_users_per_minute(10));
    for hour in 0..3 {
        let now = hour * 3_600;
        let first = u128::from(hour) * 10_000;
        assert_eq!(rush(&mut room, first, at(now)), 10);
        assert_eq!(rush(&mut room, first + 100, at(now + 59)), 0, "the minute is not over");
        assert_eq!(rush(&mut room, first + 200, at(now + 60)), 10);
    }
}
