//! Notices when a file changes.
//!
//! ```text
//!  the folder ──event──┐
//!                      ├──► is it quiet? ──► read ──► other than before? ──► on_change
//!  now and then ───────┘
//! ```
//!
//! The folder is watched, not the file: editors put another file in its place, and Kubernetes
//! swaps a link beside it. What counts is the content, so that a file that is written in several
//! steps, touched, or replaced by its like is one change, or none. A file that is not there is no
//! change either: mostly it will be there again in a moment. Still, half a file may be a valid one;
//! who writes slowly should write another file and rename it.
//!
//! Events can be lost, and on some file systems there are none. So the file is read now and then
//! anyway: seldom where there are events, often where the folder cannot be watched.

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
use waiting_room_core::{Clock, SystemClock};

use super::text;

/// Watches a file until it is dropped.
#[derive(Debug)]
pub(crate) struct Watch {
    stopped: Arc<AtomicBool>,
    /// The thread ends with the last of its senders: this one, and that of the watcher.
    _signals: SyncSender<()>,
    _watcher: Option<RecommendedWatcher>,
}

impl Watch {
    /// Calls `on_change`, on a thread of its own, whenever the content of a file is another than
    /// before. Changes after this returns are noticed: so begin to watch, then read the file.
    ///
    /// `on_change` reads the file again, which may not be what was seen here. It says whether it
    /// could use it; if not, it is called at every look until it can.
    ///
    /// # Errors
    ///
    /// The thread cannot be started.
    pub(crate) fn start(
        path: impl Into<PathBuf>,
        on_change: impl Fn() -> bool + Send + 'static,
    ) -> io::Result<Self> {
        Self::with_pace(path.into(), Pace::default(), on_change)
    }

    fn with_pace(
        path: PathBuf,
        pace: Pace,
        on_change: impl Fn() -> bool + Send + 'static,
    ) -> io::Result<Self> {
        // One signal that nobody has seen yet is as good as many.
        let (sender, signals) = sync_channel(1);
        let watcher = watch_folder(&path, sender.clone());
        let look_again = if watcher.is_some() { pace.with_events } else { pace.without_events };
        let stopped = Arc::new(AtomicBool::new(false));
        let stop = Arc::clone(&stopped);
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

/// No call begins after this, but one that has begun may still be under way.
impl Drop for Watch {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::Release);
    }
}

/// How long the watch waits for what.
#[derive(Clone, Copy, Debug)]
struct Pace {
    /// Without events for so long, a file is taken to be complete.
    quiet: Duration,
    /// In a folder that is never quiet, the file is read after so long.
    patience: Duration,
    with_events: Duration,
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

/// Sends a signal when something happens beside the file. None if that cannot be known.
fn watch_folder(path: &Path, signals: SyncSender<()>) -> Option<RecommendedWatcher> {
    let folder = match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    let watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
        if event.as_ref().map_or(true, may_have_changed) {
            // A full channel holds a signal already.
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
            tracing::warn!(%path, error, "folder not watched: the file is read often instead");
            None
        }
    }
}

/// Reading is an event too, also when it is this module that reads.
fn may_have_changed(event: &Event) -> bool {
    match event.kind {
        EventKind::Access(kind) => kind == AccessKind::Close(AccessMode::Write),
        _ => true,
    }
}

/// Waits for a time to look: after a signal when no other follows, or after `look_again`. False if
/// there will be no more signals.
fn settled(signals: &Receiver<()>, look_again: Duration, pace: &Pace) -> bool {
    match signals.recv_timeout(look_again) {
        Ok(()) => {}
        Err(RecvTimeoutError::Timeout) => return true,
        Err(RecvTimeoutError::Disconnected) => return false,
    }
    let clock = SystemClock::new();
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

/// A file, and what it was like the last time.
#[derive(Debug)]
struct Watched<L> {
    look: L,
    seen: Option<Seen>,
}

/// What a look at a file shows.
#[derive(Clone, Debug, PartialEq)]
enum Seen {
    Content(Vec<u8>),
    /// To be reported like a change: whoever reads it then can say why.
    Unreadable(io::ErrorKind),
}

impl<L: FnMut() -> Option<Seen>> Watched<L> {
    fn new(mut look: L) -> Self {
        Self { seen: look(), look }
    }

    /// Takes the next look for a change, whatever it shows.
    fn forget(&mut self) {
        self.seen = None;
    }

    /// Looks again.
    fn changed(&mut self) -> bool {
        let seen = (self.look)();
        let changed = seen.is_some() && seen != self.seen;
        if changed {
            self.seen = seen;
        }
        changed
    }
}

/// None if the file is not there.
fn look(path: &Path) -> Option<Seen> {
    match text::read(path) {
        Ok(content) => Some(Seen::Content(content)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => Some(Seen::Unreadable(error.kind())),
    }
}

#[cfg(test)]
mod tests;
