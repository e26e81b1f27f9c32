//! What a server continues: the database cluster, and the history of it.

use std::fmt;

use tokio_postgres::Client;

use crate::keeper::{
    KeepError,
    postgres::{Failover, sql::LINEAGE},
};

/// The database cluster of a server, and its timeline.
///
/// A standby and a copy of the disk are of the same cluster. A promotion, and a restoration from an
/// archive, begin another timeline. A dump is loaded into another cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Lineage {
    system: String,
    timeline: String,
}

impl Lineage {
    pub(super) async fn of(client: &Client) -> Result<Self, KeepError> {
        let row = client.query_one(LINEAGE, &[]).await.map_err(KeepError::unavailable)?;
        Ok(Self { system: row.get(0), timeline: row.get(1) })
    }

    /// Refuses a server that does not continue the one of which the room was held `before`: it may
    /// lack what that one had acknowledged. With a synchronous failover, the timeline may change.
    pub(super) fn check(&self, before: &str, failover: Failover) -> Result<(), KeepError> {
        let is_same = match failover {
            Failover::None => self.to_string() == before,
            Failover::Synchronous => before.split('/').next() == Some(&self.system),
        };
        if is_same {
            return Ok(());
        }
        let found =
            format!("the cluster and the timeline of the server are {self}, expected {before}");
        Err(KeepError::Lost { found })
    }
}

impl fmt::Display for Lineage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.system, self.timeline)
    }
}
