//! The two tables: answers over loopback, compared with the bare application, and answers without a
//! network.

use std::time::Duration;

use anyhow::Result;

use super::{
    client,
    load::{CONNECTIONS, LoadKind},
    rooms::ALONE,
    server::{Address, Server},
    targets::{Target, refusals, targets},
};
use crate::{
    effort::Effort,
    figure::{Bar, NONE, figure, spread},
    report::Report,
    rounds::Samples,
    valgrind::Counting,
};

/// Measures the answers, and prints the tables.
pub(crate) fn run(effort: Effort, counting: Counting, load: Option<LoadKind>) -> Result<()> {
    let title = "Answers over loopback, a server on one core";
    let mut report = over_loopback(title, "answers", targets, effort, load)?;
    report.note("Ready-made: an application that sends a copy of the answer to an early ticket.");
    println!("{report}");
    alone(effort, counting)
}

/// Measures the refusals, and prints the table.
pub(crate) fn run_refusals(effort: Effort, load: Option<LoadKind>) -> Result<()> {
    let title = "Refusals over loopback, a server on one core";
    println!("{}", over_loopback(title, "limits", refusals, effort, load)?);
    Ok(())
}

fn over_loopback(
    title: &str,
    what: &str,
    targets: fn(&Address) -> Vec<Target>,
    effort: Effort,
    load: Option<LoadKind>,
) -> Result<Report> {
    let load = load.unwrap_or_else(LoadKind::best);
    let server = Server::start()?;
    let targets = targets(&server.address);
    targets.iter().try_for_each(client::check)?;
    let mut found = vec![Found::default(); targets.len()];
    for _ in 0..effort.load_rounds() {
        for (target, found) in targets.iter().zip(&mut found) {
            found.round(&server, target, load, effort.load())?;
        }
    }
    let mut report = Report::new(title, what, effort, &COLUMNS);
    fill(&mut report, &targets, &found, load);
    Ok(report)
}

fn alone(effort: Effort, counting: Counting) -> Result<()> {
    let columns = ["answer", "ns/op", "min..max", "instr/op", "allocs/op", "bytes/op"];
    let mut report = Report::new("Answers without a network", "answers", effort, &columns);
    report.costs(ALONE, effort, counting)?;
    report.note("The time of the layer and of the request, as in the tables of `pass`.");
    println!("{report}");
    Ok(())
}

/// The samples of one target.
#[derive(Clone, Debug, Default)]
struct Found {
    per_second: Samples,
    p50_ms: Samples,
    p99_ms: Samples,
    cpu_us: Samples,
}

impl Found {
    fn round(
        &mut self,
        server: &Server,
        target: &Target,
        load: LoadKind,
        duration: Duration,
    ) -> Result<()> {
        let before = server.cpu_time()?;
        let load = load.run(target, duration)?;
        let spent = server.cpu_time()?.saturating_sub(before);
        self.per_second.push(load.per_second);
        self.p50_ms.push(load.p50_ms);
        self.p99_ms.push(load.p99_ms);
        self.cpu_us.push(spent.as_secs_f64() * 1e6 / load.requests);
        Ok(())
    }
}

fn fill(report: &mut Report, targets: &[Target], found: &[Found], load: LoadKind) {
    for (target, this) in targets.iter().zip(found) {
        let ratio = this.per_second.ratio_to(&found[0].per_second);
        let by_cpu = found[0].cpu_us.ratio_to(&this.cpu_us).median();
        let bar = target.bar.map(|limit| Bar::at_least("ratio by CPU", limit, by_cpu));
        report.row([
            target.name.to_owned(),
            spread(&this.per_second),
            spread(&ratio),
            figure(this.p50_ms.median()),
            figure(this.p99_ms.median()),
            spread(&this.cpu_us),
            figure(by_cpu),
            bar.map_or(NONE.to_owned(), |bar| bar.to_string()),
        ]);
    }
    report.note(format!(
        "{CONNECTIONS} connections, kept alive; {}",
        match load {
            LoadKind::Hyper => {
                "requests by hyper in this process. It is as slow as the server, so the CPU time \
                 is more meaningful than the requests per second."
            }
            LoadKind::Wrk => "requests by wrk, one thread on the other core.",
        }
    ));
    report.note("If other work runs on the machine, the ratio by CPU is the more reliable one.");
    report.note("Requests for the floor have only the headers of the client.");
}

const COLUMNS: [&str; 8] =
    ["request", "req/s", "ratio", "p50 ms", "p99 ms", "CPU us/req", "ratio by CPU", "bar"];
