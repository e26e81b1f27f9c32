//! CPU time, and which core to spend it on.

use std::{fs, io, thread, time::Duration};

use anyhow::{Context, Result};
use rustix::{
    thread::{CpuSet, sched_setaffinity},
    time::{ClockId, clock_gettime},
};

/// How long this thread has run.
pub(crate) fn thread_cpu_time() -> Duration {
    let spent = clock_gettime(ClockId::ThreadCPUTime);
    Duration::try_from(spent).expect("a thread has not run for less than no time")
}

/// A clock of the whole machine, for what several threads do together.
pub(super) fn wall_time() -> Duration {
    let since_start = clock_gettime(ClockId::Monotonic);
    Duration::try_from(since_start).expect("a machine has not run for less than no time")
}

/// How long the main thread of another process has run.
///
/// The kernel brings the figure up to date when the thread is scheduled: good to a few
/// milliseconds.
pub(crate) fn process_cpu_time(pid: u32) -> Result<Duration> {
    let path = format!("/proc/{pid}/schedstat");
    let text = fs::read_to_string(&path).with_context(|| path.clone())?;
    let nanos = text.split(' ').next().and_then(|field| field.parse().ok()).context(path)?;
    Ok(Duration::from_nanos(nanos))
}

/// Keeps this thread, and every process that it starts, on one core; if there is only one, does
/// nothing.
pub(crate) fn pin_to(core: usize) -> io::Result<()> {
    if thread::available_parallelism()?.get() > core {
        let mut cores = CpuSet::new();
        cores.set(core);
        sched_setaffinity(None, &cores)?;
    }
    Ok(())
}
