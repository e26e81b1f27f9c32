//! The command line.

use std::{ffi::OsString, net::SocketAddr, path::PathBuf, time::Duration};

use clap::{Args, CommandFactory, FromArgMatches, Parser, builder::ArgPredicate};
use shop::{RoomArgs, duration};
use tower_waiting_room::{ConfigError, WaitingRoomConfig, room::Shares};

use crate::otlp::Collector;

/// Opens a small shop behind a waiting room, with simulated visitors inside and in line.
///
/// Open the address that it prints: you get a number, the number falls, and after about half a minute you
/// are inside. The operator's dashboard is beside it, and its name and password are printed too.
#[derive(Debug, Parser)]
#[command(version, after_help = EXAMPLES)]
pub(crate) struct Cli {
    /// The address to serve on [with a crowd: a free port].
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:3000")]
    pub(crate) listen: SocketAddr,
    /// Opens a larger shop without simulated visitors, and logs each request.
    #[arg(long, conflicts_with = "visitors")]
    pub(crate) quiet_shop: bool,
    /// Serves the operator's dashboard at /admin also in a quiet shop, or while a crowd comes.
    ///
    /// The name is admin. The password is random, unless it is set in SHOP_ADMIN_PASSWORD.
    #[arg(long)]
    admin: bool,
    /// Sends the metrics to the OpenTelemetry collector at this address, by OTLP over HTTP [default:
    /// OTEL_EXPORTER_OTLP_ENDPOINT, if it is set].
    ///
    /// The metrics are sent once a minute, or every OTEL_METRIC_EXPORT_INTERVAL milliseconds.
    #[arg(long, value_name = "URL")]
    pub(crate) otlp: Option<Collector>,
    #[command(flatten)]
    pub(crate) room: RoomArgs,
    #[command(flatten)]
    pub(crate) crowd: CrowdArgs,
}

/// The crowd to send to the shop.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Crowd")]
pub(crate) struct CrowdArgs {
    /// Sends this many visitors to a larger, empty shop, reports what they saw, and ends.
    #[arg(long, value_name = "VISITORS", group = "visitors", value_parser = clap::value_parser!(u32).range(1..=5_000))]
    pub(crate) crowd: Option<u32>,
    /// Sends the crowd of a real day: the steepest hour of a CSV file of counts, `minute,requests`, within
    /// three minutes. Its busiest minute brings three times as many visitors as the limits allow.
    #[arg(long, value_name = "FILE", group = "visitors")]
    pub(crate) replay: Option<PathBuf>,
    /// The time over which the crowd arrives.
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "60s", requires = "visitors", conflicts_with = "replay")]
    pub(crate) duration: Duration,
    /// The seed of the arrivals and of the visitors' behaviour [default: random, and printed].
    #[arg(long, requires = "visitors")]
    pub(crate) seed: Option<u64>,
    /// Prints the report as one JSON object on standard output.
    #[arg(long, requires = "visitors")]
    pub(crate) json: bool,
    /// The time that the line has to empty after the last arrival.
    #[arg(long, value_name = "TIME", default_value = "45s", value_parser = duration, requires = "visitors")]
    pub(crate) drain: Duration,
}

const EXAMPLES: &str = "\
Examples:
  shop                                    a waiting room to see from both sides
  shop --listen 0.0.0.0:8080              the same for other machines
  shop --quiet-shop --limit 1             two browsers: one is inside, the other waits
  shop --crowd 500 --admin                a crowd to watch, and a report of what it saw

A quiet shop, or one with a crowd, has the limits --limit 200 and --refresh-interval 20s. A session lasts
five minutes in a quiet shop, and one minute with a crowd.";

impl Cli {
    /// Options whose defaults depend on the visitors: of a person among simulated ones, of a quiet shop, and
    /// of a crowd.
    const DEFAULTS: [(&str, [&str; 3]); 4] = [
        ("listen", ["127.0.0.1:3000", "127.0.0.1:3000", "127.0.0.1:0"]),
        ("limit", ["10", "200", "200"]),
        ("refresh_interval", ["3s", "20s", "20s"]),
        ("session", ["2m", "5m", "60s"]),
    ];

    /// Reads a command line, which begins with the name of the program.
    pub(crate) fn read<T>(line: impl IntoIterator<Item = T>) -> Result<Self, clap::Error>
    where
        T: Into<OsString> + Clone,
    {
        Self::from_arg_matches(&Self::definition().try_get_matches_from(line)?)
    }

    fn definition() -> clap::Command {
        let mut command = Self::command();
        for (name, [usual, quiet, crowd]) in Self::DEFAULTS {
            // A flag is present even if it is not set.
            let others = [
                ("quiet_shop", ArgPredicate::Equals("true".into()), Some(quiet)),
                ("crowd", ArgPredicate::IsPresent, Some(crowd)),
                ("replay", ArgPredicate::IsPresent, Some(crowd)),
            ];
            command = command
                .mut_arg(name, |option| option.default_value(usual).default_value_ifs(others));
        }
        command
    }

    /// Whether a crowd is to be sent.
    pub(crate) const fn sends_crowd(&self) -> bool {
        self.crowd.crowd.is_some() || self.crowd.replay.is_some()
    }

    /// Whether there is a dashboard. Only a quiet shop and a crowd have to ask for it.
    pub(crate) const fn has_dashboard(&self) -> bool {
        self.admin || !(self.quiet_shop || self.sends_crowd())
    }

    /// The configuration of the room.
    pub(crate) fn config(&self) -> Result<WaitingRoomConfig, ConfigError> {
        let room = self.room.builder(self.room.own_keys()?);
        // All simulated visitors come from one address, and so does a person who joins them.
        if self.quiet_shop { room } else { room.shares(Shares::Off) }.build()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_suit_the_visitors_and_every_option_overrides_its_default() {
        Cli::definition().debug_assert();
        for (line, expected) in [
            ("shop", "127.0.0.1:3000 10 120 true"),
            ("shop --quiet-shop", "127.0.0.1:3000 200 300 false"),
            ("shop --quiet-shop --admin --limit 7", "127.0.0.1:3000 7 300 true"),
            ("shop --crowd 500 --duration 1m30s", "127.0.0.1:0 200 60 false"),
            ("shop --replay day.csv --session 10m", "127.0.0.1:0 200 600 false"),
            ("shop --crowd 5 --admin --listen 127.0.0.1:80", "127.0.0.1:80 200 60 true"),
        ] {
            let cli = Cli::read(line.split_whitespace()).unwrap();
            let Cli { listen, room: RoomArgs { limit, session, .. }, .. } = &cli;
            let session = session.unwrap().as_secs();
            assert_eq!(format!("{listen} {limit} {session} {}", cli.has_dashboard()), expected);
        }
    }

    #[test]
    fn contradictory_or_excessive_arguments_are_refused() {
        for line in [
            "shop --crowd 5 --replay day.csv",
            "shop --crowd 0",
            "shop --crowd 5001",
            "shop --crowd 5 --quiet-shop",
            "shop --otlp 127.0.0.1:4318",
            "shop --replay day.csv --duration 90",
            "shop --json",
            "shop --seed 7",
            "shop --session soon",
        ] {
            assert!(Cli::read(line.split_whitespace()).is_err(), "{line}");
        }
    }

    #[test]
    fn the_first_key_seals_and_a_wrong_one_is_never_shown() {
        let key = |byte: &str| byte.repeat(43);
        let room = |keys: &str| Cli::read(["shop", "--keys", keys]).unwrap().room;
        assert!(room(&format!("{},{}", key("A"), key("Q"))).own_keys().unwrap().is_some());
        let error = room("c2VjcmV0").own_keys().unwrap_err().to_string();
        assert_eq!(error, "token_key is 6 bytes long, expected 32 bytes in base64");
    }
}
