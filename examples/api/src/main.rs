//! A small JSON API with rate limits.
//!
//! ```text
//! cargo run -p api                                              serves on http://127.0.0.1:3001
//! cargo run -p api -- --limits my.toml --headers x-rate-limit   other rules, and other headers
//! ```
//!
//! [`mod@app`] is the router with the layers in front of it, and the server. [`mod@limits`] holds
//! the limits that are defined in code, and the plans of the users; the other limits are in
//! `limits.yaml`. [`endpoints`] are the handlers.

mod app;
mod endpoints;
mod limits;

use std::{
    error::Error,
    io::{self, IsTerminal},
    path::PathBuf,
    process::ExitCode,
};

use clap::{Parser, ValueEnum};
use tower_waiting_room::{
    ClientIp, ConfigError, TrustedProxies, WaitingRoomConfig, WaitingRoomLayer, rate::RateHeaders,
};
use tracing_subscriber::EnvFilter;

use self::limits::limits;

#[tokio::main]
async fn main() -> ExitCode {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    let log = tracing_subscriber::fmt().with_env_filter(filter);
    log.with_writer(io::stderr).with_ansi(io::stderr().is_terminal()).init();
    match run(&Cli::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("api: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run(cli: &Cli) -> Result<(), Box<dyn Error>> {
    let limits = WaitingRoomLayer::new(cli.config()?);
    app::serve(app::app(limits), cli.port).await?;
    Ok(())
}

/// A small JSON API with rate limits.
#[derive(Debug, Parser)]
#[command(version, about)]
pub(crate) struct Cli {
    /// The port of the loopback address to serve on; 0 selects a free one.
    #[arg(long, default_value_t = 3001)]
    pub(crate) port: u16,
    /// The rules file, YAML or TOML. It is watched, and changes take effect while the API runs.
    #[arg(long, value_name = "FILE", default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/limits.yaml"))]
    limits: PathBuf,
    /// Trusts the X-Forwarded-For header of proxies in this network; can be repeated.
    #[arg(long, value_name = "CIDR")]
    trusted_proxy: Vec<String>,
    /// The headers that report limits to a client.
    #[arg(long, value_enum, value_name = "PROFILE", default_value = "combined")]
    headers: Profile,
}

/// The headers that report limits to a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Profile {
    /// X-Ratelimit-Remaining, -Limit and -Retry-After.
    XRateLimit,
    /// The headers of common and of draft 11, for clients of several limits.
    Combined,
    /// X-RateLimit-Limit, -Remaining, -Reset and -Retry-After.
    Common,
    /// RateLimit-Policy and RateLimit as in draft 11, and nothing else.
    #[value(name = "draft-11-strict")]
    Draft11Strict,
    /// RateLimit-Limit, -Remaining, -Reset and -Policy.
    #[value(name = "draft-6")]
    Draft6,
    /// RateLimit and RateLimit-Policy as in draft 7.
    #[value(name = "draft-7")]
    Draft7,
    /// No headers except Retry-After.
    None,
}

impl Cli {
    /// The configuration that results from all options.
    pub(crate) fn config(&self) -> Result<WaitingRoomConfig, ConfigError> {
        let client_ip = self.client_ip()?;
        limits(&self.limits).client_ip(client_ip).rate_headers(self.headers.into()).build()
    }

    /// The source of client addresses: the peer, or `X-Forwarded-For` behind trusted proxies.
    fn client_ip(&self) -> Result<ClientIp, ConfigError> {
        if self.trusted_proxy.is_empty() {
            return Ok(ClientIp::peer());
        }
        let proxies = self.trusted_proxy.iter().map(String::as_str);
        Ok(ClientIp::x_forwarded_for(TrustedProxies::networks(proxies)?))
    }
}

impl From<Profile> for RateHeaders {
    fn from(profile: Profile) -> Self {
        match profile {
            Profile::XRateLimit => Self::XRateLimit,
            Profile::Combined => Self::Combined,
            Profile::Common => Self::Common,
            Profile::Draft11Strict => Self::Draft11Strict,
            Profile::Draft6 => Self::Draft6,
            Profile::Draft7 => Self::Draft7,
            Profile::None => Self::None,
        }
    }
}
