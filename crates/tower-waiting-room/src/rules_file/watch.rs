//! Detects when the content of a file changes.
//!
//! ```text
//!  the folder ──event──┐
//!                      ├──► is it quiet? ──► read ──► different content? ──► on_change
//!  at intervals ───────┘
//! ```
//!
//! The folder is watched rather than the file, because editors replace the file with a new one, and
//! Kubernetes swaps a symbolic link next to the file. Only the content counts, so a file that is
//! written in several steps, touched, or replaced with an identical file causes at most one change.
//! A missing file does not count as a change, because the file usually comes back within moments.
//!
//! A partially written file may be valid. Waiting until the folder is quiet makes it unlikely, but
//! not impossible, that a partial file is read. A slow writer should therefore write a temporary
//! file and rename it.
//!
//! Events can be lost, and some file systems send no events. The file is therefore also read at
//! intervals: every 30 s if the folder is watched, and every 2 s if it cannot be watched.
//!
//! This module only reports that the content changed. The callback reads and parses the file.

use std::{
    io,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel},
    },
    thread,
    time::Duration,
};

use notify::{
    Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher,
    event::{AccessKind, AccessMode},
};
use waiting_room_core::time::{Clock, SystemClock};

use super::text;

/// Watches a file until it is dropped.
#[derive(Debug)]
pub(crate) struct Watch {
    /// A flag that is set when the watch is dropped. The thread tests the flag before each check of
    /// the file.
    stopped: Arc<AtomicBool>,
    /// A sender that keeps the thread's channel open: the thread ends when the last sender is
    /// dropped. The watcher owns the only other sender.
    _signals: SyncSender<()>,
    /// The watcher that sends a signal for each event in the folder, or `None` if the folder cannot
    /// be watched.
    _watcher: Option<RecommendedWatcher>,
}

impl Watch {
    /// Calls `on_change` on a separate thread whenever the content of a file has changed.
    ///
    /// Every change after this function returns is detected, so a caller should first start the
    /// watch and then read the file.
    ///
    /// `on_change` reads the file again, and may find newer content than the watch has seen. The
    /// callback returns whether the content could be used. If not, `on_change` is called at every
    /// check until it succeeds.
    ///
    /// # Errors
    ///
    /// Returns an error if the thread cannot be started. A folder that cannot be watched is not an
    /// error, because the file is then read at intervals.
    pub(crate) fn start(
        path: impl Into<PathBuf>,
        on_change: impl Fn() -> bool + Send + 'static,
    ) -> io::Result<Self> {
        Self::with_pace(path.into(), Pace::default(), on_change)
    }

    /// Starts the watch with the given waiting times, so that tests can choose short ones.
    fn with_pace(
        path: PathBuf,
        pace: Pace,
        on_change: impl Fn() -> bool + Send + 'static,
    ) -> io::Result<Self> {
        // The channel holds a single signal, so several pending signals cause only one check.
        let (sender, signals) = sync_channel(1);
        let watcher = watch_folder(&path, sender.clone());
        let look_again = if watcher.is_some() { pace.with_events } else { pace.without_events };
        let stopped = Arc::new(AtomicBool::new(false));
        let stop = Arc::clone(&stopped);
        // The file is read for the first time here rather than on the thread, so that even a change
        // right after this function returns is detected.
        let mut file = Watched::new(move || look(&path));
        thread::Builder::new().name("rules-watch".to_owned()).spawn(move || {
            while settled(&signals, look_again, &pace) && !stop.load(Ordering::Acquire) {
                if file.changed() && !on_change() {
                    file.forget();
                }
            }
        })?;
        Ok(Self { stopped, _signals: sender, _watcher: watcher })
    }
}

/// Ends the watch without waiting for its thread. A check that is in progress may still call the
/// callback, but no further check begins.
impl Drop for Watch {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::Release);
    }
}

/// The waiting times of the watch.
#[derive(Clone, Copy, Debug)]
struct Pace {
    /// The time without events after which the file is considered complete.
    quiet: Duration,
    /// The longest time that the watch waits for the folder to become quiet. In a folder that is
    /// never quiet, the file is read after this time.
    patience: Duration,
    /// The interval between checks while the folder is watched.
    with_events: Duration,
    /// The interval between checks if the folder cannot be watched.
    without_events: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            quiet: Duration::from_millis(100),
            patience: Duration::from_secs(2),
            with_events: Duration::from_secs(30),
            without_events: Duration::from_secs(2),
        }
    }
}

/// Starts a watcher that sends a signal whenever something changes in the file's folder. If the
/// folder cannot be watched, logs a warning and returns `None`.
fn watch_folder(path: &Path, signals: SyncSender<()>) -> Option<RecommendedWatcher> {
    // A bare file name has no folder of its own until it is joined to the current folder.
    let path = Path::new(".").join(path);
    let folder = path.parent().unwrap_or(&path);
    let watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
        if event.as_ref().map_or(true, may_have_changed) {
            // If the channel is full, a signal is already pending.
            let _ = signals.try_send(());
        }
    });
    let watched = watcher.and_then(|mut watcher| {
        watcher.watch(folder, RecursiveMode::NonRecursive)?;
        Ok(watcher)
    });
    match watched {
        Ok(watcher) => Some(watcher),
        Err(error) => {
            let path = path.display();
            let error = &error as &dyn std::error::Error;
            tracing::warn!(%path, error, "folder cannot be watched: the file is polled instead");
            None
        }
    }
}

/// Returns whether an event may indicate a change to the file.
///
/// Reading a file also causes events, even when this module reads it. If these events counted,
/// every check would trigger the next check.
fn may_have_changed(event: &Event) -> bool {
    match event.kind {
        EventKind::Access(kind) => kind == AccessKind::Close(AccessMode::Write),
        EventKind::Any
        | EventKind::Create(_)
        | EventKind::Modify(_)
        | EventKind::Remove(_)
        | EventKind::Other => true,
    }
}

/// Blocks until it is time to check the file: either the folder has become quiet after a signal, or
/// no signal has arrived for `look_again`. Returns `false` if there will be no more signals.
fn settled(signals: &Receiver<()>, look_again: Duration, pace: &Pace) -> bool {
    match signals.recv_timeout(look_again) {
        Ok(()) => {}
        Err(RecvTimeoutError::Timeout) => return true,
        Err(RecvTimeoutError::Disconnected) => return false,
    }
    let clock = SystemClock::new();
    // Without this bound, constant events in the folder, such as writes to a log file, would
    // prevent the file from being read.
    let latest = clock.now() + pace.patience;
    while clock.now() < latest {
        match signals.recv_timeout(pace.quiet) {
            Ok(()) => {}
            Err(RecvTimeoutError::Timeout) => break,
            Err(RecvTimeoutError::Disconnected) => return false,
        }
    }
    true
}

/// A file, and the result of its last check.
#[derive(Debug)]
struct Watched<L> {
    /// The closure that reads the file. Tests pass a closure that needs no file.
    look: L,
    /// The result of the last check that found the file. `None` if no check has found the file, or
    /// after [`forget`](Self::forget).
    seen: Option<Seen>,
}

/// The result of reading a file.
#[derive(Clone, Debug, PartialEq)]
enum Seen {
    Content(Vec<u8>),
    /// The file exists but cannot be read. This result is reported like a change, so that the
    /// callback tries to read the file and gets the error.
    Unreadable(io::ErrorKind),
}

impl<L: FnMut() -> Option<Seen>> Watched<L> {
    /// Reads the file for the first time. Later results are compared with this first result.
    fn new(mut look: L) -> Self {
        Self { seen: look(), look }
    }

    /// Makes the next check report a change, unless the file is missing.
    fn forget(&mut self) {
        self.seen = None;
    }

    /// Reads the file again. Returns whether the file exists and differs from the last result.
    fn changed(&mut self) -> bool {
        let seen = (self.look)();
        let changed = seen.is_some() && seen != self.seen;
        if changed {
            self.seen = seen;
        }
        changed
    }
}

/// Reads the file. Returns `None` if it does not exist.
fn look(path: &Path) -> Option<Seen> {
    match text::read(path) {
        Ok(content) => Some(Seen::Content(content)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => Some(Seen::Unreadable(error.kind())),
    }
}

#[cfg(test)]
mod tests;
