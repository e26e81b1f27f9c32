//! Stores for tests: a room and rate limits in memory, which fail, hang or are late on demand.
//!
//! The crate depends on `waiting-room-core` alone, so the unit tests of each crate above it can use it
//! without a second copy of their own crate.
//!
//! ```
//! use waiting_room_core::{MemoryStore, RoomRules, Store, VisitorId, error::StoreErrorKind};
//! use waiting_room_doubles::{Mood, StoreDouble, Verb};
//!
//! # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
//! # runtime.block_on(async {
//! let store = StoreDouble::new(MemoryStore::new(RoomRules::new("shop", 1)).unwrap());
//! store.set(&[Verb::Enter], Mood::Fails(StoreErrorKind::Unavailable));
//! assert!(store.enter(VisitorId::new(1)).await.is_err());
//! assert_eq!((store.calls(&[Verb::Enter]), store.failed()), (1, 1));
//! # });
//! ```
//!
//! # What it does not do
//!
//! A [`StoreDouble`] implements only what a store must, so that the defaults of the trait are
//! tested, too: it has no events, and no `stay` of its own. It never lies, unlike the stores with
//! which `waiting-room-test` tests its suite.

mod pages;
mod rates;

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    time::Duration,
};

use tokio::sync::Notify;
use waiting_room_core::{
    MemoryStore, Pass, RoomRules, Store, StoreError, Ticket, Timestamp, Verdict, VisitorId,
    error::StoreErrorKind,
    room::{PassHome, Renewal, RoomNode, RoomSnapshot},
    time::ManualClock,
};

pub use crate::{pages::assert_documented, rates::RateStoreDouble};

/// A room in memory, whose verbs work, fail, hang or are late. All clones are one store.
#[derive(Clone, Debug)]
pub struct StoreDouble {
    inner: MemoryStore,
    home: Option<PassHome>,
    has_other_node: bool,
    clock: Option<ManualClock>,
    state: Arc<State>,
}

/// An operation of a store that takes a round trip.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "these are the operations")]
pub enum Verb {
    /// A waiting visitor requests a slot.
    CheckIn,
    /// The rules are changed.
    Configure,
    /// A newcomer requests a slot.
    Enter,
    /// A visitor leaves.
    Leave,
    /// A session is extended.
    Renew,
    /// The figures are read.
    Snapshot,
    /// Lapsed entries are removed.
    Sweep,
}

/// How a verb behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a store works or does not")]
pub enum Mood {
    /// It fails at once, and changes nothing.
    Fails(StoreErrorKind),
    /// It does nothing until its mood changes.
    Hangs,
    /// It works after this time on tokio's clock. The clock of the room is advanced by the same
    /// time. If the time is zero, it yields once.
    Late(Duration),
    /// It works at once.
    Works,
}

#[derive(Debug, Default)]
struct State {
    verbs: Mutex<HashMap<Verb, (Option<Mood>, u32)>>,
    failed: AtomicU32,
    may_evict: AtomicBool,
    changed: Notify,
}

impl Verb {
    /// All verbs.
    pub const ALL: [Self; 7] = [
        Self::CheckIn,
        Self::Configure,
        Self::Enter,
        Self::Leave,
        Self::Renew,
        Self::Snapshot,
        Self::Sweep,
    ];
    /// The verbs about one visitor.
    pub const OF_VISITORS: [Self; 4] = [Self::CheckIn, Self::Enter, Self::Leave, Self::Renew];
}

impl StoreDouble {
    /// A store that works.
    #[must_use]
    pub fn new(inner: MemoryStore) -> Self {
        Self { inner, home: None, has_other_node: false, clock: None, state: Arc::default() }
    }

    /// A store that works, and whose room has these rules and this clock.
    ///
    /// # Panics
    ///
    /// Panics if the rules are invalid.
    #[must_use]
    pub fn with_clock(rules: RoomRules, clock: &ManualClock) -> Self {
        let inner = MemoryStore::with_clock(rules, clock.clone()).expect("the rules are valid");
        Self { clock: Some(clock.clone()), ..Self::new(inner) }
    }

    /// The same store as the room of one of several sites.
    #[must_use]
    pub const fn at_home(mut self, home: Option<PassHome>) -> Self {
        self.home = home;
        self
    }

    /// The same store, which knows of two nodes: `this` and `other`.
    #[must_use]
    pub const fn with_another_node(mut self) -> Self {
        self.has_other_node = true;
        self
    }

    /// Advances the clock of the room, if the test controls it.
    pub fn advance(&self, by: Duration) {
        self.clock.iter().for_each(|clock| clock.advance(by));
    }

    /// Sets the mood of these verbs.
    pub fn set(&self, verbs: &[Verb], mood: Mood) {
        let mut known = self.state.verbs.lock().unwrap_or_else(PoisonError::into_inner);
        for verb in verbs {
            known.entry(*verb).or_default().0 = Some(mood);
        }
        drop(known);
        self.state.changed.notify_waiters();
    }

    /// Makes all verbs fail, as if the server could not be reached.
    pub fn cut(&self) {
        self.set(&Verb::ALL, Mood::Fails(StoreErrorKind::Unavailable));
    }

    /// Makes all verbs work.
    pub fn mend(&self) {
        self.set(&Verb::ALL, Mood::Works);
    }

    /// Makes the store report that its server may evict data.
    pub fn says_it_may_evict(&self) {
        self.state.may_evict.store(true, Ordering::Relaxed);
    }

    /// The number of calls of these verbs so far.
    #[must_use]
    pub fn calls(&self, verbs: &[Verb]) -> u32 {
        let known = self.state.verbs.lock().unwrap_or_else(PoisonError::into_inner);
        verbs.iter().filter_map(|verb| known.get(verb)).map(|(_, calls)| calls).sum()
    }

    /// The number of calls that have failed so far.
    #[must_use]
    pub fn failed(&self) -> u32 {
        self.state.failed.load(Ordering::Relaxed)
    }

    /// Counts a call, and returns the room once the verb works.
    async fn reach(&self, verb: Verb) -> Result<&MemoryStore, StoreError> {
        self.known(verb, |(_, calls)| *calls += 1);
        loop {
            let changed = self.state.changed.notified();
            match self.known(verb, |(mood, _)| mood.unwrap_or(Mood::Works)) {
                Mood::Fails(kind) => {
                    self.state.failed.fetch_add(1, Ordering::Relaxed);
                    return Err(StoreError::new(kind));
                }
                Mood::Hangs => changed.await,
                Mood::Late(Duration::ZERO) => {
                    tokio::task::yield_now().await;
                    return Ok(&self.inner);
                }
                Mood::Late(by) => {
                    tokio::time::sleep(by).await;
                    self.advance(by);
                    return Ok(&self.inner);
                }
                Mood::Works => return Ok(&self.inner),
            }
        }
    }

    fn known<T>(&self, verb: Verb, change: impl FnOnce(&mut (Option<Mood>, u32)) -> T) -> T {
        let mut known = self.state.verbs.lock().unwrap_or_else(PoisonError::into_inner);
        change(known.entry(verb).or_default())
    }
}

impl Store for StoreDouble {
    fn now(&self) -> Timestamp {
        self.inner.now()
    }

    fn remembers_since(&self) -> Timestamp {
        self.inner.remembers_since()
    }

    fn rules(&self) -> Arc<RoomRules> {
        self.inner.rules()
    }

    fn may_evict(&self) -> bool {
        self.state.may_evict.load(Ordering::Relaxed)
    }

    fn nodes(&self) -> Option<Vec<RoomNode>> {
        let node = |name: &str| RoomNode::new(name.to_owned(), self.now());
        self.has_other_node.then(|| vec![node("this").as_this_node(), node("other")])
    }

    fn home(&self) -> Option<PassHome> {
        self.home
    }

    async fn enter(&self, id: VisitorId) -> Result<Verdict, StoreError> {
        self.reach(Verb::Enter).await?.enter(id).await
    }

    async fn check_in(&self, ticket: Ticket) -> Result<Verdict, StoreError> {
        self.reach(Verb::CheckIn).await?.check_in(ticket).await
    }

    async fn renew(&self, pass: Pass) -> Result<Renewal, StoreError> {
        self.reach(Verb::Renew).await?.renew(pass).await
    }

    async fn leave(&self, id: VisitorId) -> Result<(), StoreError> {
        self.reach(Verb::Leave).await?.leave(id).await
    }

    async fn sweep(&self) -> Result<(), StoreError> {
        self.reach(Verb::Sweep).await?.sweep().await
    }

    async fn snapshot(&self) -> Result<RoomSnapshot, StoreError> {
        self.reach(Verb::Snapshot).await?.snapshot().await
    }

    async fn configure(
        &self,
        change: impl Fn(RoomRules) -> RoomRules + Send,
    ) -> Result<(), StoreError> {
        self.reach(Verb::Configure).await?.configure(change).await
    }
}
