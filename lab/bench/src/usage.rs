//! Resources of processes: CPU time, cores, memory and open connections.

use std::{
    env, fs, io,
    process::{self, Command},
    thread,
    time::Duration,
};

use anyhow::{Context, Result, ensure};
use rustix::{
    process::{Resource, Rlimit, getrlimit, setrlimit},
    thread::{CpuSet, sched_setaffinity},
    time::{ClockId, clock_gettime},
};

use crate::{
    case::Group,
    valgrind::{Counting, dhat},
};

/// The CPU time of this thread.
pub(crate) fn thread_cpu_time() -> Duration {
    let spent = clock_gettime(ClockId::ThreadCPUTime);
    Duration::try_from(spent).expect("a thread has not run for less than no time")
}

/// The monotonic clock of the machine, for work of several threads.
pub(crate) fn wall_time() -> Duration {
    let since_start = clock_gettime(ClockId::Monotonic);
    Duration::try_from(since_start).expect("a machine has not run for less than no time")
}

/// The CPU time of the main thread of another process.
///
/// The kernel updates it when the thread is scheduled, so it is accurate to a few milliseconds.
pub(crate) fn process_cpu_time(pid: u32) -> Result<Duration> {
    schedstat(pid, 0)
}

/// The time in which the main thread of another process had work and no core.
pub(crate) fn process_wait_time(pid: u32) -> Result<Duration> {
    schedstat(pid, 1)
}

/// A time of the statistics of the kernel's scheduler.
fn schedstat(pid: u32, place: usize) -> Result<Duration> {
    let path = format!("/proc/{pid}/schedstat");
    let text = fs::read_to_string(&path).with_context(|| path.clone())?;
    let nanos = text.split(' ').nth(place).and_then(|field| field.parse().ok()).context(path)?;
    Ok(Duration::from_nanos(nanos))
}

/// Pins this thread, and every process that it starts, to a core. Does nothing if the machine does
/// not have that core.
pub(crate) fn pin_to(core: usize) -> io::Result<()> {
    if thread::available_parallelism()?.get() > core {
        let mut cores = CpuSet::new();
        cores.set(core);
        sched_setaffinity(None, &cores)?;
    }
    Ok(())
}

/// Raises the number of open connections of this process and its children to the maximum of the
/// machine.
pub(crate) fn allow_many_connections() -> io::Result<()> {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    Ok(setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum })?)
}

/// The resident bytes of this process.
pub(crate) fn resident_bytes() -> Result<u64> {
    resident_bytes_of(process::id())
}

/// The resident bytes of a process.
pub(crate) fn resident_bytes_of(pid: u32) -> Result<u64> {
    let path = format!("/proc/{pid}/status");
    let status = fs::read_to_string(&path).with_context(|| path.clone())?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kibibytes = line.and_then(|line| line.trim().strip_suffix(" kB"));
    Ok(kibibytes.with_context(|| format!("no VmRSS in {path}"))?.parse::<u64>()? * 1_024)
}

/// The memory of each of the items that a case keeps.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Weight {
    /// The bytes by which the process grows.
    pub(crate) resident: f64,
    /// The memory on the heap; `None` if it is not counted.
    pub(crate) heap: Option<HeapWeight>,
}

/// The memory of an item on the heap.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HeapWeight {
    /// The bytes that stay allocated.
    pub(crate) kept: f64,
    /// The bytes at the peak of the growth.
    pub(crate) peak: f64,
    /// The allocations during the growth.
    pub(crate) allocations: f64,
}

/// Weighs a number of items against none, in child processes.
pub(crate) fn weigh(group: Group, case: &str, things: u64, counting: Counting) -> Result<Weight> {
    let each = |all: f64, none: f64| -> Result<f64> {
        Ok((all - none) / f64::from(u32::try_from(things)?))
    };
    let resident = each(resident(group, case, things)?, resident(group, case, 0)?)?;
    if counting.excuse().is_some() {
        return Ok(Weight { resident, heap: None });
    }
    let all = dhat(group, case, things)?;
    let none = dhat(group, case, 0)?;
    let heap = HeapWeight {
        kept: each(all.end[0], none.end[0])?,
        peak: each(all.peak[0], none.peak[0])?,
        allocations: each(all.total[1], none.total[1])?,
    };
    Ok(Weight { resident, heap: Some(heap) })
}

fn resident(group: Group, case: &str, things: u64) -> Result<f64> {
    let output = Command::new(env::current_exe()?)
        .args(["repeat", group.name(), case, "0", &things.to_string()])
        .output()?;
    ensure!(output.status.success(), "{case:?}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8(output.stdout)?.trim().parse()?)
}
