//! The cost of the verbs of a room in a steady state, and the memory of a visitor.

use std::{hint::black_box, mem, time::Duration};

use anyhow::Result;
use waiting_room_core::room::{QueueingMethod, Renewal};

use self::crowd::{INTERVAL, OPENING, admit, full, line_up, visitor, wait, wide};
use crate::{
    case::{Case, Group, Repeat},
    effort::Effort,
    figure::{NONE, figure},
    report::Report,
    usage::{Weight, weigh},
    valgrind::Counting,
};

mod crowd;
mod pauses;
mod steady;

/// Measures the verbs and the memory, and prints the tables.
pub(crate) fn run(effort: Effort, counting: Counting) -> Result<()> {
    println!("{}", verbs(effort, counting)?);
    run_crowded(effort);
    println!("{}", memory(effort, counting)?);
    Ok(())
}

/// Measures rooms with up to a million visitors, and prints the tables.
pub(crate) fn run_crowded(effort: Effort) {
    println!("{}", pauses::run(effort));
    println!("{}", steady::check_ins(effort));
    println!("{}", steady::threads(effort));
}

fn verbs(effort: Effort, counting: Counting) -> Result<Report> {
    let columns = ["verb", "ns/op", "min..max", "instr/op", "allocs/op", "bytes/op"];
    let mut report = Report::new("The verbs of a room", "room", effort, &columns);
    report.costs(VERBS, effort, counting)?;
    report
        .note("Without the lock of the store and its clock: the time for which the lock is held.");
    Ok(report)
}

fn memory(effort: Effort, counting: Counting) -> Result<Report> {
    let columns = ["what", "heap bytes", "at the worst", "resident bytes", "allocations"];
    let mut report = Report::new("The memory of a visitor", "room", effort, &columns);
    let visitors = effort.crowd();
    for case in MEMORY.cases() {
        let Weight { resident, heap } = weigh(MEMORY, case.name, visitors, counting)?;
        let [kept, peak, allocations] = heap.map_or([NONE; 3].map(str::to_owned), |heap| {
            [heap.kept, heap.peak, heap.allocations].map(figure)
        });
        report.row([case.name.to_owned(), kept, peak, figure(resident), allocations]);
    }
    report.note(format!("For {visitors} visitors, one after another; tables grow by doubling."));
    counting.excuse().into_iter().for_each(|excuse| report.note(excuse));
    Ok(report)
}

/// Each verb, with few visitors and with many.
pub(crate) const VERBS: Group = Group::new(
    "verbs",
    &[
        Case { name: "enter and be let in, 1 000 active", set_up: || enter(1_000) },
        Case { name: "enter and be let in, 100 000 active", set_up: || enter(100_000) },
        Case { name: "enter and get a first ticket, 100 000 in line", set_up: first_ticket },
        Case { name: "check_in, 1 000 in line", set_up: || check_in(1_000) },
        Case { name: "check_in, 100 000 in line", set_up: || check_in(100_000) },
        Case { name: "renew, 1 000 active", set_up: || renew(1_000) },
        Case { name: "renew, 100 000 active", set_up: || renew(100_000) },
    ],
);

/// A new visitor enters whenever a session lapses.
fn enter(active: u32) -> Repeat {
    let mut room = wide();
    let step = room.rules().timing().pass_lifetime() / active;
    let mut number = 0;
    let mut now = OPENING;
    let mut come = move || {
        now = now + step;
        number += 1;
        admit(&mut room, number, now)
    };
    for _ in 0..active {
        come();
    }
    repeated(come)
}

fn first_ticket() -> Repeat {
    let (mut room, _) = full(QueueingMethod::Fifo);
    line_up(&mut room, 100_000);
    let mut number = 1_000_000;
    let mut now = OPENING;
    repeated(move || {
        now = now + Duration::from_nanos(1);
        number += 1;
        room.enter(visitor(number), now)
    })
}

/// All visitors in line check in, one after another, about once in an interval each.
fn check_in(waiting: u32) -> Repeat {
    let (mut room, mut holder) = full(QueueingMethod::Fifo);
    let mut tickets = line_up(&mut room, waiting.into());
    let mut turn = 0;
    let mut now = OPENING;
    repeated(move || {
        now = now + INTERVAL / waiting;
        tickets[turn] = wait(&mut room, &tickets[turn], now);
        turn = (turn + 1) % tickets.len();
        if turn == 0
            && let Renewal::Renew(renewed) = room.renew(&holder, now)
        {
            holder = renewed;
        }
        tickets[turn]
    })
}

/// All active visitors renew their passes, one after another, as soon as they are due.
fn renew(active: u32) -> Repeat {
    let mut room = wide();
    let step = room.rules().timing().renew_after() / active;
    let mut passes: Vec<_> =
        (0..active).map(|number| admit(&mut room, number.into(), OPENING)).collect();
    let mut turn = 0;
    let mut now = OPENING;
    repeated(move || {
        now = now + step;
        let renewal = room.renew(&passes[turn], now);
        if let Renewal::Renew(renewed) = renewal {
            passes[turn] = renewed;
        }
        turn = (turn + 1) % passes.len();
        renewal
    })
}

fn repeated<T>(mut verb: impl FnMut() -> T + 'static) -> Repeat {
    Repeat::new(move |times| {
        for _ in 0..times {
            black_box(verb());
        }
    })
}

/// Active visitors, and visitors in line.
pub(crate) const MEMORY: Group = Group::new(
    "memory",
    &[
        Case { name: "an active visitor", set_up: active },
        Case { name: "a waiting visitor", set_up: waiting },
    ],
);

fn active() -> Repeat {
    Repeat::new(|visitors| {
        let mut room = wide();
        for number in 0..visitors {
            admit(&mut room, number, OPENING);
        }
        mem::forget(room);
    })
}

fn waiting() -> Repeat {
    Repeat::new(|visitors| {
        let (mut room, _) = full(QueueingMethod::Fifo);
        line_up(&mut room, visitors);
        mem::forget(room);
    })
}
