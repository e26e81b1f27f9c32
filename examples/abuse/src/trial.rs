//! One run: a fresh service, people, an attack, and what came of it.

use std::{path::Path, time::Duration};

use anyhow::{Context, Result};
use clap::ValueEnum;
use tokio::time::sleep;

use crate::{
    attacks::{
        cookie_jar_filler, early_polls, key_flood, made_up_keys, odd_paths, preflight_flood,
        slow_readers, ticket_hoard, two_rooms,
    },
    people::{People, Seen},
    site::{Scale, Site},
    strike::Strike,
};

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

/// The outcome of an attack, and the answers that people got before and meanwhile.
#[derive(Clone, Debug)]
pub(crate) struct Trial {
    pub(crate) attack: Attack,
    pub(crate) strike: Strike,
    pub(crate) calm: Seen,
    pub(crate) meanwhile: Seen,
}

impl Attack {
    /// The configuration of the service, the outermost layer first.
    const fn files(self) -> &'static [&'static str] {
        match self {
            Self::TwoRooms => &["service.toml", "checkout.toml"],
            _ => &["service.toml"],
        }
    }

    async fn strike(self, site: &Site) -> Result<Strike> {
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

impl Trial {
    /// Starts everything, strikes, and ends everything.
    pub(crate) async fn run(
        attack: Attack,
        folder: &Path,
        scale: Scale,
        seed: u64,
    ) -> Result<Self> {
        let site = Site::start(folder, attack.files(), scale, seed).await?;
        let people = People::come(&site).await?;
        sleep(CALM).await;
        let calm = people.seen();
        let strike = attack.strike(&site).await.with_context(|| format!("{attack:?}"))?;
        Ok(Self { attack, strike, calm, meanwhile: people.seen() })
    }

    pub(crate) fn name(&self) -> String {
        self.attack.to_possible_value().map_or_else(String::new, |it| it.get_name().to_owned())
    }

    /// The bounds that were broken, and why the run proves nothing.
    pub(crate) fn broken(&self) -> Vec<String> {
        let mut broken = self.strike.broken.clone();
        if self.strike.sent == 0 {
            broken.push("void: the attacker sent nothing".to_owned());
        }
        for (when, seen) in [("before", &self.calm), ("meanwhile", &self.meanwhile)] {
            let without = seen.served.iter().filter(|served| **served == 0).count();
            if without > 0 {
                broken.push(format!("void: {without} people were not served {when}"));
            }
            if let Some(first) = seen.refused.first() {
                broken.push(format!(
                    "{} requests of people failed {when}: {first}",
                    seen.refused.len()
                ));
            }
        }
        broken
    }

    /// One line for whoever watches.
    pub(crate) fn story(&self) -> String {
        let kept = match self.broken().as_slice() {
            [] => "kept".to_owned(),
            broken => broken.join("; "),
        };
        format!("{}: {}: {kept}", self.name(), self.strike.got)
    }
}

/// People are alone for this time.
const CALM: Duration = Duration::from_secs(1);
