//! A crowd, from the first arrival to the last departure.

use std::{error::Error, net::SocketAddr, pin::pin, sync::Arc, time::Duration};

use tokio::{
    select, signal,
    sync::watch,
    task::JoinSet,
    time::{Instant, sleep_until},
};

use super::{
    display::{self, Scene},
    schedule::Schedule,
    visitor::Visitor,
    witness::Witness,
};
use crate::{cli::CrowdOrder, room::RoomArgs};

/// Visitors who are about to come, and who remembers what they see.
#[derive(Debug)]
pub struct Crowd {
    schedule: Schedule,
    witness: Arc<Witness>,
    drain: Duration,
}

impl Crowd {
    /// The crowd that was asked for, to a room with these rules.
    ///
    /// # Errors
    ///
    /// A crowd that is too large or nobody, or a file that cannot be read.
    pub fn new(order: &CrowdOrder, room: &RoomArgs) -> Result<Self, Box<dyn Error>> {
        let schedule = Schedule::new(order, room)?;
        let witness = Arc::new(Witness::new(room.promises()));
        Ok(Self { schedule, witness, drain: order.options.drain })
    }

    /// Who comes when and does what follows from this number.
    #[must_use]
    pub const fn seed(&self) -> u64 {
        self.schedule.seed
    }

    /// What is going to happen, in a few words.
    #[must_use]
    pub fn story(&self) -> &str {
        &self.schedule.story
    }

    /// Nobody comes later than this after the first.
    #[must_use]
    pub const fn over(&self) -> Duration {
        self.schedule.over
    }

    /// Who sees what they see.
    #[must_use]
    pub fn witness(&self) -> Arc<Witness> {
        Arc::clone(&self.witness)
    }

    /// Goes to a shop, and shows how it goes. Ends when the last has gone.
    ///
    /// Who still waits when the time is over, or at ctrl-c, gives up.
    pub async fn visit(self, shop: SocketAddr, scene: watch::Receiver<Scene>) {
        let visitors = u64::try_from(self.schedule.plans.len()).unwrap_or(u64::MAX);
        let mut shows = JoinSet::new();
        shows.spawn(display::show(scene, Arc::clone(&self.witness), visitors));
        self.come(shop).await;
        shows.shutdown().await;
    }

    async fn come(self, shop: SocketAddr) {
        let Self { schedule, witness, drain } = self;
        let start = Instant::now();
        let mut over = pin!(over(start + schedule.over + drain));
        let mut visitors = JoinSet::new();
        for (number, plan) in (1..).zip(schedule.plans) {
            select! {
                () = sleep_until(start + plan.arrival) => {}
                () = &mut over => return visitors.shutdown().await,
            }
            match Visitor::new(number, plan, shop, Arc::clone(&witness)) {
                Ok(visitor) => {
                    visitors.spawn(visitor.live());
                }
                Err(error) => tracing::error!(%error, "a visitor could not come"),
            }
        }
        let everybody = async { while visitors.join_next().await.is_some() {} };
        select! {
            () = everybody => {}
            () = &mut over => {}
        }
        visitors.shutdown().await;
    }
}

/// Waits for the end of the time, or for ctrl-c.
async fn over(end: Instant) {
    select! {
        () = sleep_until(end) => {}
        Ok(()) = signal::ctrl_c() => {}
    }
}
