//! The handle to one gate.

use std::{fmt, sync::Arc};

use waiting_room_core::{ConfigError, gate::GateSnapshot};

use crate::gate::GateSet;

/// Observes one gate, and changes its limit while the gate is in use.
///
/// [`WaitingRoomHandle::gate`](super::WaitingRoomHandle::gate) returns this handle. The handle
/// covers all gates that one [`Concurrency`](crate::Concurrency) configures: either a single gate
/// or, with a key, one gate for each value of the key.
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

    /// Returns the gate's current figures. A gate without a key has one snapshot. A gate by key has
    /// one snapshot for each key value that running or waiting requests have, and therefore none
    /// while there are no requests.
    #[must_use]
    pub fn snapshots(&self) -> Vec<GateSnapshot> {
        self.set.snapshots()
    }

    /// Returns the number of requests that all gates under this name have refused since the layer was
    /// created.
    #[must_use]
    pub fn refusals(&self) -> u64 {
        self.set.refusals()
    }

    /// Changes the number of requests that may run at once. A limit of 0 closes the gate, and
    /// `None` removes the limit.
    ///
    /// Running requests are not interrupted, so a lower limit takes effect as requests end.
    ///
    /// # Errors
    ///
    /// Returns an error if the gate has an adaptive or a shared limit, which would overwrite the value,
    /// or if the limit is invalid. The old limit then stays in effect.
    pub fn set_limit(&self, limit: impl Into<Option<u32>>) -> Result<(), ConfigError> {
        self.set.set_limit(limit.into())
    }
}

impl fmt::Debug for GateHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GateHandle").field("name", &self.name()).finish_non_exhaustive()
    }
}
