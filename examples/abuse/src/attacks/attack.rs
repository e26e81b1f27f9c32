//! Which attacks there are.

use anyhow::Result;
use clap::ValueEnum;

use super::{made_up_keys, preflight_flood};
use crate::{site::Site, strike::Strike};

/// An attack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Attack {
    /// CORS preflights from one address, as fast as they are answered.
    PreflightFlood,
    /// A new key in a header, and a new token in the cookie, with each request.
    MadeUpKeys,
}

impl Attack {
    /// The configuration of the service, the outermost layer first.
    pub(crate) const fn files(self) -> &'static [&'static str] {
        match self {
            _ => &["service.toml"],
        }
    }

    pub(crate) async fn strike(self, site: &Site) -> Result<Strike> {
        match self {
            Self::MadeUpKeys => made_up_keys::strike(site).await,
            Self::PreflightFlood => preflight_flood::strike(site).await,
        }
    }
}
