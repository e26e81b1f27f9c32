//! The state of a dashboard, and the sampler that updates it once a second.
//!
//! ```text
//!  every second:  store ── snapshot ──┐
//!                 telemetry ─ tally ──┼─► State ─► history, waits, counts
//!                 gates, limits ──────┘     │
//!                                           └─► Figures ─► Feed ─► all streams
//! ```
//!
//! The gates are read, and the event is rendered, only while a stream is open. The
//! sampler is a task that holds no strong reference to the board, and is aborted when the board is
//! dropped.

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use tokio::{
    runtime::Handle,
    task::AbortHandle,
    time::{MissedTickBehavior, interval, timeout},
};
use waiting_room_core::{
    StoreError, Timestamp,
    room::{RoomMode, RoomSnapshot},
    time::Clock,
};

use super::{
    audit::Audit,
    feed::Feed,
    figures::{Figures, GateFigures, LimitFigures, NodeFigures},
    history::{RoomHistory, RoomSample},
    preview::time_to_serve,
    recent::{Counting, MinuteCount},
    waits::{AdmittedWait, WaitFigures, Waits},
};
use crate::{
    handle::WaitingRoomHandle,
    telemetry::{VerdictTally, VisitorWait},
};

/// The state that all routes of a dashboard share.
pub(super) struct Board {
    pub(super) handle: WaitingRoomHandle,
    pub(super) feed: Arc<Feed>,
    state: Mutex<State>,
    /// The task that samples, once it is started; `None` if the caller samples.
    sampler: Option<Mutex<Option<AbortHandle>>>,
}

/// What the sampler has recorded.
#[derive(Debug)]
pub(super) struct State {
    pub(super) history: RoomHistory,
    pub(super) audit: Audit,
    pub(super) waits: Waits,
    /// The requests with each reason.
    reasons: HashMap<String, MinuteCount>,
    /// The requests above each limit.
    over: HashMap<Arc<str>, MinuteCount>,
    /// The requests with a valid pass, or admitted by the limits alone.
    forwarded: MinuteCount,
    /// The time of the last sample.
    sampled_at: Option<Timestamp>,
    /// The last figures that the store returned.
    pub(super) room: Option<RoomSnapshot>,
    /// The last error of the store, and its time, until the store answers again.
    pub(super) away: Option<(Timestamp, String)>,
    pub(super) wait: WaitFigures,
}

impl Board {
    /// Creates a board, and starts its sampler if there is a runtime. Otherwise, the first request
    /// starts the sampler.
    pub(super) fn new(handle: WaitingRoomHandle) -> Arc<Self> {
        let board = Arc::new(Self::with(handle, Some(Mutex::default())));
        board.start();
        board
    }

    /// Creates a board that only the caller samples.
    #[cfg(test)]
    pub(super) fn sampled_by_hand(handle: WaitingRoomHandle) -> Arc<Self> {
        Arc::new(Self::with(handle, None))
    }

    fn with(handle: WaitingRoomHandle, sampler: Option<Mutex<Option<AbortHandle>>>) -> Self {
        let feed = Arc::<Feed>::default();
        let streams = Arc::downgrade(&feed);
        handle.pipeline().dashboard_streams.register(streams);
        Self { handle, feed, state: Mutex::new(State::new()), sampler }
    }

    /// Starts the sampler, unless it is running or there is no runtime. The sampler ends with its
    /// runtime, so the first request in another runtime starts it again.
    pub(super) fn start(self: &Arc<Self>) {
        let (Some(sampler), Ok(runtime)) = (&self.sampler, Handle::try_current()) else { return };
        let mut sampler = sampler.lock().unwrap_or_else(PoisonError::into_inner);
        if sampler.as_ref().is_some_and(|task| !task.is_finished()) {
            return;
        }
        let board = Arc::downgrade(self);
        let task = runtime.spawn(async move {
            let mut seconds = interval(Duration::from_secs(1));
            seconds.set_missed_tick_behavior(MissedTickBehavior::Delay);
            loop {
                seconds.tick().await;
                let Some(board) = board.upgrade() else { return };
                board.sample().await;
            }
        });
        *sampler = Some(task.abort_handle());
    }

    /// Takes the first sample if there is none yet, so that the answer to the first request is not
    /// empty.
    pub(super) async fn sample_if_empty(&self) {
        if self.sampler.is_some() && self.state().sampled_at.is_none() {
            self.sample().await;
        }
    }

    /// Records the figures of this second, and sends them to all streams.
    pub(super) async fn sample(&self) {
        let room = self.snapshot().await;
        let pipeline = self.handle.pipeline();
        let now = pipeline.clock.now();
        let tally = &pipeline.telemetry.tally;
        // The gates are locked one after the other, and before the state is locked.
        let is_watched = self.feed.len() > 0;
        let gates = if is_watched { self.gates() } else { Vec::new() };
        let event = {
            let mut state = self.state();
            let counting = state.counting(now);
            let limits = self.limits(&mut state, counting);
            state.record(counting, room, tally);
            is_watched.then(|| self.figures(&state, now, gates, limits).event())
        };
        if let Some(event) = event {
            self.feed.send(&Bytes::from(event));
        }
    }

    /// Asks the store for the figures of the room. Returns `None` if there is no room.
    pub(super) async fn snapshot(&self) -> Option<Result<RoomSnapshot, String>> {
        let room = self.handle.room()?;
        let explained = |error: StoreError| error.to_string();
        Some(match timeout(MAX_SNAPSHOT, room.snapshot()).await {
            Ok(answer) => answer.map_err(explained),
            Err(_) => Err(format!("the store has not answered for {MAX_SNAPSHOT:?}")),
        })
    }

    /// The name of the room.
    pub(super) fn name(&self) -> String {
        self.handle.pipeline().name().to_owned()
    }

    pub(super) fn now(&self) -> Timestamp {
        self.handle.pipeline().clock.now()
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn gates(&self) -> Vec<GateFigures> {
        let gates = self.handle.gates();
        gates.iter().map(GateFigures::new).collect()
    }

    /// Returns the nodes of the room, or `None` if the store does not know them.
    pub(super) fn nodes(&self) -> Option<Vec<NodeFigures>> {
        let nodes = self.handle.room()?.nodes()?;
        Some(NodeFigures::of(nodes, self.now()))
    }

    /// Updates the counts of the limits, and returns their figures.
    fn limits(&self, state: &mut State, counting: Counting) -> Vec<LimitFigures> {
        let policies = self.handle.pipeline().limits.in_force.policies.load();
        state.over.retain(|name, _| policies.iter().any(|policy| policy.name == *name));
        let limits = policies.iter().map(|policy| {
            let over = state.over.entry(Arc::clone(&policy.name)).or_default();
            over.push(policy.subject.decisions.over(), counting);
            LimitFigures {
                name: policy.name.to_string(),
                over_in_last_minute: over.last_minute(),
                over: over.total(),
            }
        });
        limits.collect()
    }

    fn figures(
        &self,
        state: &State,
        now: Timestamp,
        gates: Vec<GateFigures>,
        limits: Vec<LimitFigures>,
    ) -> Figures {
        let mut figures = Figures::new(self.name(), now, state.room.as_ref());
        figures.store_error = state
            .away
            .as_ref()
            .map(|(since, error)| format!("{error} ({} s)", now.since(*since).as_secs()));
        figures.told = state.history.seconds().back().and_then(|second| second.told);
        figures.sample = state.history.seconds().back().into_iter().collect();
        figures.wait = state.wait;
        figures.forwarded_in_last_minute = state.forwarded.last_minute();
        figures.set_reasons(
            state.reasons.iter().map(|(name, reason)| (name, reason.last_minute(), reason.total())),
        );
        (figures.gates, figures.limits, figures.nodes) = (gates, limits, self.nodes());
        figures.changes = state.audit.recorded();
        figures
    }
}

impl Drop for Board {
    fn drop(&mut self) {
        let sampler = self.sampler.take().map(Mutex::into_inner);
        let task = sampler.and_then(|task| task.unwrap_or_else(PoisonError::into_inner));
        if let Some(task) = task {
            task.abort();
        }
    }
}

impl fmt::Debug for Board {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Board").finish_non_exhaustive()
    }
}

impl State {
    fn new() -> Self {
        Self {
            history: RoomHistory::new(),
            audit: Audit::default(),
            waits: Waits::default(),
            reasons: HashMap::new(),
            over: HashMap::new(),
            forwarded: MinuteCount::default(),
            sampled_at: None,
            room: None,
            away: None,
            wait: WaitFigures::default(),
        }
    }

    /// Returns how the counts of a sample at `now` are to be counted.
    ///
    /// Requests are counted in the second of the sample only if the last sample is at most a minute
    /// old. Otherwise, as at the first sample, it is not known when the requests arrived, and they
    /// are part of the totals only.
    fn counting(&mut self, now: Timestamp) -> Counting {
        let last = self.sampled_at.replace(now);
        let is_recent = last.is_some_and(|last| now.since(last) < Duration::from_secs(60));
        Counting { now, is_recent }
    }

    /// Records the figures of one second.
    fn record(
        &mut self,
        counting: Counting,
        room: Option<Result<RoomSnapshot, String>>,
        tally: &VerdictTally,
    ) {
        let now = counting.now;
        match room {
            Some(Ok(room)) => (self.room, self.away) = (Some(room), None),
            Some(Err(error)) => {
                let since = self.away.take().map_or(now, |(since, _)| since);
                self.away = Some((since, error));
            }
            None => (),
        }
        let refused = self.count(tally, counting);
        tally.take_waits().into_iter().for_each(|waited| self.waits.push(wait(waited)));
        self.wait = self.waits.figures(now.as_secs());
        // While the store does not answer, the chart has a gap.
        let room = self.room.as_ref().filter(|_| self.away.is_none());
        self.history.push(RoomSample {
            at: now.as_secs(),
            is_known: room.is_some(),
            active: room.map_or(0, |room| room.active),
            limit: room.map_or(0, |room| room.total_active_users),
            waiting: room.map_or(0, |room| room.waiting),
            admitted: room.map_or(0, |room| room.new_in_last_minute),
            refused,
            p50: self.wait.p50,
            p95: self.wait.p95,
            told: room.and_then(told_to_newcomers),
        });
    }

    /// Updates the counts of the reasons, and returns the number of requests that were refused since
    /// the last update.
    fn count(&mut self, tally: &VerdictTally, counting: Counting) -> u32 {
        self.forwarded.push(tally.forwarded(), counting);
        let mut refused = 0;
        for (name, total) in tally.reasons() {
            let is_refusal = name.starts_with("refused:") || name == "store_unavailable";
            let added = self.reasons.entry(name).or_default().push(total, counting);
            if is_refusal {
                refused += added;
            }
        }
        refused
    }
}

fn wait(waited: VisitorWait) -> AdmittedWait {
    AdmittedWait {
        at: waited.until.as_secs(),
        waited: millis(waited.until.since(waited.since)),
        promised: waited.promised.map(millis),
    }
}

/// Returns the wait that the room estimates for a visitor who arrives now, in milliseconds.
/// A room that is held or drained tells newcomers no wait.
pub(super) fn told_to_newcomers(room: &RoomSnapshot) -> Option<u32> {
    if room.mode != RoomMode::Auto {
        return None;
    }
    let ahead = room.present.saturating_add(1);
    time_to_serve(ahead, room.admissions_per_minute).map(millis)
}

fn millis(time: Duration) -> u32 {
    u32::try_from(time.as_millis()).unwrap_or(u32::MAX)
}

/// The maximum time for which the sampler waits for the store. It is less than a second, so that
/// there is an event each second.
const MAX_SNAPSHOT: Duration = Duration::from_millis(900);
