//! A keeper on PostgreSQL, which keeps everything.
//!
//! # Fencing
//!
//! Each batch is one statement, and thus one transaction and one round trip: it raises the room's
//! batch number if the term is still the holder's term, and changes accounts only if the number was
//! raised. A take-over raises the term in the same row. PostgreSQL orders the two with the lock of
//! that row, so a batch is stored either before the take-over, which then reads it, or not at all.
//!
//! The batch number has to grow. So a batch whose connection was lost, and which a slow server
//! process stores late, cannot replace a newer one.
//!
//! A batch without changes is a commit too. With a synchronous standby, a primary that does not
//! know that it was replaced cannot commit, so it cannot confirm the term of an old holder.

mod connect;
mod durability;
mod recovery;
mod rows;
mod sql;

use std::fmt;

use crate::escrow::{Changes, EscrowRules, Kept, Term};

use self::{
    connect::Session,
    rows::{AccountColumns, kept_account, kept_claim, kept_room, kept_term},
};
pub use self::{durability::Failover, recovery::Corrections};
use crate::keeper::{KeepError, LedgerKeeper, Seen, TakenOver, next_term};

/// A keeper on PostgreSQL 12 or later.
///
/// It keeps what it has acknowledged, so a server that might lose some of it is refused: one with
/// `synchronous_commit = off` or `fsync = off`, and one in recovery. If the operator says that
/// there is a [failover](Failover), a server without a synchronous standby is refused too.
///
/// After a promotion, or a restoration from a backup, the server has another timeline; after a dump
/// is loaded, it is another database cluster. The keeper then returns [`KeepError::Lost`] until an
/// operator [recovers](Self::recover) the room, unless [`Failover::Synchronous`] says that a
/// promotion loses nothing. The keeper does the same if a batch that it has seen is missing.
///
/// An attempt to connect fails after 2 s, and so does a statement. The connection has no
/// TLS, so it needs a private network, a socket or a tunnel.
#[derive(Debug)]
pub struct PostgresKeeper {
    url: String,
    failover: Failover,
    room: String,
    holder: String,
    session: Option<Session>,
    /// The number of the last batch that was sent.
    batch: u64,
    /// The newest batch that was seen or acknowledged.
    newest: Position,
    /// The cluster and the timeline of the server when this process took over.
    lineage: String,
}

/// A batch of a ledger. The numbers of batches and terms only grow, even in a recovery, and what is
/// kept is never older than a batch that was acknowledged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Position {
    term: Term,
    batch: u64,
}

impl Position {
    /// Whether something that was kept is missing, given that `found` is kept now.
    fn is_ahead_of(self, found: Self) -> bool {
        self.term > found.term || self.batch > found.batch
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "batch {} of term {}", self.batch, self.term.number())
    }
}

impl PostgresKeeper {
    /// Creates a keeper of `room` on the server at `url`, for the process that is called `holder`.
    /// It connects when it is first used, and again whenever the connection is lost.
    ///
    /// The URL has the form `postgres://user:password@host:5432/database`, or `host=/run/postgresql
    /// user=ledger dbname=ledger`.
    #[must_use]
    pub fn new(
        url: impl Into<String>,
        failover: Failover,
        room: impl Into<String>,
        holder: impl Into<String>,
    ) -> Self {
        let url = url.into();
        let room = room.into();
        let holder = holder.into();
        let newest = Position::default();
        let lineage = String::new();
        Self { url, failover, room, holder, session: None, batch: 0, newest, lineage }
    }

    /// Creates the tables unless they exist.
    ///
    /// # Errors
    ///
    /// Returns an error if the server cannot be reached, must not be used, or refuses the tables.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped, the tables may exist or not.
    pub async fn create_tables(&mut self) -> Result<(), KeepError> {
        let session = self.session().await?;
        session.client.batch_execute(sql::TABLES).await.map_err(KeepError::unavailable)
    }

    /// Sets up the room with a limit and rules, and without visitors. The first ledger takes over
    /// with a term above the term of `kept`. That term is above zero if the sites have been part of
    /// an earlier world.
    ///
    /// # Errors
    ///
    /// Returns an error if the room is set up already, or the server cannot be used.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped, the room may be set up or not; it is never set up in part.
    pub async fn set_up(&mut self, kept: &Kept) -> Result<(), KeepError> {
        let room = self.room.clone();
        let lineage = self.session().await?.lineage.to_string();
        let rules = rules_row(&kept.rules);
        let columns = AccountColumns::of(&kept.accounts);
        let session = self.session().await?;
        let transaction = session.client.transaction().await.map_err(KeepError::unavailable)?;
        let term = i64::from(kept.term.number());
        let inserted = transaction
            .execute(
                sql::INSERT_ROOM,
                &[
                    &room,
                    &term,
                    &i64::from(kept.limit),
                    &rules[0],
                    &rules[1],
                    &rules[2],
                    &rules[3],
                    &rules[4],
                    &lineage,
                ],
            )
            .await
            .map_err(KeepError::unavailable)?;
        if inserted == 0 {
            let setting = format!("room is {room:?}, which is already set up, expected a new one");
            return Err(KeepError::Unfit { setting });
        }
        transaction
            .execute(
                sql::INSERT_SITES,
                &[&room, &columns.site, &columns.epoch_term, &columns.epoch_count],
            )
            .await
            .map_err(KeepError::unavailable)?;
        transaction.commit().await.map_err(KeepError::unavailable)
    }

    /// The connection in use, or a new one.
    async fn session(&mut self) -> Result<&mut Session, KeepError> {
        if self.session.as_ref().is_some_and(|session| session.client.is_closed()) {
            self.session = None;
        }
        match &mut self.session {
            Some(session) => Ok(session),
            empty => Ok(empty.insert(Session::open(&self.url, self.failover).await?)),
        }
    }

    /// Reads everything that is kept, in the transaction of a take-over.
    async fn read(
        transaction: &tokio_postgres::Transaction<'_>,
        room: &str,
        mut kept: Kept,
    ) -> Result<Kept, KeepError> {
        let rows = transaction.query(sql::SELECT_SITES, &[&room]).await;
        for row in rows.map_err(KeepError::unavailable)? {
            let (site, account) = kept_account(&row)?;
            kept.accounts.insert(site, account);
        }
        let rows = transaction.query(sql::SELECT_CLAIMS, &[&room]).await;
        for row in rows.map_err(KeepError::unavailable)? {
            kept.claims.insert(kept_claim(&row)?);
        }
        Ok(kept)
    }

    async fn try_take_over(
        &mut self,
        seen: Seen,
        at_least: Term,
    ) -> Result<Option<TakenOver>, KeepError> {
        let room = self.room.clone();
        let holder = self.holder.clone();
        let failover = self.failover;
        let session = self.session().await?;
        let lineage = session.lineage.to_string();
        let term = next_term(seen.term, at_least)?;
        let transaction = session.client.transaction().await.map_err(KeepError::unavailable)?;
        let number = i64::from(term.number());
        let before = i64::from(seen.term.number());
        let row = transaction
            .query_opt(
                sql::TAKE_OVER,
                &[&room, &number, &holder, &lineage, &before, &seen.batch.cast_signed()],
            )
            .await
            .map_err(KeepError::unavailable)?;
        let Some(row) = row else { return Ok(None) };
        let must_recover: bool = row.get("must_recover");
        if !must_recover {
            session.lineage.check(row.get("timeline_before"), failover)?;
            if at_least.number() > seen.term.number().saturating_add(1) {
                let known = at_least.number() - 1;
                let kept = seen.term.number();
                return Err(KeepError::Lost {
                    found: format!("the term that is kept is {kept}, and a site knows {known}"),
                });
            }
        }
        let kept = Self::read(&transaction, &room, kept_room(&row, term)?).await?;
        transaction.commit().await.map_err(KeepError::unavailable)?;
        self.batch = seen.batch;
        self.newest = Position { term, batch: seen.batch };
        self.lineage = lineage;
        Ok(Some(if must_recover { TakenOver::Lost(kept) } else { TakenOver::Kept(kept) }))
    }

    async fn try_keep(&mut self, changes: &Changes) -> Result<(), KeepError> {
        // The number of a batch whose fate is unknown is not used again.
        self.batch = self.batch.saturating_add(1);
        let room = self.room.clone();
        let batch = self.batch.cast_signed();
        let failover = self.failover;
        let lineage = self.lineage.clone();
        let acknowledged = self.newest.batch.cast_signed();
        let term = i64::from(changes.term.number());
        let limit = changes.limit.map(i64::from);
        let rules = changes.rules.as_ref().map(rules_row);
        let rule = |place: usize| rules.map(|rules| rules[place]);
        let accounts = AccountColumns::of(&changes.accounts);
        let removed: Vec<i32> =
            changes.removed.iter().map(|site| i32::from(site.number())).collect();
        let claims = rows::ClaimColumns::of(&changes.claims);
        let session = self.session().await?;
        // The connection may be a new one.
        session.lineage.check(&lineage, failover)?;
        let row = session
            .client
            .query_one(
                &session.keep,
                &[
                    &room,
                    &term,
                    &batch,
                    &limit,
                    &rule(0),
                    &rule(1),
                    &rule(2),
                    &rule(3),
                    &rule(4),
                    &removed,
                    &accounts.site,
                    &accounts.epoch_term,
                    &accounts.epoch_count,
                    &accounts.standing,
                    &accounts.incarnation,
                    &accounts.granted,
                    &accounts.returned,
                    &accounts.heard,
                    &accounts.is_drained,
                    &accounts.fence_term,
                    &accounts.fence_count,
                    &accounts.fence_incarnation,
                    &claims.site,
                    &claims.epoch_term,
                    &claims.epoch_count,
                    &claims.visitor,
                    &acknowledged,
                ],
            )
            .await
            .map_err(KeepError::unavailable)?;
        durability::recheck(&row, failover)?;
        if row.get::<_, i64>("stored") == 1 {
            self.newest = Position { term: changes.term, batch: self.batch };
            return Ok(());
        }
        let seen = self.try_watch().await?;
        Err(KeepError::Fenced { term: seen.term })
    }

    async fn try_watch(&mut self) -> Result<Seen, KeepError> {
        let room = self.room.clone();
        let failover = self.failover;
        let newest = self.newest;
        let session = self.session().await?;
        let row = session.client.query_opt(&session.watch, &[&room]).await;
        let row = row.map_err(KeepError::unavailable)?;
        let row = row.ok_or_else(|| KeepError::NoRoom { room: room.clone() })?;
        durability::recheck(&row, failover)?;
        let batch = row.get::<_, i64>("batch").cast_unsigned();
        let found = Position { term: kept_term(&row)?, batch };
        if newest.is_ahead_of(found) && !row.get::<_, bool>("must_recover") {
            // Other processes may not have seen the newest batch. A failure is repaired by the next look.
            let _ = session.client.execute(sql::LOSE, &[&room]).await;
            return Err(KeepError::Lost { found: format!("{found} is kept, expected {newest}") });
        }
        self.newest = found;
        Ok(Seen { term: found.term, batch, is_held: row.get("is_held") })
    }

    /// Closes the connection after an error, because its server may be another one by now.
    fn forget_on_error<T>(&mut self, result: Result<T, KeepError>) -> Result<T, KeepError> {
        if result.is_err() {
            self.session = None;
        }
        result
    }
}

impl LedgerKeeper for PostgresKeeper {
    async fn watch(&mut self) -> Result<Seen, KeepError> {
        let result = self.try_watch().await;
        self.forget_on_error(result)
    }

    async fn take_over(
        &mut self,
        seen: Seen,
        at_least: Term,
    ) -> Result<Option<TakenOver>, KeepError> {
        let result = self.try_take_over(seen, at_least).await;
        self.forget_on_error(result)
    }

    async fn keep(&mut self, changes: &Changes) -> Result<(), KeepError> {
        let result = self.try_keep(changes).await;
        self.forget_on_error(result)
    }

    async fn release(&mut self, term: Term) -> Result<(), KeepError> {
        let room = self.room.clone();
        let term = i64::from(term.number());
        let session = self.session().await?;
        let released = session.client.execute(sql::RELEASE, &[&room, &term]).await;
        released.map(drop).map_err(KeepError::unavailable)
    }
}

/// The five times of the rules, in nanoseconds, in the order of [`EscrowRules::times`].
fn rules_row(rules: &EscrowRules) -> [i64; 5] {
    // The times of valid rules are at most one day, so they always fit.
    rules.times().map(|(_, time)| i64::try_from(time.as_nanos()).unwrap_or(i64::MAX))
}
