//! A freshly started service, and what an attack knows about it.

use std::{
    net::{IpAddr, Ipv4Addr, SocketAddr},
    path::Path,
    time::Duration,
};

use anyhow::{Context, Result};
use http_body_util::Empty;

use crate::{
    client::{Client, get},
    ledger::Ledger,
    process::Process,
    serve::{Numbers, RoomNumbers},
    settings::Settings,
    visitor::Visitor,
};

/// A running service, its settings, and the intensity of the attack.
#[derive(Debug)]
pub(crate) struct Site {
    pub(crate) process: Process,
    pub(crate) settings: Settings,
    /// The ledger, if the service is a site of several.
    pub(crate) ledger: Option<Ledger>,
    pub(crate) scale: Scale,
    pub(crate) seed: u64,
}

/// The intensity of the attacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scale {
    /// For the published table.
    Full,
    /// For each change of the code.
    Short,
}

impl Site {
    pub(crate) async fn start(
        folder: &Path,
        files: &[&str],
        ledger: Option<Ledger>,
        scale: Scale,
        seed: u64,
    ) -> Result<Self> {
        let settings = Settings::read(&folder.join(files.first().context("a file")?))?;
        let more = ledger.as_ref().map(Ledger::arguments);
        let process = Process::start(folder, files, more.as_slice().as_flattened()).await?;
        Ok(Self { process, settings, ledger, scale, seed })
    }

    pub(crate) const fn address(&self) -> SocketAddr {
        self.process.open
    }

    /// A visitor who connects from this address.
    pub(crate) fn visitor(&self, from: Ipv4Addr) -> Visitor {
        Visitor::new(from, self.address())
    }

    /// Queries the numbers of the service.
    pub(crate) async fn numbers(&self) -> Result<Numbers> {
        let mut client = Client::new(Ipv4Addr::LOCALHOST, self.process.admin);
        let answer = client.send(get("/numbers").body(Empty::new())?).await?;
        Ok(serde_json::from_slice(&answer.body)?)
    }

    /// The number of handler runs for an address.
    pub(crate) async fn runs(&self, of: Ipv4Addr) -> Result<u64> {
        Ok(self.numbers().await?.runs.get(&IpAddr::V4(of)).copied().unwrap_or_default())
    }

    /// The numbers of the room with this name.
    pub(crate) async fn room(&self, name: &str) -> Result<RoomNumbers> {
        let room = self.numbers().await?.rooms.get(name).copied();
        room.with_context(|| format!("the service has no room {name:?}"))
    }

    /// Fills the free slots with visitors from one address, and returns these visitors.
    pub(crate) async fn fill(&self) -> Result<Vec<Visitor>> {
        let left = self.settings.total_active_users - self.room(SHOP).await?.active;
        let mut visitors = Vec::new();
        for _ in 0..left {
            let mut visitor = self.visitor(OCCUPANTS);
            visitor.enter(Duration::ZERO).await.context("filling the room")?;
            visitors.push(visitor);
        }
        Ok(visitors)
    }
}

impl Scale {
    /// The duration of an attack.
    pub(crate) const fn length(self) -> Duration {
        match self {
            Self::Full => Duration::from_secs(10),
            Self::Short => Duration::from_secs(3),
        }
    }

    /// The number of connections of an attacker that sends requests continuously.
    pub(crate) const fn connections(self) -> u32 {
        match self {
            Self::Full => 32,
            Self::Short => 8,
        }
    }

    /// The number of connections that read nothing.
    pub(crate) const fn slow_readers(self) -> u32 {
        match self {
            Self::Full => 10_000,
            Self::Short => 500,
        }
    }
}

/// The address of an attacker.
pub(crate) const fn attacker(number: u8) -> Ipv4Addr {
    Ipv4Addr::new(127, 0, 2, number)
}

/// The address of a person.
pub(crate) const fn person(number: u8) -> Ipv4Addr {
    Ipv4Addr::new(127, 0, 1, number)
}

/// The address of a person who comes during an attack, in a network of its own.
pub(crate) const fn newcomer(number: u8) -> Ipv4Addr {
    Ipv4Addr::new(127, 100 + number, 0, 1)
}

/// The name of the outermost room.
pub(crate) const SHOP: &str = "shop";
const OCCUPANTS: Ipv4Addr = Ipv4Addr::new(127, 0, 3, 1);
