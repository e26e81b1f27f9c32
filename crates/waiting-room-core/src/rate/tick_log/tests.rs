use proptest::prelude::*;

use super::*;

/// A log with one event at each of these ticks.
fn log_of(ticks: &[u64], limit: u32) -> TickLog {
    let mut log = TickLog::default();
    ticks.iter().for_each(|&tick| log.push(tick, 1, limit));
    log
}

fn ticks(log: &TickLog) -> Vec<u64> {
    log.runs().flat_map(|(tick, events)| (0..events).map(move |_| tick)).collect()
}

#[test]
fn a_cost_of_a_million_takes_as_much_memory_as_a_cost_of_one() {
    let mut log = TickLog::default();
    for tick in 0..100 {
        log.push(tick, 1_000_000, 1_000_000);
        assert_eq!((log.len(), log.runs.len()), (1_000_000, 1));
    }
    assert!(log.runs.capacity() <= 2, "room for {} runs", log.runs.capacity());
}

#[test]
fn ticks_survive_an_overflow_of_their_low_half() {
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
fn the_newest_events_stay_when_there_are_too_many() {
    assert_eq!(ticks(&log_of(&[1, 2, 3, 4], 3)), [2, 3, 4]);
    let mut log = log_of(&[1, 2, 3], 3);
    log.push(9, u64::MAX, 3);
    assert_eq!(ticks(&log), [9, 9, 9]);
}

#[test]
fn dropping_keeps_the_events_from_the_given_time_on() {
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
        capacities.push(log.runs.capacity());
    }
    capacities.dedup();
    assert_eq!(capacities, [0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1_000]);

    log.drop_before(999);
    assert_eq!((log.len(), log.runs.capacity()), (1, 1_000));
    log.drop_before(1_000);
    assert_eq!((log.len(), log.runs.capacity(), log.newest()), (0, 0, 0));
}

#[test]
fn only_events_of_the_tick_are_removed() {
    let mut log = log_of(&[1, 2, 2, 3], 4);
    log.remove(2, 1, 0, 4);
    assert_eq!(ticks(&log), [1, 2, 3]);
    log.remove(2, 5, 0, 4);
    assert_eq!(ticks(&log), [1, 3]);
    log.remove(7, 1, 0, 4);
    assert_eq!(ticks(&log), [1, 3]);
    log.remove(3, 1, 0, 4);
    assert_eq!(log.newest(), 1);
}

#[test]
fn an_evicted_event_takes_its_place_again() {
    let mut log = log_of(&[1, 2, 3, 4], 3);
    log.remove(4, 1, 0, 3);
    assert_eq!(ticks(&log), [1, 2, 3]);

    // An event that would be outside the window by now is not put back.
    let mut log = log_of(&[1, 2, 3, 4], 3);
    log.remove(4, 1, 2, 3);
    assert_eq!(ticks(&log), [2, 3]);
}

/// A log that stores every event separately.
#[derive(Debug, Default)]
struct Naive {
    newest: u64,
    pushed_out_before: u64,
    events: VecDeque<u64>,
}

impl Naive {
    fn push(&mut self, tick: u64, count: u64, limit: u32) {
        let tick = tick.max(self.newest);
        for _ in 0..count {
            self.events.push_back(tick);
            if self.events.len() > limit as usize {
                let pushed_out = self.events.pop_front().unwrap();
                self.pushed_out_before = pushed_out + 1;
            }
        }
        self.newest = tick;
    }

    fn remove(&mut self, tick: u64, count: u64, since: u64) {
        for _ in 0..count {
            if let Some(place) = self.events.iter().position(|&event| event == tick) {
                self.events.remove(place);
                if self.pushed_out_before > since {
                    self.events.push_front(self.pushed_out_before - 1);
                }
            }
        }
        match self.events.back() {
            Some(&last) => self.newest = last,
            None => *self = Self::default(),
        }
    }

    fn drop_before(&mut self, tick: u64) {
        self.events.retain(|&event| event >= tick);
        if self.events.is_empty() {
            *self = Self::default();
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum Deed {
    Drop(u64),
    Push(u64, u64),
    Remove(u64, u64),
}

fn deeds() -> impl Strategy<Value = Vec<Deed>> {
    let counts = || prop_oneof![3 => Just(1u64), 2 => 1..12u64];
    let recently = || prop_oneof![3 => 0..3u64, 1 => 0..30u64];
    let deeds = prop_oneof![
        1 => (0..30u64).prop_map(Deed::Drop),
        5 => (0..4u64, counts()).prop_map(|(later, count)| Deed::Push(later, count)),
        2 => (recently(), counts()).prop_map(|(earlier, count)| Deed::Remove(earlier, count)),
    ];
    prop::collection::vec(deeds, 1..120)
}

proptest! {
    #[test]
    fn runs_agree_with_a_log_of_single_events(deeds in deeds(), limit in 1u32..20) {
        let mut log = TickLog::default();
        let mut naive = Naive::default();
        let mut now = 1u64 << 33;
        for deed in deeds {
            match deed {
                Deed::Drop(age) => {
                    log.drop_before(now - age);
                    naive.drop_before(now - age);
                }
                Deed::Push(later, count) => {
                    now += later;
                    log.push(now, count, limit);
                    naive.push(now, count, limit);
                }
                Deed::Remove(earlier, count) => {
                    let tick = now - earlier;
                    let since = now - 25;
                    log.remove(tick, count, since, limit);
                    naive.remove(tick, count, since);
                }
            }
            prop_assert_eq!(ticks(&log), Vec::from(naive.events.clone()));
            prop_assert_eq!(log.newest(), naive.newest);
            for tick in now - 30..now + 2 {
                let before = naive.events.iter().filter(|&&event| event < tick).count();
                prop_assert_eq!(log.count_before(tick) as usize, before);
            }
            for (place, &event) in (0..).zip(&naive.events) {
                prop_assert_eq!(log.tick(place), event);
            }
            prop_assert!(log.runs.capacity() <= limit as usize);
        }
    }
}
