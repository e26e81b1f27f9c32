//! The command line.

use std::{
    net::{Ipv4Addr, SocketAddr},
    path::PathBuf,
    time::Duration,
};

use clap::{ArgGroup, Args, Parser};
use tower_waiting_room::{
    ConfigError, WaitingRoomConfig, room::event::Event, token::CookieSettings,
};

use crate::{
    otlp::Collector,
    room::{RoomArgs, duration},
};

/// Runs a small shop behind a waiting room, and a crowd to test it with.
#[derive(Debug, Parser)]
#[command(version, about)]
pub struct Cli {
    /// The address to serve the shop on.
    #[arg(
        long,
        value_name = "ADDRESS",
        default_value_t = SocketAddr::from((Ipv4Addr::LOCALHOST, 3000)),
        conflicts_with = "visitors"
    )]
    pub(crate) listen: SocketAddr,
    #[command(flatten)]
    pub(crate) room: RoomArgs,
    /// Sets the cookie for HTTPS only, for use behind a proxy that terminates TLS.
    #[arg(long, conflicts_with = "visitors", help_heading = "Waiting room")]
    secure: bool,
    /// Serves the operator's dashboard at /admin, for the operator `admin`.
    ///
    /// The password is printed at the start, unless it is set in SHOP_ADMIN_PASSWORD.
    #[arg(long, conflicts_with = "visitors")]
    pub(crate) admin: bool,
    /// Sends the metrics to the OpenTelemetry collector at this address, by OTLP over HTTP [default:
    /// OTEL_EXPORTER_OTLP_ENDPOINT, if it is set]
    ///
    /// The metrics are sent once a minute, or every OTEL_METRIC_EXPORT_INTERVAL milliseconds.
    #[arg(long, value_name = "URL", conflicts_with = "visitors")]
    pub(crate) otlp: Option<Collector>,
    #[command(flatten)]
    crowd: CrowdArgs,
}

/// The task that the command line asks for.
#[derive(Clone, Debug)]
pub(crate) enum Mode {
    /// Send a crowd, and report what it saw.
    Crowd(CrowdOrder),
    /// Serve the shop until it is stopped.
    Serve,
}

/// The crowd to send, and what happens to it.
#[derive(Clone, Debug)]
pub struct CrowdOrder {
    pub(crate) arrivals: Arrivals,
    pub(crate) options: CrowdOptions,
}

/// The arrival times of a crowd.
#[derive(Clone, Debug)]
pub(crate) enum Arrivals {
    /// A number of visitors, evenly over a period.
    Even { visitors: u32, over: Duration },
    /// The shape of a file.
    Replay(ReplayArgs),
    /// A number of visitors of a sale: most of them in its prequeue, and the others later.
    Sale { visitors: u32, over: Duration, prequeue: Duration },
}

#[derive(Args, Clone, Debug)]
#[command(group = ArgGroup::new("visitors").args(["crowd", "replay"]))]
struct CrowdArgs {
    /// Sends a crowd of this many visitors, and reports what they saw.
    #[arg(long, value_name = "VISITORS", help_heading = "Crowd", value_parser = at_least_one())]
    crowd: Option<u32>,
    /// The time over which the crowd arrives.
    #[arg(
        long,
        value_name = "TIME",
        help_heading = "Crowd",
        value_parser = some_duration,
        default_value = "60s",
        requires = "visitors",
        conflicts_with = "replay"
    )]
    duration: Duration,
    /// Makes the crowd come to a sale, which starts after a prequeue in an order that is drawn by lot.
    /// Its room has push streams and, unless other limits are set, 600 slots, 3000 new visitors a
    /// minute, and sessions of 20 s.
    #[arg(
        long,
        help_heading = "Crowd",
        requires = "crowd",
        conflicts_with_all = ["replay", "restart_at", "one_address"]
    )]
    event: bool,
    /// The time from the first arrival to the start of the sale, at least 10 seconds.
    #[arg(
        long,
        value_name = "TIME",
        help_heading = "Crowd",
        value_parser = prequeue,
        default_value = "15s",
        requires = "event"
    )]
    prequeue: Duration,
    #[command(flatten)]
    options: CrowdOptions,
    /// Sends the crowd of a real day: a CSV file of counts, `minute,requests`.
    #[arg(long, value_name = "FILE", help_heading = "Replay")]
    replay: Option<PathBuf>,
    #[command(flatten)]
    window: WindowArgs,
}

/// The settings of a run with a crowd.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Crowd")]
pub(crate) struct CrowdOptions {
    /// The seed of the arrivals and of the visitors' behaviour [default: random, and printed]
    #[arg(long, requires = "visitors")]
    pub(crate) seed: Option<u64>,
    /// Prints the report as one JSON object on standard output.
    #[arg(long, requires = "visitors")]
    pub(crate) json: bool,
    /// Kills the server at this time and starts another, with the same keys and without its state.
    #[arg(long, value_name = "TIME", value_parser = some_duration, requires = "visitors")]
    pub(crate) restart_at: Option<Duration>,
    /// The time that the line has to empty after the last arrival, at most 45 seconds.
    #[arg(long, value_name = "TIME", default_value = "45s", value_parser = drain, requires = "visitors")]
    pub(crate) drain: Duration,
    /// Sends all visitors from one address, as from a school. The shop limits each address to 600
    /// requests a minute, and its room has 20 slots unless --limit sets another number.
    #[arg(long, requires = "visitors")]
    pub(crate) one_address: bool,
    /// Makes all visitors keep their cookies, return exactly when they are asked to, and wait to
    /// the end.
    #[arg(long, requires = "visitors")]
    pub(crate) obey: bool,
    /// The maximum size of the crowd.
    #[arg(long, value_name = "VISITORS", default_value_t = 5_000, requires = "visitors")]
    pub(crate) max_visitors: u32,
}

/// The part of a file to replay, and how it is compressed and scaled.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Replay")]
pub(crate) struct WindowArgs {
    /// The first minute of the replay, as written in the file or as HH:MM [default: the steepest
    /// stretch]
    #[arg(long, value_name = "MINUTE", requires = "visitors", conflicts_with = "crowd")]
    pub(crate) from: Option<String>,
    /// The number of minutes to replay.
    #[arg(long, value_name = "MINUTES", default_value_t = 60, value_parser = at_least_one(), requires = "visitors", conflicts_with = "crowd")]
    pub(crate) minutes: u32,
    /// The time into which these minutes are compressed, at most three minutes.
    #[arg(long, value_name = "TIME", default_value = "3m", value_parser = press, requires = "visitors", conflicts_with = "crowd")]
    pub(crate) press: Duration,
    /// The demand in the busiest minute, as a multiple of what the limits allow.
    #[arg(long, value_name = "FACTOR", default_value_t = 3.0, value_parser = factor, requires = "visitors", conflicts_with = "crowd")]
    pub(crate) peak_factor: f64,
}

/// A file, and the part of it to replay.
#[derive(Clone, Debug)]
pub(crate) struct ReplayArgs {
    pub(crate) file: PathBuf,
    pub(crate) window: WindowArgs,
}

impl CrowdOrder {
    /// A crowd of visitors who arrive evenly over the period `over`. After the last arrival the
    /// line has the time `drain` to empty.
    ///
    /// Without a seed, a random one is used.
    #[must_use]
    pub const fn even(visitors: u32, over: Duration, drain: Duration, seed: Option<u64>) -> Self {
        let json = false;
        let restart_at = None;
        let max_visitors = visitors;
        let one_address = false;
        let obey = false;
        let options =
            CrowdOptions { seed, json, restart_at, drain, one_address, obey, max_visitors };
        Self { arrivals: Arrivals::Even { visitors, over }, options }
    }
}

impl Cli {
    /// The configuration of a room that is served without a crowd.
    pub(crate) fn config(&self) -> Result<WaitingRoomConfig, ConfigError> {
        let room = self.room.builder(self.room.own_keys()?);
        if self.secure { room.cookie(CookieSettings::default()).build() } else { room.build() }
    }

    /// The task that the command line asks for.
    pub(crate) fn mode(&self) -> Mode {
        let CrowdArgs { crowd, duration, event, prequeue, options, replay, window } = &self.crowd;
        let arrivals = match (crowd, replay) {
            (Some(visitors), _) if *event => {
                Arrivals::Sale { visitors: *visitors, over: *duration, prequeue: *prequeue }
            }
            (Some(visitors), _) => Arrivals::Even { visitors: *visitors, over: *duration },
            (None, Some(file)) => {
                Arrivals::Replay(ReplayArgs { file: file.clone(), window: window.clone() })
            }
            (None, None) => return Mode::Serve,
        };
        Mode::Crowd(CrowdOrder { arrivals, options: options.clone() })
    }
}

fn some_duration(text: &str) -> Result<Duration, String> {
    let some = duration(text).map_err(|error| error.to_string())?;
    if some.is_zero() || some > MAX_DURATION {
        return Err(format!("expected more than 0 s and at most {MAX_DURATION:?}"));
    }
    Ok(some)
}

fn prequeue(text: &str) -> Result<Duration, String> {
    let prequeue = some_duration(text)?;
    let least = Event::PREQUEUE.0;
    if prequeue < least { Err(format!("expected at least {least:?}")) } else { Ok(prequeue) }
}

fn press(text: &str) -> Result<Duration, String> {
    let press = some_duration(text)?;
    if press > MAX_PRESS { Err(format!("expected at most {MAX_PRESS:?}")) } else { Ok(press) }
}

fn drain(text: &str) -> Result<Duration, String> {
    let drain = some_duration(text)?;
    if drain > MAX_DRAIN { Err(format!("expected at most {MAX_DRAIN:?}")) } else { Ok(drain) }
}

fn factor(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(factor) if factor > 0.0 && factor <= MAX_FACTOR => Ok(factor),
        _ => Err(format!("expected a number above 0, and at most {MAX_FACTOR}")),
    }
}

fn at_least_one() -> clap::builder::RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(1..)
}

/// The maximum time over which a crowd arrives.
const MAX_DURATION: Duration = Duration::from_secs(24 * 60 * 60);

/// A replay takes less than four minutes: this time, and the time to drain.
const MAX_PRESS: Duration = Duration::from_secs(3 * 60);
const MAX_DRAIN: Duration = Duration::from_secs(45);

const MAX_FACTOR: f64 = 100.0;

#[cfg(test)]
mod tests;
