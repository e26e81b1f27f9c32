//! What a node does while the store cannot decide.

use std::{
    num::NonZeroU32,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use waiting_room_core::{
    Pass, Reason, Renewal, Room, RoomRules, Store, StoreError, Ticket, Timestamp, Verdict,
    VisitorId,
};

use crate::telemetry::Telemetry;

/// What to tell a visitor without a pass when the store cannot decide.
///
/// Valid passes go on in any case, for as long as they are valid.
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
pub(super) enum Question {
    CheckIn(Ticket),
    Enter(VisitorId),
}

/// Whether the store answers, and the room of a node that is on its own.
#[derive(Debug)]
pub(super) struct Outage {
    policy: StoreFailure,
    telemetry: Telemetry,
    is_on: AtomicBool,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    since: Option<Timestamp>,
    room: Option<Room>,
}

impl Outage {
    /// A store that has not answered for so long is not just slow.
    const PATIENCE: Duration = Duration::from_secs(2);

    pub(super) fn new(policy: StoreFailure, telemetry: Telemetry) -> Self {
        Self { policy, telemetry, is_on: AtomicBool::new(false), state: Mutex::default() }
    }

    pub(super) const fn policy(&self) -> StoreFailure {
        self.policy
    }

    /// Asks the store, or who stands in for it.
    pub(super) async fn ask<St: Store>(
        &self,
        store: &St,
        question: Question,
    ) -> Result<Verdict, StoreError> {
        let verdict = match question {
            Question::CheckIn(ticket) => store.check_in(ticket).await,
            Question::Enter(id) => store.enter(id).await,
        };
        self.or_locally(store, verdict, |room, now| {
            let verdict = match question {
                Question::CheckIn(ticket) => room.check_in(&ticket, now),
                Question::Enter(id) => room.enter(id, now),
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
    pub(super) async fn renew<St: Store>(
        &self,
        store: &St,
        pass: Pass,
    ) -> Result<Renewal, StoreError> {
        let renewal = store.renew(pass).await;
        self.or_locally(store, renewal, |room, now| room.renew(&pass, now))
    }

    /// Counts a valid pass that was seen, while the node is on its own.
    pub(super) fn saw(&self, pass: &Pass, now: Timestamp) {
        if !self.is_on.load(Ordering::Relaxed) {
            return;
        }
        if let Some(room) = &mut self.state().room {
            // What it says of the renewal is for a renewal that is due.
            let _ = room.renew(pass, now);
        }
    }

    /// Takes note of whether the store has answered.
    pub(super) fn noted<St: Store, T>(
        &self,
        store: &St,
        said: Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        match &said {
            Ok(_) if self.is_on.load(Ordering::Relaxed) => {
                if self.is_on.swap(false, Ordering::Relaxed) {
                    self.telemetry.store_answers();
                    self.report(store);
                }
            }
            Ok(_) => {}
            Err(error) => {
                if !self.is_on.swap(true, Ordering::Relaxed) {
                    self.telemetry.store_is_away(error);
                }
                self.telemetry.store_failed(error, self.policy);
            }
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
        let (error, nodes) = match (self.noted(store, said), self.policy) {
            (Err(error), StoreFailure::LocalShare { nodes }) => (error, nodes),
            (said, _) => return said,
        };
        let now = store.now();
        let mut state = self.state();
        let since = *state.since.get_or_insert(now);
        if state.room.is_none() {
            let rules = RoomRules::clone(&store.rules()).share(nodes);
            state.room = rules.and_then(|rules| Room::new(rules).ok());
        }
        match &mut state.room {
            Some(room) if now.since(since) >= Self::PATIENCE => Ok(decide(room, now)),
            _ => Err(error),
        }
    }

    /// Tells a store that answers again of all who are active by this node's account.
    fn report<St: Store>(&self, store: &St) {
        let Some(room) = std::mem::take(&mut *self.state()).room else { return };
        let (store, now) = (store.clone(), store.now());
        tokio::spawn(async move {
            for pass in room.passes().filter(|pass| pass.expires_at > now) {
                // A pass that is not reported is counted when it is renewed.
                let _ = store.renew(*pass).await;
            }
        });
    }

    /// The state is a room and a time; a panic leaves both as they were.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
