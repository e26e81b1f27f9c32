//! Injects a fault, and reports when it begins and ends.

use std::time::Duration;

use ::cluster::{Weather, connect};
use anyhow::{Context, Result};
use shop::{Scene, Witness};
use tokio::{sync::watch, task::block_in_place, time::sleep};

use crate::{cli::Plan, cluster::Cluster, fault::Fault};

/// Injects faults into a cluster, and tells the witness what visitors cannot know.
#[derive(Debug)]
pub(crate) struct Nemesis<'a> {
    pub(crate) plan: &'a Plan,
    /// The duration of the fault.
    pub(crate) lasts: Duration,
    pub(crate) witness: &'a Witness,
    pub(crate) news: &'a watch::Sender<Scene>,
}

impl Nemesis<'_> {
    /// The time within which a cluster must decide again after a fault.
    pub(crate) const RECOVERY: Duration = Duration::from_secs(3);

    /// Waits until the planned time, and injects the fault for the planned duration.
    pub(crate) async fn strike(&self, fault: Fault, cluster: &mut Cluster) -> Result<()> {
        sleep(self.plan.at).await;
        self.witness.trouble_begins();
        if fault.takes_store() {
            self.witness.store_may_be_away();
        }
        match fault {
            Fault::None => sleep(self.lasts).await,
            Fault::Nodes => self.kill_nodes(cluster).await?,
            Fault::StoreKept | Fault::StoreLost => self.kill_store(cluster).await?,
            Fault::StorePaused => self.pause_store(cluster).await?,
            Fault::Cut => self.weather(cluster, Weather::Cut, "the network is cut").await,
            Fault::HalfOpen => {
                self.weather(cluster, Weather::Deaf, "what is sent to the store vanishes").await;
            }
            Fault::Slow => {
                let late = 2 * self.plan.deadline;
                self.weather(cluster, Weather::Slow(late), "the network is slow").await;
            }
            Fault::Failover => self.fail_over(cluster).await?,
            Fault::Flush => self.flush(cluster).await?,
        }
        self.witness.trouble_is_over();
        if fault.takes_store() {
            sleep(Self::RECOVERY).await;
            let hold = fault.forgets().then(|| self.plan.recovery_pause()).transpose()?;
            self.witness.store_is_back(hold);
        }
        Ok(())
    }

    async fn kill_nodes(&self, cluster: &mut Cluster) -> Result<()> {
        let nodes = u32::try_from(cluster.nodes.len()).unwrap_or(u32::MAX);
        for (number, node) in (1..).zip(&mut cluster.nodes) {
            node.kill().await?;
            self.tell(format!("node {number} was killed"));
            sleep(self.lasts / nodes).await;
            node.start_again().await?;
        }
        self.tell("all nodes serve again".to_owned());
        Ok(())
    }

    async fn kill_store(&self, cluster: &mut Cluster) -> Result<()> {
        cluster.store.kill();
        self.tell("the store was killed".to_owned());
        sleep(self.lasts).await;
        block_in_place(|| cluster.store.start_again())?;
        let mut connection = connect(&cluster.store).await?;
        let keys: u64 = redis::cmd("DBSIZE").query_async(&mut connection).await?;
        self.tell(format!("the store is back, with {keys} keys"));
        Ok(())
    }

    async fn pause_store(&self, cluster: &Cluster) -> Result<()> {
        cluster.store.pause()?;
        self.tell("the store is paused".to_owned());
        sleep(self.lasts).await;
        cluster.store.resume()?;
        self.tell("the store continues".to_owned());
        Ok(())
    }

    async fn weather(&self, cluster: &Cluster, weather: Weather, news: &str) {
        cluster.link.set(weather);
        self.tell(news.to_owned());
        sleep(self.lasts).await;
        cluster.link.set(Weather::Clear);
        self.tell("the network works again".to_owned());
    }

    /// Stalls the replication for a while, then kills the store and promotes the replica.
    async fn fail_over(&self, cluster: &mut Cluster) -> Result<()> {
        let replica = cluster.replica.as_ref().context("there is a replica")?;
        replica.falls_behind();
        self.tell("the replica receives nothing any more".to_owned());
        sleep(self.lasts / 2).await;
        let lag = replica.lag(&cluster.store).await?;
        cluster.store.kill();
        self.tell(format!("the store was killed; {lag} bytes are lost"));
        sleep(self.lasts / 2).await;
        replica.promote().await?;
        cluster.link.lead_to(replica.address());
        self.tell("the replica has taken over".to_owned());
        Ok(())
    }

    async fn flush(&self, cluster: &Cluster) -> Result<()> {
        let mut connection = connect(&cluster.store).await?;
        let () = redis::cmd("FLUSHALL").query_async(&mut connection).await?;
        self.tell("everything in the store was deleted".to_owned());
        sleep(self.lasts).await;
        Ok(())
    }

    fn tell(&self, news: String) {
        self.news.send_replace(Scene::outside(news));
    }
}
