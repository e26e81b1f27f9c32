//! The cost of the operator's dashboard while a page is open and the room is busy: at most 1 % of a
//! core and 16 MiB.
//!
//! ```text
//!  this process                 child process
//!  a page: events ◄── HTTP ──── main thread: the dashboard and nothing else
//!                               another thread: the room and its crowd
//!                 a second child: the same crowd without a dashboard
//! ```
//!
//! The CPU time is that of the main thread of the first child. The memory is the difference between
//! the two children.

mod busy;

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{Ipv4Addr, TcpStream},
    process::ExitCode,
    time::Duration,
};

use anyhow::{Context, Result, ensure};

pub(crate) use self::busy::serve;
use crate::{
    child::Process,
    effort::Effort,
    figure::{Bar, figure},
    report::Report,
    usage::{process_cpu_time, resident_bytes_of, wall_time},
};

/// The bars, which `docs/dashboard.md` states.
const MAX_PERCENT: f64 = 1.0;
const MAX_MEBIBYTES: f64 = 16.0;

/// Measures the dashboard, prints the table, and returns failure if a bar is missed.
pub(crate) fn run(effort: Effort) -> Result<ExitCode> {
    let (with, port) = Process::of_this_program::<u16>(&["serve-dashboard", "--mounted"])?;
    let (without, _) = Process::of_this_program::<u16>(&["serve-dashboard"])?;
    for path in ["/", "/history.json", "/audit.json"] {
        let mut page = Vec::new();
        connect(port, path)?.read_to_end(&mut page)?;
        ensure!(page.starts_with(b"HTTP/1.1 200 "), "{path}: {}", String::from_utf8_lossy(&page));
    }
    let mut events = BufReader::new(connect(port, "/events")?);
    // The first events include what happens only once.
    read_events(&mut events, 3)?;
    let spent = process_cpu_time(with.id())?;
    let began = wall_time();
    read_events(&mut events, seconds(effort))?;
    let spent = process_cpu_time(with.id())?.saturating_sub(spent);
    let percent = 100.0 * spent.as_secs_f64() / wall_time().saturating_sub(began).as_secs_f64();
    let [with, without] = [&with, &without].map(|child| resident_bytes_of(child.id()));
    let more = u32::try_from(with?.saturating_sub(without?) / 1_024)?;
    let mebibytes = f64::from(more) / 1_024.0;

    let columns = ["the dashboard, with one page open", "found", "bar"];
    let mut report = Report::new("The dashboard", "dashboard", effort, &columns);
    let bars = [
        ("% of a core", Bar::at_most("%", MAX_PERCENT, percent), percent),
        ("MiB of memory", Bar::at_most("MiB", MAX_MEBIBYTES, mebibytes), mebibytes),
    ];
    for (what, bar, found) in &bars {
        report.row([(*what).to_owned(), figure(*found), bar.to_string()]);
    }
    report.note(format!(
        "{} visitors at a room for {}, with 8 gates and 64 limits.",
        busy::VISITORS,
        busy::SLOTS,
    ));
    println!("{report}");
    let is_met = bars.iter().all(|(_, bar, _)| bar.is_met() == Some(true));
    Ok(if is_met { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// How many seconds to measure. A stream ends after 60 events.
const fn seconds(effort: Effort) -> usize {
    match effort {
        Effort::Full => 50,
        Effort::Quick => 20,
        Effort::Smoke => 2,
    }
}

/// Requests a path of the dashboard.
fn connect(port: u16, path: &str) -> Result<TcpStream> {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
    stream.set_read_timeout(Some(Duration::from_secs(10)))?;
    write!(stream, "GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")?;
    Ok(stream)
}

/// Reads this number of events.
fn read_events(events: &mut impl BufRead, wanted: usize) -> Result<()> {
    let lines = events.lines().map(|line| line.context("the stream of events"));
    let mut seen = 0;
    for line in lines {
        seen += usize::from(line?.starts_with("event: figures"));
        if seen == wanted {
            return Ok(());
        }
    }
    anyhow::bail!("the stream ended after {seen} of {wanted} events")
}
