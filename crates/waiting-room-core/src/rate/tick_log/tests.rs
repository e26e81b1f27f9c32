use super::*;

/// A log with events at these ticks.
fn log_of(ticks: &[u64], limit: usize) -> TickLog {
    let mut log = TickLog::default();
    ticks.iter().for_each(|&tick| log.push(tick, 1, limit));
    log
}

fn ticks(log: &TickLog) -> Vec<u64> {
    log.ticks().collect()
}

#[test]
fn ticks_survive_the_turn_of_their_low_half() {
    let turn = 7 << 32;
    let log = log_of(&[turn - (1 << 31), turn - 1, turn, turn + (1 << 31) - 1], 4);
    assert_eq!(ticks(&log), [turn - (1 << 31), turn - 1, turn, turn + (1 << 31) - 1]);
    assert_eq!(log.count_before(turn), 2);
}

#[test]
fn an_event_before_the_newest_counts_as_one_with_it() {
    assert_eq!(ticks(&log_of(&[10, 20, 15], 4)), [10, 20, 20]);
}

#[test]
fn the_newest_stay_when_there_are_too_many() {
    assert_eq!(ticks(&log_of(&[1, 2, 3, 4], 3)), [2, 3, 4]);
    let mut log = log_of(&[1, 2, 3], 3);
    log.push(9, u64::MAX, 3);
    assert_eq!(ticks(&log), [9, 9, 9]);
}

#[test]
fn dropping_keeps_what_is_not_before() {
    let mut log = log_of(&[1, 2, 2, 3], 4);
    log.drop_before(2);
    assert_eq!(ticks(&log), [2, 2, 3]);
}

#[test]
fn memory_grows_with_use_up_to_the_limit_and_goes_with_the_last_event() {
    let mut log = TickLog::default();
    let mut capacities = vec![0];
    for tick in 0..1_000 {
        log.push(tick, 1, 1_000);
        capacities.push(log.events.capacity());
    }
    capacities.dedup();
    assert_eq!(capacities, [0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1_000]);

    log.drop_before(999);
    assert_eq!((log.len(), log.events.capacity()), (1, 1_000));
    log.drop_before(1_000);
    assert_eq!((log.len(), log.events.capacity(), log.newest()), (0, 0, 0));
}

#[test]
fn only_events_of_the_tick_are_removed() {
    let mut log = log_of(&[1, 2, 2, 3], 4);
    log.remove(2, 1, 0);
    assert_eq!(ticks(&log), [1, 2, 3]);
    log.remove(2, 5, 0);
    assert_eq!(ticks(&log), [1, 3]);
    log.remove(7, 1, 0);
    assert_eq!(ticks(&log), [1, 3]);
    log.remove(3, 1, 0);
    assert_eq!(log.newest(), 1);
}

#[test]
fn what_was_pushed_out_takes_its_place_again() {
    let mut log = log_of(&[1, 2, 3, 4], 3);
    log.remove(4, 1, 0);
    assert_eq!(ticks(&log), [1, 2, 3]);

    // Unless it would be outside the window by now.
    let mut log = log_of(&[1, 2, 3, 4], 3);
    log.remove(4, 1, 2);
    assert_eq!(ticks(&log), [2, 3]);
}
