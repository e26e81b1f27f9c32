//! CPU time: of a thread, of this process, and of everything else on the machine.
//!
//! Only the time of this process is judged. The rest of the machine is reported beside it, because
//! it explains why a process gets less.

use std::{fs, time::Duration};

use rustix::{
    param::clock_ticks_per_second,
    time::{ClockId, clock_gettime},
};
use tokio::time::Instant;

/// The CPU time of this thread.
pub(crate) fn of_thread() -> Duration {
    read(ClockId::ThreadCPUTime)
}

/// The CPU time of all threads of this process, in nanoseconds. `/proc/self/stat` reports it only
/// in hundredths of a second.
fn of_process() -> Duration {
    read(ClockId::ProcessCPUTime)
}

fn read(clock: ClockId) -> Duration {
    Duration::try_from(clock_gettime(clock)).expect("nothing has run for less than no time")
}

/// The time for which the cores of this machine have been busy, if the system reports it.
fn of_machine() -> Option<Duration> {
    busy(&fs::read_to_string("/proc/stat").ok()?, clock_ticks_per_second())
}

/// The busy time in the first line of `/proc/stat`. The line counts the ticks of user, nice,
/// system, idle, iowait, irq, softirq and steal, and of guests, which user includes. Steal counts
/// as busy: another virtual machine had the core.
fn busy(stat: &str, ticks_per_second: u64) -> Option<Duration> {
    let fields = stat.lines().next()?.strip_prefix("cpu ")?;
    let ticks: Vec<u64> =
        fields.split_whitespace().take(8).map(str::parse).collect::<Result<_, _>>().ok()?;
    let [user, nice, system, _idle, _iowait, irq, softirq, steal] = ticks[..] else { return None };
    let busy = user + nice + system + irq + softirq + steal;
    let per_tick = 1_000_000_000_u64.checked_div(ticks_per_second)?;
    Some(Duration::from_nanos(busy.checked_mul(per_tick)?))
}

/// Measures the share of all cores that was used since the last reading.
#[derive(Debug)]
pub(crate) struct Meter {
    cores: u32,
    at: Instant,
    process: Duration,
    machine: Option<Duration>,
}

/// Shares of all cores together, in percent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Used {
    /// The length of the period.
    pub(crate) over: Duration,
    /// The share of this process.
    pub(crate) server: f64,
    /// The share of all other processes, if the system reports it.
    pub(crate) others: Option<f64>,
}

impl Meter {
    /// Starts a measurement.
    pub(crate) fn start(cores: u32) -> Self {
        Self { cores, at: Instant::now(), process: of_process(), machine: of_machine() }
    }

    /// Returns what was used since the last reading, and starts the next period.
    pub(crate) fn read(&mut self) -> Used {
        let now = Self::start(self.cores);
        let over = now.at - self.at;
        let process = now.process.saturating_sub(self.process);
        let machine = now.machine.zip(self.machine);
        let others = machine.map(|(now, then)| now.saturating_sub(then).saturating_sub(process));
        let percent = |cpu| percent(cpu, over, self.cores);
        let used = Used { over, server: percent(process), others: others.map(percent) };
        *self = now;
        used
    }
}

fn percent(cpu: Duration, over: Duration, cores: u32) -> f64 {
    if over.is_zero() {
        0.0
    } else {
        100.0 * cpu.as_secs_f64() / (over.as_secs_f64() * f64::from(cores))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_that_is_neither_idle_nor_io_wait_is_busy() {
        let stat = "cpu  100 20 30 9000 800 4 5 6 100 0\ncpu0 1 2 3 4 5 6 7 8 9 0\n";
        assert_eq!(busy(stat, 100), Some(Duration::from_millis(1_650)));
        assert_eq!(busy(stat, 1_000), Some(Duration::from_millis(165)));
    }

    #[test]
    fn other_lines_are_ignored() {
        for stat in ["", "cpu0 1 2 3 4 5 6 7 8", "cpu  1 2 3 4 5 6 7", "cpu  1 2 3 4 5 6 7 -8"] {
            assert_eq!(busy(stat, 100), None, "{stat:?}");
        }
        assert_eq!(busy("cpu  1 2 3 4 5 6 7 8", 0), None);
    }

    #[test]
    fn two_cores_are_a_hundred_percent_together() {
        let second = Duration::from_secs(1);
        let of = |cpu: u64| percent(Duration::from_millis(cpu), second, 2).round().to_bits();
        assert_eq!(of(2_000), 100.0_f64.to_bits());
        assert_eq!(of(1_400), 70.0_f64.to_bits());
        assert_eq!(percent(second, Duration::ZERO, 2).to_bits(), 0.0_f64.to_bits());
    }

    #[test]
    fn a_computing_process_is_measured_as_busy() {
        let process = of_process();
        let thread = of_thread();
        while of_thread() < thread + Duration::from_millis(5) {}
        assert!(of_process() >= process + Duration::from_millis(5));
    }
}
