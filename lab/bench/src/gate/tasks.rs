//! Permits for several tasks at once, each of which holds one while the others run.

use std::{hint::black_box, sync::Arc};

use tokio::{
    runtime::{Builder, Runtime},
    task::{JoinSet, yield_now},
};

use super::sources::{Acquire, ENOUGH, Nothing, Ours, Source, TimedAcquire, TryAcquire};
use crate::{
    case::{Case, Repeat},
    requests::runtime,
};

/// A number of tasks on a number of threads.
pub(super) struct Crowd {
    pub(super) threads: usize,
    pub(super) tasks: u32,
    /// Without a permit, with ours, and with tokio's, in the order of the columns.
    pub(super) cases: [Case; 5],
}

pub(super) const CROWDS: [Crowd; 10] = [
    crowd::<1, 1>(),
    crowd::<1, 2>(),
    crowd::<1, 4>(),
    crowd::<1, 8>(),
    crowd::<1, 16>(),
    crowd::<2, 1>(),
    crowd::<2, 2>(),
    crowd::<2, 4>(),
    crowd::<2, 8>(),
    crowd::<2, 16>(),
];

const fn crowd<const THREADS: usize, const TASKS: u32>() -> Crowd {
    let cases = [
        Case { name: "no permit", set_up: enough::<Nothing, THREADS, TASKS> },
        Case { name: "Gate", set_up: enough::<Ours, THREADS, TASKS> },
        Case { name: "try_acquire_owned", set_up: enough::<TryAcquire, THREADS, TASKS> },
        Case { name: "acquire_owned", set_up: enough::<Acquire, THREADS, TASKS> },
        Case { name: "timeout(acquire_owned)", set_up: enough::<TimedAcquire, THREADS, TASKS> },
    ];
    Crowd { threads: THREADS, tasks: TASKS, cases }
}

/// The tasks take their permits in turn.
fn enough<S: Source, const THREADS: usize, const TASKS: u32>() -> Repeat {
    let source = Arc::new(S::of(ENOUGH));
    let runtime = on(THREADS);
    Repeat::new(move |times| {
        let each = times.div_ceil(u64::from(TASKS));
        runtime.block_on(async {
            let mut crowd = JoinSet::new();
            for _ in 0..TASKS {
                let source = Arc::clone(&source);
                crowd.spawn(async move {
                    for _ in 0..each {
                        let permit = source.take().await;
                        yield_now().await;
                        drop(black_box(permit));
                    }
                });
            }
            crowd.join_all().await;
        });
    })
}

/// Creates a runtime on this many threads.
pub(super) fn on(threads: usize) -> Runtime {
    if threads == 1 {
        return runtime();
    }
    let mut many = Builder::new_multi_thread();
    many.worker_threads(threads).enable_all().build().expect("the machine has what it needs")
}
