//! Updates the current limits whenever a rules file changes.
//!
//! ```text
//!   Watch ──changed──► reload: read ──► check with the limits from code ──► in effect
//!                               │                    │
//!                               └──────error─────────┴────► recorded; the old limits remain
//! ```

use std::{
    error::Error,
    mem,
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

use super::{RulesFileError, Watch};
use crate::{
    rate::{LimitSet, Limits, RulesSource},
    telemetry::Telemetry,
};

/// Applies a rules file to the current limits each time the file changes.
pub(crate) struct FollowedFile {
    source: RulesSource,
    limits: Arc<LimitSet>,
    /// The reason why the current content of the file is not in effect, or `None` if the content is
    /// in effect.
    error: Mutex<Option<RulesFileError>>,
    /// The reason why the file is not watched. This error is stored separately, because a
    /// successful reload would otherwise hide it.
    watch_error: OnceLock<RulesFileError>,
    /// A lock that a reload holds from reading the file until the limits of the file are in effect.
    /// Without this lock, one reload could overtake another, and the older content would take
    /// effect last.
    reloading: Mutex<()>,
    telemetry: Telemetry,
}

impl FollowedFile {
    /// Applies a file, and follows it until the returned watch is dropped.
    ///
    /// If the watch thread cannot be started, the watch is `None`, and the failure is recorded as
    /// the file's error. The file is then applied once, but not followed.
    pub(crate) fn new(
        source: RulesSource,
        limits: Arc<LimitSet>,
        telemetry: Telemetry,
    ) -> (Arc<Self>, Option<Watch>) {
        let (error, watch_error, reloading) = Default::default();
        let file = Self { source, limits, error, watch_error, reloading, telemetry };
        let file = Arc::new(file);
        // The reference is weak, so that the watch thread does not keep the limits of a dropped
        // layer alive.
        let followed = Arc::downgrade(&file);
        let watch = Watch::start(&file.source.path, move || {
            followed.upgrade().is_none_or(|file| file.reload())
        });
        // The file may have changed after it was first read and before the watch started.
        file.reload();
        let watch = watch.map_err(|error| {
            let error = RulesFileError::unwatched(&file.source.path, error);
            file.telemetry.rules_file(Some(&error));
            // The error is set only here, so `set` cannot fail.
            let _ = file.watch_error.set(error);
        });
        (file, watch.ok())
    }

    /// Reads the file and applies it. Returns whether the file was applied. If the file was not
    /// applied, the previous limits stay in effect.
    pub(crate) fn reload(&self) -> bool {
        let _only = self.reloading.lock().unwrap_or_else(PoisonError::into_inner);
        let outcome = self.source.load().and_then(|file| {
            let change = |limits| Limits { file: file.clone(), ..limits };
            let refused = |error| RulesFileError::refused(&self.source.path, error);
            self.limits.change(change).map_err(refused)
        });
        let is_applied = outcome.is_ok();
        self.record(outcome);
        is_applied
    }

    /// Returns the reason why the current content of the file is not in effect, or why the file is
    /// not watched. Returns `None` if the file is applied and watched.
    pub(crate) fn error(&self) -> Option<RulesFileError> {
        let error = self.error.lock().unwrap_or_else(PoisonError::into_inner).clone();
        error.or_else(|| self.watch_error.get().cloned())
    }

    /// Records and reports whether the file was applied.
    ///
    /// A file that is not in effect is read again at every check, so an error is reported only if
    /// it differs from the previous error.
    fn record(&self, outcome: Result<(), RulesFileError>) {
        let error = outcome.err();
        let before = {
            let mut recorded = self.error.lock().unwrap_or_else(PoisonError::into_inner);
            mem::replace(&mut *recorded, error.clone())
        };
        let text = |error: &RulesFileError| error.to_string();
        if error.is_none() || error.as_ref().map(text) != before.as_ref().map(text) {
            self.telemetry.rules_file(error.as_ref().map(|error| error as &dyn Error));
        }
    }
}
