//! The command line.

use std::{path::PathBuf, time::Duration};

use clap::{Args, Parser, Subcommand, ValueEnum};
use waiting_room_core::room::Recovery;
use waiting_room_sim::{Day, DayError, Trace, fresh_seeds};

use crate::{
    accuracy::{Crowd, Traffic},
    figures::Size,
    simulation::{Scenario, ScheduledEvent},
};

/// Runs a simulated crowd against a waiting room, and checks every promise from outside.
#[derive(Debug, Parser)]
#[command(version, args_conflicts_with_subcommands = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub task: Option<Task>,
    #[command(flatten)]
    pub simulate: Simulate,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Task {
    /// Measure how often rate-limit algorithms are wrong, and how much they admit.
    Accuracy(Accuracy),
    /// Measure how many newcomers are refused after a flood of more keys than a limit remembers.
    Crowding,
    /// Measure the known properties of the policies for many sites, and check their bars.
    Figures(Study),
    /// Measure how a concurrency gate copes with overload, and check its bars.
    Gate(Study),
    /// Measure what the shares of networks cost crowds, and what they do against attackers.
    Shares(Study),
}

/// The seeds to run.
#[derive(Args, Debug)]
pub(crate) struct Chance {
    /// Run this seed, to repeat a run; can be repeated.
    #[arg(long)]
    seed: Vec<u64>,
    /// The number of fresh seeds to run.
    #[arg(long, default_value_t = 1)]
    seeds: u32,
}

#[derive(Args, Debug)]
pub(crate) struct Accuracy {
    /// Run this seed, to repeat a run.
    #[arg(long)]
    seed: Option<u64>,
    /// Scale each kind of traffic to about this number of requests [default: as in the
    /// documentation]
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    requests: Option<u64>,
    /// The requests in each minute of the day that the crowd follows, as `minute,requests`.
    #[arg(long, default_value = WORLD_CUP)]
    trace: PathBuf,
    /// Also write `accuracy.csv` into this directory.
    #[arg(long)]
    pub out: Option<PathBuf>,
    /// Print the figures as JSON.
    #[arg(long)]
    pub json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct Study {
    /// Run this seed, to repeat a run; can be repeated.
    #[arg(long)]
    seed: Vec<u64>,
    /// The number of fresh seeds to run [default: as in the documentation, or fewer with --quick].
    /// Some bars are about what is usual, so fresh seeds may miss them by chance.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    seeds: Option<u32>,
    /// Measure only what the bars need.
    #[arg(long)]
    quick: bool,
    /// Also write the tables as CSV and the charts as SVG into this directory.
    #[arg(long)]
    pub out: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(crate) struct Simulate {
    #[command(flatten)]
    pub chance: Chance,
    /// The requests in each minute, as `minute,requests`.
    #[arg(long, default_value = WORLD_CUP)]
    trace: PathBuf,
    /// Scale the trace to this number of visits.
    #[arg(long, default_value_t = 10_000_000)]
    visits: u64,
    /// Run only the 60 minutes with the steepest rise.
    #[arg(long)]
    steepest_hour: bool,
    /// The maximum number of active visitors.
    #[arg(long, default_value_t = 200)]
    limit: u32,
    /// The maximum number of new visitors in any 60 seconds.
    #[arg(long, default_value_t = 200)]
    rate: u32,
    /// Derive the limits from the trace: the demand in the busiest minute is this multiple of the
    /// limit on new visitors, and there are twice as many slots.
    #[arg(long, conflicts_with_all = ["limit", "rate"])]
    peak_factor: Option<f64>,
    /// The time for which a session outlives its last request.
    #[arg(long, default_value = "60s", value_parser = humantime::parse_duration)]
    session: Duration,
    /// The maximum number of places in the line.
    #[arg(long, default_value_t = 100_000)]
    line_capacity: u32,
    /// Schedule an event with a draw in the middle of the trace: a prequeue before it that takes a
    /// hundredth of the trace, and a tenth of the trace with twice the limits after it.
    #[arg(long)]
    event: bool,
    /// The room loses its state this long after the beginning of the day.
    #[arg(long, value_parser = humantime::parse_duration)]
    restart_at: Option<Duration>,
    /// How the room recovers from that.
    #[arg(long, value_enum, default_value_t = After::Pause)]
    recovery: After,
    /// The mean time that a request takes in each direction.
    #[arg(long, default_value = "0s", value_parser = humantime::parse_duration)]
    latency: Duration,
    /// The share of requests that fail; requires a latency.
    #[arg(long, default_value_t = 0.0)]
    loss: f64,
    /// Print the reports as JSON.
    #[arg(long)]
    pub json: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum After {
    AdmitAtOnce,
    Pause,
}

impl Accuracy {
    pub(crate) fn seed(&self) -> u64 {
        self.seed.unwrap_or_else(|| fresh_seeds(1)[0])
    }

    pub(crate) fn traffic(&self) -> Result<Vec<Traffic>, DayError> {
        let crowd = Crowd::new(&Trace::from(&Day::open(&self.trace)?));
        let scale = |traffic: Traffic| match self.requests {
            Some(requests) => traffic.scaled_to(requests),
            None => traffic,
        };
        Ok(Traffic::all(crowd).into_iter().map(scale).collect())
    }
}

impl Chance {
    pub(crate) fn seeds(&self) -> Vec<u64> {
        if self.seed.is_empty() { fresh_seeds(self.seeds) } else { self.seed.clone() }
    }
}

impl Study {
    /// The seeds on the command line, or the usual ones: of the whole study, and of a quick one.
    pub(crate) fn seeds(&self, [full, quick]: [Vec<u64>; 2]) -> Vec<u64> {
        match (self.seeds, self.seed.is_empty()) {
            (Some(count), true) => fresh_seeds(count),
            (None, true) if self.quick => quick,
            (None, true) => full,
            (_, false) => self.seed.clone(),
        }
    }

    pub(crate) fn size(&self) -> Size {
        if self.quick { Size::Quick } else { Size::Full }
    }
}

impl Simulate {
    pub(crate) fn trace(&self) -> Result<Trace, DayError> {
        let day = Day::open(&self.trace)?;
        let trace = Trace::from(&day).scaled_to(self.visits as f64);
        Ok(if self.steepest_hour { trace.minutes(day.steepest(60)?) } else { trace })
    }

    pub(crate) fn scenario(&self, seed: u64, trace: &Trace) -> Scenario {
        let (limit, rate) = match self.peak_factor {
            Some(factor) => {
                let rate = at_least_one(trace.peak() / factor);
                (rate.saturating_mul(2), rate)
            }
            None => (self.limit, self.rate),
        };
        let scenario = Scenario::new(seed)
            .limits(limit, rate, self.session)
            .line_capacity(self.line_capacity)
            .latency(self.latency)
            .loss(self.loss);
        let scenario =
            if self.event { scenario.event(doors(trace, limit, rate)) } else { scenario };
        let recovery = match self.recovery {
            After::AdmitAtOnce => Recovery::AdmitAtOnce,
            After::Pause => Recovery::Pause,
        };
        match self.restart_at {
            Some(after) => scenario.restart(after, recovery),
            None => scenario,
        }
    }
}

/// The event of `--event`, for a room with these limits.
fn doors(trace: &Trace, limit: u32, rate: u32) -> ScheduledEvent {
    let minutes = u32::try_from(trace.counts().len()).unwrap_or(u32::MAX);
    let length = MINUTE * minutes;
    let start_after = length / 2;
    ScheduledEvent {
        prequeue_after: start_after.saturating_sub((length / 100).max(MINUTE)),
        start_after,
        end_after: start_after + (length / 10).max(MINUTE),
        is_drawn: true,
        total_active_users: limit.saturating_mul(2),
        new_users_per_minute: Some(rate.saturating_mul(2)),
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped")]
fn at_least_one(rate: f64) -> u32 {
    rate.ceil().clamp(1.0, f64::from(u32::MAX)) as u32
}

const MINUTE: Duration = Duration::from_secs(60);

/// A day of the World Cup of 1998, from this repository.
const WORLD_CUP: &str = "examples/shop/data/worldcup98-1998-06-30.csv";
