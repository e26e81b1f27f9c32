//! The handle to the rate limits.

use std::{fmt, sync::Arc};

use waiting_room_core::ConfigError;

use super::limits_report::{LimitReport, LimitsReport};
use crate::{
    pipeline::Pipeline,
    rate::{LimitSet, Limits, RateLimit},
};

/// Observes the rate limits of a layer and changes them while they are in use.
///
/// [`WaitingRoomHandle::limits`](super::WaitingRoomHandle::limits) returns this handle. A change
/// applies only to this process. If several nodes share a store, change the limits on each node.
#[derive(Clone)]
pub struct LimitsHandle {
    pipeline: Arc<Pipeline>,
}

impl LimitsHandle {
    pub(super) const fn new(pipeline: Arc<Pipeline>) -> Self {
        Self { pipeline }
    }

    fn set(&self) -> &LimitSet {
        &self.pipeline.limits.in_force
    }

    /// Returns the current rate limits that were set in code, through the builder or
    /// [`change`](Self::change). The limits of a rules file are not included.
    #[must_use]
    pub fn in_force(&self) -> Vec<RateLimit> {
        self.set().written().code.clone()
    }

    /// Changes the rate limits. The new limits take effect immediately.
    ///
    /// A limit whose name, key, algorithm and `max_keys` do not change keeps its counts, so units
    /// that a client has taken from the old quota count against the new quota. A limit whose name,
    /// key, algorithm or `max_keys` changes starts with empty counts. A key [with a
    /// closure](crate::Key::from_fn) is equal only to its clones, so clone the key instead of
    /// writing the closure again.
    ///
    /// Concurrent changes are applied one after the other, so the closure may be called more than
    /// once. The closure may read the limits through a handle, but must not change them. If a rules
    /// file could not be applied, it is read again after the change, because the change may have
    /// freed a name that the file uses.
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
    /// Returns an error if a limit is invalid. The old limits then stay in effect.
    pub fn change(
        &self,
        change: impl Fn(Vec<RateLimit>) -> Vec<RateLimit>,
    ) -> Result<(), ConfigError> {
        self.set().change(|Limits { code, file }| Limits { code: change(code), file })?;
        #[cfg(feature = "files")]
        if let Some((file, _)) = &self.pipeline.rules_file
            && file.error().is_some()
        {
            file.reload();
        }
        Ok(())
    }

    /// Returns how effective each limit is: the number of requests that it has decided on, the
    /// number that it refused or would have refused, and the number of keys near it.
    ///
    /// The numbers count this node's requests since the limit was added. A change of the quota does
    /// not reset them. The keys are counted by visiting up to 262 144 places of each limit's table,
    /// so call this method for an operator rather than for each request. If a store counts the
    /// limits, the keys are those that this node has counted itself.
    ///
    /// ```
    /// # use tower_waiting_room::{Quota, RateLimit, WaitingRoomConfig, WaitingRoomLayer};
    /// # let limit = RateLimit::per_ip(Quota::per_minute(120));
    /// # let config = WaitingRoomConfig::builder("api").rate_limit(limit).build()?;
    /// # let layer = WaitingRoomLayer::new(config);
    /// let report = layer.handle().limits().report();
    /// assert_eq!(report.limits[0].requests(), 0);
    /// println!("{report}");
    /// # Ok::<(), tower_waiting_room::ConfigError>(())
    /// ```
    #[must_use]
    pub fn report(&self) -> LimitsReport {
        let now = self.set().now();
        let policies = self.set().policies.load();
        LimitsReport {
            limits: policies.iter().map(|policy| LimitReport::of(policy, now)).collect(),
        }
    }

    /// Returns the name of each limit, and the number of requests that exceeded it since it was added,
    /// whether they were refused, marked or only counted. Unlike [`report`](Self::report), this
    /// method is cheap enough to be called every second.
    #[must_use]
    pub fn over(&self) -> Vec<(String, u64)> {
        let policies = self.set().policies.load();
        policies.iter().map(|policy| (policy.name.to_string(), policy.subject.over())).collect()
    }

    /// Returns the reason why the current contents of the rules file are not in effect, or `None`
    /// if they are in effect or if there is no rules file.
    #[cfg(feature = "files")]
    #[must_use]
    pub fn file_error(&self) -> Option<crate::rate::RulesFileError> {
        self.pipeline.rules_file.as_ref()?.0.error()
    }
}

impl fmt::Debug for LimitsHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LimitsHandle").field("in_force", &self.in_force()).finish_non_exhaustive()
    }
}
