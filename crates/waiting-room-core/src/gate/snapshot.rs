//! A gate in numbers.

use std::time::Duration;

/// A gate at one instant.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct GateSnapshot {
    /// How many run: counted, never derived from the limit.
    pub in_flight: u32,
    /// How many may run; `None` for as many as come.
    pub limit: Option<u32>,
    /// How many wait.
    pub queued: u32,
    /// For how long the one has waited who has waited the longest.
    pub oldest_wait: Duration,
    /// How many are served in a second while somebody waits, as far as is known.
    pub service_rate: Option<f64>,
    /// Whether the gate is being emptied.
    pub is_draining: bool,
    /// What has become of those who did not run at once.
    pub outcomes: GateOutcomes,
}

/// What has become of all who did not run at once, since the gate was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct GateOutcomes {
    /// Went away from the queue.
    pub cancelled: u64,
    /// Were refused because the gate was being emptied.
    pub drained: u64,
    /// Had to make room for another in the queue.
    pub evicted: u64,
    /// Were refused because as many waited as may.
    pub full: u64,
    /// Were given a permit in the queue.
    pub granted: u64,
    /// Came into the queue.
    pub queued: u64,
    /// Would have waited, or waited, for longer than they may under overload.
    pub shed: u64,
    /// Waited for as long as they might.
    pub timed_out: u64,
}
