//! The state of a dashboard, and the sampler that updates it once a second.
//!
//! ```text
//!  every second:  store ── snapshot ─────────┐
//!                 handle ─ verdicts, waits ──┼─► State ─► history, counts
//!                 gates, limits ─────────────┘     │
//!                                                  └─► figures ─► Feed ─► all streams
//! ```
//!
//! The gates are read, and the event is rendered, only while a stream is open. The sampler is a
//! task that holds no strong reference to the board, and ends with the board.

use std::{
    cmp::Reverse,
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use serde_json::{Value, json};
use tokio::{
    runtime::Handle,
    task::JoinHandle,
    time::{MissedTickBehavior, interval, timeout},
};
use tower_waiting_room::WaitingRoomHandle;
use waiting_room_core::{StoreError, Timestamp, room::RoomSnapshot};

use super::{
    audit::Audit,
    feed::Feed,
    figures::{self, MAX_ROWS},
    history::{RoomHistory, RoomSample, columns},
    preview::told_to_newcomers,
    recent::{Counting, MinuteCount},
    waits::WaitFigures,
};

/// The state that all routes of a dashboard share.
#[derive(Debug)]
pub(super) struct Board {
    pub(super) handle: WaitingRoomHandle,
    pub(super) feed: Feed,
    state: Mutex<State>,
    /// The task that samples, once it is started; `None` if the caller samples.
    sampler: Option<Mutex<Option<JoinHandle<()>>>>,
}

/// The figures that the sampler has recorded.
#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) history: RoomHistory,
    pub(super) audit: Audit,
    /// The requests with each reason.
    reasons: HashMap<String, MinuteCount>,
    /// The requests above each limit.
    over: HashMap<String, MinuteCount>,
    /// The time of the last sample.
    sampled_at: Option<Timestamp>,
    /// The last figures that the store returned.
    room: Option<RoomSnapshot>,
    /// The last error of the store, and its time, until the store answers again.
    away: Option<(Timestamp, String)>,
    wait: WaitFigures,
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

    fn with(handle: WaitingRoomHandle, sampler: Option<Mutex<Option<JoinHandle<()>>>>) -> Self {
        Self { handle, feed: Feed::new(), state: Mutex::default(), sampler }
    }

    /// Starts the sampler, unless it is running or there is no runtime. The sampler ends with its
    /// runtime, so the first request in another runtime starts it again.
    fn start(self: &Arc<Self>) {
        let (Some(sampler), Ok(runtime)) = (&self.sampler, Handle::try_current()) else { return };
        let mut sampler = sampler.lock().unwrap_or_else(PoisonError::into_inner);
        if sampler.as_ref().is_some_and(|task| !task.is_finished()) {
            return;
        }
        let board = Arc::downgrade(self);
        *sampler = Some(runtime.spawn(async move {
            let mut seconds = interval(Duration::from_secs(1));
            seconds.set_missed_tick_behavior(MissedTickBehavior::Delay);
            loop {
                seconds.tick().await;
                let Some(board) = board.upgrade() else { return };
                board.sample().await;
            }
        }));
    }

    /// Starts the sampler before a request is answered, and takes the first sample if there is none
    /// yet, so that the answer is not empty.
    pub(super) async fn record(self: &Arc<Self>) {
        self.start();
        if self.sampler.is_some() && self.state().sampled_at.is_none() {
            self.sample().await;
        }
    }

    /// Records the figures of this second, and sends them to all streams.
    pub(super) async fn sample(&self) {
        let room = self.snapshot().await;
        // The gates are locked one after the other, and before the state is locked.
        let is_watched = self.feed.len() > 0;
        let gates = self.handle.gates();
        let gates = gates.iter().filter(|_| is_watched).take(MAX_ROWS).map(figures::gate).collect();
        let event = {
            let mut state = self.state();
            let limits = state.record(&self.handle, room);
            // A line break would end the field of the event, but this JSON contains none.
            is_watched.then(|| self.figures(&state, gates, limits).to_string())
        };
        if let Some(figures) = event {
            self.feed.send(&Bytes::from(format!("event: figures\ndata: {figures}\n\n")));
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

    /// Returns the nodes of the room, or `None` if the store does not know them.
    pub(super) fn nodes(&self, most: usize) -> Option<Vec<Value>> {
        let nodes = self.handle.room()?.nodes()?;
        Some(figures::nodes(nodes, self.handle.now(), most))
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns all figures that the page shows. A time is in milliseconds, unless its name ends with
    /// `_s`.
    fn figures(&self, state: &State, gates: Vec<Value>, limits: Vec<Value>) -> Value {
        let now = self.handle.now();
        let away = state.away.as_ref();
        let last = state.history.seconds().back();
        let forwarded = FORWARDED.iter().filter_map(|reason| state.reasons.get(*reason));
        json!({
            "name": self.handle.name(),
            "at": now.as_secs(),
            "room": state.room.as_ref().map(figures::room),
            "store_error":
                away.map(|(since, error)| format!("{error} ({} s)", now.since(*since).as_secs())),
            "sample": columns(last.into_iter()),
            "wait": state.wait,
            "told": last.and_then(|second| second.told),
            "forwarded_in_last_minute": forwarded.map(MinuteCount::last_minute).sum::<u64>(),
            "reasons": state.most_frequent_reasons(),
            "gates": gates,
            "limits": limits,
            "nodes": self.nodes(MAX_ROWS),
            "changes": state.audit.recorded(),
        })
    }
}

impl State {
    /// Records the figures of one second, and returns those of the limits.
    fn record(
        &mut self,
        handle: &WaitingRoomHandle,
        room: Option<Result<RoomSnapshot, String>>,
    ) -> Vec<Value> {
        let now = handle.now();
        match room {
            Some(Ok(room)) => {
                self.room = Some(room);
                self.away = None;
            }
            Some(Err(error)) => {
                let since = self.away.take().map_or(now, |(since, _)| since);
                self.away = Some((since, error));
            }
            None => (),
        }
        // Requests are counted in the second of this sample only if the previous sample is at most
        // a minute old. Otherwise, as at the first sample, it is not known when the requests
        // arrived, and they are part of the totals only.
        let last = self.sampled_at.replace(now);
        let is_recent = last.is_some_and(|last| now.since(last) < Duration::from_secs(60));
        let counting = Counting { now, is_recent };
        let mut refused = 0;
        for (name, total) in handle.verdicts() {
            let is_refusal = name.starts_with("refused:") || name == "store_unavailable";
            let added = self.reasons.entry(name).or_default().push(total, counting);
            if is_refusal {
                refused += added;
            }
        }
        self.wait = WaitFigures::new(&handle.waits());
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
        self.count_limits(handle.limits().over(), counting)
    }

    /// Updates the counts of the limits in force, and returns their figures.
    fn count_limits(&mut self, over: Vec<(String, u64)>, counting: Counting) -> Vec<Value> {
        let in_force: HashSet<&str> = over.iter().map(|(limit, _)| &**limit).collect();
        self.over.retain(|name, _| in_force.contains(&**name));
        let figures = over.into_iter().map(|(name, total)| {
            let count = self.over.entry(name.clone()).or_default();
            count.push(total, counting);
            json!({ "name": name, "over_in_last_minute": count.last_minute(), "over": total })
        });
        let mut figures: Vec<_> = figures.collect();
        figures.truncate(MAX_ROWS);
        figures
    }

    /// Returns the figures of the reasons, starting with the most frequent in the last minute.
    fn most_frequent_reasons(&self) -> Vec<Value> {
        let reasons = self.reasons.iter().filter(|(name, _)| !FORWARDED.contains(&name.as_str()));
        let mut reasons: Vec<_> = reasons
            .map(|(name, count)| (Reverse((count.last_minute(), count.total())), name))
            .collect();
        reasons.sort_unstable();
        let rows = reasons.into_iter().take(MAX_ROWS);
        rows.map(|(Reverse((in_last_minute, total)), reason)| {
            json!({ "reason": reason, "in_last_minute": in_last_minute, "total": total })
        })
        .collect()
    }
}

/// The reasons of requests that are forwarded with a valid pass, or by the limits alone.
const FORWARDED: [&str; 2] = ["admitted:pass", "admitted:limits"];

/// The maximum time for which the sampler waits for the store. It is less than a second, so that
/// there is an event every second.
const MAX_SNAPSHOT: Duration = Duration::from_millis(900);
