//! The handle on the rate limits.

use std::{fmt, sync::Arc};

use waiting_room_core::ConfigError;

use crate::{
    rate::{LimitSet, Limits, RateLimit},
    rules_file::FollowedFile,
};

/// Observes the rate limits of a layer and changes them while they are in use.
///
/// Obtained from [`WaitingRoomHandle::limits`](super::WaitingRoomHandle::limits). A change applies to
/// this process: with a store that nodes share, change the limits on each node.
#[derive(Clone)]
pub struct LimitsHandle {
    set: Arc<LimitSet>,
    file: Option<Arc<FollowedFile>>,
}

impl LimitsHandle {
    pub(super) const fn new(set: Arc<LimitSet>, file: Option<Arc<FollowedFile>>) -> Self {
        Self { set, file }
    }

    /// Returns the rate limits in force that were set by code: by the builder or by
    /// [`change`](Self::change). Those of a rules file are not among them.
    #[must_use]
    pub fn in_force(&self) -> Vec<RateLimit> {
        self.set.written().code.clone()
    }

    /// Puts changed rate limits in force at once.
    ///
    /// A limit that keeps its name, key, algorithm and `max_keys` keeps its counts: what a client has
    /// used of the old quota counts against the new one. If one of them changes, the limit starts
    /// with empty counts. A key [by a closure](crate::Key::from_fn) equals only its own clones, so
    /// clone the key instead of writing the closure again.
    ///
    /// Concurrent changes are applied one after the other, so the closure may be called more than
    /// once. It may read the limits, and must not change them. A rules file that could not be applied
    /// is read again afterwards, since the change may have freed a name that the file uses.
    ///
    /// ```
    /// # use tower_waiting_room::{Quota, RateLimit, WaitingRoomConfig, WaitingRoomLayer};
    /// # let limit = RateLimit::per_ip(Quota::per_minute(120));
    /// # let config = WaitingRoomConfig::builder("api").rate_limit(limit).build()?;
    /// # let layer = WaitingRoomLayer::new(config);
    /// layer.handle().limits().change(|limits| {
    ///     limits.into_iter().map(|limit| limit.quota(Quota::per_minute(240))).collect()
    /// })?;
    /// # Ok::<(), tower_waiting_room::ConfigError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns an error for a limit that cannot be kept. The old limits then stay in force.
    pub fn change(
        &self,
        change: impl Fn(Vec<RateLimit>) -> Vec<RateLimit>,
    ) -> Result<(), ConfigError> {
        self.set.change(|Limits { code, file }| Limits { code: change(code), file })?;
        if let Some(file) = &self.file
            && file.error().is_some()
        {
            file.reload();
        }
        Ok(())
    }

    /// Returns why the rules file in its present state is not in force; `None` if it is in force, or
    /// if there is no rules file.
    #[cfg(feature = "rules-file")]
    #[must_use]
    pub fn file_error(&self) -> Option<crate::rate::RulesFileError> {
        self.file.as_ref()?.error()
    }
}

impl fmt::Debug for LimitsHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LimitsHandle").field("in_force", &self.in_force()).finish_non_exhaustive()
    }
}
