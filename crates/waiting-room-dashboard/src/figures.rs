//! The figures of one second, as the page receives them.

use serde::Serialize;
use waiting_room_core::{
    Timestamp,
    gate::GateSnapshot,
    room::{RoomNode, RoomSnapshot},
};

use super::{change::mode_name, history::Columns, waits::WaitFigures};
use crate::handle::GateHandle;

/// All figures that the page shows. A time is in milliseconds, unless its name ends with `_s`.
#[derive(Debug, Serialize)]
pub(super) struct Figures {
    name: String,
    at: u64,
    room: Option<RoomFigures>,
    /// Why the store does not answer, or `None` if it does.
    pub(super) store_error: Option<String>,
    /// The newest sample of the history, for the charts.
    pub(super) sample: Columns,
    pub(super) wait: WaitFigures,
    /// The wait estimated for a visitor who arrives now.
    pub(super) told: Option<u32>,
    pub(super) forwarded_in_last_minute: u64,
    reasons: Vec<ReasonFigures>,
    pub(super) gates: Vec<GateFigures>,
    pub(super) limits: Vec<LimitFigures>,
    /// The nodes of the room, or `None` if the store does not know them.
    pub(super) nodes: Option<Vec<NodeFigures>>,
    /// The number of changes that operators have made.
    pub(super) changes: u64,
}

#[derive(Debug, Serialize)]
struct RoomFigures {
    mode: &'static str,
    active: u32,
    total_active_users: u32,
    new_users_per_minute: Option<u32>,
    new_in_last_minute: u32,
    first_touches_in_last_minute: u32,
    waiting: u32,
    present: u32,
    line_capacity: u32,
    oldest_wait_s: u64,
    admissions_per_minute: f64,
}

#[derive(Debug, Serialize)]
struct ReasonFigures {
    reason: String,
    in_last_minute: u64,
    total: u64,
}

/// The figures of a gate. A gate by key is shown as the sum over its keys, which are not named.
#[derive(Debug, Serialize)]
pub(super) struct GateFigures {
    name: String,
    keys: usize,
    in_flight: u32,
    /// The limit, or `None` if there is none, or if no key is in use.
    limit: Option<u32>,
    queued: u32,
    oldest_wait: u64,
    refused: u64,
    is_draining: bool,
}

/// The figures of a rate limit. Its keys are not named.
#[derive(Debug, Serialize)]
pub(super) struct LimitFigures {
    pub(super) name: String,
    pub(super) over_in_last_minute: u64,
    pub(super) over: u64,
}

/// A node that shares the store of the room.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct NodeFigures {
    name: String,
    /// The time since the store last heard from the node, in seconds.
    last_heard_s: u64,
    is_this_node: bool,
    /// Whether the node has been heard lately, so that it is running and reaches the store.
    is_heard: bool,
}

impl NodeFigures {
    /// Describes the nodes at `now`, in the order of their names, so that they keep their rows.
    pub(super) fn of(nodes: Vec<RoomNode>, now: Timestamp) -> Vec<Self> {
        let mut figures: Vec<_> = nodes
            .into_iter()
            .map(|node| Self {
                last_heard_s: now.since(node.last_heard).as_secs(),
                is_this_node: node.is_this_node,
                is_heard: node.is_heard(now),
                name: node.name,
            })
            .collect();
        figures.sort_by(|a, b| a.name.cmp(&b.name));
        figures
    }
}

impl Figures {
    /// The maximum number of reasons, gates, limits and nodes on the page.
    pub(super) const MAX_ROWS: usize = 64;

    pub(super) fn new(name: String, at: Timestamp, room: Option<&RoomSnapshot>) -> Self {
        Self {
            name,
            at: at.as_secs(),
            room: room.map(RoomFigures::new),
            store_error: None,
            sample: Columns::default(),
            wait: WaitFigures::default(),
            told: None,
            forwarded_in_last_minute: 0,
            reasons: Vec::new(),
            gates: Vec::new(),
            limits: Vec::new(),
            nodes: None,
            changes: 0,
        }
    }

    /// Sets the reasons, the most frequent ones of the last minute first.
    pub(super) fn set_reasons<'a>(&mut self, all: impl Iterator<Item = (&'a String, u64, u64)>) {
        let figures = all.map(|(reason, in_last_minute, total)| ReasonFigures {
            reason: reason.clone(),
            in_last_minute,
            total,
        });
        self.reasons = figures.collect();
        self.reasons.sort_by(|a, b| {
            let rank = |figures: &ReasonFigures| (figures.in_last_minute, figures.total);
            rank(b).cmp(&rank(a)).then_with(|| a.reason.cmp(&b.reason))
        });
    }

    /// Returns the event that contains these figures.
    pub(super) fn event(mut self) -> String {
        self.reasons.truncate(Self::MAX_ROWS);
        self.gates.truncate(Self::MAX_ROWS);
        self.limits.truncate(Self::MAX_ROWS);
        if let Some(nodes) = self.nodes.as_mut().filter(|nodes| nodes.len() > Self::MAX_ROWS) {
            // The page shows this node, and the others that were heard most recently.
            nodes.sort_by_key(|node| (!node.is_this_node, node.last_heard_s));
            nodes.truncate(Self::MAX_ROWS);
            nodes.sort_by(|a, b| a.name.cmp(&b.name));
        }
        // JSON contains no line break, which would end the field of the event.
        let json = serde_json::to_string(&self).unwrap_or_default();
        format!("event: figures\ndata: {json}\n\n")
    }
}

impl RoomFigures {
    fn new(room: &RoomSnapshot) -> Self {
        Self {
            mode: mode_name(room.mode),
            active: room.active,
            total_active_users: room.total_active_users,
            new_users_per_minute: room.new_users_per_minute,
            new_in_last_minute: room.new_in_last_minute,
            first_touches_in_last_minute: room.first_touches_in_last_minute,
            waiting: room.waiting,
            present: room.present,
            line_capacity: room.line_capacity,
            oldest_wait_s: room.oldest_wait.as_secs(),
            admissions_per_minute: room.admissions_per_minute,
        }
    }
}

impl GateFigures {
    /// Adds up the gates of this handle, one for each key in use. The refusals are those of all
    /// keys since the start.
    pub(super) fn new(gate: &GateHandle) -> Self {
        let gates = &gate.snapshots();
        let sum = |of: fn(&GateSnapshot) -> u32| gates.iter().map(of).fold(0, u32::saturating_add);
        let oldest = gates.iter().map(|gate| gate.oldest_wait).max().unwrap_or_default();
        let limits = gates.iter().map(|gate| gate.limit);
        let limit = limits.reduce(|sum, limit| Some(sum?.saturating_add(limit?)));
        Self {
            name: gate.name().to_owned(),
            keys: gates.len(),
            in_flight: sum(|gate| gate.in_flight),
            limit: limit.flatten(),
            queued: sum(|gate| gate.queued),
            oldest_wait: u64::try_from(oldest.as_millis()).unwrap_or(u64::MAX),
            refused: gate.refusals(),
            is_draining: gates.iter().any(|gate| gate.is_draining),
        }
    }
}
