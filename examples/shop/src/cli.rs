//! The command line.

use std::{
    net::{Ipv4Addr, SocketAddr},
    path::PathBuf,
    time::Duration,
};

use clap::{Args, Parser};
use shop::{RoomArgs, duration};
use tower_waiting_room::{ConfigError, WaitingRoomConfig, token::CookieSettings};

use crate::otlp::Collector;

/// Runs a small shop behind a waiting room, and a crowd to test it with.
#[derive(Debug, Parser)]
#[command(version, about)]
pub(crate) struct Cli {
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
    pub(crate) crowd: CrowdArgs,
}

/// The crowd to send to the shop.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Crowd")]
pub(crate) struct CrowdArgs {
    /// Sends a crowd of this many visitors, and reports what they saw.
    #[arg(long, value_name = "VISITORS", group = "visitors", value_parser = clap::value_parser!(u32).range(1..=5_000))]
    pub(crate) crowd: Option<u32>,
    /// Sends the crowd of a real day: the steepest hour of a CSV file of counts, `minute,requests`, within
    /// three minutes. Its busiest minute brings three times as many visitors as the limits allow.
    #[arg(long, value_name = "FILE", group = "visitors")]
    pub(crate) replay: Option<PathBuf>,
    /// The time over which the crowd arrives.
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "60s", requires = "visitors", conflicts_with = "replay")]
    pub(crate) duration: Duration,
    /// The seed of the arrivals and of the visitors' behaviour [default: random, and printed]
    #[arg(long, requires = "visitors")]
    pub(crate) seed: Option<u64>,
    /// Prints the report as one JSON object on standard output.
    #[arg(long, requires = "visitors")]
    pub(crate) json: bool,
    /// The time that the line has to empty after the last arrival.
    #[arg(long, value_name = "TIME", default_value = "45s", value_parser = duration, requires = "visitors")]
    pub(crate) drain: Duration,
}

impl Cli {
    /// Whether a crowd is to be sent.
    pub(crate) const fn sends_crowd(&self) -> bool {
        self.crowd.crowd.is_some() || self.crowd.replay.is_some()
    }

    /// The configuration of a room that is served without a crowd.
    pub(crate) fn config(&self) -> Result<WaitingRoomConfig, ConfigError> {
        let room = self.room.builder(self.room.own_keys()?);
        if self.secure { room.cookie(CookieSettings::default()).build() } else { room.build() }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    fn parse(line: &str) -> Result<Cli, clap::Error> {
        Cli::try_parse_from(line.split_whitespace())
    }

    #[test]
    fn the_definition_of_the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn without_a_crowd_it_serves() {
        let cli = parse("shop --listen 0.0.0.0:8080 --limit 7 --rate 9 --session 10m").unwrap();
        assert!(!cli.sends_crowd());
        let promises = cli.room.promises();
        assert_eq!((promises.total_active_users, promises.new_users_per_minute), (7, Some(9)));
        assert_eq!(promises.session_duration, Duration::from_secs(600));
        let cli = parse("shop --crowd 500 --duration 1m30s").unwrap();
        assert!(cli.sends_crowd());
        assert_eq!(cli.crowd.duration, Duration::from_secs(90));
    }

    #[test]
    fn contradictory_or_excessive_arguments_are_refused() {
        for line in [
            "shop --crowd 5 --replay day.csv",
            "shop --crowd 0",
            "shop --crowd 5001",
            "shop --crowd 5 --listen 127.0.0.1:80",
            "shop --crowd 5 --secure",
            "shop --crowd 5 --admin",
            "shop --crowd 5 --otlp http://127.0.0.1:4318",
            "shop --otlp 127.0.0.1:4318",
            "shop --replay day.csv --duration 90",
            "shop --json",
            "shop --seed 7",
            "shop --session soon",
        ] {
            assert!(parse(line).is_err(), "{line}");
        }
    }

    #[test]
    fn the_first_key_seals_and_a_wrong_one_is_never_shown() {
        let key = |byte: &str| byte.repeat(43);
        let room = |keys: &str| parse(&format!("shop --keys {keys}")).unwrap().room;
        assert!(room(&format!("{},{}", key("A"), key("Q"))).own_keys().unwrap().is_some());
        let error = room("c2VjcmV0").own_keys().unwrap_err().to_string();
        assert_eq!(error, "token_key is 6 bytes long, expected 32 bytes in base64");
    }
}
