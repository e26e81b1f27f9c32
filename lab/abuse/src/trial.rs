//! One run: a fresh service, people, an attack, and its outcome.

use std::{path::Path, time::Duration};

use anyhow::{Context, Result};
use clap::ValueEnum;
use tokio::time::sleep;

use crate::{
    attacks::{
        cookie_jar_filler, dear_headers, early_polls, hoard_in_time, hotlinks, key_flood,
        ledger_flood, made_up_keys, odd_paths, preflight_flood, slot_hoard, slow_readers,
        slow_uploads, ticket_hoard, two_rooms, void_proofs,
    },
    ledger::Ledger,
    people::{People, Seen},
    site::{Scale, Site},
    strike::Strike,
};

/// The attacks, in the order of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Attack {
    /// CORS preflights from one address, each sent as soon as the last one is answered.
    PreflightFlood,
    /// Paths of 60 KB, 8 KiB and 256 bytes that can be read in many ways, in front of limits on
    /// paths.
    Paths,
    /// A new key in a header, and a new token in the cookie, with each request.
    MadeUpKeys,
    /// Hundreds of first tickets, all returned together before the next slots are free.
    TicketHoard,
    /// A thousand first tickets, taken while other people wait, and each returned when it is due.
    HoardInTime,
    /// A client that sends its tokens by header, through two rooms.
    TwoRooms,
    /// Requests from thousands of addresses of one network.
    KeyFlood,
    /// Many places in the line for one address, each with a new cookie jar.
    CookieJarFiller,
    /// Tickets presented before they are due, each as soon as the last request is answered.
    EarlyPolls,
    /// Downloads over connections that are never read.
    SlowReaders,
    /// Pictures, frames and calls of the shop on a page of another site, which many people read.
    Hotlinks,
    /// Uploads of a byte a second.
    SlowUploads,
    /// All slots, the places and the streams of one address, while people come.
    SlotsOfOneAddress,
    /// The same with the addresses of one /48 of IPv6.
    SlotsOfOnePrefix,
    /// Passes whose sessions were ended, tickets that were given up, and copies of used ones.
    VoidProofs,
    /// Connections without a key to the ledger of a shop that is a site of several.
    LedgerFlood,
    /// The headers of 16 KB that cost most.
    DearHeaders,
}

/// The outcome of an attack, and the answers that people received before and during it.
#[derive(Clone, Debug)]
pub(crate) struct Trial {
    pub(crate) attack: Attack,
    pub(crate) strike: Strike,
    pub(crate) calm: Seen,
    pub(crate) meanwhile: Seen,
}

impl Attack {
    /// The configuration files of the service, the outermost layer first.
    const fn files(self) -> &'static [&'static str] {
        if matches!(self, Self::TwoRooms) {
            &["service.toml", "checkout.toml"]
        } else if matches!(
            self,
            Self::DearHeaders
                | Self::LedgerFlood
                | Self::SlotsOfOneAddress
                | Self::SlotsOfOnePrefix
        ) {
            &["small-room.toml"]
        } else {
            &["service.toml"]
        }
    }

    async fn strike(self, site: &Site) -> Result<Strike> {
        match self {
            Self::CookieJarFiller => cookie_jar_filler::strike(site).await,
            Self::DearHeaders => dear_headers::strike(site).await,
            Self::EarlyPolls => early_polls::strike(site).await,
            Self::HoardInTime => hoard_in_time::strike(site).await,
            Self::Hotlinks => hotlinks::strike(site).await,
            Self::KeyFlood => key_flood::strike(site).await,
            Self::LedgerFlood => ledger_flood::strike(site).await,
            Self::MadeUpKeys => made_up_keys::strike(site).await,
            Self::Paths => odd_paths::strike(site).await,
            Self::PreflightFlood => preflight_flood::strike(site).await,
            Self::SlotsOfOneAddress => slot_hoard::strike(site, slot_hoard::ADDRESS).await,
            Self::SlotsOfOnePrefix => slot_hoard::strike(site, slot_hoard::PREFIX).await,
            Self::SlowReaders => slow_readers::strike(site).await,
            Self::SlowUploads => slow_uploads::strike(site).await,
            Self::TicketHoard => ticket_hoard::strike(site).await,
            Self::TwoRooms => two_rooms::strike(site).await,
            Self::VoidProofs => void_proofs::strike(site).await,
        }
    }
}

impl Trial {
    /// Starts a service and people, runs the attack, and stops everything.
    pub(crate) async fn run(
        attack: Attack,
        folder: &Path,
        scale: Scale,
        seed: u64,
    ) -> Result<Self> {
        let ledger = match attack.files() {
            [file] if attack == Attack::LedgerFlood => {
                Some(Ledger::start(&folder.join(file)).await?)
            }
            _ => None,
        };
        let site = Site::start(folder, attack.files(), ledger, scale, seed).await?;
        let people = People::come(&site).await?;
        sleep(CALM).await;
        let calm = people.seen();
        let strike = attack.strike(&site).await.with_context(|| format!("{attack:?}"))?;
        Ok(Self { attack, strike, calm, meanwhile: people.seen() })
    }

    pub(crate) fn name(&self) -> String {
        self.attack
            .to_possible_value()
            .map_or_else(String::new, |value| value.get_name().to_owned())
    }

    /// The bounds that were broken, and the reasons why the run is void.
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

    /// The outcome in one line, for the log.
    pub(crate) fn story(&self) -> String {
        let kept = match self.broken().as_slice() {
            [] => "kept".to_owned(),
            broken => broken.join("; "),
        };
        format!("{}: {}: {kept}", self.name(), self.strike.got)
    }
}

/// The time before the attack, in which only people send requests.
const CALM: Duration = Duration::from_secs(1);
