//! Detects when the content of a file changes.
//!
//! ```text
//!  every second ──► read ──► different content? ──► the same when read again? ──► on_change
//! ```
//!
//! The file is read rather than watched. File events are lost for network file systems, for mounts,
//! and for links to files in other folders, so a watch would have to read the file at intervals
//! anyway, and could not promise to be faster than these intervals. A file has at most 1 MiB, and
//! reading it costs less than a request.
//!
//! Only the content counts, so a file that is touched, or replaced with an identical file, causes no
//! change. A missing file does not count as a change, because the file usually comes back within
//! moments.
//!
//! A partially written file may be valid. Reading until two results are the same makes it unlikely,
//! but not impossible, that a partial file is used. A slow writer should therefore write a temporary
//! file and rename it.
//!
//! This module only reports that the content changed. The callback reads and parses the file.

use std::{
    io,
    path::{Path, PathBuf},
    sync::mpsc::{RecvTimeoutError, Sender, channel},
    thread,
    time::Duration,
};

use super::text;

/// Watches a file until it is dropped.
#[derive(Debug)]
pub(crate) struct Watch {
    /// The thread ends when this sender is dropped. Nothing is sent.
    _alive: Sender<()>,
}

impl Watch {
    /// Calls `on_change` on a separate thread whenever the content of a file has changed.
    ///
    /// Every change after this function returns is detected, so a caller should first start the
    /// watch and then read the file. Dropping the watch ends the thread. A check that is in progress
    /// may still call the callback, but no further check begins.
    ///
    /// `on_change` reads the file again, and may find newer content than the watch has seen. The
    /// callback returns whether the content could be used. If not, `on_change` is called at every
    /// check until it succeeds.
    ///
    /// # Errors
    ///
    /// Returns an error if the thread cannot be started.
    pub(crate) fn start(
        path: impl Into<PathBuf>,
        on_change: impl Fn() -> bool + Send + 'static,
    ) -> io::Result<Self> {
        Self::with_interval(path.into(), INTERVAL, on_change)
    }

    /// Starts the watch with the given interval between checks, so that tests can choose a short
    /// one.
    fn with_interval(
        path: PathBuf,
        interval: Duration,
        on_change: impl Fn() -> bool + Send + 'static,
    ) -> io::Result<Self> {
        let (alive, dropped) = channel();
        let pause = move |time| dropped.recv_timeout(time) == Err(RecvTimeoutError::Timeout);
        // The file is read for the first time here rather than on the thread, so that even a change
        // right after this function returns is detected.
        let mut file = Watched::new(move || look(&path));
        thread::Builder::new().name("rules-watch".to_owned()).spawn(move || {
            while pause(interval) {
                if file.changed(|| pause(interval.min(QUIET))) && !on_change() {
                    file.forget();
                }
            }
        })?;
        Ok(Self { _alive: alive })
    }
}

/// The time between two checks of the file.
const INTERVAL: Duration = Duration::from_secs(1);

/// The time for which a changed file must stay the same before it is considered complete.
const QUIET: Duration = Duration::from_millis(100);

/// The maximum number of readings of a file that changes all the time. The last reading then
/// counts.
const MAX_READINGS: usize = 10;

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
    ///
    /// A file that differs is read until two results in a row are the same. `pause` waits between
    /// two readings, and returns `false` if the watch has been dropped.
    fn changed(&mut self, pause: impl Fn() -> bool) -> bool {
        let mut seen = (self.look)();
        if seen.is_none() || seen == self.seen {
            return false;
        }
        for _ in 1..MAX_READINGS {
            if !pause() {
                return false;
            }
            let again = (self.look)();
            if again == seen {
                break;
            }
            seen = again;
        }
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
