//! A small JSON API with rate limits.
//!
//! ```text
//! cargo run -p api                                      serves on http://127.0.0.1:3001
//! cargo run -p api -- --limits my.toml --headers x-rate-limit   by other rules, told by other headers
//! ```
//!
//! [`mod@app`] is the router with the layers in front of it, and the server. [`mod@limits`] holds
//! what is limited by code, and the plans of users; the rest is in `limits.yaml`. [`endpoints`] are
//! what it is all for.

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
    /// Serves on this port of the loopback address; 0 is any free one.
    #[arg(long, default_value_t = 3001)]
    pub(crate) port: u16,
    /// The rules file, YAML or TOML, which may change while it is in force.
    #[arg(long, value_name = "FILE", default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/limits.yaml"))]
    limits: PathBuf,
    /// Believes the X-Forwarded-For header of proxies in this network; may be given again.
    #[arg(long, value_name = "CIDR")]
    trusted_proxy: Vec<String>,
    /// Which headers tell a client about its limits.
    #[arg(long, value_enum, value_name = "PROFILE", default_value = "common")]
    headers: Profile,
}

/// Which headers tell a client about its limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Profile {
    /// X-Ratelimit-Remaining, -Limit and -Retry-After.
    XRateLimit,
    /// X-RateLimit-Limit, -Remaining, -Reset and -Retry-After, and those of draft 11.
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
    /// None but Retry-After.
    None,
}

impl Cli {
    /// The configuration that it all comes to.
    pub(crate) fn config(&self) -> Result<WaitingRoomConfig, ConfigError> {
        let client_ip = self.client_ip()?;
        limits(&self.limits).client_ip(client_ip).rate_headers(self.headers.into()).build()
    }

    /// Where the address of a client is read from.
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
            Profile::Common => Self::Common,
            Profile::Draft11Strict => Self::Draft11Strict,
            Profile::Draft6 => Self::Draft6,
            Profile::Draft7 => Self::Draft7,
            Profile::None => Self::None,
        }
    }
}
