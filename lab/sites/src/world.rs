//! The processes of one run: three sites, two ledgers, and their database.
//!
//! ```text
//!             ┌─► site 1 ══ links ══╗
//!  crowd ═════╪═► site 2 ══ links ══╬══► ledger, standby ──► PostgreSQL
//!             └─► site 3 ══ links ══╝
//!
//!  a site:  balancer ──► two nodes ──► Redis or Valkey
//! ```

use std::{net::SocketAddr, time::Duration};

use anyhow::{Context, Result, anyhow};
use cluster::{Process, ShiftedClock, free_address};
use tokio::time::timeout;
use waiting_room_engines::PostgresServer;
use waiting_room_ledger::{
    SharedKeys, SiteId, TcpDial,
    model::{Epoch, OperatorLink, Order, Term},
};

use crate::{
    cli::Plan,
    fault::{ClockOf, Fault},
    ledger::{LedgerArgs, MINUTE_ROOM, OPERATOR_KEY, ROOM, SITE_KEY, set_up},
    node::{PolicyName, minute},
    site::{Site, SiteSetup},
    wire::Wire,
};

/// A running world. All its processes end when this is dropped.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) sites: Vec<Site>,
    pub(crate) ledgers: Vec<Process>,
    pub(crate) database: PostgresServer,
    /// The clock that the fault moves, if it moves one.
    pub(crate) clock: Option<ShiftedClock>,
    /// The messages between the sites and the ledgers.
    pub(crate) wire: Wire,
    /// The links to the ledgers, in the same order.
    operator: Vec<OperatorLink<TcpDial>>,
}

impl World {
    /// Starts all processes, in such a way that the fault can be injected, and waits until they
    /// serve.
    pub(crate) async fn start(plan: &Plan, policy: PolicyName, fault: Fault) -> Result<Self> {
        let database = PostgresServer::start()?;
        let slots = plan.escrow()?;
        let minute = minute(plan.lease())?;
        let listed = Plan::SITES - fault.unlisted();
        set_up(&database.url(), ROOM, plan.limit, slots, listed).await?;
        set_up(&database.url(), MINUTE_ROOM, plan.rate, minute, Plan::SITES).await?;
        let clock = fault.moves_clock().map(|_| ShiftedClock::new()).transpose()?;
        let clock_of = |processes| match (fault.moves_clock(), &clock) {
            (Some((whose, _)), Some(clock)) if whose == processes => clock.environment(),
            _ => Vec::new(),
        };
        let [key_of_sites, key_of_operator] =
            ["0123456789abcdef", "fedcba9876543210"].map(|half| half.repeat(4));
        let mut ledgers = Vec::new();
        let mut addresses = Vec::new();
        for _ in 0..LEDGERS {
            let listen = free_address()?;
            let ledger = LedgerArgs { listen, keeper: database.url() };
            let keys = [(SITE_KEY, key_of_sites.clone()), (OPERATOR_KEY, key_of_operator.clone())];
            let environment = keys.into_iter().chain(clock_of(ClockOf::NodesAndLedgers));
            ledgers.push(Process::start(ledger.arguments(), environment.collect()).await?);
            addresses.push(listen);
        }
        let key = SharedKeys::parse(&key_of_operator)?;
        let operator = addresses.iter().map(|address| {
            OperatorLink::new(TcpDial::new(), [address.to_string()], ROOM, key.clone())
        });
        let operator = operator.collect();
        let mut sites = Vec::new();
        let wire = Wire::default();
        for number in 1..=Plan::SITES {
            let is_first = number == 1;
            let of = |processes| if is_first { clock_of(processes) } else { Vec::new() };
            let setup = SiteSetup {
                number,
                policy,
                kept: fault.persistence(),
                is_replicated: is_first && fault == Fault::Failover,
                of_store: of(ClockOf::Store),
                of_nodes: of(ClockOf::NodesAndLedgers),
                ledgers: &addresses,
                key: &key_of_sites,
                wire: &wire,
            };
            sites.push(Site::start(plan, setup).await?);
        }
        Ok(Self { sites, ledgers, database, clock, wire, operator })
    }

    /// The addresses that visitors connect to.
    pub(crate) fn shops(&self) -> Vec<SocketAddr> {
        self.sites.iter().map(|site| site.balancer.address()).collect()
    }

    /// Gives an order to the ledger that holds the room. Returns its place among the ledgers, and its
    /// answer.
    pub(crate) async fn order(&self, order: Order) -> Result<(usize, String)> {
        let mut errors = Vec::new();
        for (place, ledger) in self.operator.iter().enumerate() {
            match timeout(ANSWER_WITHIN, ledger.order(order)).await {
                Ok(Ok(answer)) => return Ok((place, answer)),
                Ok(Err(error)) => errors.push(format!("{error:?}")),
                Err(_) => errors.push(format!("no answer within {ANSWER_WITHIN:?}")),
            }
        }
        Err(anyhow!("{order:?}: {}", errors.join("; ")))
    }

    /// The status that the holder of the room reports. On a busy machine, the answer may be late.
    async fn status(&self) -> Result<(usize, String)> {
        for _ in 1..ATTEMPTS {
            if let Ok(status) = self.order(Order::Status).await {
                return Ok(status);
            }
        }
        self.order(Order::Status).await
    }

    /// The place of the ledger that holds the room, and its term.
    pub(crate) async fn holder(&self) -> Result<(usize, u32)> {
        let (place, status) = self.status().await?;
        let term = status.strip_prefix("term ").and_then(|rest| rest.split(',').next());
        let term = term.with_context(|| format!("a status without a term: {status}"))?;
        Ok((place, term.parse()?))
    }

    /// Declares that a site is switched off.
    pub(crate) async fn fence(&self, site: u16) -> Result<()> {
        let (_, status) = self.status().await?;
        let epoch = epoch_of(&status, site).with_context(|| format!("no site {site}: {status}"))?;
        self.order(Order::Fence(SiteId::new(site), epoch)).await.map(drop)
    }

    /// The slots that a site holds.
    pub(crate) async fn held(&self, site: u16) -> Result<u32> {
        let (_, status) = self.status().await?;
        held_by(&status, site).with_context(|| format!("no site {site}: {status}"))
    }

    /// The number of scripts that all stores have run.
    pub(crate) async fn scripts(&self) -> Result<u64> {
        let mut scripts = 0;
        for site in &self.sites {
            scripts += site.scripts().await?;
        }
        Ok(scripts)
    }
}

/// The columns of a site in a status.
fn columns(status: &str, site: u16) -> Option<Vec<&str>> {
    let site = site.to_string();
    let mut lines = status.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    lines.find(|columns| columns.first() == Some(&site.as_str()))
}

/// The epoch of a site in a status.
fn epoch_of(status: &str, site: u16) -> Option<Epoch> {
    let (term, count) = columns(status, site)?.get(1)?.split_once('/')?;
    Some(Epoch::new(Term::new(term.parse().ok()?), count.parse().ok()?))
}

/// The slots that a site holds, in a status.
fn held_by(status: &str, site: u16) -> Option<u32> {
    columns(status, site)?.get(3)?.parse().ok()
}

/// The time in which a ledger has to answer the operator.
const ANSWER_WITHIN: Duration = Duration::from_secs(1);
/// The interval at which the status of the room is requested, if no ledger answers.
const ATTEMPTS: u32 = 5;

/// The number of ledgers, of which one holds the room.
const LEDGERS: usize = 2;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_epoch_and_the_slots_of_a_site_are_read_from_a_status() {
        let status = "term 1, limit 3000, held 0, free 3000\n\
                      site  epoch     account  held      used      lease   notes\n\
                      1     0/0       away     0         0         0s\n\
                      3     2/17      open     9         3         8s\n";
        assert_eq!(epoch_of(status, 3), Some(Epoch::new(Term::new(2), 17)));
        assert_eq!(epoch_of(status, 2), None);
        assert_eq!([1, 2, 3].map(|site| held_by(status, site)), [Some(0), None, Some(9)]);
    }
}
