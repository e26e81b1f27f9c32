//! The command line.

use std::{ffi::OsString, net::SocketAddr};

use clap::{CommandFactory, FromArgMatches, Parser, builder::ArgPredicate};
use shop::RoomArgs;
use tower_waiting_room::{ConfigError, WaitingRoomConfig, room::Shares};

use crate::otlp::Collector;

/// Opens a small shop behind a waiting room, with simulated visitors inside and in line.
///
/// Open the address that it prints: you get a number, the number falls, and after about half a minute you
/// are inside. The operator's dashboard is beside it, and its name and password are printed too.
#[derive(Debug, Parser)]
#[command(version, after_help = EXAMPLES)]
pub(crate) struct Cli {
    /// The address to serve on.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:3000")]
    pub(crate) listen: SocketAddr,
    /// The number of simulated visitors, inside and in line [default: as many as keep a person waiting for
    /// half a minute].
    #[arg(long, value_name = "VISITORS", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    #[arg(conflicts_with = "quiet_shop")]
    pub(crate) crowd: Option<u32>,
    /// Opens a larger shop without simulated visitors, and logs each request.
    #[arg(long)]
    pub(crate) quiet_shop: bool,
    /// Serves the operator's dashboard at /admin also in a quiet shop.
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
}

const EXAMPLES: &str = "\
Examples:
  shop                                    a waiting room to see from both sides
  shop --listen 0.0.0.0:8080              the same for other machines
  shop --limit 50 --crowd 500             a longer line
  shop --quiet-shop --limit 1             two browsers: one is inside, the other waits

A quiet shop has the limits --limit 200 and --refresh-interval 20s, and a session lasts five minutes.";

impl Cli {
    /// Options whose defaults depend on the visitors: of a person among simulated ones, and of a quiet shop.
    const DEFAULTS: [(&str, [&str; 2]); 3] =
        [("limit", ["10", "200"]), ("refresh_interval", ["3s", "20s"]), ("session", ["2m", "5m"])];

    /// Reads a command line, which begins with the name of the program.
    pub(crate) fn read<T>(line: impl IntoIterator<Item = T>) -> Result<Self, clap::Error>
    where
        T: Into<OsString> + Clone,
    {
        Self::from_arg_matches(&Self::definition().try_get_matches_from(line)?)
    }

    fn definition() -> clap::Command {
        let mut command = Self::command();
        for (name, [usual, quiet]) in Self::DEFAULTS {
            command = command.mut_arg(name, |option| {
                // A flag is present even if it is not set.
                let is_quiet = ArgPredicate::Equals("true".into());
                option.default_value(usual).default_value_if("quiet_shop", is_quiet, quiet)
            });
        }
        command
    }

    /// Whether there is a dashboard. Only a quiet shop has to ask for it.
    pub(crate) const fn has_dashboard(&self) -> bool {
        self.admin || !self.quiet_shop
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
        ] {
            let cli = Cli::read(line.split_whitespace()).unwrap();
            let Cli { listen, room: RoomArgs { limit, session, .. }, .. } = &cli;
            let session = session.unwrap().as_secs();
            assert_eq!(format!("{listen} {limit} {session} {}", cli.has_dashboard()), expected);
        }
    }

    #[test]
    fn malformed_arguments_are_refused() {
        for line in [
            "shop --otlp 127.0.0.1:4318",
            "shop --limit few",
            "shop --session soon",
            "shop --crowd 0",
            "shop --crowd 9 --quiet-shop",
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
