//! What a node does while the store cannot decide.

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

use waiting_room_core::{
    Pass, Reason, Renewal, Room, RoomRules, Store, StoreError, StoreErrorKind, Ticket, Timestamp,
    Verdict, VisitorId,
};

use crate::{misconfiguration::Misconfiguration, telemetry::Telemetry};

/// A future of a store, boxed: a valid pass that is not due for renewal never makes one.
pub(crate) type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// What to tell a visitor without a pass when the store cannot decide.
///
/// Valid passes go on in any case, for as long as they are valid. A store that answers, and is asked
/// more by a node than it decides in time, is not away: whatever the policy, visitors then wait, with
/// the reason `queued:store_busy` and a time to come back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StoreFailure {
    /// Let the visitor through, uncounted and without a pass.
    Admit,
    /// Let each of so many nodes decide by its share of the limits, from its own memory, once the
    /// store has not answered for two seconds; until then, have the visitor ask again.
    ///
    /// A node counts the passes that it sees. So more than the limit may be active by those whom
    /// no node has seen since the store was lost, until their passes lapse. What was decided is
    /// reported to the store when it answers again.
    LocalShare {
        /// How many nodes there are, or more.
        nodes: NonZeroU32,
    },
    /// Have the visitor ask again; a place is kept.
    Wait,
}

impl StoreFailure {
    /// Its name in metrics.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Admit => "admit",
            Self::LocalShare { .. } => "local_share",
            Self::Wait => "wait",
        }
    }
}

/// What a visitor without a pass asks.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Question {
    CheckIn(Ticket),
    Enter(VisitorId),
    /// Whether the session of a pass that has run out goes on; if not, a newcomer of this id asks.
    Return(Pass, VisitorId),
}

/// Whether the store answers, and the room of a node that is on its own.
#[derive(Debug)]
pub(crate) struct Outage {
    policy: StoreFailure,
    telemetry: Telemetry,
    /// Whether there is anything in the state, changed together with it.
    is_on: AtomicBool,
    state: Mutex<Option<OutageState>>,
}

/// A store that is away.
#[derive(Debug)]
struct OutageState {
    since: Timestamp,
    /// When it was last found to be away.
    seen_at: Timestamp,
    room: Option<Room>,
}

impl Outage {
    /// A store that has not answered for so long is not just slow.
    const PATIENCE: Duration = Duration::from_secs(2);
    /// A store that nobody has asked for so long may have answered meanwhile.
    const FORGOTTEN_AFTER: Duration = Duration::from_secs(15);

    pub(crate) fn new(policy: StoreFailure, telemetry: Telemetry) -> Self {
        Self { policy, telemetry, is_on: AtomicBool::new(false), state: Mutex::default() }
    }

    pub(crate) const fn policy(&self) -> StoreFailure {
        self.policy
    }

    /// Asks the store, or who stands in for it.
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
            match verdict {
                Verdict::Admit { pass, .. } => {
                    Verdict::Admit { pass, reason: Reason::AdmittedLocalShare }
                }
                other => other,
            }
        })
    }

    /// Has the store renew a pass, or who stands in for it.
    pub(crate) async fn renew<St: Store>(
        &self,
        store: &St,
        pass: Pass,
    ) -> Result<Renewal, StoreError> {
        let renewal = store.renew(pass).await;
        self.or_locally(store, renewal, |room, now| room.renew(&pass, now))
    }

    /// Whether the store is away.
    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        self.is_on.load(Ordering::Relaxed)
    }

    /// Counts a valid pass that was seen, while the node is on its own.
    pub(crate) fn saw(&self, pass: &Pass, now: Timestamp) {
        if let Some(OutageState { room: Some(room), .. }) = &mut *self.state() {
            // What it says of the renewal is for a renewal that is due.
            let _ = room.renew(pass, now);
        }
    }

    /// Takes note of whether the store has answered.
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

    /// Takes note of what the store has said; has the node decide if it has long been away.
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
            // It answers others: to stand in for it would be to let in twice.
            Err(error) if error.kind() == StoreErrorKind::Busy => return Err(error),
            Err(error) => error,
        };
        let now = store.now();
        let mut state = self.is_away(&error, now);
        match (&mut *state, self.policy) {
            (Some(away), StoreFailure::LocalShare { nodes }) => {
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

    /// The store has answered.
    fn answered<St: Store>(&self, store: &St) {
        if store.may_evict() {
            self.telemetry.misconfigured(Misconfiguration::StoreMayEvict);
        }
        if !self.is_on.load(Ordering::Relaxed) {
            return;
        }
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

    /// The store has not answered. Returns the state of the outage, locked.
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
        away.seen_at = away.seen_at.max(now);
        self.is_on.store(true, Ordering::Relaxed);
        state
    }

    /// Tells a store that answers again of all who are active by this node's account.
    fn report<St: Store>(store: &St, room: Room) {
        let (store, now) = (store.clone(), store.now());
        tokio::spawn(async move {
            for pass in room.passes().filter(|pass| pass.expires_at > now) {
                // A pass that is not reported is counted when it is renewed.
                let _ = store.renew(*pass).await;
            }
        });
    }

    /// The state is a room and two times; a panic leaves them as they were.
    fn state(&self) -> MutexGuard<'_, Option<OutageState>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
