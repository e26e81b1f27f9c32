//! The processes of one site: a store, its nodes, a balancer, and the links to the ledgers.

use std::{net::SocketAddr, sync::Arc};

use anyhow::{Context, Result};
use cluster::{
    Balancer, Link, Process, Replica, Weather, address_of, connect, free_address, random_key,
};
use waiting_room_engines::{EngineServer, Persistence};

use crate::{
    cli::Plan,
    ledger::SITE_KEY,
    node::{NodeArgs, PolicyName},
    wire::Wire,
};

/// The settings with which a site is started.
#[derive(Clone, Debug)]
pub(crate) struct SiteSetup<'a> {
    pub(crate) number: u16,
    pub(crate) policy: PolicyName,
    /// The persistence of the store, for when it is killed.
    pub(crate) kept: Persistence,
    /// Whether the store has a replica.
    pub(crate) is_replicated: bool,
    /// Additional variables of the store, and of the nodes.
    pub(crate) of_store: Vec<(&'static str, String)>,
    pub(crate) of_nodes: Vec<(&'static str, String)>,
    /// The addresses of the ledgers, and the key for them.
    pub(crate) ledgers: &'a [SocketAddr],
    pub(crate) key: &'a str,
    pub(crate) wire: &'a Wire,
}

/// A running site. All its processes end when this is dropped.
#[derive(Debug)]
pub(crate) struct Site {
    pub(crate) store: EngineServer,
    /// A replica of the store, and the link through which the nodes reach the one or the other.
    pub(crate) replica: Option<(Replica, Link)>,
    pub(crate) nodes: Vec<Process>,
    /// One link to each ledger, which all nodes share.
    pub(crate) links: Vec<Link>,
    pub(crate) balancer: Balancer,
}

impl Site {
    /// Starts a site, and waits until it serves.
    pub(crate) async fn start(plan: &Plan, setup: SiteSetup<'_>) -> Result<Self> {
        let store = start_store(plan, &setup)?;
        let replica = if setup.is_replicated {
            Some((Replica::of(&store).await?, Link::to(address_of(&store), PROMPT)?))
        } else {
            None
        };
        let url = match &replica {
            Some((_, link)) => format!("redis://{}", link.address()),
            None => store.url(),
        };
        let link = |&ledger| Link::tapped(ledger, plan.round_trip, Arc::new(setup.wire.clone()));
        let links = setup.ledgers.iter().map(link).collect::<Result<Vec<_>, _>>()?;
        // A pass of another site is no pass here.
        let key = random_key();
        let mut nodes = Vec::new();
        let mut addresses = Vec::new();
        for _ in 0..plan.nodes {
            let listen = free_address()?;
            let node = NodeArgs {
                listen,
                store: url.clone(),
                site: setup.number,
                ledgers: links.iter().map(|link| link.address().to_string()).collect(),
                lease: plan.lease(),
                policy: setup.policy,
                room: plan.promised(),
            };
            let keys = [("SHOP_KEY", key.clone()), (SITE_KEY, setup.key.to_owned())];
            let environment = keys.into_iter().chain(setup.of_nodes.clone()).collect();
            nodes.push(Process::start(node.arguments(), environment).await?);
            addresses.push(listen);
        }
        let balancer = Balancer::start(&addresses).await?;
        Ok(Self { store, replica, nodes, links, balancer })
    }

    /// Changes the weather on the way to all ledgers.
    pub(crate) fn set(&self, weather: Weather) {
        for link in &self.links {
            link.set(weather);
        }
    }

    /// The number of scripts that the store has run, for visitors or not.
    pub(crate) async fn scripts(&self) -> Result<u64> {
        let mut store = connect(&self.store).await?;
        let said: String = redis::cmd("INFO").arg("commandstats").query_async(&mut store).await?;
        let calls = said.lines().find_map(|line| line.strip_prefix("cmdstat_evalsha:calls="));
        let calls = calls.and_then(|rest| rest.split(',').next());
        Ok(calls.context("the store has run no script")?.parse()?)
    }
}

fn start_store(plan: &Plan, setup: &SiteSetup<'_>) -> Result<EngineServer> {
    let options =
        if setup.is_replicated { &Replica::OPTIONS_OF_STORE } else { setup.kept.options() };
    let environment = setup.of_store.iter().map(|(name, value)| (name.to_string(), value.clone()));
    EngineServer::start_in(plan.engine.into(), options, &environment.collect::<Vec<_>>())
}

/// Within a site, messages take no time.
const PROMPT: std::time::Duration = std::time::Duration::ZERO;
