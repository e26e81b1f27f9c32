//! The command line.

use std::{path::PathBuf, time::Duration};

use clap::{Args, Parser, Subcommand, ValueEnum};
use waiting_room_core::{MemoryStore, room::Recovery};
use waiting_room_sim::{
    Coverage, Day, DayError, Divergence, Plan, Scenario, Trace, conformance, fresh_seeds,
};

use crate::{
    accuracy::{Crowd, Traffic},
    gate::Size,
    sites::figures,
};

/// Lets a crowd loose on a waiting room and checks every promise from outside.
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
    /// Measure how often rate-limit algorithms are wrong, and how much they let through.
    Accuracy(Accuracy),
    /// Hold the room in memory against a naive model, command by command.
    Conformance(Conformance),
    /// Measure how many newcomers are refused after a flood of more keys than a limit remembers.
    Crowding,
    /// Measure what the policies for many sites are known for, and whether it is so.
    Figures(Figures),
    /// Run scenarios of many sites under one limit, policy by policy.
    Run(Run),
    /// Measure what a concurrency gate makes of too many requests, and whether it meets its bars.
    Gate(Gate),
}

/// Which seeds to run.
#[derive(Args, Debug)]
pub(crate) struct Chance {
    /// Run this seed, to repeat a run; may be given more than once.
    #[arg(long)]
    seed: Vec<u64>,
    /// Run so many fresh seeds.
    #[arg(long, default_value_t = 1)]
    seeds: u32,
}

#[derive(Args, Debug)]
pub(crate) struct Accuracy {
    /// Run this seed, to repeat a run.
    #[arg(long)]
    seed: Option<u64>,
    /// Scale each kind of traffic to about so many requests; without it, as in the documentation.
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    requests: Option<u64>,
    /// Requests in each minute of the day of the real crowd, as `minute,requests`.
    #[arg(long, default_value = WORLD_CUP)]
    trace: PathBuf,
    /// Also write `accuracy.csv` and `accuracy.svg` into this directory.
    #[arg(long)]
    pub out: Option<PathBuf>,
    /// Print the figures as JSON.
    #[arg(long)]
    pub json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct Conformance {
    #[command(flatten)]
    pub chance: Chance,
    /// Commands for each seed.
    #[arg(long, default_value_t = 1_000_000)]
    pub commands: u64,
}

#[derive(Args, Debug)]
pub(crate) struct Gate {
    /// Run this seed, to repeat a run; may be given more than once.
    #[arg(long)]
    seed: Vec<u64>,
    /// Run so many fresh seeds; five without it, or one if it is to be quick.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    seeds: Option<u32>,
    /// Short runs: the bars, and little else.
    #[arg(long)]
    quick: bool,
    /// Also write `gate-*.csv` and `gate-*.svg` into this directory.
    #[arg(long)]
    pub out: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(crate) struct Figures {
    /// Run this seed, to repeat a run; may be given more than once.
    #[arg(long)]
    seed: Vec<u64>,
    /// Run so many fresh seeds; without it the seeds 1 to 10, as in the documentation, or 1 to 3 if
    /// it is to be quick. Some bars are about what is usual, and chance alone may miss them.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    seeds: Option<u32>,
    /// The bars, and nothing else.
    #[arg(long)]
    quick: bool,
    /// Also write `sites.md`, `sites-*.csv` and `sites-*.svg` into this directory.
    #[arg(long)]
    pub out: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(crate) struct Run {
    /// Scenario files; the format is in `docs/scenarios.md`.
    #[arg(required = true)]
    pub scenarios: Vec<PathBuf>,
    /// Run with this seed instead of the one in the file, to repeat a run.
    #[arg(long)]
    pub seed: Option<u64>,
    /// Print the reports as JSON.
    #[arg(long)]
    pub json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct Simulate {
    #[command(flatten)]
    pub chance: Chance,
    /// Requests in each minute, as `minute,requests`.
    #[arg(long, default_value = WORLD_CUP)]
    trace: PathBuf,
    /// Scale the trace to so many visits.
    #[arg(long, default_value_t = 10_000_000)]
    visits: u64,
    /// Only the 60 minutes with the steepest rise.
    #[arg(long)]
    steepest_hour: bool,
    /// Active visitors.
    #[arg(long, default_value_t = 200)]
    limit: u32,
    /// New visitors in 60 seconds.
    #[arg(long, default_value_t = 200)]
    rate: u32,
    /// Choose the limits by the trace instead: the busiest minute asks for so many times what the
    /// limit on new visitors allows, and there are twice as many slots.
    #[arg(long, conflicts_with_all = ["limit", "rate"])]
    peak_factor: Option<f64>,
    /// How long a session outlives its last request.
    #[arg(long, default_value = "60s", value_parser = humantime::parse_duration)]
    session: Duration,
    /// Places in the line.
    #[arg(long, default_value_t = 100_000)]
    line_capacity: u32,
    /// The room loses its memory this long after the beginning of the day.
    #[arg(long, value_parser = humantime::parse_duration)]
    restart_at: Option<Duration>,
    /// What the room does then.
    #[arg(long, value_enum, default_value_t = After::Pause)]
    recovery: After,
    /// How long a request takes each way, on average.
    #[arg(long, default_value = "0s", value_parser = humantime::parse_duration)]
    latency: Duration,
    /// Share of the requests that fail; needs a latency.
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

impl Figures {
    pub(crate) fn seeds(&self) -> Vec<u64> {
        match (self.seeds, self.seed.is_empty()) {
            (Some(count), true) => fresh_seeds(count),
            (None, true) if self.quick => (1..=3).collect(),
            (None, true) => (1..=10).collect(),
            (_, false) => self.seed.clone(),
        }
    }

    pub(crate) fn size(&self) -> figures::Size {
        if self.quick { figures::Size::Quick } else { figures::Size::Full }
    }
}

impl Gate {
    pub(crate) fn seeds(&self) -> Vec<u64> {
        let usual = if self.quick { 1 } else { 5 };
        match self.seed.is_empty() {
            true => fresh_seeds(self.seeds.unwrap_or(usual)),
            false => self.seed.clone(),
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

/// Runs the conformance suite on a store in memory.
pub(crate) fn hold_against_the_model(seed: u64, commands: u64) -> Result<Coverage, Divergence> {
    pollster::block_on(conformance(Plan::new(seed, commands), async |rules, clock| {
        MemoryStore::with_clock(rules, clock).expect("the suite makes valid rules")
    }))
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped")]
fn at_least_one(rate: f64) -> u32 {
    rate.ceil().clamp(1.0, f64::from(u32::MAX)) as u32
}

/// A day of the World Cup of 1998, in this repository.
const WORLD_CUP: &str = "examples/shop/data/worldcup98-1998-06-30.csv";
