//! The behavior of a node while the store cannot decide.
//!
//! ```text
//!              a call fails                       2 s without an answer
//!  store answers ─────────► outage: the policy applies ──────────► with LocalShare, the node
//!        ▲                       │                                 decides from its own room
//!        │                       ▼ a call succeeds                        │
//!        └───────────────────────┴─────────── sessions are reported ◄─────┘
//! ```
//!
//! An outage begins with the first call that fails and ends with the first that succeeds. There is
//! no probe: every request that needs the store calls it, and so finds out that it is back.
//!
//! With [`StoreFailure::LocalShare`] a node makes a room of its own with its share of the limits.
//! It counts the passes that it sees from the start of the outage, and decides only after a while,
//! because a room that has just begun knows hardly any of the active visitors. Nodes do not
//! communicate: the limits hold over all nodes because their shares add up to no more than the
//! whole.
//!
//! A store that is busy is not away. It answers other calls, and a node that decided in its stead
//! would admit visitors twice.

use std::{
    future::Future,
    num::NonZeroU32,
    pin::Pin,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tokio::runtime::Handle;
use waiting_room_core::{
    Pass, Reason, Room, RoomRules, Store, StoreError, Ticket, Timestamp, Verdict, VisitorId,
    error::StoreErrorKind, room::Renewal,
};

use crate::{misconfiguration::Misconfiguration, telemetry::Telemetry};

/// A boxed future of a call to the store. A valid pass that is not due for renewal never needs one.
pub(crate) type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// The policy for visitors without a pass while the store cannot decide.
///
/// Visitors with a valid pass are let through in any case, until their passes expire.
///
/// A store that answers, but of which a node asks more than it decides in time, is not away.
/// Whatever the policy, visitors then wait, with the reason `queued:store_busy` and a time to come
/// back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StoreFailure {
    /// Lets the visitor through, uncounted and without a pass. The limits of the room do not hold
    /// during an outage.
    Admit,
    /// Lets each node decide from its own memory, with its share of the limits, once the store has
    /// not answered for two seconds. Until then, visitors wait as with [`Wait`](Self::Wait).
    ///
    /// A node knows only the passes that it has seen. So more visitors than the limit may be
    /// active, namely those that no node has seen since the outage began, until their passes
    /// expire. Sessions that were admitted or renewed are reported to the store once it answers
    /// again. If a limit divided by `nodes` is less than one, no visitor is admitted locally.
    LocalShare {
        /// The number of nodes, or an upper bound of it: each gets one share of the limits, rounded
        /// down. With a number that is too small, the nodes together exceed the limits.
        nodes: NonZeroU32,
    },
    /// Asks the visitor to come back. A visitor in line keeps its place.
    Wait,
}

impl StoreFailure {
    /// The name in metrics.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Admit => "admit",
            Self::LocalShare { .. } => "local_share",
            Self::Wait => "wait",
        }
    }
}

/// A request of a visitor without a valid pass, as the store decides it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Question {
    /// A visitor in line checks in.
    CheckIn(Ticket),
    /// A newcomer asks to enter.
    Enter(VisitorId),
    /// A visitor shows a pass that has expired. Its session continues if the store knows that it
    /// has not lapsed. Otherwise the visitor enters as a newcomer with this id.
    Return(Pass, VisitorId),
}

/// Tracks whether the store answers, and decides in its stead if the policy says so.
#[derive(Debug)]
pub(crate) struct Outage {
    policy: StoreFailure,
    telemetry: Telemetry,
    /// Whether `state` is `Some`. Written only while `state` is locked, so the two agree; read
    /// without the lock, so that a request with a valid pass does not take one. `Relaxed`: an
    /// outdated value delays what depends on it to the next request.
    is_on: AtomicBool,
    state: Mutex<Option<OutageState>>,
}

/// An outage in progress.
#[derive(Debug)]
struct OutageState {
    /// The start of the outage, or of its current part: see [`Outage::FORGOTTEN_AFTER`].
    since: Timestamp,
    /// The time of the last call that failed.
    seen_at: Timestamp,
    /// The node's own room, with [`StoreFailure::LocalShare`]. Made at the first call that fails,
    /// so that it counts passes before it has to decide.
    room: Option<Room>,
}

impl Outage {
    /// The time without an answer after which a node decides itself. A shorter failure may be one
    /// slow call; and meanwhile the node counts the passes that are in use.
    const PATIENCE: Duration = Duration::from_secs(2);
    /// The time between two failed calls after which the outage counts as a new one. Without calls
    /// in between, the node cannot know whether the store was away all the time.
    const FORGOTTEN_AFTER: Duration = Duration::from_secs(15);

    /// A store that has answered so far.
    pub(crate) fn new(policy: StoreFailure, telemetry: Telemetry) -> Self {
        Self { policy, telemetry, is_on: AtomicBool::new(false), state: Mutex::default() }
    }

    /// The policy while the store is away.
    pub(crate) const fn policy(&self) -> StoreFailure {
        self.policy
    }

    /// Asks the store to decide, or decides locally if the store is away and the policy says so.
    ///
    /// # Errors
    ///
    /// Returns the error of the store if there is no local decision.
    pub(crate) async fn ask<St: Store>(
        &self,
        store: &St,
        question: Question,
    ) -> Result<Verdict, StoreError> {
        let verdict = match question {
            Question::CheckIn(ticket) => store.check_in(ticket).await,
            Question::Enter(id) => store.enter(id).await,
            Question::Return(pass, id) => match store.renew(pass).await {
                Ok(Renewal::Renew(pass)) => {
                    Ok(Verdict::Admit { pass, reason: Reason::AdmittedPass })
                }
                Ok(Renewal::End) => store.enter(id).await,
                Err(error) => Err(error),
            },
        };
        self.or_locally(store, verdict, |room, now| {
            let verdict = match question {
                Question::CheckIn(ticket) => room.check_in(&ticket, now),
                Question::Enter(id) => room.enter(id, now),
                Question::Return(pass, id) => match room.renew(&pass, now) {
                    Renewal::Renew(pass) => Verdict::Admit { pass, reason: Reason::AdmittedPass },
                    Renewal::End => room.enter(id, now),
                },
            };
            // Marked by a reason of its own: during an outage, the limits of the room hold only as
            // far as the nodes know its visitors.
            match verdict {
                Verdict::Admit { pass, .. } => {
                    Verdict::Admit { pass, reason: Reason::AdmittedLocalShare }
                }
                other => other,
            }
        })
    }

    /// Asks the store to renew a pass, or renews it locally under the same conditions.
    ///
    /// # Errors
    ///
    /// Returns the error of the store if there is no local decision.
    pub(crate) async fn renew<St: Store>(
        &self,
        store: &St,
        pass: Pass,
    ) -> Result<Renewal, StoreError> {
        let renewal = store.renew(pass).await;
        self.or_locally(store, renewal, |room, now| room.renew(&pass, now))
    }

    /// Whether an outage is in progress.
    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        self.is_on.load(Ordering::Relaxed)
    }

    /// Counts a valid pass in the node's own room, so that its visitor occupies a slot there.
    pub(crate) fn saw(&self, pass: &Pass, now: Timestamp) {
        if let Some(OutageState { room: Some(room), .. }) = &mut *self.state() {
            // Only the count is wanted: the returned pass is for a renewal that is due.
            let _ = room.renew(pass, now);
        }
    }

    /// Records whether a call of the store succeeded, for calls that are not decided locally.
    /// Returns its result unchanged.
    pub(crate) fn noted<St: Store, T>(
        &self,
        store: &St,
        said: Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        match &said {
            Ok(_) => self.answered(store),
            Err(error) if error.kind() == StoreErrorKind::Busy => {}
            Err(error) => drop(self.is_away(error, store.now())),
        }
        said
    }

    /// Records whether a call of the store succeeded. If it failed, and the policy and the duration
    /// of the outage permit, returns a local decision instead.
    ///
    /// `decide` runs under the lock of the outage: the room's verbs happen one after the other, as
    /// they would in a store. It is short and does not wait.
    fn or_locally<St: Store, T>(
        &self,
        store: &St,
        said: Result<T, StoreError>,
        decide: impl FnOnce(&mut Room, Timestamp) -> T,
    ) -> Result<T, StoreError> {
        let error = match said {
            Ok(said) => {
                self.answered(store);
                return Ok(said);
            }
            // The store answers other calls. A local decision would admit visitors beside those
            // that the store admits, over the limit.
            Err(error) if error.kind() == StoreErrorKind::Busy => return Err(error),
            Err(error) => error,
        };
        let now = store.now();
        // `is_away` returns its guard, so no answer of the store can end the outage in between.
        let mut state = self.is_away(&error, now);
        match (&mut *state, self.policy) {
            (Some(away), StoreFailure::LocalShare { nodes }) => {
                // The share may be less than one slot. Then there is no room, and visitors wait.
                if away.room.is_none() {
                    let rules = RoomRules::clone(&store.rules()).share(nodes);
                    away.room = rules.and_then(|rules| Room::new(rules).ok());
                }
                match &mut away.room {
                    Some(room) if now.since(away.since) >= Self::PATIENCE => Ok(decide(room, now)),
                    _ => Err(error),
                }
            }
            _ => Err(error),
        }
    }

    /// Records an answer of the store, and ends the outage if there was one.
    fn answered<St: Store>(&self, store: &St) {
        if store.may_evict() {
            self.telemetry.misconfigured(Misconfiguration::StoreMayEvict);
        }
        if !self.is_on.load(Ordering::Relaxed) {
            return;
        }
        // The state is taken out under the lock and used after it: the log, the metrics and the
        // tasks of `report` must not hold up the requests that count their passes.
        let away = {
            let mut state = self.state();
            self.is_on.store(false, Ordering::Relaxed);
            state.take()
        };
        if let Some(away) = away {
            self.telemetry.store_answers();
            if let Some(room) = away.room {
                Self::report(store, room);
            }
        }
    }

    /// Records a failed call, and begins an outage if there is none. Returns its state, still
    /// locked.
    fn is_away(&self, error: &StoreError, now: Timestamp) -> MutexGuard<'_, Option<OutageState>> {
        self.telemetry.store_failed(error, self.policy.as_str());
        let mut state = self.state();
        if state.is_none() {
            self.telemetry.store_is_away(error);
        }
        let away = state.get_or_insert(OutageState { since: now, seen_at: now, room: None });
        if now.since(away.seen_at) >= Self::FORGOTTEN_AFTER {
            away.since = now;
        }
        // Calls may fail in another order than they read the clock.
        away.seen_at = away.seen_at.max(now);
        self.is_on.store(true, Ordering::Relaxed);
        state
    }

    /// Reports the sessions of the node's own room to a store that answers again, in a task beside
    /// the requests. One call at a time, so that the store is not flooded right after it is back.
    fn report<St: Store>(store: &St, room: Room) {
        // Without a runtime no task can report: each pass is then counted when it is renewed.
        let Ok(runtime) = Handle::try_current() else { return };
        let (store, now) = (store.clone(), store.now());
        runtime.spawn(async move {
            for pass in room.passes().filter(|pass| pass.expires_at > now) {
                // A pass that cannot be reported is counted by the store when it is renewed as
                // usual.
                let _ = store.renew(*pass).await;
            }
        });
    }

    /// Locks the state, also after a panic of another thread. The verbs of a room leave it
    /// consistent, and the times are only replaced.
    fn state(&self) -> MutexGuard<'_, Option<OutageState>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
