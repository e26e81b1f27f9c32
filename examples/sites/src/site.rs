//! The processes of one site: a store, its nodes, a balancer, and the links to the ledgers.

use std::net::SocketAddr;

use anyhow::Result;
use cluster::{Balancer, Link, Process, Weather, free_address, random_key};
use waiting_room_engines::{EngineServer, Persistence};

use crate::{
    cli::Plan,
    ledger::SITE_KEY,
    node::{NodeArgs, PolicyName},
};

/// A running site. All its processes end when this is dropped.
#[derive(Debug)]
pub(crate) struct Site {
    pub(crate) store: EngineServer,
    pub(crate) nodes: Vec<Process>,
    /// One link to each ledger, which all nodes share.
    pub(crate) links: Vec<Link>,
    pub(crate) balancer: Balancer,
}

impl Site {
    /// Starts a site, and waits until it serves.
    pub(crate) async fn start(
        number: u16,
        plan: &Plan,
        policy: PolicyName,
        kept: Persistence,
        ledgers: &[SocketAddr],
        key_of_sites: &str,
    ) -> Result<Self> {
        let store = EngineServer::start(plan.engine.into(), kept)?;
        let links = ledgers.iter().map(|&ledger| Link::to(ledger, plan.round_trip));
        let links = links.collect::<Result<Vec<_>, _>>()?;
        // A pass of another site is no pass here.
        let key = random_key();
        let (mut nodes, mut addresses) = (Vec::new(), Vec::new());
        for _ in 0..plan.nodes {
            let listen = free_address()?;
            let node = NodeArgs {
                listen,
                store: store.url(),
                site: number,
                ledgers: links.iter().map(|link| link.address().to_string()).collect(),
                lease: plan.lease(),
                policy,
                room: plan.promised(),
            };
            let keys = vec![("SHOP_KEY", key.clone()), (SITE_KEY, key_of_sites.to_owned())];
            nodes.push(Process::start(node.arguments(), keys).await?);
            addresses.push(listen);
        }
        let balancer = Balancer::start(&addresses).await?;
        Ok(Self { store, nodes, links, balancer })
    }

    /// Changes the weather on the way to all ledgers.
    pub(crate) fn set(&self, weather: Weather) {
        for link in &self.links {
            link.set(weather);
        }
    }

    /// The number of pieces that the site has sent to the ledgers.
    pub(crate) fn sent(&self) -> u64 {
        self.links.iter().map(|link| link.carried().there).sum()
    }
}
