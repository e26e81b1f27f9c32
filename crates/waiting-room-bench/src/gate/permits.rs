//! A permit that nobody else wants: to get it, and to give it back.

use std::hint::black_box;

use waiting_room_core::{Arrival, Discipline, Entry};

use super::sources::{Acquire, ENOUGH, Ours, Source, TimedAcquire, TryAcquire, gate, semaphore};
use crate::{
    case::{Case, Group, Repeat},
    setting::runtime,
};

/// Ours, and tokio's.
pub(crate) const PERMITS: Group = Group::new(
    "permits",
    &[
        Case { name: "Gate, the time given", set_up: the_time_given },
        Case { name: "Gate, its clock read", set_up: of::<Ours> },
        Case { name: "Semaphore, try_acquire", set_up: borrowed },
        Case { name: "Semaphore, try_acquire_owned", set_up: of::<TryAcquire> },
        Case { name: "Semaphore, acquire_owned", set_up: of::<Acquire> },
        Case { name: "Semaphore, timeout(acquire_owned)", set_up: of::<TimedAcquire> },
    ],
);

fn of<S: Source>() -> Repeat {
    let (source, runtime) = (S::of(ENOUGH), runtime());
    Repeat::new(move |times| {
        runtime.block_on(async {
            for _ in 0..times {
                drop(black_box(source.take().await));
            }
        });
    })
}

fn the_time_given() -> Repeat {
    let gate = gate(ENOUGH, Discipline::default());
    let now = gate.now();
    Repeat::new(move |times| {
        for _ in 0..times {
            let entry = gate.enter(black_box(Arrival::default()), now);
            let is_admitted = matches!(black_box(&entry), Entry::Admitted(_));
            assert!(is_admitted, "the case measures something else");
        }
    })
}

fn borrowed() -> Repeat {
    let semaphore = semaphore(ENOUGH);
    Repeat::new(move |times| {
        for _ in 0..times {
            let permit = semaphore.try_acquire();
            assert!(black_box(&permit).is_ok(), "the case measures something else");
        }
    })
}
