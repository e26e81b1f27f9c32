//! The operator's handle on a room in use.

use std::{fmt, sync::Arc, time::Duration};

use waiting_room_core::{
    ConfigError, ConfigErrorKind, DrainQueue, GateSnapshot, MemoryStore, RoomMode, RoomRules,
    RoomSnapshot, Store, StoreError,
};

use crate::{
    misconfiguration::Misconfiguration,
    pipeline::Pipeline,
    rate::{Limits, RateLimit},
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
    pipeline: Arc<Pipeline<St>>,
}

impl<St: Store> WaitingRoomHandle<St> {
    pub(crate) const fn new(pipeline: Arc<Pipeline<St>>) -> Self {
        Self { pipeline }
    }

    /// The room in numbers.
    ///
    /// # Errors
    ///
    /// The store could not say.
    pub async fn snapshot(&self) -> Result<RoomSnapshot, StoreError> {
        self.pipeline.store.snapshot().await
    }

    /// The rules in force.
    #[must_use]
    pub fn rules(&self) -> Arc<RoomRules> {
        self.pipeline.store.rules()
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
            rules
                .with_total_active_users(total_active_users)
                .with_new_users_per_minute(new_users_per_minute)
        })
        .await
    }

    /// Lets nobody new in; sessions go on. Until [`resume`](Self::resume).
    ///
    /// # Errors
    ///
    /// The store cannot be reached; nothing changes.
    pub async fn queue_all(&self) -> Result<(), StoreError> {
        self.mode(RoomMode::QueueAll).await
    }

    /// Serves the line, but lets nobody join it.
    ///
    /// # Errors
    ///
    /// The store cannot be reached; nothing changes.
    pub async fn drain(&self) -> Result<(), StoreError> {
        self.mode(RoomMode::Drain).await
    }

    /// Takes the room away: every request passes, uncounted. Whoever waits is let in at once, so
    /// [`drain`](Self::drain) first if the service cannot take that. The rate limits stay in force.
    ///
    /// # Errors
    ///
    /// The store cannot be reached; nothing changes.
    pub async fn suspend(&self) -> Result<(), StoreError> {
        self.mode(RoomMode::Suspended).await
    }

    /// Lets the limits decide again.
    ///
    /// # Errors
    ///
    /// The store cannot be reached; nothing changes.
    pub async fn resume(&self) -> Result<(), StoreError> {
        self.mode(RoomMode::Auto).await
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
        self.pipeline.store.configure(change).await
    }

    /// The rate limits in force that come from code.
    #[must_use]
    pub fn rate_limits(&self) -> Vec<RateLimit> {
        self.pipeline.limits.in_force.written().code.clone()
    }

    /// Puts changed rate limits in force at once.
    ///
    /// A limit that keeps its name, key, algorithm and `max_keys` keeps what every key has used, so
    /// a change lets nobody start anew; what was used of the old quota counts for the new one.
    /// Another one of them starts the limit anew, and so does a key [by a
    /// closure](crate::Key::from_fn) that is written again: clone the key instead.
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
        let in_force = &self.pipeline.limits.in_force;
        in_force.change(|Limits { code, file }| Limits { code: change(code), file })?;
        if let Some(file) = &self.pipeline.rules_file
            && in_force.file_error().is_some()
        {
            file.reload(in_force);
        }
        Ok(())
    }

    /// Why the rules file as it is now is not in force; `None` if it is, or there is none.
    #[must_use]
    pub fn rules_file_error(&self) -> Option<String> {
        self.pipeline.limits.in_force.file_error()
    }

    /// The gates in numbers, under their names: one [`Concurrency`](crate::Concurrency) each, and one
    /// snapshot for each value of its key that a request has at the moment, if it has one.
    #[must_use]
    pub fn gates(&self) -> Vec<(Arc<str>, Vec<GateSnapshot>)> {
        let gates = self.pipeline.gates.gates().iter();
        gates.map(|gate| (Arc::clone(gate.name()), gate.snapshots())).collect()
    }

    /// Sets the gauges of the gates: how many run, may run and wait, and for how long the first of
    /// these has waited. To be called before each time that the metrics are read.
    ///
    /// A gate for each value of a key is told of in sum, and by its longest wait: there are as many
    /// series as gates, however many keys come. Without a limit its gauge is infinite.
    #[cfg(feature = "metrics")]
    pub fn record_gates(&self) {
        for gate in self.pipeline.gates.gates() {
            self.pipeline.telemetry.gate_gauges(gate.name(), &gate.snapshots());
        }
    }

    /// Changes how many requests may run at once at the gate of this name: none with 0, which
    /// closes it, and as many as come with `None`. Nobody is cut off: a lower limit is reached as
    /// requests end.
    ///
    /// # Errors
    ///
    /// A limit that a gate cannot keep, or a name that no gate has; the old limit stays.
    pub fn set_concurrency(
        &self,
        gate: &str,
        limit: impl Into<Option<u32>>,
    ) -> Result<(), ConfigError> {
        let gates = self.pipeline.gates.gates();
        let Some(named) = gates.iter().find(|it| &**it.name() == gate) else {
            let names: Vec<&str> = gates.iter().map(|it| &**it.name()).collect();
            let (kind, given) = (ConfigErrorKind::Missing, format!("{gate:?}"));
            let expected = format!("the name of a gate, of {names:?}");
            return Err(ConfigError::new(kind, "concurrency", given, expected));
        };
        named.set_limit(limit.into())
    }

    /// Lets nobody through the gates any more, and waits until nobody runs: for the end of each
    /// response, and of each [`PermitHandle`](crate::PermitHandle), so of WebSockets too. Says how
    /// many are left at the gate with the most when the `deadline` is over, whether they run or
    /// wait; 0, if nobody is.
    ///
    /// Whoever comes meanwhile gets 503 and `Connection: close`. Goes before the graceful shutdown
    /// of the server, which does not know of handles:
    ///
    /// ```no_run
    /// # use std::time::Duration;
    /// # use tower_waiting_room::{Concurrency, DrainQueue, WaitingRoomConfig, WaitingRoomLayer};
    /// # async fn serve(listener: tokio::net::TcpListener) -> std::io::Result<()> {
    /// # let config = WaitingRoomConfig::builder("api").concurrency(Concurrency::limit(64));
    /// # let layer = WaitingRoomLayer::new(config.build().expect("it is right"));
    /// # let app = axum::Router::<()>::new();
    /// let handle = layer.handle();
    /// let shutdown = async move {
    ///     // Wait for the signal here.
    ///     handle.drain_gates(DrainQueue::Serve, Duration::from_secs(30)).await;
    /// };
    /// axum::serve(listener, app.layer(layer)).with_graceful_shutdown(shutdown).await
    /// # }
    /// ```
    ///
    /// # Cancel safety
    ///
    /// Dropped, the gates stay as they are: [`open_gates`](Self::open_gates) opens them again.
    pub async fn drain_gates(&self, queue: DrainQueue, deadline: Duration) -> u32 {
        let gates = self.pipeline.gates.gates();
        let idle: Vec<_> = gates.iter().flat_map(|gate| gate.drain(queue)).collect();
        let all = async {
            for idle in idle {
                idle.await;
            }
        };
        let is_idle = tokio::time::timeout(deadline, all).await.is_ok();
        gates.iter().for_each(|gate| gate.forget_idle());
        if is_idle {
            return 0;
        }
        let left = gates.iter().map(|gate| gate.snapshots());
        // One request may run at several gates.
        left.map(|gates| gates.iter().map(|it| it.in_flight + it.queued).sum())
            .max()
            .unwrap_or_default()
    }

    /// Lets people through the gates again.
    pub fn open_gates(&self) {
        self.pipeline.gates.gates().iter().for_each(|gate| gate.open());
    }

    /// What was found to be allowed, and yet probably not meant.
    #[must_use]
    pub fn misconfigurations(&self) -> Vec<Misconfiguration> {
        self.pipeline.telemetry.misconfigurations()
    }

    async fn mode(&self, mode: RoomMode) -> Result<(), StoreError> {
        self.change(move |rules| rules.with_mode(mode)).await
    }
}

impl<St> Clone for WaitingRoomHandle<St> {
    fn clone(&self) -> Self {
        Self { pipeline: Arc::clone(&self.pipeline) }
    }
}

impl<St> fmt::Debug for WaitingRoomHandle<St> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WaitingRoomHandle").finish_non_exhaustive()
    }
}
