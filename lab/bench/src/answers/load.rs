//! A closed-loop load from another core, by hyper or by the `wrk` program.

use std::{process::Command, thread, time::Duration};

use anyhow::{Context, Result, ensure};
use clap::ValueEnum;

use super::{
    client,
    targets::{Load, Target},
};
use crate::usage::pin_to;

/// A load generator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LoadKind {
    /// hyper in this process. It needs more CPU time than the server, so the figures depend on it
    /// as much as on the server.
    Hyper,
    /// The `wrk` program.
    Wrk,
}

impl LoadKind {
    /// Returns wrk if it is installed, and hyper otherwise.
    pub(super) fn best() -> Self {
        if is_wrk_installed() { Self::Wrk } else { Self::Hyper }
    }

    /// Sends requests to a target for the given time.
    pub(super) fn run(self, target: &Target, duration: Duration) -> Result<Load> {
        thread::scope(|scope| {
            let load = scope.spawn(|| {
                pin_to(1)?;
                match self {
                    Self::Hyper => client::run(target, duration, CONNECTIONS),
                    Self::Wrk => run_wrk(target, duration, CONNECTIONS),
                }
            });
            load.join().expect("a load that fails returns an error")
        })
    }
}

/// The number of connections, each of which has one request at a time.
pub(super) const CONNECTIONS: usize = 32;

pub(super) fn is_wrk_installed() -> bool {
    // `wrk --version` prints the version but exits with an error, so only the start is checked.
    Command::new("wrk").arg("--version").output().is_ok()
}

pub(super) fn run_wrk(target: &Target, duration: Duration, connections: usize) -> Result<Load> {
    let seconds = duration.as_secs().max(1);
    let mut wrk = Command::new("wrk");
    wrk.args(["--threads", "1", "--latency"]);
    wrk.args(["--connections", &connections.to_string(), "--duration", &format!("{seconds}s")]);
    for (name, value) in &target.headers {
        wrk.args(["--header", &format!("{name}: {value}")]);
    }
    let output = wrk.arg(format!("http://127.0.0.1:{}/", target.port)).output()?;
    let said = String::from_utf8_lossy(&output.stdout);
    ensure!(output.status.success(), "wrk: {}: {said}", output.status);
    ensure!(!said.contains("Socket errors"), "wrk met errors: {said}");
    parse(&said).with_context(|| format!("wrk said: {said}"))
}

fn parse(said: &str) -> Option<Load> {
    let words = |is_it: &dyn Fn(&str) -> bool| {
        let line = said.lines().map(str::trim).find(|line| is_it(line))?;
        Some(line.split_ascii_whitespace().collect::<Vec<_>>())
    };
    let after = |label: &str| words(&|line| line.starts_with(label))?.get(1).copied();
    Some(Load {
        requests: words(&|line| line.contains(" requests in "))?.first()?.parse().ok()?,
        per_second: after("Requests/sec:")?.parse().ok()?,
        p50_ms: millis(after("50%")?)?,
        p99_ms: millis(after("99%")?)?,
    })
}

/// `232.00us`, `1.64ms`, `2.00s`.
fn millis(text: &str) -> Option<f64> {
    let units = [("us", 1e-3), ("ms", 1.0), ("s", 1e3)];
    units
        .into_iter()
        .find_map(|(unit, scale)| Some(text.strip_suffix(unit)?.parse::<f64>().ok()? * scale))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_output_of_wrk_is_parsed() {
        let said = "Running 1s test @ http://127.0.0.1:8080/\n  1 threads and 32 connections\n\
            Thread Stats   Avg      Stdev     Max   +/- Stdev\n    \
            Latency   263.47us  122.52us   3.86ms   92.62%\n    \
            Req/Sec     2.63k     2.54k    7.70k    87.50%\n  Latency Distribution\n     \
            50%  232.00us\n     75%  290.00us\n     90%  350.00us\n     99%    1.64ms\n  \
            122390 requests in 1.01s, 15.64MB read\n  Non-2xx or 3xx responses: 122390\n\
            Requests/sec: 121178.20\nTransfer/sec:     15.49MB\n";
        let load = Load { requests: 122_390.0, per_second: 121_178.2, p50_ms: 0.232, p99_ms: 1.64 };
        assert_eq!(parse(said), Some(load));
    }
}
