//! A connection to a server that keeps what it acknowledges.

use std::{str::FromStr, time::Duration};

use tokio::task::AbortHandle;
use tokio_postgres::{Client, Config, NoTls, Statement};

use crate::keeper::{
    KeepError,
    postgres::{
        durability::{self, Failover, Lineage},
        sql::{KEEP, TABLES, WATCH},
    },
};

/// A connection, its prepared statements, and the lineage of its server.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) client: Client,
    pub(super) keep: Statement,
    pub(super) watch: Statement,
    pub(super) lineage: Lineage,
    _task: Task,
}

/// The task of a connection, which ends when the connection is closed.
#[derive(Debug)]
struct Task(AbortHandle);

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Session {
    pub(super) async fn open(url: &str, failover: Failover) -> Result<Self, KeepError> {
        let mut config = Config::from_str(url).map_err(|error| KeepError::Unfit {
            setting: format!("the URL of the keeper: {error}"),
        })?;
        config
            .connect_timeout(PATIENCE)
            .tcp_user_timeout(PATIENCE)
            .application_name("waiting-room-ledger");
        let (client, connection) = config.connect(NoTls).await.map_err(KeepError::unavailable)?;
        let task = Task(tokio::spawn(async move { drop(connection.await) }).abort_handle());
        client.batch_execute(LIMITS).await.map_err(KeepError::unavailable)?;
        durability::check(&client, failover).await?;
        let lineage = Lineage::of(&client).await?;
        let exists = client.query_one(EXISTS, &[]).await.map_err(KeepError::unavailable)?;
        if !exists.get::<_, bool>(0) {
            client.batch_execute(TABLES).await.map_err(KeepError::unavailable)?;
        }
        let keep = client.prepare(KEEP).await.map_err(KeepError::unavailable)?;
        let watch = client.prepare(WATCH).await.map_err(KeepError::unavailable)?;
        Ok(Self { client, keep, watch, lineage, _task: task })
    }
}

/// The time in which a server has to answer.
const PATIENCE: Duration = Duration::from_secs(2);

/// A statement that waits for a lock, or a process that stops in the middle of a take-over, does
/// not hold up the room for longer than the standbys wait for a holder.
const LIMITS: &str = "
SET statement_timeout = '2s';
SET lock_timeout = '1s';
SET idle_in_transaction_session_timeout = '2s';
";

/// Whether the tables exist. Creating them takes rights that a ledger does not need otherwise.
const EXISTS: &str = "SELECT to_regclass('waiting_room_ledger_claim') IS NOT NULL";
