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
//! An outage begins with the first call that fails, and ends with the next call that succeeds.
//! There is no probe: every request that needs the store calls it, and thereby detects that the
//! store is available again.
//!
//! With [`StoreFailure::LocalShare`], a node creates a local room with its share of the limits.
//! From the start of the outage, the node counts the passes that it sees. The node starts to decide
//! only after a while, because a room that has just been created knows hardly any of the
//! active visitors. Nodes do not communicate. The limits still hold for the visitors whom the nodes
//! know about, because the nodes' shares add up to no more than the limits.
//!
//! A store that is merely busy does not count as an outage. It still answers other calls, and a
//! node that decided in its place would admit visitors in addition to those that the store admits.

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

/// A call to the store, as a boxed future. A request with a valid pass that is not due for renewal
/// needs no call.
pub(crate) type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// The policy for visitors without a pass while the store cannot decide.
///
/// Visitors with a valid pass are let through under any policy, until their passes expire.
///
/// If the store answers, but receives more queries from a node than it can handle in time, there is
/// no outage. In that case, visitors wait whatever the policy is. Their responses have the
/// `queued:store_busy` reason and a retry time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StoreFailure {
    /// Lets the visitor through, without counting the visitor or issuing a pass. The limits of the
    /// room do not apply during an outage.
    Admit,
    /// Once the store has not answered for two seconds, lets each node decide on admissions, based
    /// on its own memory and its share of the limits. Until then, visitors wait as with
    /// [`Wait`](Self::Wait).
    ///
    /// A node knows only about the passes that it has seen. More visitors may therefore be active
    /// than the limit allows: visitors whom no node has seen since the outage began are not
    /// counted, and stay active until their passes expire. Sessions that a node has started or
    /// renewed are reported to the store once the store answers again. If a limit divided by
    /// `nodes` is less than one, no visitor is admitted locally.
    LocalShare {
        /// The number of nodes, or an upper bound on it. Each node gets one share of the limits,
        /// rounded down. If there are more nodes than this, together they may exceed the limits.
        nodes: NonZeroU32,
    },
    /// Asks the visitor to come back later. A visitor in the line keeps its place.
    Wait,
}

impl StoreFailure {
    /// Returns the name in metrics.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Admit => "admit",
            Self::LocalShare { .. } => "local_share",
            Self::Wait => "wait",
        }
    }
}

/// A question to the store about a visitor without a valid pass.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Question {
    /// A visitor in line checks in.
    CheckIn(Ticket),
    /// A newcomer asks to enter.
    Enter(VisitorId),
    /// A visitor presents a pass that has expired or is about to. The session continues if,
    /// according to the store, it has not lapsed. Otherwise the visitor returns to the line with this
    /// ticket, or enters as a newcomer with this id.
    Return(Pass, VisitorId, Option<Ticket>),
    /// The push stream of a visitor in the line confirms that the visitor is present.
    Stay(Ticket),
}

impl Question {
    /// Returns the visitor whom the question is about.
    pub(super) fn asker(&self) -> VisitorId {
        match self {
            Self::CheckIn(ticket) | Self::Stay(ticket) => ticket.id,
            Self::Enter(id) => *id,
            Self::Return(pass, id, back) => back.map_or(*id, |_| pass.id),
        }
    }
}

/// Tracks whether the store answers, and decides in the store's place if the policy requires it.
#[derive(Debug)]
pub(crate) struct Outage {
    policy: StoreFailure,
    telemetry: Telemetry,
    /// Whether `state` is `Some`. The flag is written only while `state` is locked, so the two
    /// always agree. The flag is read without the lock, so that a request with a valid pass takes
    /// no lock. Accesses are `Relaxed`, because an outdated value only delays an action until the
    /// next request.
    is_on: AtomicBool,
    state: Mutex<Option<OutageState>>,
}

/// An outage in progress.
#[derive(Debug)]
struct OutageState {
    /// The start of the outage, or the end of its latest long gap between failed calls: see
    /// [`Outage::FORGOTTEN_AFTER`].
    since: Timestamp,
    /// The time of the latest call that failed.
    seen_at: Timestamp,
    /// The node's local room, if the policy is [`StoreFailure::LocalShare`]. The room is created
    /// when the first call fails, so it has counted passes for a while before it has to make
    /// decisions.
    room: Option<Room>,
}

impl Outage {
    /// The length of time without an answer from the store after which a node decides locally. A
    /// shorter failure may be a single slow call. In the meantime, the node counts the passes that
    /// it sees.
    const PATIENCE: Duration = Duration::from_secs(2);
    /// The gap between two failed calls after which the second call counts as the start of a new
    /// outage. Without calls in between, the node cannot know whether the store was unavailable
    /// throughout the gap.
    const FORGOTTEN_AFTER: Duration = Duration::from_secs(15);

    /// Creates the state of a store that has answered so far.
    pub(crate) fn new(policy: StoreFailure, telemetry: Telemetry) -> Self {
        Self { policy, telemetry, is_on: AtomicBool::new(false), state: Mutex::default() }
    }

    /// Returns the policy for outages.
    pub(crate) const fn policy(&self) -> StoreFailure {
        self.policy
    }

    /// Asks the store to decide on a visitor, or decides locally if the store fails and the policy
    /// permits a local decision.
    ///
    /// # Errors
    ///
    /// Returns the store's error if there is no local decision.
    pub(crate) async fn ask<St: Store>(
        &self,
        store: &St,
        question: Question,
    ) -> Result<Verdict, StoreError> {
        let verdict = match question {
            Question::CheckIn(ticket) => store.check_in(ticket).await,
            Question::Enter(id) => store.enter(id).await,
            Question::Return(pass, id, back) => match store.renew(pass).await {
                Ok(Renewal::Renew(pass)) => {
                    Ok(Verdict::Admit { pass, reason: Reason::AdmittedPass })
                }
                Ok(Renewal::End) => match back {
                    Some(ticket) => store.check_in(ticket).await,
                    None => store.enter(id).await,
                },
                Err(error) => Err(error),
            },
            Question::Stay(ticket) => store.stay(ticket).await,
        };
        match verdict {
            Ok(verdict) => {
                self.answered(store);
                Ok(verdict)
            }
            Err(error) => self.unanswered(store, question, error),
        }
    }

    /// Decides on a visitor locally after the store has failed, if the policy permits a local
    /// decision.
    ///
    /// # Errors
    ///
    /// Returns the store's error if there is no local decision.
    pub(crate) fn unanswered<St: Store>(
        &self,
        store: &St,
        question: Question,
        error: StoreError,
    ) -> Result<Verdict, StoreError> {
        self.locally(store, error, |room, now| {
            let verdict = match question {
                Question::CheckIn(ticket) => room.check_in(&ticket, now),
                Question::Enter(id) => room.enter(id, now),
                Question::Return(pass, id, back) => match room.renew(&pass, now) {
                    Renewal::Renew(pass) => Verdict::Admit { pass, reason: Reason::AdmittedPass },
                    Renewal::End => match back {
                        Some(ticket) => room.check_in(&ticket, now),
                        None => room.enter(id, now),
                    },
                },
                Question::Stay(ticket) => room.stay(&ticket, now),
            };
            // A local admission has its own reason, because during an outage the limits of the room
            // hold only for the visitors whom the nodes know about.
            match verdict {
                Verdict::Admit {
                    pass,
                    reason: Reason::AdmittedSlot | Reason::AdmittedPassthrough,
                } => Verdict::Admit { pass, reason: Reason::AdmittedLocalShare },
                other @ (Verdict::Admit { .. } | Verdict::Refuse { .. } | Verdict::Wait { .. }) => {
                    other
                }
            }
        })
    }

    /// Asks the store to renew a pass, or renews it locally under the same conditions.
    ///
    /// # Errors
    ///
    /// Returns the store's error if there is no local decision.
    pub(crate) async fn renew<St: Store>(
        &self,
        store: &St,
        pass: Pass,
    ) -> Result<Renewal, StoreError> {
        match store.renew(pass).await {
            Ok(renewal) => {
                self.answered(store);
                Ok(renewal)
            }
            Err(error) => self.locally(store, error, |room, now| room.renew(&pass, now)),
        }
    }

    /// Returns whether an outage is in progress.
    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        self.is_on.load(Ordering::Relaxed)
    }

    /// Counts a valid pass in the local room of the node, so that its visitor occupies a slot
    /// there.
    pub(crate) fn saw(&self, pass: &Pass, now: Timestamp) {
        if let Some(OutageState { room: Some(room), .. }) = &mut *self.state() {
            // The pass is renewed only so that the room counts it. The returned pass would be
            // needed only if a renewal were due.
            let _ = room.renew(pass, now);
        }
    }

    /// Records whether a call to the store succeeded, for a call that has no local alternative.
    /// Returns the result of the call unchanged.
    pub(crate) fn noted<St: Store, T>(
        &self,
        store: &St,
        said: Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        match &said {
            Ok(_) => self.answered(store),
            Err(error) if error.kind() == StoreErrorKind::Busy => {}
            Err(error) => drop(self.record_failure(error, store.now())),
        }
        said
    }

    /// Records that a call to the store failed, and returns a local decision instead, provided that
    /// the policy and the duration of the outage permit such a decision.
    ///
    /// `decide` runs while the state of the outage is locked, so the operations on the room happen
    /// one after another, as they would in a store. The closure is short and does not wait.
    fn locally<St: Store, T>(
        &self,
        store: &St,
        error: StoreError,
        decide: impl FnOnce(&mut Room, Timestamp) -> T,
    ) -> Result<T, StoreError> {
        // A busy store answers other calls. A local decision would admit visitors in addition to
        // those that the store admits, and thereby exceed the limit.
        if error.kind() == StoreErrorKind::Busy {
            return Err(error);
        }
        let now = store.now();
        // The state stays locked, so no answer from the store can end the outage before the local
        // decision is made.
        let mut state = self.record_failure(&error, now);
        match (&mut *state, self.policy) {
            (Some(away), StoreFailure::LocalShare { nodes }) => {
                // If the share is less than one slot, there is no local room, and visitors wait.
                // The rules in force change during an outage if an event begins or ends.
                match (RoomRules::clone(&store.rules()).share(nodes), &mut away.room) {
                    (Some(rules), Some(room)) if *room.rules() == rules => {}
                    (Some(rules), Some(room)) => {
                        if room.configure(rules, now).is_err() {
                            away.room = None;
                        }
                    }
                    (rules, _) => away.room = rules.and_then(|rules| Room::new(rules).ok()),
                }
                match &mut away.room {
                    Some(room) if now.since(away.since) >= Self::PATIENCE => Ok(decide(room, now)),
                    _ => Err(error),
                }
            }
            _ => Err(error),
        }
    }

    /// Records that the store has answered, and ends the outage if there was one.
    fn answered<St: Store>(&self, store: &St) {
        if store.may_evict() {
            self.telemetry.misconfigured(Misconfiguration::StoreMayEvict);
        }
        if !self.is_on.load(Ordering::Relaxed) {
            return;
        }
        // The state is taken out while it is locked, but used only after the lock has been
        // released: logging, metrics and `report` must not delay requests whose passes have to be
        // counted.
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

    /// Records a failed call, and begins an outage if there is none. Returns the state of the
    /// outage, still locked.
    fn record_failure(
        &self,
        error: &StoreError,
        now: Timestamp,
    ) -> MutexGuard<'_, Option<OutageState>> {
        self.telemetry.store_failed(error, self.policy.as_str());
        let mut state = self.state();
        if state.is_none() {
            self.telemetry.store_is_away(error);
        }
        let away = state.get_or_insert(OutageState { since: now, seen_at: now, room: None });
        if now.since(away.seen_at) >= Self::FORGOTTEN_AFTER {
            away.since = now;
        }
        // Failed calls may be recorded in a different order from the one in which they read the
        // clock.
        away.seen_at = away.seen_at.max(now);
        self.is_on.store(true, Ordering::Relaxed);
        state
    }

    /// Reports the sessions of the local room to the store once the store answers again. A separate
    /// task makes one call at a time, so that the store is not flooded as soon as it is available.
    fn report<St: Store>(store: &St, room: Room) {
        // Without a runtime, no task can report the sessions. The store then counts each pass when
        // the pass is renewed.
        let Ok(runtime) = Handle::try_current() else { return };
        let now = store.now();
        let store = store.clone();
        runtime.spawn(async move {
            for pass in room.passes().filter(|pass| pass.expires_at > now) {
                // If a pass cannot be reported, the store counts it at its next regular renewal.
                let _ = store.renew(pass).await;
            }
        });
    }

    /// Locks the state, even if another thread panicked while holding the lock. This is safe
    /// because every operation leaves the room consistent, and the times are simply replaced.
    fn state(&self) -> MutexGuard<'_, Option<OutageState>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
