//! Runs a crowd, from the first arrival to the last departure.

use std::{error::Error, net::SocketAddr, pin::pin, sync::Arc, time::Duration};

use tokio::{
    select, signal,
    sync::watch,
    task::JoinSet,
    time::{Instant, sleep_until},
};

use waiting_room_sim::EventPromise;

use super::{
    display::{self, Scene},
    schedule::Schedule,
    visitor::Visitor,
    witness::Witness,
};
use crate::{cli::CrowdOrder, room::RoomArgs};

/// Visitors who are about to arrive, and the witness that records what they see.
#[derive(Debug)]
pub struct Crowd {
    schedule: Schedule,
    witness: Arc<Witness>,
    drain: Duration,
}

impl Crowd {
    /// Creates the crowd for a room with these rules.
    ///
    /// # Errors
    ///
    /// The crowd would be empty or too large, or the file cannot be read.
    pub fn new(order: &CrowdOrder, room: &RoomArgs) -> Result<Self, Box<dyn Error>> {
        let schedule = Schedule::new(order, room)?;
        let witness = Arc::new(Witness::new(room.promises()));
        Ok(Self { schedule, witness, drain: order.options.drain })
    }

    /// The same crowd, which comes to an event with these promises.
    #[must_use]
    pub(super) fn of_sale(self, room: &RoomArgs, promise: EventPromise) -> Self {
        Self { witness: Arc::new(Witness::of_sale(room.promises(), promise)), ..self }
    }

    /// The seed from which all arrivals and behaviour follow.
    #[must_use]
    pub const fn seed(&self) -> u64 {
        self.schedule.seed
    }

    /// A short description of the crowd.
    #[must_use]
    pub fn story(&self) -> &str {
        &self.schedule.story
    }

    /// The time within which all visitors arrive, counted from the start of the run.
    #[must_use]
    pub const fn over(&self) -> Duration {
        self.schedule.over
    }

    /// The witness that records what the visitors see.
    #[must_use]
    pub fn witness(&self) -> Arc<Witness> {
        Arc::clone(&self.witness)
    }

    /// Visits the shops, and shows the progress. Returns when the last visitor has left. Each visitor
    /// stays at one shop, and the visitors are spread evenly over the shops.
    ///
    /// Visitors who still wait when the time is over, or at ctrl-c, give up.
    ///
    /// # Panics
    ///
    /// If there is no shop.
    pub async fn visit(self, shops: &[SocketAddr], scene: watch::Receiver<Scene>) {
        let visitors = u64::try_from(self.schedule.plans.len()).unwrap_or(u64::MAX);
        let mut shows = JoinSet::new();
        shows.spawn(display::show(scene, Arc::clone(&self.witness), visitors));
        self.come(shops).await;
        shows.shutdown().await;
    }

    async fn come(self, shops: &[SocketAddr]) {
        assert!(!shops.is_empty(), "there is no shop to visit");
        let Self { schedule, witness, drain } = self;
        let start = Instant::now();
        let mut over = pin!(over(start + schedule.over + drain));
        let mut visitors = JoinSet::new();
        let arrivals = schedule.plans.into_iter().zip(shops.iter().cycle());
        for (number, (plan, shop)) in (1..).zip(arrivals) {
            select! {
                () = sleep_until(start + plan.arrival) => {}
                () = &mut over => return visitors.shutdown().await,
            }
            match Visitor::new(number, plan, *shop, Arc::clone(&witness)) {
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
