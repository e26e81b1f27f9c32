//! The store of a room, whatever its type.
//!
//! Core's [`Store`] is designed for its implementers: a store is cloned, and each verb has a
//! future type of its own. [`RoomStore`] is the same store behind a pointer, so no type of this
//! crate names the store type. Each method is a complete call by this node, including the delivery
//! of session ends, and the policy for a store that does not answer. A call therefore needs only
//! one boxed future, and the verbs are not boxed individually.

use std::{
    fmt,
    future::poll_fn,
    pin::{Pin, pin},
    sync::Arc,
    time::Duration,
};

use tokio::{runtime::Handle, time::Instant};
use waiting_room_core::{
    Pass, RoomRules, Store, StoreError, Timestamp, Verdict,
    room::{
        PassHome, Renewal, RoomNode, RoomSnapshot,
        event::{RoomPlan, Schedule},
    },
};

use super::{
    ends::{Ends, Owed},
    outage::{BoxFuture, Outage, Question, StoreFailure},
    sessions::Renewing,
    streams::Streams,
};
use crate::{ambient::StageClock, misconfiguration::Misconfiguration, telemetry::Telemetry};

/// The store of a room, and the policy for its outages.
#[derive(Clone, Debug)]
pub(crate) struct SharedRoom {
    pub(crate) store: Arc<dyn RoomStore>,
    pub(crate) on_failure: StoreFailure,
}

/// The parts of a room that its operator observes and changes.
#[derive(Clone)]
pub(crate) struct Operated {
    pub(crate) store: Arc<dyn RoomStore>,
    pub(crate) push: Option<Arc<Streams>>,
    pub(super) telemetry: Telemetry,
}

impl Operated {
    /// Returns the figures of the room, and reports a network that holds more than its share while
    /// visitors wait.
    pub(crate) async fn snapshot(&self) -> Result<RoomSnapshot, StoreError> {
        let room = self.store.snapshot().await?;
        let shares = self.store.rules().shares.slots(room.total_active_users);
        let share = shares.map_or(u32::MAX, |[narrow, ..]| narrow);
        let held = room.slots_of_one_network.max(room.places_of_one_network);
        if room.present > 0 && held > share.max(FEW) {
            self.telemetry.misconfigured(Misconfiguration::OneNetwork);
        }
        Ok(room)
    }
}

/// The number of slots or places that a network, such as that of a family, may have without a
/// report.
const FEW: u32 = 10;

/// A change of a room's rules.
type Change<'a> = Box<dyn Fn(RoomRules) -> RoomRules + Send + 'a>;

/// A future that may borrow the store.
type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'a>>;

/// A [`Store`] behind a pointer. The methods that do not return a future are the same as in
/// [`Store`].
pub(crate) trait RoomStore: Send + Sync {
    /// Returns the clock of the store.
    fn clock(&self) -> StageClock;

    fn remembers_since(&self) -> Timestamp;

    fn rules(&self) -> Arc<RoomRules>;

    fn plan(&self) -> Option<Arc<RoomPlan>>;

    fn given_rules(&self) -> Arc<RoomRules>;

    fn present(&self) -> Option<u32>;

    fn nodes(&self) -> Option<Vec<RoomNode>>;

    fn home(&self) -> Option<PassHome>;

    /// Waits for `after`, delivers the end of the visitor's own earlier session, and then puts a
    /// question to the store. Meanwhile, other ends of sessions are delivered.
    fn ask(
        &self,
        question: Question,
        after: Duration,
        ends: Arc<Ends>,
        outage: Arc<Outage>,
    ) -> BoxFuture<Result<Verdict, StoreError>>;

    /// Renews a pass whose session does not last beyond `ends_by`, and reports the outcome to
    /// `renewing`.
    fn renew(
        &self,
        pass: Pass,
        ends_by: Timestamp,
        renewing: Renewing,
        outage: Arc<Outage>,
    ) -> BoxFuture<Option<Pass>>;

    /// Delivers these ends of sessions, and calls the push streams of visitors who are waiting for
    /// the slots.
    fn leave(&self, owed: Owed, push: Option<Arc<Streams>>, outage: Arc<Outage>) -> BoxFuture<()>;

    fn snapshot(&self) -> Answer<'_, RoomSnapshot>;

    fn configure<'a>(&'a self, change: Change<'a>) -> Answer<'a, ()>;

    fn schedule(&self, schedule: Schedule) -> Answer<'_, ()>;
}

impl<St: Store> RoomStore for St {
    fn clock(&self) -> StageClock {
        let store = self.clone();
        StageClock::new(move || Store::now(&store))
    }

    fn remembers_since(&self) -> Timestamp {
        Store::remembers_since(self)
    }

    fn rules(&self) -> Arc<RoomRules> {
        Store::rules(self)
    }

    fn plan(&self) -> Option<Arc<RoomPlan>> {
        Store::plan(self)
    }

    fn given_rules(&self) -> Arc<RoomRules> {
        Store::given_rules(self)
    }

    fn present(&self) -> Option<u32> {
        Store::present(self)
    }

    fn nodes(&self) -> Option<Vec<RoomNode>> {
        Store::nodes(self)
    }

    fn home(&self) -> Option<PassHome> {
        Store::home(self)
    }

    fn ask(
        &self,
        question: Question,
        after: Duration,
        ends: Arc<Ends>,
        outage: Arc<Outage>,
    ) -> BoxFuture<Result<Verdict, StoreError>> {
        let store = self.clone();
        Box::pin(async move {
            if !after.is_zero() {
                tokio::time::sleep(after).await;
            }
            if let Err(error) = deliver(&store, ends.take_own(question.asker())).await {
                return outage.unanswered(&store, question, error);
            }
            let others = ends.take_owed();
            if others.next().is_none() {
                return outage.ask(&store, question).await;
            }
            let leaver = store.clone();
            let told = Box::pin(async move { _ = deliver(&leaver, others).await });
            meanwhile(told, outage.ask(&store, question)).await
        })
    }

    fn renew(
        &self,
        pass: Pass,
        ends_by: Timestamp,
        renewing: Renewing,
        outage: Arc<Outage>,
    ) -> BoxFuture<Option<Pass>> {
        let store = self.clone();
        // The future owns `renewing`. If the future is dropped without an outcome, `renewing` is
        // dropped too, and the visitor's next request may try again.
        Box::pin(async move {
            match outage.renew(&store, pass).await {
                Ok(Renewal::Renew(mut renewed)) => {
                    renewed.expires_at = renewed.expires_at.min(ends_by);
                    renewing.renewed(renewed);
                    Some(renewed)
                }
                Ok(Renewal::End) => {
                    renewing.ended(&pass);
                    None
                }
                Err(_) => None,
            }
        })
    }

    fn leave(
        &self,
        mut owed: Owed,
        push: Option<Arc<Streams>>,
        outage: Arc<Outage>,
    ) -> BoxFuture<()> {
        let store = self.clone();
        Box::pin(async move {
            while let Some(id) = owed.next() {
                if outage.noted(&store, Store::leave(&store, id).await).is_err() {
                    return;
                }
                owed.is_told();
                push.iter().for_each(|streams| streams.call(Instant::now()));
            }
        })
    }

    fn snapshot(&self) -> Answer<'_, RoomSnapshot> {
        Box::pin(Store::snapshot(self))
    }

    fn configure<'a>(&'a self, change: Change<'a>) -> Answer<'a, ()> {
        Box::pin(Store::configure(self, change))
    }

    fn schedule(&self, schedule: Schedule) -> Answer<'_, ()> {
        Box::pin(Store::schedule(self, schedule))
    }
}

/// Delivers these ends of sessions. After an error, the remaining ends go back on the list.
async fn deliver<St: Store>(store: &St, mut owed: Owed) -> Result<(), StoreError> {
    while let Some(id) = owed.next() {
        Store::leave(store, id).await?;
        owed.is_told();
    }
    Ok(())
}

/// Answers a question while `told` runs, but does not wait for `told`. If `told` is not complete by
/// then, it continues in a task of its own, or is dropped if there is no runtime.
async fn meanwhile<T>(mut told: BoxFuture<()>, question: impl Future<Output = T>) -> T {
    let mut question = pin!(question);
    let mut is_told = false;
    let answer = poll_fn(|cx| {
        // A store in memory frees the slots before it answers.
        is_told = is_told || told.as_mut().poll(cx).is_ready();
        question.as_mut().poll(cx)
    })
    .await;
    if !is_told && let Ok(runtime) = Handle::try_current() {
        runtime.spawn(told);
    }
    answer
}

impl fmt::Debug for dyn RoomStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RoomStore").finish_non_exhaustive()
    }
}
