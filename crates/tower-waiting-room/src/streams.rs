//! The event streams of the dashboards of one layer, which the application ends before a graceful
//! shutdown.
//!
//! The handle of a layer ends the streams, but it does not know the dashboards, which are built on
//! it. Each dashboard therefore registers its streams here.
//!
//! ```text
//!  dashboard ── register ──► DashboardStreams ◄── end ── WaitingRoomHandle
//!      ▲                             │
//!      └────────── end_all ──────────┘
//! ```

use std::{
    fmt,
    sync::{Mutex, MutexGuard, PoisonError, Weak},
};

/// The streams of one dashboard.
pub(crate) trait EventStreams: Send + Sync {
    /// Ends all open streams, and opens no others from now on.
    fn end_all(&self);
}

/// The streams of all dashboards of a layer.
#[derive(Default)]
pub(crate) struct DashboardStreams(Mutex<Registered>);

#[derive(Default)]
struct Registered {
    streams: Vec<Weak<dyn EventStreams>>,
    is_ended: bool,
}

impl DashboardStreams {
    /// Registers the streams of a dashboard. Streams of dashboards that no longer exist are
    /// forgotten.
    pub(crate) fn register(&self, streams: Weak<dyn EventStreams>) {
        let mut registered = self.locked();
        registered.streams.retain(|stream| stream.strong_count() > 0);
        if registered.is_ended
            && let Some(streams) = streams.upgrade()
        {
            streams.end_all();
        }
        registered.streams.push(streams);
    }

    /// Ends the streams of all dashboards, including dashboards that are created later.
    pub(crate) fn end(&self) {
        let mut registered = self.locked();
        registered.is_ended = true;
        registered.streams.iter().filter_map(Weak::upgrade).for_each(|stream| stream.end_all());
    }

    fn locked(&self) -> MutexGuard<'_, Registered> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for DashboardStreams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.locked().streams.len();
        f.debug_struct("DashboardStreams").field("dashboards", &count).finish()
    }
}
