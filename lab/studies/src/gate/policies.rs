//! The rules under comparison.

use std::time::Duration;

use waiting_room_core::gate::{Discipline, GateRules, Tenants};

use super::traffic::LIMIT;

/// A set of rules, and its name in tables.
#[derive(Clone, Debug)]
pub(super) struct Policy {
    pub(super) name: String,
    pub(super) rules: GateRules,
}

impl Policy {
    fn new(name: impl Into<String>, rules: GateRules) -> Self {
        Self { name: name.into(), rules }
    }

    /// First come, first served, with bounds that are never reached, as in `tower`.
    pub(super) fn unbounded() -> Self {
        let rules = fifo(GateRules::MAX_QUEUE, GateRules::MAX_WAIT);
        Self::new("first come, without a bound", rules)
    }

    /// First come, first served, with this length of the queue and this longest wait in
    /// milliseconds.
    pub(super) fn fifo(queue: u32, max_wait: u64) -> Self {
        let name = format!("Fifo, {queue} wait for {max_wait} ms");
        Self::new(name, fifo(queue, Duration::from_millis(max_wait)))
    }

    /// A queue as short as the limit, in which no request waits for long, whatever its longest
    /// wait.
    pub(super) fn short() -> Self {
        Self::new("Fifo, 16 wait", fifo(LIMIT, LONG))
    }

    /// No queue.
    pub(super) fn none() -> Self {
        Self::new("no queue", fifo(0, LONG))
    }

    pub(super) fn adaptive_lifo() -> Self {
        let interval = Duration::from_millis(100);
        Self::new("AdaptiveLifo", long(Discipline::AdaptiveLifo { interval }))
    }

    /// The default discipline, with a queue that is long enough for a burst.
    pub(super) fn controlled_delay() -> Self {
        Self::new("ControlledDelay (default)", long(Discipline::default()))
    }

    /// Controlled delay with this target and interval, in milliseconds.
    pub(super) fn delay(target: u64, interval: u64) -> Self {
        let name = format!("ControlledDelay {target}/{interval} ms");
        let target = Duration::from_millis(target);
        let interval = Duration::from_millis(interval);
        Self::new(name, long(Discipline::ControlledDelay { target, interval }))
    }

    /// The rules with all defaults.
    pub(super) fn unchanged() -> Self {
        Self::new("ControlledDelay, 1024 wait for 5 s", GateRules::new(LIMIT))
    }

    pub(super) fn fair(tenants: Tenants) -> Self {
        Self::new(
            format!("FairByTenant({tenants:?})"),
            short_wait(Discipline::FairByTenant(tenants)),
        )
    }

    /// Two classes, neither with reserved permits.
    pub(super) fn priority() -> Self {
        let discipline =
            Discipline::Priority { reserved: vec![0; 2], aging: Duration::from_millis(80) };
        Self::new("Priority", short_wait(discipline))
    }

    /// The rules for a crowd.
    pub(super) fn crowd(discipline: Discipline) -> GateRules {
        GateRules::new(LIMIT).queue(100).discipline(discipline)
    }
}

fn fifo(queue: u32, max_wait: Duration) -> GateRules {
    GateRules::new(LIMIT).queue(queue).max_wait(max_wait).discipline(Discipline::Fifo)
}

/// Rules with a queue of half a second.
fn long(discipline: Discipline) -> GateRules {
    fifo(QUEUE, LONG).discipline(discipline)
}

/// Rules with the same queue, but with a short longest wait.
fn short_wait(discipline: Discipline) -> GateRules {
    fifo(QUEUE, SHORT).discipline(discipline)
}

/// The number of requests that are served in half a second.
pub(super) const QUEUE: u32 = 800;
const LONG: Duration = Duration::from_millis(500);
const SHORT: Duration = Duration::from_millis(100);
