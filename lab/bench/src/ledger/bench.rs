//! The measurement, and its tables.

use std::{process::ExitCode, time::Duration};

use anyhow::{Context, Result};
use tokio::time::{Instant, sleep_until};
use waiting_room_engines::PostgresServer;

use crate::{
    child::Process,
    effort::Effort,
    figure::{Bar, NONE, figure},
    ledger::{
        memory::{ACCOUNT, MEMORY},
        process::{HEARTBEAT, Stored},
        site::{Lived, Site},
    },
    report::Report,
    requests::runtime,
    usage::{
        Weight, allow_many_connections, process_cpu_time, process_wait_time, resident_bytes_of,
        wall_time, weigh,
    },
    valgrind::Counting,
};

/// The visitors who arrive at a full site, in a second.
const ARRIVALS: f64 = 12.0;
/// The number of idle sites, and how many messages a second they may cost.
const IDLE_SITES: u16 = 300;
const MAX_IDLE: f64 = 50.0;
/// The messages a second of each full site that the ledger has to answer, and in which time.
const BUDGET: f64 = 11.0;
const MAX_P99_MS: f64 = 20.0;
/// The memory of the ledger that a site may take, without its connection and its claims.
const MAX_KIBIBYTES: f64 = 1.0;

/// Measures the ledger, prints the table, and returns failure if a bar is missed.
pub(crate) fn run(sites: u16, effort: Effort, counting: Counting) -> Result<ExitCode> {
    allow_many_connections()?;
    let (sites, idle, [join, span]) = match effort {
        Effort::Full => (sites, IDLE_SITES, [5, 60]),
        Effort::Quick => (sites, IDLE_SITES, [5, 15]),
        Effort::Smoke => (3, 3, [1, 1]),
    };
    let join = Duration::from_secs(join);
    let span = Duration::from_secs(span);
    let columns = [
        "the global ledger",
        "sites",
        "answers a second",
        "CPU % of a core",
        "KiB a site",
        "p50 ms",
        "p99 ms",
        "p99.9 ms",
        "bars",
    ];
    let mut report = Report::new("The global ledger", "ledger", effort, &columns);
    let mut is_met = true;
    let idle = ("idle sites", idle, 0.0);
    for (name, sites, arrivals) in [idle, ("full sites", sites, ARRIVALS)] {
        let found = measured(sites, arrivals, join, span)?;
        let bars = if arrivals > 0.0 {
            vec![
                Bar::at_least("answers", BUDGET * f64::from(sites), found.answers),
                Bar::at_most("CPU %", 100.0, found.cpu_percent),
                Bar::at_most("p99", MAX_P99_MS, ms(&found.took, 0.99)),
            ]
        } else {
            vec![Bar::at_most("answers", MAX_IDLE, found.answers)]
        };
        is_met &= bars.iter().all(|bar| bar.is_met() == Some(true));
        let figures = [
            found.answers,
            found.cpu_percent,
            found.kibibytes,
            ms(&found.took, 0.5),
            ms(&found.took, 0.99),
            ms(&found.took, 0.999),
        ];
        let cells = [name.to_owned(), sites.to_string()].into_iter().chain(figures.map(figure));
        report.row(cells.chain([Bar::all(&bars)]));
        report.note(found.profile(name));
    }
    is_met &= weigh_accounts(&mut report, sites, counting)?;
    report
        .note("The memory is that of the process with the connections of the sites, and that of its accounts.");
    report.note("PostgreSQL and the sites run on the same machine, and are not in the CPU time.");
    println!("{report}");
    let is_passed = is_met || effort == Effort::Smoke;
    Ok(if is_passed { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Adds the memory of the accounts in a ledger without connections. Returns whether its bar is met,
/// which the heap has to meet: the pages by which a process grows are too coarse.
fn weigh_accounts(report: &mut Report, sites: u16, counting: Counting) -> Result<bool> {
    let Weight { resident, heap } = weigh(MEMORY, ACCOUNT.name, sites.into(), counting)?;
    let kibibytes = heap.map_or(resident, |heap| heap.kept) / 1_024.0;
    let bar = heap.is_some().then(|| Bar::at_most("KiB", MAX_KIBIBYTES, kibibytes));
    let mut cells = [NONE; 9].map(str::to_owned);
    cells[..2].clone_from_slice(&["their accounts alone".to_owned(), sites.to_string()]);
    cells[4] = figure(kibibytes);
    if let Some(bar) = &bar {
        cells[8] = bar.to_string();
    }
    report.row(cells);
    counting.excuse().into_iter().for_each(|excuse| report.note(excuse));
    Ok(bar.is_none_or(|bar| bar.is_met() == Some(true)))
}

/// The result for one number of sites. The times are in order.
struct Found {
    answers: f64,
    cpu_percent: f64,
    /// The share of the time in which the ledger waited for a core.
    wait_percent: f64,
    kibibytes: f64,
    /// The times of all answers.
    took: Vec<Duration>,
    /// The delays of the sites themselves.
    late: Vec<Duration>,
    /// The times in which batches were stored.
    stored: Vec<Duration>,
    /// The accounts of all batches.
    accounts: usize,
}

impl Found {
    /// The parts of the time of an answer, as a note.
    fn profile(&self, name: &str) -> String {
        let times = [&self.stored, &self.late]
            .map(|times| [0.5, 0.99].map(|share| figure(ms(times, share))));
        let [[stored, stored_p99], [late, late_p99]] = times;
        let batches = self.stored.len();
        let accounts = self.accounts;
        let waited = figure(self.wait_percent);
        format!(
            "{name}: {batches} batches with {accounts} accounts were stored in {stored} ms each (p99 \
             {stored_p99} ms). The ledger waited for a core for {waited} % of the time; the sites, in \
             their own process, were {late} ms late (p99 {late_p99} ms)."
        )
    }
}

/// The time, in milliseconds, within which this share of these times is, which are in order.
fn ms(times: &[Duration], share: f64) -> f64 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "a rank is positive and small"
    )]
    let rank = (times.len() as f64 * share) as usize;
    times.get(rank).map_or(f64::NAN, |took| took.as_secs_f64() * 1_000.0)
}

/// Lets this number of sites speak for `span`, after all of them have had the time to `join`.
fn measured(sites: u16, arrivals: f64, join: Duration, span: Duration) -> Result<Found> {
    let postgres = PostgresServer::start()?;
    let arguments = ["serve-ledger", &postgres.url(), &sites.to_string()];
    let (mut ledger, address) = Process::of_this_program::<String>(&arguments)?;
    let before = resident_bytes_of(ledger.id())?;
    runtime().block_on(async {
        let began = Instant::now();
        let begin = began + join;
        let count = f64::from(sites);
        let mut living = Vec::new();
        for number in 1..=sites {
            // Sites that have started one after the other do not report at the same instants.
            sleep_until(began + HEARTBEAT * u32::from(number) / u32::from(sites)).await;
            let site = Site::new(number, &address, arrivals)?;
            living.push(tokio::spawn(site.live(begin, begin + span)));
        }
        sleep_until(begin).await;
        let _: Vec<Stored> = ledger.ask()?;
        let spent = process_cpu_time(ledger.id())?;
        let since = wall_time();
        let waited = process_wait_time(ledger.id())?;
        sleep_until(begin + span).await;
        let spent = process_cpu_time(ledger.id())?.saturating_sub(spent);
        let waited = process_wait_time(ledger.id())?.saturating_sub(waited);
        let seconds = wall_time().saturating_sub(since).as_secs_f64();
        let batches: Vec<Stored> = ledger.ask()?;
        let grown = resident_bytes_of(ledger.id())?.saturating_sub(before);
        let mut all = Lived::default();
        for site in living {
            let lived = site.await?.context("a site could not join")?;
            all.took.extend(lived.took);
            all.late.extend(lived.late);
        }
        let mut stored: Vec<_> = batches.iter().map(|batch| batch.took).collect();
        for times in [&mut all.took, &mut all.late, &mut stored] {
            times.sort_unstable();
        }
        Ok(Found {
            answers: f64::from(u32::try_from(all.took.len())?) / seconds,
            cpu_percent: 100.0 * spent.as_secs_f64() / seconds,
            wait_percent: 100.0 * waited.as_secs_f64() / seconds,
            kibibytes: f64::from(u32::try_from(grown / 1_024)?) / count,
            took: all.took,
            late: all.late,
            stored,
            accounts: batches.iter().map(|batch| batch.accounts).sum(),
        })
    })
}
