//! A steady state: a line whose visitors check in when they are asked to, on one thread and on two.

use std::{
    hint::black_box,
    sync::{Arc, Barrier},
    thread,
    time::Duration,
};

use futures_util::FutureExt;
use waiting_room_core::{MemoryStore, Store, Ticket, Verdict, room::QueueingMethod};

use super::crowd::{INTERVAL, OPENING, full, line_up, one_slot, visitor, wait};
use crate::{
    effort::Effort,
    figure::{Bar, figure},
    report::Report,
    rounds::{thread_cpu_time, wall_time},
};

/// Measures check-ins one by one, and prints the table.
pub(super) fn check_ins(effort: Effort) -> Report {
    let columns = ["check_in", "mean, CPU ns", "p50 ns", "p99 ns", "p99.9 ns", "bar"];
    let title = "Check-ins of a whole line, on time";
    let mut report = Report::new(title, "room", effort, &columns);
    for (method, name) in [(QueueingMethod::Fifo, "in line"), (QueueingMethod::Random, "by lot")] {
        for visitors in effort.crowds() {
            let mut found = round(*visitors, method);
            found.sorted.sort_unstable();
            let at = |thousandths: usize| {
                let index = found.sorted.len() * thousandths / 1_000;
                nanos(found.sorted[index.min(found.sorted.len() - 1)])
            };
            let bar = Bar::at_most("p50 ns", 2_000.0, at(500)).to_string();
            let name = format!("{visitors} {name}");
            let row = [found.mean, at(500), at(990), at(999)].map(figure);
            report.row([name].into_iter().chain(row).chain([bar]));
        }
    }
    report.note("The percentiles are wall times, with about 25 ns for reading the clock.");
    report
}

struct Found {
    mean: f64,
    sorted: Vec<Duration>,
}

/// Lets each visitor check in once, one after another, within an interval.
fn round(visitors: u32, method: QueueingMethod) -> Found {
    let (mut room, _) = full(method);
    let mut tickets = line_up(&mut room, visitors.into());
    let mut now = OPENING;
    let mut turn = |ticket: &mut Ticket| {
        now = now + INTERVAL / visitors;
        let begin = wall_time();
        *ticket = black_box(wait(&mut room, ticket, now));
        wall_time().saturating_sub(begin)
    };
    // The first round spreads the check-ins over the interval.
    tickets.iter_mut().for_each(|ticket| _ = turn(ticket));
    let begin = thread_cpu_time();
    let sorted: Vec<Duration> = tickets.iter_mut().map(turn).collect();
    let mean = nanos(thread_cpu_time().saturating_sub(begin)) / f64::from(visitors);
    Found { mean, sorted }
}

/// Measures check-ins with a store in memory, on one thread and on two, and prints the table.
pub(super) fn threads(effort: Effort) -> Report {
    let columns = ["check_in with MemoryStore", "1 thread, M/s", "2 threads, M/s", "ratio", "bar"];
    let title = "Check-ins on one thread and on two";
    let mut report = Report::new(title, "room", effort, &columns);
    for visitors in effort.crowds() {
        for (name, outside) in [("", 0), (", and 5 µs outside of the lock", 5)] {
            let outside = Duration::from_micros(outside);
            let [one, two] = [1, 2].map(|threads| rate(*visitors, threads, outside, effort));
            let bar = Bar::at_least("ratio", 1.6, two / one).to_string();
            let name = format!("{visitors} in line{name}");
            let row = [one / 1e6, two / 1e6, two / one].map(figure);
            report.row([name].into_iter().chain(row).chain([bar]));
        }
    }
    report.note("Wall time; other work on the machine has influence.");
    report.note("5 µs stand for the rest of a request: its tokens, its answer, its connection.");
    report
}

/// Returns the number of check-ins per second on the given number of threads.
fn rate(visitors: u32, threads: u32, outside: Duration, effort: Effort) -> f64 {
    let store = MemoryStore::new(one_slot(QueueingMethod::Fifo)).expect("the rules are right");
    store.enter(visitor(u64::MAX)).now_or_never().expect("a lock is free").expect("it works");
    let now = store.now();
    let stand = |number| checked_in(&store, Ticket::new(visitor(number), now, now, now));
    let tickets: Vec<Ticket> = (0..u64::from(visitors)).map(stand).collect();
    let share = tickets.len() / threads as usize;
    let barrier = Arc::new(Barrier::new(threads as usize));
    let length = effort.sample() * 50;
    let workers = tickets.chunks(share).take(threads as usize).map(|tickets| {
        let mut tickets = tickets.to_vec();
        let store = store.clone();
        let barrier = Arc::clone(&barrier);
        thread::spawn(move || {
            barrier.wait();
            let begin = wall_time();
            let mut count = 0_u32;
            for turn in (0..tickets.len()).cycle() {
                tickets[turn] = checked_in(&store, tickets[turn]);
                count += 1;
                busy(outside);
                if count.is_multiple_of(64) && wall_time().saturating_sub(begin) > length {
                    break;
                }
            }
            f64::from(count) / wall_time().saturating_sub(begin).as_secs_f64()
        })
    });
    let workers: Vec<_> = workers.collect();
    workers.into_iter().map(|worker| worker.join().expect("no thread panics")).sum()
}

fn checked_in(store: &MemoryStore, ticket: Ticket) -> Ticket {
    let verdict = store.check_in(ticket).now_or_never().expect("a verb never waits");
    match verdict.expect("it works") {
        Verdict::Wait { ticket, .. } => ticket,
        verdict @ (Verdict::Admit { .. } | Verdict::Refuse { .. }) => {
            unreachable!("the room is full: {verdict:?}")
        }
    }
}

/// Works for this long without the store.
fn busy(length: Duration) {
    let begin = wall_time();
    while wall_time().saturating_sub(begin) < length {
        std::hint::spin_loop();
    }
}

fn nanos(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e9
}
