//! One permit that is taken and given back: uncontended, and with many waiting tasks.

use std::{
    future::{Future, poll_fn},
    hint::black_box,
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    task::Poll,
};

use tokio::{
    runtime::{Builder, Runtime},
    task::{JoinSet, yield_now},
};
use waiting_room_core::gate::{Arrival, Discipline, Entry};

use super::sources::{
    Acquire, ENOUGH, Ours, OursFifo, Source, TimedAcquire, TryAcquire, gate, semaphore,
};
use crate::{
    case::{Case, Figures, Group, Repeat},
    requests::runtime,
};

/// Permits of our gate, and of tokio's semaphore.
pub(crate) const PERMITS: Group = Group::new(
    "permits",
    "Taking and giving back an uncontended permit",
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
    let source = S::of(ENOUGH);
    let runtime = runtime();
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

/// A contended permit, with all tasks on one thread.
pub(crate) const HANDED_ON: Group =
    Group::new("handed-on", "A permit that 256 tasks hand on to each other", &cases::<1>());
/// A contended permit, with the tasks on two threads.
pub(crate) const ON_TWO_THREADS: Group = Group::new(
    "handed-on-by-two-threads",
    "A permit that 256 tasks on two threads hand on to each other",
    &cases::<2>(),
)
.showing(Figures::WallTimes);

const fn cases<const THREADS: usize>() -> [Case; 4] {
    [
        Case { name: "Semaphore, acquire_owned", set_up: || handed_on::<Acquire>(THREADS) },
        Case {
            name: "Semaphore, timeout(acquire_owned)",
            set_up: || handed_on::<TimedAcquire>(THREADS),
        },
        Case { name: "Gate", set_up: || handed_on::<Ours>(THREADS) },
        Case { name: "Gate, Fifo", set_up: || handed_on::<OursFifo>(THREADS) },
    ]
}

/// Each task takes the permit, gives it back at once, and waits again; all of them equally often.
fn handed_on<S: Source>(threads: usize) -> Repeat {
    let source = Arc::new(S::of(1));
    let runtime = on(threads);
    Repeat::new(move |times| {
        let each = times.div_ceil(u64::from(WAITING));
        runtime.block_on(async {
            let first = source.take().await;
            let mut crowd = JoinSet::new();
            let waiting = Arc::new(AtomicU32::new(0));
            for _ in 0..WAITING {
                let source = Arc::clone(&source);
                let waiting = Arc::clone(&waiting);
                crowd.spawn(async move {
                    drop(black_box(counted(source.take(), &waiting).await));
                    for _ in 1..each {
                        drop(black_box(source.take().await));
                    }
                });
            }
            // All tasks wait in the queue before the first permit is handed on.
            while waiting.load(Ordering::Relaxed) < WAITING {
                yield_now().await;
            }
            drop(first);
            crowd.join_all().await;
        });
    })
}

/// Creates a runtime on this many threads.
fn on(threads: usize) -> Runtime {
    if threads == 1 {
        return runtime();
    }
    let mut many = Builder::new_multi_thread();
    many.worker_threads(threads).enable_all().build().expect("the machine has what it needs")
}

/// Counts a task once it is in the queue.
async fn counted<T>(take: impl Future<Output = T>, waiting: &AtomicU32) -> T {
    let mut take = pin!(take);
    let at_once = poll_fn(|cx| Poll::Ready(take.as_mut().poll(cx))).await;
    assert!(at_once.is_pending(), "the case measures something else");
    waiting.fetch_add(1, Ordering::Relaxed);
    take.await
}

const WAITING: u32 = 256;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_uncontended_permit_allocates_nothing() {
        assert!(PERMITS.cases()[..2].iter().all(|case| case.allocations() == 0));
    }
}
