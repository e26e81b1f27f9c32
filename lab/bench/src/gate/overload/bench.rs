//! The tables of overload: each gate at each load, compared with the capacity of the service in the
//! same run.

use anyhow::Result;

use super::{
    contender::Contender,
    found::Found,
    haproxy::Haproxy,
    load::{PATIENCE, closed_loop, open_loop},
    server::Server,
    work::Work,
};
use crate::{
    effort::Effort,
    figure::{Bar, NONE, figure},
    report::Report,
    usage::allow_many_connections,
};

/// Measures every load, and prints the tables.
pub(in crate::gate) fn run(effort: Effort) -> Result<()> {
    allow_many_connections()?;
    for times in effort.overloads() {
        println!("{}", overload(Work::Sleeps, *times, effort)?);
    }
    if effort != Effort::Quick {
        println!("{}", overload(Work::Stops, TWICE, effort)?);
        println!("{}", overload(Work::Spins, TWICE, effort)?);
    }
    Ok(())
}

/// Measures every gate at a load of `times` the capacity of the service.
fn overload(work: Work, times: f64, effort: Effort) -> Result<Report> {
    let capacity = capacity(work, effort)?;
    let title = format!("A load of {times} times the capacity: {}", described(work));
    let mut report = Report::new(&title, "gate", effort, &COLUMNS);
    let mut late_millis: f64 = 0.0;
    let is_installed = Haproxy::is_installed();
    for contender in Contender::ALL {
        if contender.haproxy_queue().is_some() && !is_installed {
            continue;
        }
        let server = Server::start(contender, work)?;
        let found = open_loop(server.port(), times * capacity, effort.overload(), SEED)?;
        late_millis = late_millis.max(found.late_millis(99));
        row(&mut report, contender, times, 100.0 * found.per_second() / capacity, &found);
    }
    report.note(format!(
        "Poisson arrivals, seed {SEED}; each client leaves {} ms after its intended arrival. \
         Goodput: answers 200 until then, in percent of the {} per second that 64 clients in a \
         closed loop get without a gate (the nominal capacity of the service is {}).",
        PATIENCE.as_millis(),
        figure(capacity),
        figure(work.nominal_capacity()),
    ));
    report.note(format!(
        "Times are those of the answers 200, from the intended arrival of the request; 99 % of the \
         requests were sent within {} ms of that.",
        figure(late_millis),
    ));
    if !is_installed {
        report.note("HAProxy is not installed.");
    }
    Ok(report)
}

/// Measures how many requests per second the service completes when it is never idle.
fn capacity(work: Work, effort: Effort) -> Result<f64> {
    let server = Server::start(Contender::Nothing, work)?;
    let (warm_up, measured) = effort.overload();
    closed_loop(server.port(), 64, (warm_up / 4, measured))
}

fn row(report: &mut Report, contender: Contender, times: f64, goodput: f64, found: &Found) {
    let has_bar = contender == Contender::Ours && times >= TWICE;
    let bar = has_bar.then(|| Bar::at_least("goodput", 97.0, goodput).to_string());
    // At half its capacity the service needs no gate. If it fails then, the load generator or the
    // service is not reliable.
    let has_check = contender == Contender::Nothing && times < 0.75;
    let check =
        has_check.then(|| Bar::at_least("served", 99.0, found.percent_served()).to_string());
    report.row([
        contender.name().to_owned(),
        figure(goodput),
        figure(found.millis(50)),
        figure(found.millis(99)),
        figure(found.percent(found.refused)),
        figure(found.percent(found.gone)),
        figure(found.percent(found.failed)),
        bar.or(check).unwrap_or_else(|| NONE.to_owned()),
    ]);
}

const fn described(work: Work) -> &'static str {
    match work {
        Work::Never => "a service that never answers",
        Work::Sleeps => "16 at a time, 20 ms each, done to the end",
        Work::Spins => "one at a time computes, 2.5 ms each",
        Work::Stops => "16 at a time, 20 ms each, ended with the client",
    }
}

const COLUMNS: [&str; 8] =
    ["gate", "goodput %", "p50 ms", "p99 ms", "refused %", "gone %", "failed %", "bar"];

const TWICE: f64 = 2.0;
const SEED: u64 = 1;
