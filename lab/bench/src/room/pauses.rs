//! The longest verbs of a room: those that find many visitors changed at once.
//!
//! A store holds its lock while a verb runs, so a long verb is a pause for every other request that
//! needs the room.

use std::{hint::black_box, time::Duration};

use waiting_room_core::{Room, room::QueueingMethod};

use super::crowd::{INTERVAL, OPENING, admit, full, line_up, one_slot, stand, visitor, wait, wide};
use crate::{
    effort::Effort,
    figure::{Bar, figure},
    report::Report,
    rounds::thread_cpu_time,
};

/// Measures all pauses, and prints the table.
pub(super) fn run(effort: Effort) -> Report {
    let sizes = effort.crowds().iter().map(|visitors| format!("{visitors} visitors"));
    let columns: Vec<String> = ["the one verb, in µs".to_owned()]
        .into_iter()
        .chain(sizes)
        .chain(["bar".to_owned()])
        .collect();
    let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
    let mut report = Report::new("The longest verbs of a room", "room", effort, &columns);
    for Pause { name, measure } in PAUSES {
        let least = |visitors: &u32| {
            (0..effort.prepared_rounds())
                .map(|_| micros(measure(*visitors)))
                .fold(f64::MAX, f64::min)
        };
        let found: Vec<f64> = effort.crowds().iter().map(least).collect();
        let worst = found.iter().copied().fold(0.0, f64::max);
        let cells = found.iter().map(|micros| figure(*micros));
        let bar = Bar::at_most("µs", 1_000.0, worst).to_string();
        report.row([(*name).to_owned()].into_iter().chain(cells).chain([bar]));
    }
    let rounds = effort.prepared_rounds();
    report.note(format!("CPU time of the thread; the least of {rounds} rounds."));
    report.note("The rows of growth show the longest of all verbs that filled the room.");
    report
}

/// A verb that finds a number of visitors changed at once.
struct Pause {
    name: &'static str,
    /// Prepares a room with this number of visitors, and returns the time of the one verb.
    measure: fn(u32) -> Duration,
}

const PAUSES: &[Pause] = &[
    Pause { name: "all sessions have lapsed: enter", measure: |n| lapsed(n, 1, enter) },
    Pause { name: "half of the sessions have lapsed: enter", measure: |n| lapsed(n, 2, enter) },
    Pause { name: "all sessions have lapsed: snapshot", measure: |n| lapsed(n, 1, snapshot) },
    Pause { name: "all in line are away: enter", measure: |n| away(n, 1, FIFO, enter) },
    Pause { name: "half of the line is away: enter", measure: |n| away(n, 2, FIFO, enter) },
    Pause { name: "half of the line is away: check_in", measure: |n| away(n, 2, FIFO, check_in) },
    Pause { name: "all in a random line are away: enter", measure: |n| away(n, 1, RANDOM, enter) },
    Pause { name: "all places have lapsed: enter", measure: places_lapsed },
    Pause { name: "random line, a new minute: check_in", measure: new_minute },
    Pause {
        name: "from Fifo to Random: configure",
        measure: |n| configured(n, FIFO, RANDOM, false),
    },
    Pause { name: "from Fifo to Random: check_in", measure: |n| configured(n, FIFO, RANDOM, true) },
    Pause {
        name: "from Random to Fifo: configure",
        measure: |n| configured(n, RANDOM, FIFO, false),
    },
    Pause { name: "from Random to Fifo: check_in", measure: |n| configured(n, RANDOM, FIFO, true) },
    Pause { name: "growth: enter, admitted", measure: admissions },
    Pause { name: "growth: check_in, first place", measure: |n| places(n, FIFO) },
    Pause { name: "growth: check_in, first place by lot", measure: |n| places(n, RANDOM) },
];

const FIFO: QueueingMethod = QueueingMethod::Fifo;
const RANDOM: QueueingMethod = QueueingMethod::Random;

/// A verb at a time after the opening.
type Verb = fn(&mut Room, Duration) -> Duration;

/// Admits visitors, of which one in `part` lapses before the verb.
fn lapsed(visitors: u32, part: u32, verb: Verb) -> Duration {
    let mut room = wide();
    let lifetime = room.rules().timing().pass_lifetime();
    let early: Vec<u64> =
        numbers(visitors).filter(|number| number % u64::from(part) == 0).collect();
    early.iter().for_each(|number| _ = admit(&mut room, *number, OPENING));
    numbers(visitors)
        .filter(|number| number % u64::from(part) != 0)
        .for_each(|number| _ = admit(&mut room, number, OPENING + lifetime / 2));
    verb(&mut room, lifetime)
}

/// Gives places to visitors, of which one in `part` is away at the time of the verb.
fn away(visitors: u32, part: u64, method: QueueingMethod, verb: Verb) -> Duration {
    let (mut room, _) = full(method);
    for number in numbers(visitors).filter(|number| number % part == 0) {
        stand(&mut room, number, OPENING);
    }
    // A visitor is present for between 1.5 and 1.95 intervals.
    for number in numbers(visitors).filter(|number| number % part != 0) {
        stand(&mut room, number, OPENING + INTERVAL);
    }
    verb(&mut room, INTERVAL * 2)
}

fn places_lapsed(visitors: u32) -> Duration {
    let (mut room, _) = full(FIFO);
    line_up(&mut room, visitors.into());
    let kept = room.rules().place_retention;
    enter(&mut room, kept)
}

fn new_minute(visitors: u32) -> Duration {
    let (mut room, _) = full(RANDOM);
    let tickets = line_up(&mut room, visitors.into());
    let now = OPENING + Duration::from_secs(60);
    spent(|| wait(&mut room, &tickets[tickets.len() / 2], now))
}

/// Changes the queueing method, and returns the time of the change or of the check-in after it.
fn configured(visitors: u32, from: QueueingMethod, to: QueueingMethod, is_after: bool) -> Duration {
    let (mut room, _) = full(from);
    let tickets = line_up(&mut room, visitors.into());
    let now = OPENING + Duration::from_secs(1);
    let change = spent(|| room.configure(one_slot(to), now).expect("the rules are right"));
    let next = spent(|| wait(&mut room, &tickets[tickets.len() / 2], now));
    if is_after { next } else { change }
}

/// Returns the longest of all verbs that admit visitors, one in each 10 µs.
fn admissions(visitors: u32) -> Duration {
    let mut room = wide();
    let step = Duration::from_micros(10);
    longest(visitors, |number, turn| admit(&mut room, number, OPENING + step * turn))
}

/// Returns the longest of all verbs that give visitors their places, one in each 10 µs.
fn places(visitors: u32, method: QueueingMethod) -> Duration {
    let (mut room, _) = full(method);
    let step = Duration::from_micros(10);
    longest(visitors, |number, turn| stand(&mut room, number, OPENING + step * turn))
}

fn longest<T>(visitors: u32, mut verb: impl FnMut(u64, u32) -> T) -> Duration {
    let times = (0..visitors).map(|turn| spent(|| verb(turn.into(), turn)));
    times.max().unwrap_or_default()
}

fn enter(room: &mut Room, after: Duration) -> Duration {
    spent(|| room.enter(visitor(u64::MAX - 1), OPENING + after))
}

/// Checks in a visitor from the middle of the line.
fn check_in(room: &mut Room, after: Duration) -> Duration {
    spent(|| stand(room, 1, OPENING + after))
}

fn snapshot(room: &mut Room, after: Duration) -> Duration {
    spent(|| room.snapshot(OPENING + after))
}

fn numbers(visitors: u32) -> impl Iterator<Item = u64> {
    0..u64::from(visitors)
}

/// Returns the CPU time of a verb.
fn spent<T>(verb: impl FnOnce() -> T) -> Duration {
    let begin = thread_cpu_time();
    black_box(verb());
    thread_cpu_time().saturating_sub(begin)
}

fn micros(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e6
}
