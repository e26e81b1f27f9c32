//! One node of a shared gate, which renews its share.

use std::{
    fmt,
    future::Future,
    pin::Pin,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use redis::{Script, aio::ConnectionLike};
use tokio::{
    task::JoinHandle,
    time::{Instant, timeout},
};
use waiting_room_core::{
    StoreError,
    error::StoreErrorKind,
    gate::{Demand, NodeShare},
};

use super::options::{GateSettings, GateShareOptions, GateStoreFailure};
use crate::{
    connections::{Connections, unavailable},
    keys,
};

/// The share of one gate.
pub(super) struct GateNode<C> {
    connections: Arc<Connections<C>>,
    settings: Arc<GateSettings>,
    script: Script,
    /// The random name that identifies this node among the nodes that share the gate.
    name: String,
    /// The share that this node may use now.
    share: u32,
    /// The sequence number of the last renewal, which lets the server ignore a renewal that arrives
    /// late.
    renewals: u64,
    /// The time at which the last successful renewal was sent, or `None` before the first
    /// successful renewal.
    renewed: Option<Instant>,
    /// The time at which the last successful renewal was sent or the last attempt to reconnect
    /// began, whichever is later.
    heard: Instant,
    /// The task of the last attempt to open another connection, if there was an attempt.
    replacing: Option<JoinHandle<bool>>,
}

impl<C: ConnectionLike + Clone + Send + Sync + 'static> GateNode<C> {
    /// The time without a successful renewal after which another connection is opened.
    const DEAF_AFTER: Duration = Duration::from_secs(1);

    /// Creates a node with a share of zero.
    pub(super) fn new(connections: Arc<Connections<C>>, settings: Arc<GateSettings>) -> Self {
        Self {
            connections,
            settings,
            script: Script::new(include_str!("../lua/share.lua")),
            name: keys::node_id(),
            share: 0,
            renewals: 0,
            renewed: None,
            heard: Instant::now(),
            replacing: None,
        }
    }

    /// Renews the share. If the server does not reply, the call returns after the deadline. When no
    /// renewal has succeeded for a second, another connection is opened in the background.
    async fn renewed(&mut self, demand: Demand) -> u32 {
        let sent = Instant::now();
        match self.ask(demand).await {
            Ok(share) => {
                self.share = share;
                self.renewed = Some(sent);
                self.heard = sent;
            }
            Err(error) => {
                let kept_for = self.kept_for();
                let is_over = self.renewed.is_none_or(|renewed| renewed.elapsed() >= kept_for);
                tracing::debug!(
                    gate = self.settings.key, %error, is_over, "a share was not renewed"
                );
                if is_over && self.settings.on_failure == GateStoreFailure::Refuse {
                    self.share = 0;
                }
                self.replace_if_deaf();
            }
        }
        self.share
    }

    /// Returns how long a share may be used without a successful renewal under
    /// [`GateStoreFailure::Refuse`].
    ///
    /// The returned time is shorter than the lease. A node whose share is still valid at one
    /// renewal checks its share again only after the next pause and a failed renewal, and the
    /// server must not have given the share to other nodes by then. The second pause is a margin
    /// for a busy machine that runs late.
    fn kept_for(&self) -> Duration {
        GateShareOptions::LEASE
            .saturating_sub(2 * GateShareOptions::RENEWED_EVERY + self.settings.deadline)
    }

    /// Opens another connection in the background if no renewal has succeeded for a second.
    ///
    /// There is at most one attempt at a time, and attempts begin at least a second apart.
    fn replace_if_deaf(&mut self) {
        let is_replacing = self.replacing.as_ref().is_some_and(|task| !task.is_finished());
        if self.heard.elapsed() >= Self::DEAF_AFTER && !is_replacing {
            self.heard = Instant::now();
            let connections = Arc::clone(&self.connections);
            self.replacing = Some(tokio::spawn(async move { connections.replace().await }));
        }
    }

    /// Sends one renewal and returns the share that the server grants.
    async fn ask(&mut self, Demand { in_flight, queued }: Demand) -> Result<u32, StoreError> {
        self.renewals += 1;
        let mut invocation = self.script.key(&self.settings.key);
        invocation
            .arg(&self.name)
            .arg(self.settings.total.load(Ordering::Relaxed))
            .arg(self.share)
            .arg(in_flight)
            .arg(in_flight.saturating_add(queued))
            .arg(u64::try_from(GateShareOptions::LEASE.as_micros()).unwrap_or(u64::MAX))
            .arg(self.renewals);
        let mut connection = self.connections.current()?;
        match timeout(self.settings.deadline, invocation.invoke_async(&mut connection)).await {
            Ok(share) => share.map_err(|error| unavailable(&error)),
            Err(_) => Err(StoreError::new(StoreErrorKind::Timeout)),
        }
    }
}

impl<C: ConnectionLike + Clone + Send + Sync + 'static> NodeShare for GateNode<C> {
    fn renew(&mut self, demand: Demand) -> Pin<Box<dyn Future<Output = u32> + Send + '_>> {
        Box::pin(self.renewed(demand))
    }

    fn until_next(&self) -> Duration {
        GateShareOptions::RENEWED_EVERY
    }
}

impl<C> fmt::Debug for GateNode<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GateNode")
            .field("settings", &self.settings)
            .field("share", &self.share)
            .finish_non_exhaustive()
    }
}
