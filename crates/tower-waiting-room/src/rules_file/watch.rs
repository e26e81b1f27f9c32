//! Notices when the content of a file changes.
//!
//! ```text
//!  the folder ──event──┐
//!                      ├──► is it quiet? ──► read ──► different content? ──► on_change
//!  at intervals ───────┘
//! ```
//!
//! The folder is watched rather than the file: editors replace the file by another one, and
//! Kubernetes swaps a symbolic link next to it. Only the content counts, so a file that is written
//! in several steps, touched, or replaced by an identical one causes one change or none. A missing
//! file is not a change either, since it usually comes back within moments.
//!
//! Half a file may be a valid file. Waiting until the folder is quiet makes it unlikely that one is
//! read, but not impossible: a slow writer should write another file and rename it.
//!
//! Events can be lost, and some file systems send none. The file is therefore also read at
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
    /// Set on drop. The thread checks it before each look.
    stopped: Arc<AtomicBool>,
    /// Keeps the channel of the thread open, since the thread ends with its last sender. The
    /// watcher holds the other one.
    _signals: SyncSender<()>,
    /// Sends a signal for each event in the folder. `None` if the folder cannot be watched.
    _watcher: Option<RecommendedWatcher>,
}

impl Watch {
    /// Calls `on_change` on a thread of its own whenever the content of a file differs from the
    /// last one.
    ///
    /// All changes after this function returns are noticed. A caller therefore starts the watch
    /// first and reads the file afterwards.
    ///
    /// `on_change` reads the file again, and may find newer content than the watch has seen. It
    /// returns whether it could use the content. If not, it is called at every look until it can.
    ///
    /// # Errors
    ///
    /// If the thread cannot be started. A folder that cannot be watched is not an error: the file
    /// is then read at intervals.
    pub(crate) fn start(
        path: impl Into<PathBuf>,
        on_change: impl Fn() -> bool + Send + 'static,
    ) -> io::Result<Self> {
        Self::with_pace(path.into(), Pace::default(), on_change)
    }

    /// Starts the watch with given times, so that tests need not wait.
    fn with_pace(
        path: PathBuf,
        pace: Pace,
        on_change: impl Fn() -> bool + Send + 'static,
    ) -> io::Result<Self> {
        // The channel holds a single signal: several signals that were not received yet cause only
        // one look.
        let (sender, signals) = sync_channel(1);
        let watcher = watch_folder(&path, sender.clone());
        let look_again = if watcher.is_some() { pace.with_events } else { pace.without_events };
        let stopped = Arc::new(AtomicBool::new(false));
        let stop = Arc::clone(&stopped);
        // The first look happens here and not on the thread, so that a change right after this
        // function returns counts as a change.
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

/// Ends the watch without waiting for its thread. A look that is in progress may still call the
/// callback; no look begins afterwards.
impl Drop for Watch {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::Release);
    }
}

/// The times that the watch waits.
#[derive(Clone, Copy, Debug)]
struct Pace {
    /// How long there must be no event before the file is taken to be complete.
    quiet: Duration,
    /// How long the watch waits for such a quiet moment. In a folder that is never quiet, the file
    /// is read after this time.
    patience: Duration,
    /// The interval between looks while the folder is watched.
    with_events: Duration,
    /// The interval between looks if the folder cannot be watched.
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

/// Sends a signal whenever something changes in the folder of the file. Returns `None`, with a
/// warning in the log, if the folder cannot be watched.
fn watch_folder(path: &Path, signals: SyncSender<()>) -> Option<RecommendedWatcher> {
    let folder = match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        // The parent of a bare file name is the empty path, which stands for the current folder.
        _ => Path::new("."),
    };
    let watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
        if event.as_ref().map_or(true, may_have_changed) {
            // If the channel is full, a signal is pending already.
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
            let (path, error) = (path.display(), &error as &dyn std::error::Error);
            tracing::warn!(%path, error, "folder not watched: the file is polled instead");
            None
        }
    }
}

/// Returns whether an event may belong to a change of the file.
///
/// Reading a file causes events as well, including the reads of this module. If they counted, every
/// look would cause the next one.
fn may_have_changed(event: &Event) -> bool {
    match event.kind {
        EventKind::Access(kind) => kind == AccessKind::Close(AccessMode::Write),
        _ => true,
    }
}

/// Blocks until it is time to look at the file: once the folder is quiet after a signal, or after
/// `look_again` without a signal. Returns false if there will be no more signals.
fn settled(signals: &Receiver<()>, look_again: Duration, pace: &Pace) -> bool {
    match signals.recv_timeout(look_again) {
        Ok(()) => {}
        Err(RecvTimeoutError::Timeout) => return true,
        Err(RecvTimeoutError::Disconnected) => return false,
    }
    let clock = SystemClock::new();
    // Without this bound, a folder with constant events, such as one with a log in it, would keep
    // the file from being read.
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

/// A file, and the result of the last look at it.
#[derive(Debug)]
struct Watched<L> {
    /// Reads the file. A closure, so that tests need no file.
    look: L,
    /// The result of the last look that found a file; `None` if there was none, or after
    /// [`forget`](Self::forget).
    seen: Option<Seen>,
}

/// The result of a look at a file.
#[derive(Clone, Debug, PartialEq)]
enum Seen {
    Content(Vec<u8>),
    /// The file exists but cannot be read. Reported like a change, so that the callback finds out
    /// why.
    Unreadable(io::ErrorKind),
}

impl<L: FnMut() -> Option<Seen>> Watched<L> {
    /// Takes a first look, which later looks are compared with.
    fn new(mut look: L) -> Self {
        Self { seen: look(), look }
    }

    /// Makes the next look count as a change, unless the file is missing.
    fn forget(&mut self) {
        self.seen = None;
    }

    /// Looks at the file again. Returns whether it exists and differs from the last look.
    fn changed(&mut self) -> bool {
        let seen = (self.look)();
        let changed = seen.is_some() && seen != self.seen;
        if changed {
            self.seen = seen;
        }
        changed
    }
}

/// Reads the file; `None` if it does not exist.
fn look(path: &Path) -> Option<Seen> {
    match text::read(path) {
        Ok(content) => Some(Seen::Content(content)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => Some(Seen::Unreadable(error.kind())),
    }
}

#[cfg(test)]
mod tests;
