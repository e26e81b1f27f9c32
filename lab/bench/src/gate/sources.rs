//! The sources of permits: a gate, and tokio's semaphore.

use std::{future::Future, sync::Arc, time::Duration};

use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout,
};
use waiting_room_core::{
    Gate,
    gate::{Arrival, Discipline, Entry, GateRules, Permit},
};

/// A source of permits that a task may hold.
pub(super) trait Source: Send + Sync + 'static {
    type Permit: Send;

    /// Creates a source of this many permits.
    fn of(permits: u32) -> Self;

    /// Waits for a permit.
    fn take(&self) -> impl Future<Output = Self::Permit> + Send;
}

/// A gate with the default rules, which reads its clock for every arrival.
pub(super) struct Ours(Gate);

/// A gate without controlled delay.
pub(super) struct OursFifo(Gate);

/// `try_acquire_owned`.
pub(super) struct TryAcquire(Arc<Semaphore>);

/// `acquire_owned`.
pub(super) struct Acquire(Arc<Semaphore>);

/// `acquire_owned`, with a timeout.
pub(super) struct TimedAcquire(Arc<Semaphore>);

impl Source for Ours {
    type Permit = Permit;

    fn of(permits: u32) -> Self {
        Self(gate(permits, Discipline::default()))
    }

    fn take(&self) -> impl Future<Output = Permit> + Send {
        wait(&self.0)
    }
}

impl Source for OursFifo {
    type Permit = Permit;

    fn of(permits: u32) -> Self {
        Self(gate(permits, Discipline::Fifo))
    }

    fn take(&self) -> impl Future<Output = Permit> + Send {
        wait(&self.0)
    }
}

impl Source for TryAcquire {
    type Permit = OwnedSemaphorePermit;

    fn of(permits: u32) -> Self {
        Self(semaphore(permits))
    }

    async fn take(&self) -> OwnedSemaphorePermit {
        Arc::clone(&self.0).try_acquire_owned().expect("there are enough")
    }
}

impl Source for Acquire {
    type Permit = OwnedSemaphorePermit;

    fn of(permits: u32) -> Self {
        Self(semaphore(permits))
    }

    async fn take(&self) -> OwnedSemaphorePermit {
        Arc::clone(&self.0).acquire_owned().await.expect(OPEN)
    }
}

impl Source for TimedAcquire {
    type Permit = OwnedSemaphorePermit;

    fn of(permits: u32) -> Self {
        Self(semaphore(permits))
    }

    async fn take(&self) -> OwnedSemaphorePermit {
        let acquired = timeout(LONG, Arc::clone(&self.0).acquire_owned()).await;
        acquired.expect("no task waits that long").expect(OPEN)
    }
}

/// Creates a gate at which every arrival may wait.
pub(super) fn gate(limit: u32, discipline: Discipline) -> Gate {
    let rules = GateRules::new(limit).queue(GateRules::MAX_QUEUE).max_wait(LONG);
    Gate::new(rules.discipline(discipline), 1).expect("the rules are valid")
}

pub(super) fn semaphore(permits: u32) -> Arc<Semaphore> {
    Arc::new(Semaphore::new(usize::try_from(permits).expect("they are few")))
}

async fn wait(gate: &Gate) -> Permit {
    match gate.enter(Arrival::default(), gate.now()) {
        Entry::Admitted(permit) => permit,
        Entry::Queued(place) => place.await.expect("a waiting arrival is not refused"),
        Entry::Refused(_) => unreachable!("every arrival may wait"),
    }
}

/// More permits than are ever held at once, for cases in which no task waits.
pub(super) const ENOUGH: u32 = 1_000;

/// Longer than any wait here.
pub(crate) const LONG: Duration = Duration::from_secs(3_600);

const OPEN: &str = "the semaphore is never closed";
