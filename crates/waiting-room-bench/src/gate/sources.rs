//! Where permits come from: a gate, and tokio's semaphore.

use std::{future::Future, sync::Arc, time::Duration};

use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout,
};
use waiting_room_core::{
    Gate,
    gate::{Arrival, Discipline, Entry, GateRules, Permit},
};

/// Something that gives permits which a task may hold.
pub(super) trait Source: Send + Sync + 'static {
    type Permit: Send;

    /// A source of so many.
    fn of(permits: u32) -> Self;

    fn take(&self) -> impl Future<Output = Self::Permit> + Send;
}

/// A gate by the default rules. It reads its clock for everybody who comes.
pub(super) struct Ours(Gate);

/// A gate without controlled delay.
pub(super) struct OursFifo(Gate);

/// `try_acquire_owned`.
pub(super) struct TryAcquire(Arc<Semaphore>);

/// `acquire_owned`.
pub(super) struct Acquire(Arc<Semaphore>);

/// `acquire_owned`, for so long.
pub(super) struct TimedAcquire(Arc<Semaphore>);

/// Nothing: what it costs to hold no permit.
pub(super) struct Nothing;

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
        acquired.expect("nobody waits for so long").expect(OPEN)
    }
}

impl Source for Nothing {
    type Permit = ();

    fn of(_: u32) -> Self {
        Self
    }

    async fn take(&self) {}
}

/// A gate at which everybody may wait who comes.
pub(super) fn gate(limit: u32, discipline: Discipline) -> Gate {
    let rules = GateRules::new(limit).queue(GateRules::MAX_QUEUE).max_wait(LONG);
    Gate::new(rules.discipline(discipline), 1).expect("the rules can be obeyed")
}

pub(super) fn semaphore(permits: u32) -> Arc<Semaphore> {
    Arc::new(Semaphore::new(usize::try_from(permits).expect("they are few")))
}

async fn wait(gate: &Gate) -> Permit {
    match gate.enter(Arrival::default(), gate.now()) {
        Entry::Admitted(permit) => permit,
        Entry::Queued(place) => place.await.expect("nobody is refused who waits"),
        Entry::Refused(_) => unreachable!("everybody may wait"),
    }
}

/// More than ever hold one at a time, where nobody is to wait.
pub(super) const ENOUGH: u32 = 1_000;

/// Longer than anybody waits here.
pub(super) const LONG: Duration = Duration::from_secs(3_600);

pub(super) const OPEN: &str = "the semaphore is never closed";
