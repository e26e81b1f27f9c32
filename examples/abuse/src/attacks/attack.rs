//! Which attacks there are.

use anyhow::Result;
use clap::ValueEnum;

use super::{
    cookie_jar_filler, early_polls, key_flood, made_up_keys, odd_paths, preflight_flood,
    slow_readers, ticket_hoard, two_rooms,
};
use crate::{site::Site, strike::Strike};

/// An attack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Attack {
    /// CORS preflights from one address, as fast as they are answered.
    PreflightFlood,
    /// Paths of 60 KB that can be read in many ways, in front of limits on paths.
    Paths,
    /// A new key in a header, and a new token in the cookie, with each request.
    MadeUpKeys,
    /// First tickets by the hundred, brought back later, before the next slots are free.
    TicketHoard,
    /// A client that sends its tokens by header, through two rooms.
    TwoRooms,
    /// Requests from thousands of addresses of one network.
    KeyFlood,
    /// One place in line after the other, each with a new cookie jar, from one address.
    CookieJarFiller,
    /// Tickets that are shown before they are due, as fast as they are answered.
    EarlyPolls,
    /// Downloads that are asked for and not read.
    SlowReaders,
}

impl Attack {
    /// The configuration of the service, the outermost layer first.
    pub(crate) const fn files(self) -> &'static [&'static str] {
        match self {
            Self::TwoRooms => &["service.toml", "checkout.toml"],
            _ => &["service.toml"],
        }
    }

    pub(crate) async fn strike(self, site: &Site) -> Result<Strike> {
        match self {
            Self::CookieJarFiller => cookie_jar_filler::strike(site).await,
            Self::EarlyPolls => early_polls::strike(site).await,
            Self::KeyFlood => key_flood::strike(site).await,
            Self::MadeUpKeys => made_up_keys::strike(site).await,
            Self::Paths => odd_paths::strike(site).await,
            Self::PreflightFlood => preflight_flood::strike(site).await,
            Self::SlowReaders => slow_readers::strike(site).await,
            Self::TicketHoard => ticket_hoard::strike(site).await,
            Self::TwoRooms => two_rooms::strike(site).await,
        }
    }
}
