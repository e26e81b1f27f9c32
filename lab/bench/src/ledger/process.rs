//! The process that is measured: a server, a holder, and PostgreSQL as its keeper.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use tokio::{net::TcpListener, time::Instant};
use waiting_room_ledger::{
    Epoch, EscrowRules, Holder, HolderTimes, LedgerKeeper, LedgerServer, ServerKeys, SharedKeys,
    SiteId, Term,
    keeper::{
        Changes, Failover, KeepError, Kept, KeptAccount, PostgresKeeper, Seen, Standing, TakenOver,
    },
};

use crate::{
    child::{answer_starter, say},
    requests::runtime,
};

/// The name of the room.
pub(super) const ROOM: &str = "shop";
/// The rules, with sessions that are short, so that slots become free during the measurement.
pub(super) const RULES: EscrowRules =
    EscrowRules::new().session(Duration::from_secs(10)).heartbeat(HEARTBEAT);
/// The time between two reports of a site that has news.
pub(super) const HEARTBEAT: Duration = Duration::from_secs(1);
/// The slots for each site.
pub(super) const SLOTS: u32 = 10;

/// The cost of storing a batch.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub(super) struct Stored {
    /// The time until the keeper had acknowledged it.
    pub(super) took: Duration,
    /// The number of accounts in it.
    pub(super) accounts: usize,
}

/// Serves the ledger of a room that is new in this database, until standard input ends. For each line
/// of standard input, prints the batches that were [`Stored`] since the last one.
pub(crate) fn serve(database: &str, sites: u16) -> Result<()> {
    let stored = Arc::new(Mutex::new(Vec::new()));
    let of_keeper = Arc::clone(&stored);
    answer_starter(move || {
        std::mem::take(&mut *stored.lock().unwrap_or_else(PoisonError::into_inner))
    });
    runtime().block_on(async {
        let mut keeper = PostgresKeeper::new(database, Failover::None, ROOM, "bench");
        keeper.create_tables().await?;
        let mut kept = Kept::new(Term::new(0), SLOTS * u32::from(sites), RULES);
        let account = KeptAccount::new(Epoch::default(), Standing::Away);
        kept.accounts = (1..=sites).map(|number| (SiteId::new(number), account)).collect();
        keeper.set_up(&kept).await?;
        let keeper = Timed { keeper, stored: of_keeper };
        let (holder, mut handle) = Holder::new(ROOM, keeper, HolderTimes::default());
        tokio::spawn(holder.run(std::future::pending()));
        handle.holding().await.context("the ledger has ended")?;
        let server = LedgerServer::new([(ROOM.to_owned(), handle)], ServerKeys::new(keys()?));
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        say(&listener.local_addr()?.to_string())?;
        Ok(server.listen(&listener).await?)
    })
}

/// The keys of the sites.
pub(super) fn keys() -> Result<SharedKeys> {
    Ok(SharedKeys::parse(&"a".repeat(64))?)
}

/// A keeper whose batches are timed.
struct Timed {
    keeper: PostgresKeeper,
    stored: Arc<Mutex<Vec<Stored>>>,
}

impl LedgerKeeper for Timed {
    async fn watch(&mut self) -> Result<Seen, KeepError> {
        self.keeper.watch().await
    }

    async fn take_over(
        &mut self,
        seen: Seen,
        at_least: Term,
    ) -> Result<Option<TakenOver>, KeepError> {
        self.keeper.take_over(seen, at_least).await
    }

    async fn keep(&mut self, changes: &Changes) -> Result<(), KeepError> {
        let begin = Instant::now();
        let kept = self.keeper.keep(changes).await;
        let stored = Stored { took: begin.elapsed(), accounts: changes.accounts.len() };
        self.stored.lock().unwrap_or_else(PoisonError::into_inner).push(stored);
        kept
    }

    async fn release(&mut self, term: Term) -> Result<(), KeepError> {
        self.keeper.release(term).await
    }
}
