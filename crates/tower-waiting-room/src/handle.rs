//! The operator's handle on a room in use.

use std::{fmt, sync::Arc};

use waiting_room_core::{
    ConfigError, MemoryStore, RoomRules, RoomSwitch, Snapshot, Store, StoreError,
};

use crate::{
    misconfiguration::Misconfiguration,
    rate::{Limits, RateLimit},
    stages::Gatekeeper,
};

/// Looks at a room and changes its rules while it is in use.
///
/// ```
/// # use tower_waiting_room::{WaitingRoomConfig, WaitingRoomLayer, StoreError};
/// # async fn operate() -> Result<(), StoreError> {
/// # let config = WaitingRoomConfig::builder("shop").total_active_users(200).build().unwrap();
/// let layer = WaitingRoomLayer::new(config);
/// let handle = layer.handle();
///
/// handle.set_limits(400, 300).await?;
/// println!("{} of {} active", handle.snapshot().await?.active, 400);
/// # Ok(())
/// # }
/// ```
pub struct WaitingRoomHandle<St = MemoryStore> {
    gatekeeper: Arc<Gatekeeper<St>>,
}

impl<St: Store> WaitingRoomHandle<St> {
    pub(crate) const fn new(gatekeeper: Arc<Gatekeeper<St>>) -> Self {
        Self { gatekeeper }
    }

    /// The room in numbers.
    ///
    /// # Errors
    ///
    /// The store could not say.
    pub async fn snapshot(&self) -> Result<Snapshot, StoreError> {
        self.gatekeeper.store.snapshot().await
    }

    /// The rules in force.
    #[must_use]
    pub fn rules(&self) -> Arc<RoomRules> {
        self.gatekeeper.store.rules()
    }

    /// Puts new limits in force. Nobody is put out: a lower limit is reached as sessions end.
    ///
    /// # Errors
    ///
    /// A limit that a room cannot obey, or a store that cannot be reached; the old limits stay.
    pub async fn set_limits(
        &self,
        total_active_users: u32,
        new_users_per_minute: impl Into<Option<u32>> + Send,
    ) -> Result<(), StoreError> {
        let new_users_per_minute = new_users_per_minute.into();
        self.change(move |rules| {
            rules.total_active_users(total_active_users).new_users_per_minute(new_users_per_minute)
        })
        .await
    }

    /// Lets nobody new in; sessions go on. Until [`resume`](Self::resume).
    ///
    /// # Errors
    ///
    /// The store cannot be reached; nothing changes.
    pub async fn queue_all(&self) -> Result<(), StoreError> {
        self.switch(RoomSwitch::QueueAll).await
    }

    /// Serves the line, but lets nobody join it.
    ///
    /// # Errors
    ///
    /// The store cannot be reached; nothing changes.
    pub async fn drain(&self) -> Result<(), StoreError> {
        self.switch(RoomSwitch::Drain).await
    }

    /// Takes the room away: every request passes, uncounted. Whoever waits is let in at once, so
    /// [`drain`](Self::drain) first if the service cannot take that. The rate limits stay in force.
    ///
    /// # Errors
    ///
    /// The store cannot be reached; nothing changes.
    pub async fn suspend(&self) -> Result<(), StoreError> {
        self.switch(RoomSwitch::Suspended).await
    }

    /// Lets the limits decide again.
    ///
    /// # Errors
    ///
    /// The store cannot be reached; nothing changes.
    pub async fn resume(&self) -> Result<(), StoreError> {
        self.switch(RoomSwitch::Auto).await
    }

    /// Puts changed rules in force. Two changes at a time are made one after the other.
    ///
    /// # Errors
    ///
    /// A rule that a room cannot obey, or a store that cannot be reached; the old rules stay.
    pub async fn change(
        &self,
        change: impl Fn(RoomRules) -> RoomRules + Send,
    ) -> Result<(), StoreError> {
        self.gatekeeper.store.configure(change).await
    }

    /// The rate limits in force that come from code.
    #[must_use]
    pub fn rate_limits(&self) -> Vec<RateLimit> {
        self.gatekeeper.rates.limits().code.clone()
    }

    /// Puts changed rate limits in force at once.
    ///
    /// A limit that keeps its name, key, algorithm and `max_keys` keeps what every key has used, so
    /// a change lets nobody start anew; what was used of the old quota counts for the new one.
    /// Another one of them starts the limit anew, and so does a key [by a
    /// closure](crate::Key::by) that is written again: clone the key instead.
    ///
    /// Two changes at a time are made one after the other: the closure is called again if another
    /// has come between. It may look at the limits, but not change them itself. A rules file that
    /// is not in force is read again afterwards, since a name may be free that it needs.
    ///
    /// ```
    /// # use tower_waiting_room::{Quota, RateLimit, WaitingRoomConfig, WaitingRoomLayer};
    /// # let limit = RateLimit::per_ip(Quota::per_minute(120));
    /// # let config = WaitingRoomConfig::builder("api").rate_limit(limit).build()?;
    /// # let layer = WaitingRoomLayer::new(config);
    /// layer.handle().change_rate_limits(|limits| {
    ///     limits.into_iter().map(|limit| limit.quota(Quota::per_minute(240))).collect()
    /// })?;
    /// # Ok::<(), tower_waiting_room::ConfigError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// A limit that cannot be kept; the old ones stay.
    pub fn change_rate_limits(
        &self,
        change: impl Fn(Vec<RateLimit>) -> Vec<RateLimit>,
    ) -> Result<(), ConfigError> {
        let rates = &self.gatekeeper.rates;
        rates.change(|Limits { code, file }| Limits { code: change(code), file })?;
        if let Some(source) = self.gatekeeper.rules_file()
            && rates.unfollowed().is_some()
        {
            source.reload(rates);
        }
        Ok(())
    }

    /// Why the rules file as it is now is not in force; `None` if it is, or there is none.
    #[must_use]
    pub fn rules_file_error(&self) -> Option<String> {
        self.gatekeeper.rates.unfollowed()
    }

    /// What was found to be allowed, and yet probably not meant.
    #[must_use]
    pub fn misconfigurations(&self) -> Vec<Misconfiguration> {
        self.gatekeeper.telemetry.misconfigurations()
    }

    async fn switch(&self, switch: RoomSwitch) -> Result<(), StoreError> {
        self.change(move |rules| rules.switch(switch)).await
    }
}

impl<St> Clone for WaitingRoomHandle<St> {
    fn clone(&self) -> Self {
        Self { gatekeeper: Arc::clone(&self.gatekeeper) }
    }
}

impl<St> fmt::Debug for WaitingRoomHandle<St> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WaitingRoomHandle").finish_non_exhaustive()
    }
}
