//! Runs a scenario under each of its policies.

use std::{io::IsTerminal, time::Duration};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use waiting_room_core::{
    ConfigError,
    time::{Clock, SystemClock},
};

use super::{clock::MINUTE, report::Report, scenario::Scenario, world::World};

/// Runs a scenario with this seed under each policy that it names, one after the other.
///
/// # Errors
///
/// A policy cannot obey one of the limits.
pub(crate) fn run(scenario: &Scenario, seed: u64) -> Result<Vec<Report>, ConfigError> {
    let minutes = u64::from(scenario.length_ms() / MINUTE);
    let bar = bar(minutes * scenario.policies.len() as u64);
    let clock = SystemClock::new();
    let mut reports = Vec::new();
    for &policy in &scenario.policies {
        bar.set_message(format!("{} {policy}", scenario.name));
        let began = clock.now();
        let report = World::new(scenario, policy, seed)?.run(seed, |_| bar.inc(1));
        eprintln!("{}", scale(&report, clock.now().since(began)));
        reports.push(report);
    }
    bar.finish_and_clear();
    Ok(reports)
}

/// The size of a run and the time that it took. They are not part of the report, which is the same
/// on every machine.
fn scale(report: &Report, took: Duration) -> String {
    let seconds = took.as_secs_f64();
    let rate = report.events as f64 / seconds.max(1e-9);
    let memory = peak_memory().map_or_else(String::new, |mib| format!(", {mib} MiB at most"));
    format!(
        "{} {}: {} events in {seconds:.1} s, {rate:.0} a second{memory}",
        report.scenario, report.policy, report.events,
    )
}

/// The peak memory of this process in MiB, if the system reports it.
fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.trim().strip_suffix(" kB")?.trim().parse().ok()?;
    Some(kib / 1_024)
}

/// A progress bar, which is hidden unless standard error is a terminal.
fn bar(length: u64) -> ProgressBar {
    let target = if std::io::stderr().is_terminal() {
        ProgressDrawTarget::stderr()
    } else {
        ProgressDrawTarget::hidden()
    };
    let style = ProgressStyle::with_template("{msg:24} {bar:40} {pos}/{len} min, {eta} left")
        .unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::with_draw_target(Some(length), target).with_style(style)
}
