//! The verbs of a room in a steady state: as many come as go, and everybody is on time.

use std::{hint::black_box, time::Duration};

use waiting_room_core::Renewal;

use super::visitors::{INTERVAL, OPENING, admit, full, line_up, visitor, wait, wide};
use crate::case::{Case, Group, Repeat};

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
