//! The handle on one gate.

use std::{fmt, sync::Arc};

use waiting_room_core::{ConfigError, gate::GateSnapshot};

use crate::gate::GateSet;

/// Observes one gate and changes its limit while it is in use.
///
/// Obtained from [`WaitingRoomHandle::gate`](super::WaitingRoomHandle::gate). A gate is what one
/// [`Concurrency`](crate::Concurrency) configures; with a key it is one gate for each value.
///
/// ```
/// # use tower_waiting_room::{Concurrency, WaitingRoomConfig, WaitingRoomLayer};
/// # let gate = Concurrency::limit(64).name("reports");
/// # let config = WaitingRoomConfig::builder("api").concurrency(gate).build()?;
/// # let layer = WaitingRoomLayer::new(config);
/// let reports = layer.handle().gate("reports").expect("a gate has this name");
/// reports.set_limit(32)?;
/// assert_eq!(reports.snapshots()[0].limit, Some(32));
/// # Ok::<(), tower_waiting_room::ConfigError>(())
/// ```
#[derive(Clone)]
pub struct GateHandle {
    set: Arc<GateSet>,
}

impl GateHandle {
    pub(super) const fn new(set: Arc<GateSet>) -> Self {
        Self { set }
    }

    /// Returns the name of the gate, as configured.
    #[must_use]
    pub fn name(&self) -> &str {
        self.set.name()
    }

    /// Returns the state of the gate in numbers: one snapshot for a gate without a key. With a key,
    /// one for each value that a running or waiting request has; none while there is no such request.
    #[must_use]
    pub fn snapshots(&self) -> Vec<GateSnapshot> {
        self.set.snapshots()
    }

    /// Changes how many requests may run at once: 0 closes the gate, `None` removes the limit.
    ///
    /// No running request is interrupted: a lower limit takes effect as requests end.
    ///
    /// # Errors
    ///
    /// Returns an error for a gate with an adaptive limit, which would overwrite the value, and for a
    /// limit that a gate cannot keep. The old limit then stays in force.
    pub fn set_limit(&self, limit: impl Into<Option<u32>>) -> Result<(), ConfigError> {
        self.set.set_limit(limit.into())
    }
}

impl fmt::Debug for GateHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GateHandle").field("name", &self.name()).finish_non_exhaustive()
    }
}
