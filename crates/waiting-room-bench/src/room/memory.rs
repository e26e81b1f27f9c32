//! Visitors to be weighed: each repetition is one more in a room that stays in memory.

use std::mem;

use super::visitors::{OPENING, admit, full, line_up, wide};
use crate::case::{Case, Group, Repeat};

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
