//! One permit that many tasks wait for: each time it is given back, another gets it.

use super::{
    sources::{Acquire, Ours, OursFifo, Source, TimedAcquire},
    tasks::crowded,
};
use crate::case::{Case, Repeat};

/// With all of them on one thread.
pub(crate) const ON_ONE_THREAD: &[Case] = &cases::<1>();
/// With the tasks on two threads.
pub(super) const ON_TWO_THREADS: &[Case] = &cases::<2>();

const fn cases<const THREADS: usize>() -> [Case; 4] {
    [
        Case { name: "Semaphore, acquire_owned", set_up: one::<Acquire, THREADS> },
        Case { name: "Semaphore, timeout(acquire_owned)", set_up: one::<TimedAcquire, THREADS> },
        Case { name: "Gate", set_up: one::<Ours, THREADS> },
        Case { name: "Gate, Fifo", set_up: one::<OursFifo, THREADS> },
    ]
}

fn one<S: Source, const THREADS: usize>() -> Repeat {
    crowded::<S>(1, THREADS, WAITING)
}

pub(super) const WAITING: u32 = 256;
