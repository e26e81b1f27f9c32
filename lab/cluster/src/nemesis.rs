//! Injects a fault, and reports when it begins and ends.

use std::time::Duration;

use ::cluster::{Weather, connect};
use anyhow::{Context, Result};
use tokio::{task::block_in_place, time::sleep};
use waiting_room_crowd::Witness;

use crate::{cli::Plan, cluster::Cluster, fault::Fault};

/// Injects faults into a cluster, and tells the witness what visitors cannot know.
#[derive(Debug)]
pub(crate) struct Nemesis<'a> {
    pub(crate) plan: &'a Plan,
    /// The duration of the fault.
    pub(crate) lasts: Duration,
    pub(crate) witness: &'a Witness,
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
            eprintln!("node {number} was killed");
            sleep(self.lasts / nodes).await;
            node.start_again().await?;
        }
        eprintln!("all nodes serve again");
        Ok(())
    }

    async fn kill_store(&self, cluster: &mut Cluster) -> Result<()> {
        cluster.store.kill();
        eprintln!("the store was killed");
        sleep(self.lasts).await;
        block_in_place(|| cluster.store.start_again())?;
        let mut connection = connect(&cluster.store).await?;
        let keys: u64 = redis::cmd("DBSIZE").query_async(&mut connection).await?;
        eprintln!("the store is back, with {keys} keys");
        Ok(())
    }

    async fn pause_store(&self, cluster: &Cluster) -> Result<()> {
        cluster.store.pause()?;
        eprintln!("the store is paused");
        sleep(self.lasts).await;
        cluster.store.resume()?;
        eprintln!("the store continues");
        Ok(())
    }

    async fn weather(&self, cluster: &Cluster, weather: Weather, news: &str) {
        cluster.link.set(weather);
        eprintln!("{news}");
        sleep(self.lasts).await;
        cluster.link.set(Weather::Clear);
        eprintln!("the network works again");
    }

    /// Stalls the replication for a while, then kills the store and promotes the replica.
    async fn fail_over(&self, cluster: &mut Cluster) -> Result<()> {
        let replica = cluster.replica.as_ref().context("there is a replica")?;
        replica.falls_behind();
        eprintln!("the replica receives nothing any more");
        sleep(self.lasts / 2).await;
        let lag = replica.lag(&cluster.store).await?;
        cluster.store.kill();
        eprintln!("the store was killed; {lag} bytes are lost");
        sleep(self.lasts / 2).await;
        replica.promote().await?;
        cluster.link.lead_to(replica.address());
        eprintln!("the replica has taken over");
        Ok(())
    }

    async fn flush(&self, cluster: &Cluster) -> Result<()> {
        let mut connection = connect(&cluster.store).await?;
        let () = redis::cmd("FLUSHALL").query_async(&mut connection).await?;
        eprintln!("everything in the store was deleted");
        sleep(self.lasts).await;
        Ok(())
    }
}
