//! Injects a fault, and reports when it begins and ends.

use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use cluster::{Direction, Weather, connect};
use tokio::{
    task::block_in_place,
    time::{Instant, sleep},
};
use waiting_room_crowd::Witness;
use waiting_room_ledger::{SiteId, model::Order};

use crate::{fault::Fault, ledger::ROOM, world::World};

/// Injects faults into a world, and tells the witness what visitors cannot know.
#[derive(Debug)]
pub(crate) struct Nemesis<'a> {
    pub(crate) fault: Fault,
    /// The time at which the fault begins.
    pub(crate) at: Duration,
    pub(crate) witness: &'a Witness,
}

impl Nemesis<'_> {
    /// The time after a fault in which a site may still report an outage.
    const RECOVERY: Duration = Duration::from_secs(3);

    /// Waits until it is time, and injects the fault.
    pub(crate) async fn strike(&self, world: &mut World) -> Result<Struck> {
        sleep(self.at).await;
        self.witness.trouble_begins();
        if self.fault.takes_store() {
            self.witness.store_may_be_away();
        }
        let struck = self.inject(world).await?;
        eprintln!("the fault is over");
        self.witness.trouble_is_over();
        if self.fault.takes_store() {
            sleep(Self::RECOVERY).await;
            self.witness.store_is_back(None);
        }
        Ok(struck)
    }

    async fn inject(&self, world: &mut World) -> Result<Struck> {
        let mut struck = Struck::default();
        match self.fault {
            Fault::None => sleep(self.fault.lasts()).await,
            Fault::Cut | Fault::CutForLong => self.weather(world, Weather::Cut).await,
            Fault::DeafThere => {
                self.weather(world, Weather::DeafOneWay(Direction::There)).await;
            }
            Fault::DeafBack => self.weather(world, Weather::DeafOneWay(Direction::Back)).await,
            Fault::Jitter => self.jitter(world).await,
            Fault::Nodes => self.kill_nodes(world).await?,
            Fault::StoreKept | Fault::StoreLost => self.kill_store(world).await?,
            Fault::StorePaused => self.pause_store(world).await?,
            Fault::Failover => self.fail_over(world).await?,
            Fault::KeysDeleted | Fault::KeyDeleted => self.delete_keys(world).await?,
            Fault::StoreClockForward
            | Fault::StoreClockBack
            | Fault::ClocksForward
            | Fault::ClocksBack => struck.ended_early = self.move_clock(world).await?,
            Fault::Ledger => struck.without_ledger = Some(self.kill_ledger(world).await?),
            Fault::LedgerAndSite => {
                struck.without_ledger = Some(self.kill_ledger_without_a_site(world).await?);
            }
            Fault::LedgerPaused => {
                struck.outdated_before = Some(self.pause_ledger(world).await?);
            }
            Fault::Database => self.kill_database(world).await?,
            Fault::SiteFenced | Fault::SiteLost => self.fence_site(world).await?,
            Fault::Drained => self.drain(world).await?,
            Fault::Added => self.add(world).await?,
        }
        Ok(struck)
    }

    /// Changes the weather on the way from the first site to all ledgers.
    async fn weather(&self, world: &World, weather: Weather) {
        world.sites[0].set(weather);
        eprintln!("between site 1 and the ledgers: {weather:?}");
        sleep(self.fault.lasts()).await;
        world.sites[0].set(Weather::Clear);
    }

    async fn jitter(&self, world: &World) {
        let jitter = Weather::Jitter(Duration::from_millis(20), Duration::from_millis(900));
        world.sites.iter().for_each(|site| site.set(jitter));
        eprintln!("all messages to and from the ledgers are late");
        sleep(self.fault.lasts()).await;
        world.sites.iter().for_each(|site| site.set(Weather::Clear));
    }

    async fn kill_nodes(&self, world: &mut World) -> Result<()> {
        let nodes = &mut world.sites[0].nodes;
        let pause = self.fault.lasts() / u32::try_from(nodes.len())?;
        for (number, node) in (1..).zip(nodes) {
            node.kill().await?;
            eprintln!("node {number} of site 1 was killed");
            sleep(pause).await;
            node.start_again().await?;
        }
        Ok(())
    }

    async fn kill_store(&self, world: &mut World) -> Result<()> {
        let store = &mut world.sites[0].store;
        store.kill();
        eprintln!("the store of site 1 was killed");
        sleep(self.fault.lasts()).await;
        block_in_place(|| store.start_again())
    }

    async fn pause_store(&self, world: &World) -> Result<()> {
        let store = &world.sites[0].store;
        store.pause()?;
        eprintln!("the store of site 1 is paused");
        sleep(self.fault.lasts()).await;
        store.resume()
    }

    /// Stalls the replication for a while, then kills the store and promotes the replica.
    async fn fail_over(&self, world: &mut World) -> Result<()> {
        let site = &mut world.sites[0];
        let (replica, link) = site.replica.as_ref().context("the store has a replica")?;
        replica.falls_behind();
        eprintln!("the replica of site 1 receives nothing any more");
        sleep(self.fault.lasts() / 2).await;
        let lag = replica.lag(&site.store).await?;
        site.store.kill();
        eprintln!("the store of site 1 was killed; {lag} bytes are lost");
        sleep(self.fault.lasts() / 2).await;
        replica.promote().await?;
        link.lead_to(replica.address());
        Ok(())
    }

    async fn delete_keys(&self, world: &World) -> Result<()> {
        let mut connection = connect(&world.sites[0].store).await?;
        if self.fault == Fault::KeyDeleted {
            let deleted: u32 = redis::cmd("DEL").arg(SESSIONS).query_async(&mut connection).await?;
            ensure!(deleted == 1, "{SESSIONS} is not a key of the room");
            eprintln!("{SESSIONS} of site 1 was deleted");
        } else {
            let () = redis::cmd("FLUSHALL").query_async(&mut connection).await?;
            eprintln!("all keys of site 1 were deleted");
        }
        sleep(self.fault.lasts()).await;
        Ok(())
    }

    /// Sets clocks, which stay so. Returns how many sessions have ended early by it, at most.
    async fn move_clock(&self, world: &World) -> Result<u32> {
        let moved = self.fault.moves_clock().zip(world.clock.as_ref());
        let ((whose, ahead_s), clock) = moved.context("a clock is moved")?;
        // A session has a slot, so no more sessions than these are known to the store.
        let held = world.held(1).await?;
        clock.set(ahead_s)?;
        eprintln!("site 1: the clock of {whose:?} is ahead by {ahead_s} s");
        sleep(self.fault.lasts()).await;
        Ok(if self.fault.ends_sessions_early() { held } else { 0 })
    }

    async fn kill_ledger(&self, world: &mut World) -> Result<Duration> {
        let (holder, term) = world.holder().await?;
        let killed = Instant::now();
        world.ledgers[holder].kill().await?;
        eprintln!("the ledger was killed");
        let took = another_holds(world, term, killed).await?;
        eprintln!("the standby held the room {took:.1?} later");
        sleep(self.fault.lasts().saturating_sub(took)).await;
        world.ledgers[holder].start_again().await?;
        Ok(took)
    }

    async fn kill_ledger_without_a_site(&self, world: &mut World) -> Result<Duration> {
        kill_site(world).await?;
        eprintln!("site 3 is switched off");
        sleep(DOWN).await;
        let took = self.kill_ledger(world).await?;
        start_site(world).await?;
        Ok(took)
    }

    /// Suspends the ledger that holds the room until another one has taken over. Returns how many
    /// messages were outdated when it continued.
    async fn pause_ledger(&self, world: &World) -> Result<u64> {
        let (holder, term) = world.holder().await?;
        let paused = Instant::now();
        world.ledgers[holder].pause()?;
        eprintln!("the ledger is paused");
        let took = another_holds(world, term, paused).await?;
        eprintln!("the standby held the room {took:.1?} later");
        sleep(self.fault.lasts().saturating_sub(took)).await;
        let heard = world.wire.heard();
        let newest = heard.to_sites.get(ROOM).map_or(0, |said| said.newest);
        ensure!(
            newest > term,
            "the newest term on the wire is {newest}, expected one after {term}"
        );
        world.ledgers[holder].resume()?;
        Ok(heard.outdated())
    }

    async fn kill_database(&self, world: &mut World) -> Result<()> {
        world.database.kill();
        eprintln!("the database was killed");
        sleep(self.fault.lasts()).await;
        block_in_place(|| world.database.start_again())
    }

    async fn fence_site(&self, world: &mut World) -> Result<()> {
        kill_site(world).await?;
        sleep(DOWN).await;
        world.fence(Site::THIRD).await?;
        eprintln!("site 3 is switched off, and fenced");
        sleep(self.fault.lasts()).await;
        start_site(world).await
    }

    async fn drain(&self, world: &World) -> Result<()> {
        let site = SiteId::new(Site::THIRD);
        world.order(Order::Drain(site)).await?;
        eprintln!("site 3 is drained");
        sleep(self.fault.lasts()).await;
        world.order(Order::AddSite(site)).await.map(drop)
    }

    async fn add(&self, world: &World) -> Result<()> {
        ensure!(world.held(Site::THIRD).await.is_err(), "site 3 is already on the list");
        world.order(Order::AddSite(SiteId::new(Site::THIRD))).await?;
        eprintln!("site 3 is added");
        sleep(self.fault.lasts()).await;
        let held = world.held(Site::THIRD).await?;
        ensure!(held > 0, "site 3 was granted nothing");
        Ok(())
    }
}

/// The facts about a fault that only its injector knows.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Struck {
    /// The time from the death of the holder until another ledger held the room.
    pub(crate) without_ledger: Option<Duration>,
    /// The messages that were outdated when a ledger continued although another one had taken over.
    pub(crate) outdated_before: Option<u64>,
    /// The largest number of sessions that may have ended early.
    pub(crate) ended_early: u32,
}

/// The site that dies.
struct Site;

impl Site {
    const THIRD: u16 = 3;
}

async fn kill_site(world: &mut World) -> Result<()> {
    let site = &mut world.sites[usize::from(Site::THIRD - 1)];
    site.store.kill();
    for node in &mut site.nodes {
        node.kill().await?;
    }
    Ok(())
}

async fn start_site(world: &mut World) -> Result<()> {
    let site = &mut world.sites[usize::from(Site::THIRD - 1)];
    block_in_place(|| site.store.start_again())?;
    for node in &mut site.nodes {
        node.start_again().await?;
    }
    Ok(())
}

/// Waits until a ledger holds the room in a later term. Returns the time since `begin`.
async fn another_holds(world: &World, term: u32, begin: Instant) -> Result<Duration> {
    while begin.elapsed() < PATIENCE {
        match world.holder().await {
            Ok((_, later)) if later > term => return Ok(begin.elapsed()),
            _ => sleep(LOOK).await,
        }
    }
    bail!("no other ledger has taken over within {PATIENCE:?}")
}

/// The key with the sessions and places of a room.
const SESSIONS: &str = "{wr:shop}:visitors";
/// The time for which a site is down before the next step.
const DOWN: Duration = Duration::from_secs(2);
/// The interval at which the holder of the room is looked for, and the time after which this fails.
const LOOK: Duration = Duration::from_millis(100);
const PATIENCE: Duration = Duration::from_secs(20);
