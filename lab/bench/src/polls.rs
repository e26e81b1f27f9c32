//! A long line whose visitors poll: the CPU time of a poll, and how long it takes.
//!
//! The schedule is virtual, and the work is real: the clock of the room is set to the time of each
//! poll, and the poll is then handled as fast as the machine can. All visitors obey `Retry-After`.
//! Visitors who are admitted do not come back, and others take their places at the end of the line,
//! so the line keeps its length.

use std::{cmp::Reverse, collections::BinaryHeap, time::Duration};

use anyhow::{Context, Result, ensure};
use http::{Request, StatusCode, header};
use tower::{Layer, ServiceExt};
use tower_waiting_room::{
    WaitingRoomLayer,
    service::WaitingRoom,
    time::{Clock, ManualClock, Timestamp},
};

use crate::{
    effort::Effort,
    figure::figure,
    report::Report,
    requests::runtime,
    services::Ready,
    usage::{thread_cpu_time, wall_time},
    visitors::{config, cookie_of},
};

/// Measures the polls, and prints the table.
pub(crate) fn run(effort: Effort) -> Result<()> {
    let (visitors, minutes) = match effort {
        Effort::Full => (100_000, 5),
        Effort::Quick => (100_000, 1),
        Effort::Smoke => (500, 1),
    };
    let columns = [
        "polls of a long line",
        "visitors",
        "polls",
        "polls a second",
        "CPU µs each",
        "CPU % of a core",
        "p50 µs",
        "p99 µs",
        "p99.9 µs",
    ];
    let mut report = Report::new("Visitors who poll", "polls", effort, &columns);
    for (name, client) in [("JSON", Client::Program), ("page", Client::Browser)] {
        let polled = runtime().block_on(polled(visitors, minutes, client))?;
        let count = polled.took.len();
        let a_second = count as f64 / (minutes * 60) as f64;
        let cpu_us = polled.cpu.as_secs_f64() * 1e6 / count as f64;
        let [p50, p99, p999] = [0.5, 0.99, 0.999].map(|share| polled.quantile(share));
        let figures = [a_second, cpu_us, a_second * cpu_us / 1e4, p50, p99, p999].map(figure);
        let row = [name.to_owned(), visitors.to_string(), count.to_string()];
        report.row(row.into_iter().chain(figures));
    }
    report.note("A poll is a request through the layer, without a socket and without a server.");
    report
        .note("The percentiles are of the time on the clock, so other work on the machine counts.");
    println!("{report}");
    Ok(())
}

/// The kind of client that polls.
#[derive(Clone, Copy, Debug)]
enum Client {
    /// A browser without scripts, which loads the page again.
    Browser,
    /// A program, or the script of the page.
    Program,
}

/// The cost of the polls.
#[derive(Debug, Default)]
struct Polled {
    cpu: Duration,
    /// The time of each poll, shortest first.
    took: Vec<Duration>,
}

impl Polled {
    /// Returns the quantile of the times in microseconds.
    fn quantile(&self, share: f64) -> f64 {
        #[expect(clippy::cast_possible_truncation, reason = "an index")]
        let index = (self.took.len().saturating_sub(1) as f64 * share).round() as usize;
        self.took.get(index).map_or(f64::NAN, |took| took.as_secs_f64() * 1e6)
    }
}

/// A room whose line is as long as wanted, and its visitors.
struct Crowd {
    service: WaitingRoom<Ready>,
    clock: ManualClock,
    client: Client,
    /// The cookies of the visitors; `None` for one who has not come yet.
    cookies: Vec<Option<String>>,
    due: BinaryHeap<Reverse<(Timestamp, usize)>>,
}

/// Lets the visitors poll for this many minutes, once each of them has a place.
async fn polled(visitors: usize, minutes: u64, client: Client) -> Result<Polled> {
    let clock = ManualClock::new(Timestamp::from_secs(1_700_000_000));
    let config = config().total_active_users(1_000).session_duration(Duration::from_secs(300));
    let layer = WaitingRoomLayer::with_clock(config.build()?, clock.clone());
    let mut crowd = Crowd {
        service: layer.layer(Ready),
        clock: clock.clone(),
        client,
        cookies: vec![None; visitors],
        due: BinaryHeap::with_capacity(visitors),
    };
    // The visitors arrive evenly within a minute.
    let apart = Duration::from_secs(60) / u32::try_from(visitors)?;
    let mut arrival = clock.now();
    for visitor in 0..visitors {
        crowd.due.push(Reverse((arrival, visitor)));
        arrival = arrival + apart;
    }
    crowd.poll_until(arrival + Duration::from_secs(60)).await?;
    let waiting = layer.handle().room().context("a room")?.snapshot().await?.waiting;
    let active = 1_000;
    ensure!(waiting as usize + active >= visitors * 9 / 10, "only {waiting} have a place");
    crowd.poll_until(clock.now() + Duration::from_secs(60 * minutes)).await
}

impl Crowd {
    /// Handles all polls until this time.
    async fn poll_until(&mut self, until: Timestamp) -> Result<Polled> {
        let mut polled = Polled::default();
        while let Some(Reverse((time, visitor))) = self.due.peek().copied()
            && time <= until
        {
            self.due.pop();
            self.clock.advance(time.since(self.clock.now()));
            let again = self.poll(visitor, &mut polled).await?;
            self.due.push(Reverse((time + again, visitor)));
        }
        self.clock.advance(until.since(self.clock.now()));
        polled.took.sort_unstable();
        Ok(polled)
    }

    /// Sends a poll, and returns the time after which the next one is due. Another visitor takes the
    /// place of one that is admitted, and comes a second later.
    async fn poll(&mut self, visitor: usize, polled: &mut Polled) -> Result<Duration> {
        let mut request = Request::get("/");
        request = match self.client {
            Client::Browser => {
                request.header(header::ACCEPT, "text/html").header("sec-fetch-mode", "navigate")
            }
            Client::Program => request.header(header::ACCEPT, "application/json"),
        };
        if let Some(cookie) = &self.cookies[visitor] {
            request = request.header(header::COOKIE, format!("__Host-wr-shop={cookie}"));
        }
        let request = request.body(())?;
        let service = self.service.clone();
        let cpu = thread_cpu_time();
        let began = wall_time();
        let Ok(response) = service.oneshot(request).await;
        let took = wall_time().saturating_sub(began);
        if response.status() == StatusCode::OK {
            self.cookies[visitor] = None;
            return Ok(Duration::from_secs(1));
        }
        polled.cpu += thread_cpu_time().saturating_sub(cpu);
        polled.took.push(took);
        if let Some(cookie) = cookie_of(&response) {
            self.cookies[visitor] = Some(cookie);
        }
        let again = response.headers().get(header::RETRY_AFTER).context("no Retry-After")?;
        Ok(Duration::from_secs(again.to_str()?.parse()?))
    }
}
