//! The cost of a room's verbs in a steady state, and the memory of a visitor.

use std::{hint::black_box, mem, time::Duration};

use anyhow::Result;
use waiting_room_core::{
    Pass, Room, RoomRules, Ticket, Timestamp, Verdict, VisitorId, room::Renewal,
};

use crate::{
    case::{Case, Group, Repeat},
    effort::Effort,
    figure::{NONE, figure},
    report::Report,
    usage::{Weight, weigh},
    valgrind::Counting,
};

/// Measures, and prints.
pub(crate) fn run(effort: Effort, counting: Counting) -> Result<()> {
    println!("{}", verbs(effort, counting)?);
    println!("{}", memory(effort, counting)?);
    Ok(())
}

fn verbs(effort: Effort, counting: Counting) -> Result<Report> {
    let columns = ["verb", "ns/op", "min..max", "instr/op", "allocs/op", "bytes/op"];
    let mut report = Report::new("The verbs of a room", "room", effort, &columns);
    report.costs(VERBS, effort, counting)?;
    report
        .note("Without the lock of the store, and with the time given: what the lock is held for.");
    Ok(report)
}

fn memory(effort: Effort, counting: Counting) -> Result<Report> {
    let columns = ["what", "heap bytes", "at the worst", "resident bytes", "allocations"];
    let mut report = Report::new("What a visitor weighs", "room", effort, &columns);
    let visitors = effort.crowd();
    for case in MEMORY.cases() {
        let Weight { resident, heap } = weigh(MEMORY, case.name, visitors, counting)?;
        let [kept, peak, allocations] = heap.map_or([NONE; 3].map(str::to_owned), |heap| {
            [heap.kept, heap.peak, heap.allocations].map(figure)
        });
        report.row([case.name.to_owned(), kept, peak, figure(resident), allocations]);
    }
    report.note(format!("Of {visitors} that came one after another; tables grow by doubling."));
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

/// One visitor comes as one session lapses.
fn enter(active: u32) -> Repeat {
    let mut room = wide();
    let step = room.rules().pass_lifetime() / active;
    let (mut number, mut now) = (0, OPENING);
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
    let (mut room, _) = full();
    line_up(&mut room, 100_000);
    let (mut number, mut now) = (1_000_000, OPENING);
    repeated(move || {
        now = now + Duration::from_nanos(1);
        number += 1;
        room.enter(visitor(number), now)
    })
}

/// Everybody in line checks in in turn, about once in an interval.
fn check_in(waiting: u32) -> Repeat {
    let (mut room, mut holder) = full();
    let mut tickets = line_up(&mut room, waiting.into());
    let (mut turn, mut now) = (0, OPENING);
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

/// Everybody inside renews in turn, as soon as it is due.
fn renew(active: u32) -> Repeat {
    let mut room = wide();
    let step = room.rules().renew_after() / active;
    let mut passes: Vec<_> =
        (0..active).map(|number| admit(&mut room, number.into(), OPENING)).collect();
    let (mut turn, mut now) = (0, OPENING);
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

/// Visitors inside, and visitors in line.
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
        let (mut room, _) = full();
        line_up(&mut room, visitors);
        mem::forget(room);
    })
}

/// When the first visitor comes.
const OPENING: Timestamp = Timestamp::from_secs(1_700_000_000);

/// How often a visitor in a long line checks in.
const INTERVAL: Duration = Duration::from_secs(20);

/// A visitor with bits that look random: multiples of an odd number.
fn visitor(number: u64) -> VisitorId {
    VisitorId::new((u128::from(number) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835))
}

/// A room with sessions of five minutes and room for everybody.
fn wide() -> Room {
    Room::new(RoomRules::new("shop", RoomRules::MAX_USERS)).expect("the rules are right")
}

/// A room whose only slot is taken for a day, and the pass of who has it.
fn full() -> (Room, Pass) {
    let rules = RoomRules::new("shop", 1)
        .with_session_duration(Duration::from_secs(24 * 60 * 60))
        .with_line_capacity(RoomRules::MAX_LINE_CAPACITY)
        .with_refresh_interval(INTERVAL);
    let mut room = Room::new(rules).expect("the rules are right");
    let pass = admit(&mut room, u64::MAX, OPENING);
    (room, pass)
}

/// Lets a visitor into a room that has a slot.
fn admit(room: &mut Room, number: u64, now: Timestamp) -> Pass {
    match room.enter(visitor(number), now) {
        Verdict::Admit { pass, .. } => pass,
        verdict => unreachable!("the room has a slot: {verdict:?}"),
    }
}

/// Has a visitor check in where there is no slot.
fn wait(room: &mut Room, ticket: &Ticket, now: Timestamp) -> Ticket {
    match room.check_in(ticket, now) {
        Verdict::Wait { ticket, .. } => ticket,
        verdict => unreachable!("the room is full: {verdict:?}"),
    }
}

/// Has so many visitors stand in line, all at the opening.
fn line_up(room: &mut Room, count: u64) -> Vec<Ticket> {
    let mut stand = |number| {
        let first = Ticket::new(visitor(number), OPENING, OPENING, OPENING);
        wait(room, &first, OPENING)
    };
    (0..count).map(&mut stand).collect()
}
