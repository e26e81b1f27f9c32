//! Checks whether a server keeps what it acknowledges: its settings, and its lineage.

use std::fmt;

use tokio_postgres::{Client, Row};

use crate::keeper::{
    KeepError,
    postgres::sql::{LINEAGE, SETTINGS},
};

/// Whether another server may be promoted in place of this one, according to the operator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Failover {
    /// There is one server, which is repaired or started again. If another server takes its place
    /// anyway, the room has to be recovered.
    #[default]
    None,
    /// A standby that has confirmed every commit is promoted, so nothing is lost. A server without a
    /// synchronous standby is refused.
    Synchronous,
}

/// Refuses a server that may lose what it acknowledges, and keeps `synchronous_commit` as it is for
/// as long as the connection lasts, even if the server's setting changes.
pub(super) async fn check(client: &Client, failover: Failover) -> Result<(), KeepError> {
    let row = client.query_one(SETTINGS, &[]).await.map_err(KeepError::unavailable)?;
    if row.get("is_recovering") {
        return unfit("the server is in recovery, expected the primary");
    }
    let commit: &str = row.get("commit");
    if commit == "off" {
        return unfit("synchronous_commit is off, expected on");
    }
    recheck(&row, failover)?;
    if failover == Failover::Synchronous && !matches!(commit, "on" | "remote_apply") {
        return unfit(format!(
            "synchronous_commit is {commit}, expected on or remote_apply, because a failover is used"
        ));
    }
    Ok(())
}

/// Refuses a server whose settings have changed so that it may lose what it acknowledges. The
/// row has the columns `fsync` and `standbys`.
pub(super) fn recheck(row: &Row, failover: Failover) -> Result<(), KeepError> {
    let fsync: &str = row.get("fsync");
    let standbys: &str = row.get("standbys");
    if fsync == "off" {
        return unfit("fsync is off, expected on");
    }
    if failover == Failover::Synchronous && standbys.is_empty() {
        return unfit(
            "synchronous_standby_names is empty, expected a standby, because a failover is used",
        );
    }
    Ok(())
}

fn unfit(setting: impl Into<String>) -> Result<(), KeepError> {
    Err(KeepError::Unfit { setting: setting.into() })
}

/// The lineage of a room that has lost batches. No server has this lineage.
const LOST: &str = "lost";

/// The database cluster of a server, and its timeline.
///
/// A standby and a copy of the disk belong to the same cluster. A promotion, and a restoration from
/// an archive, begin another timeline. A dump is loaded into another cluster.
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

    /// Refuses a server that does not continue the server on which the room was held `before`,
    /// because it may lack something that the earlier server had acknowledged. With a synchronous
    /// failover, the timeline may change.
    pub(super) fn check(&self, before: &str, failover: Failover) -> Result<(), KeepError> {
        let is_same = match failover {
            Failover::None => self.to_string() == before,
            Failover::Synchronous => before.split('/').next() == Some(&self.system),
        };
        if is_same {
            return Ok(());
        }
        if before == LOST {
            let found = "a ledger has seen batches that are no longer kept".to_owned();
            return Err(KeepError::Lost { found });
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
