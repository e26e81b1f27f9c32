//! The settings of a server that keeps what it acknowledges.

use tokio_postgres::{Client, Row};

use crate::keeper::{
    KeepError,
    postgres::{Failover, sql::SETTINGS},
};

/// Refuses a server that may lose what it acknowledges, and keeps `synchronous_commit` as it is for as
/// long as the connection lasts, whatever becomes of the server's setting.
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

/// Refuses a server whose settings have become those of one that may lose what it acknowledges. The
/// row has the columns `fsync` and `standbys`.
pub(super) fn recheck(row: &Row, failover: Failover) -> Result<(), KeepError> {
    let (fsync, standbys): (&str, &str) = (row.get("fsync"), row.get("standbys"));
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
