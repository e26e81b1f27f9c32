//! The nodes that share a room, and the times at which the server last heard from them.
//!
//! Every few seconds, the watch task of a node records the node in a sorted set of its own, and
//! receives the other nodes in the reply. No decision depends on this set, so a failure is only
//! logged. Only the first of several failures in a row is logged as a warning: the next attempt
//! follows soon, and the room has other ways to notice an outage.
//!
//! ```text
//!  {wr:shop}:nodes   name ─► time at which the node was last heard; expires after a minute
//! ```

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use arc_swap::ArcSwapOption;
use redis::{Script, aio::ConnectionLike};
use waiting_room_core::{StoreError, room::RoomNode};

use crate::{
    clock::ServerClock,
    connections::{answered, unavailable},
    keys,
    reply::ReplyFields,
};

/// The nodes of a room, as far as this node knows.
#[derive(Debug)]
pub(crate) struct Nodes {
    script: Script,
    key: String,
    /// The name of this node, which the node has chosen itself.
    name: String,
    /// The nodes according to the last reply, or `None` before the first reply.
    seen: ArcSwapOption<Vec<RoomNode>>,
    /// Whether the last report has failed, so that the next failure is not a warning.
    is_unlisted: AtomicBool,
}

impl Nodes {
    /// The time between two reports of a node.
    pub(crate) const REPORT_EVERY: Duration = Duration::from_secs(5);
    /// The time after which a node that has not reported is forgotten.
    const KEPT: Duration = Duration::from_secs(60);
    /// The maximum number of nodes that the server remembers. If there are more, those that were
    /// heard from longest ago are forgotten.
    const MAX: usize = 128;

    pub(crate) fn new(prefix: &str, room: &str) -> Self {
        Self {
            script: Script::new(include_str!("lua/nodes.lua")),
            key: keys::of_nodes(prefix, room),
            name: keys::node_id(),
            seen: ArcSwapOption::empty(),
            is_unlisted: AtomicBool::new(false),
        }
    }

    /// Returns the nodes according to the last reply.
    pub(crate) fn seen(&self) -> Option<Vec<RoomNode>> {
        self.seen.load().as_deref().cloned()
    }

    /// Records this node on the server, and learns which other nodes there are. After a failure,
    /// the nodes of the last reply are kept.
    pub(crate) async fn report<C: ConnectionLike>(
        &self,
        connection: &mut C,
        deadline: Duration,
        clock: &ServerClock,
    ) {
        match self.exchange(connection, deadline, clock).await {
            Ok(nodes) => {
                self.is_unlisted.store(false, Ordering::Relaxed);
                if self.seen.swap(Some(nodes.into())).is_none() {
                    tracing::info!(key = self.key, node = self.name, "the node shares the room");
                }
            }
            Err(error) if self.is_unlisted.swap(true, Ordering::Relaxed) => {
                tracing::debug!(key = self.key, %error, "the node could not be listed");
            }
            Err(error) => tracing::warn!(key = self.key, %error, "the node could not be listed"),
        }
    }

    async fn exchange<C: ConnectionLike>(
        &self,
        connection: &mut C,
        deadline: Duration,
        clock: &ServerClock,
    ) -> Result<Vec<RoomNode>, StoreError> {
        let mut invocation = self.script.key(&self.key);
        let kept_us = u64::try_from(Self::KEPT.as_micros()).unwrap_or(u64::MAX);
        invocation.arg(&self.name).arg(kept_us).arg(Self::MAX);
        let asked = async {
            invocation.invoke_async(connection).await.map_err(|error| unavailable(&error))
        };
        let mut each = ReplyFields::of(answered(deadline, asked).await?)?;
        let now = clock.now();
        let mut nodes = Vec::new();
        while let Some(said) = each.next_if_any() {
            let mut said = ReplyFields::of(said)?;
            let name = said.text()?;
            let age_us = said.number()?;
            let node = RoomNode::new(name, now.before(Duration::from_micros(age_us)));
            nodes.push(if node.name == self.name { node.as_this_node() } else { node });
        }
        Ok(nodes)
    }
}
