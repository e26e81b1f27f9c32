//! The tables of shared stores, for each engine that is installed.

use anyhow::Result;
use tokio::runtime::Runtime;
use waiting_room_engines::{Engine, EngineServer, Persistence};

use super::{
    asked::Asked,
    crowd::{Crowd, crowd},
    deciders::{Decider, script_by_fred, script_by_redis},
    limiters::SharedLimiter,
};
use crate::{effort::Effort, figure::figure, report::Report};

/// Measures each engine, and prints the tables.
pub(crate) fn run(effort: Effort) -> Result<()> {
    let runtime = Runtime::new()?;
    for engine in Engine::ALL {
        if !engine.is_installed() {
            println!("{engine} is not installed: apt-get install {}", engine.program());
            continue;
        }
        println!("{}", runtime.block_on(decisions(engine, effort))?);
        println!("{}", runtime.block_on(limits(engine, effort))?);
        println!("{}", runtime.block_on(line(engine, effort))?);
        println!("{}", runtime.block_on(two_clients(engine, effort))?);
    }
    Ok(())
}

/// The numbers of callers of a node.
const CALLERS: [u32; 3] = [1, 16, 256];

async fn decisions(engine: Engine, effort: Effort) -> Result<Report> {
    let title = format!("A decision of a shared store, {engine}");
    let mut report = Report::new(&title, "nodes", effort, &COLUMNS);
    for callers in CALLERS {
        for decider in Decider::ALL {
            let server = EngineServer::start(engine, Persistence::Never)?;
            let asked = decider.ask(&server, callers, effort.load()).await?;
            row(&mut report, decider.name(), callers, &asked);
        }
    }
    report.note("One node over loopback, which shares two cores with the server.");
    report.note("Calls that arrive while one of the same verb is in flight share the next script.");
    Ok(report)
}

async fn limits(engine: Engine, effort: Effort) -> Result<Report> {
    let title = format!("A rate limit that nodes share, {engine}");
    let mut report = Report::new(&title, "nodes", effort, &COLUMNS);
    for callers in CALLERS {
        for limiter in SharedLimiter::ALL {
            let server = EngineServer::start(engine, Persistence::Never)?;
            let asked = limiter.ask(&server, callers, effort.load()).await?;
            row(&mut report, &limiter.name(), callers, &asked);
        }
    }
    report.note("Each caller has its own key. Refused: clients that go on beyond their limits.");
    Ok(report)
}

async fn line(engine: Engine, effort: Effort) -> Result<Report> {
    let title = format!("A long line, {engine}");
    let columns =
        ["visitors", "bytes, active", "bytes, waiting", "check-ins/s", "CPU of the store"];
    let mut report = Report::new(&title, "nodes", effort, &columns);
    let visitors = u32::try_from(effort.crowd()).unwrap_or(u32::MAX);
    let server = EngineServer::start(engine, Persistence::Never)?;
    let Crowd { active_bytes, waiting_bytes, per_second, cpu } =
        crowd(&server, visitors, effort.load() * 5).await?;
    let cpu = format!("{} %", figure(cpu * 100.0));
    let bytes = [active_bytes, waiting_bytes, per_second].map(figure);
    report.row([visitors.to_string()].into_iter().chain(bytes).chain([cpu]));
    report.note("As many active as in line. Those in line check in every 20 to 26 s, by one node.");
    Ok(report)
}

async fn two_clients(engine: Engine, effort: Effort) -> Result<Report> {
    let title = format!("A bare script by two clients, {engine}");
    let mut report = Report::new(&title, "nodes", effort, &COLUMNS);
    for callers in [1, 2, 16] {
        let server = EngineServer::start(engine, Persistence::Never)?;
        let asked = script_by_redis(&server, callers, effort.load()).await?;
        row(&mut report, "redis", callers, &asked);
        let asked = script_by_fred(&server, callers, effort.load()).await?;
        row(&mut report, "fred", callers, &asked);
    }
    Ok(report)
}

fn row(report: &mut Report, name: &str, callers: u32, asked: &Asked) {
    let Asked { per_second, p50_us, p99_us, server_us } = *asked;
    let figures = [per_second, p50_us, p99_us, server_us].map(figure);
    report.row([name.to_owned(), callers.to_string()].into_iter().chain(figures));
}

const COLUMNS: [&str; 6] =
    ["what", "callers", "per second", "p50 us", "p99 us", "server's CPU, us each"];
