//! Bytes: of this process, and for each of many things that a case keeps.

use std::{
    env, fs,
    process::{self, Command},
};

use anyhow::{Context, Result, ensure};

use super::valgrind::{self, Counting};
use crate::case::Group;

/// How many bytes of this process are in memory.
pub(crate) fn resident_bytes() -> Result<u64> {
    resident_bytes_of(process::id())
}

/// How many bytes of a process are in memory.
pub(crate) fn resident_bytes_of(pid: u32) -> Result<u64> {
    let path = format!("/proc/{pid}/status");
    let status = fs::read_to_string(&path).with_context(|| path.clone())?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kibibytes = line.and_then(|line| line.trim().strip_suffix(" kB"));
    Ok(kibibytes.with_context(|| format!("no VmRSS in {path}"))?.parse::<u64>()? * 1_024)
}

/// What each of the things weighs that a case keeps.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Weight {
    /// Bytes that the process grows by.
    pub(crate) resident: f64,
    /// On the heap; `None` if it is not counted.
    pub(crate) heap: Option<HeapWeight>,
}

/// What a thing weighs on the heap.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HeapWeight {
    /// Bytes that are kept.
    pub(crate) kept: f64,
    /// Bytes at the worst time of the growth.
    pub(crate) peak: f64,
    /// Allocations over the growth.
    pub(crate) allocations: f64,
}

/// Weighs so many things against none, in child processes.
pub(crate) fn weigh(group: Group, case: &str, things: u64, counting: Counting) -> Result<Weight> {
    let each = |all: f64, none: f64| -> Result<f64> {
        Ok((all - none) / f64::from(u32::try_from(things)?))
    };
    let resident = each(resident(group, case, things)?, resident(group, case, 0)?)?;
    if counting.excuse().is_some() {
        return Ok(Weight { resident, heap: None });
    }
    let all = valgrind::dhat(group, case, things)?;
    let none = valgrind::dhat(group, case, 0)?;
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
