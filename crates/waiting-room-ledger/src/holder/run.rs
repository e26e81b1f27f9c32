//! The loop of a process: it stands by, holds the room, and stands by again.

use std::{future::Future, pin::pin};

use tokio::{
    sync::watch,
    time::{Instant, timeout, timeout_at},
};
use waiting_room_core::time::Clock;

use crate::{
    escrow::{GlobalLedger, Term},
    holder::{
        HolderHandle, Role,
        desk::Desk,
        reception::Reception,
        term::{Batch, Tenure},
        times::{HolderTimes, Vigil},
    },
    keeper::{KeepError, LedgerKeeper, TakenOver, next_term},
};

/// The role of this process in one room: a standby that becomes the holder when there is no holder.
#[derive(Debug)]
pub struct Holder<K> {
    keeper: K,
    times: HolderTimes,
    reception: Reception,
    role: watch::Sender<Role>,
    /// The lowest term with which to take over, because a site knows the previous term.
    at_least: Term,
    /// The number of terms by which this process may still follow sites to later terms. The sum of
    /// all such jumps is bounded, so sites cannot exhaust the terms in small steps.
    term_jump: u32,
}

impl<K: LedgerKeeper> Holder<K> {
    /// Creates a standby of `room`, and a handle to it. The standby does nothing before it
    /// [runs](Self::run).
    #[must_use]
    pub fn new(room: impl Into<String>, keeper: K, times: HolderTimes) -> (Self, HolderHandle) {
        let (reception, inbox) = Reception::new(room.into());
        let (role, role_of_handle) = watch::channel(Role::Standby);
        let handle = HolderHandle { inbox, role: role_of_handle };
        let at_least = Term::default();
        let term_jump = GlobalLedger::MAX_TERM_JUMP;
        (Self { keeper, times, reception, role, at_least, term_jump }, handle)
    }

    /// Replaces the clock of the calendar, for tests. Only sites that count depend on it, under
    /// `Policy::Counters`: their minutes have to begin at the same time as those of the ledger. The
    /// default is the clock of this machine.
    #[must_use]
    pub fn calendar(mut self, clock: impl Clock) -> Self {
        self.reception.follow(clock);
        self
    }

    /// Checks the keeper once, so that a program can refuse to start.
    ///
    /// # Errors
    ///
    /// Returns an error if the keeper cannot be reached, must not be used, or has no such room.
    pub async fn check(&mut self) -> Result<(), KeepError> {
        in_time(&self.times, self.keeper.watch()).await.map(drop)
    }

    /// Stands by and holds the room, in turns, until `stop` completes. Then the room is given up, so
    /// that a standby takes over at once.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped, it is as if the process had been killed.
    pub async fn run(mut self, stop: impl Future<Output = ()> + Send) {
        tokio::select! {
            () = stop => {}
            () = self.take_turns() => {}
        }
        let role = self.role.send_replace(Role::Standby);
        if let Role::Holding(term) = role {
            let released = timeout(self.times.keep, self.keeper.release(term)).await;
            let room = &self.reception.room;
            tracing::info!(room, term = term.number(), ?released, "gave up the room");
        }
    }

    async fn take_turns(&mut self) {
        loop {
            let taken = self.stand_by().await;
            self.hold(&taken).await;
            self.role.send_replace(Role::Standby);
            self.reception.close();
        }
    }

    /// Watches the holder, and returns when this process has taken over.
    async fn stand_by(&mut self) -> TakenOver {
        let mut vigil = Vigil::new(self.times.patience);
        loop {
            let looked = self.look(&mut vigil).await;
            let reception = &mut self.reception;
            match looked {
                Ok(Some(taken)) => return taken,
                Ok(None) => reception.reported.relief(),
                Err(error) => {
                    vigil.lose_sight();
                    reception.reported.trouble(&reception.room, &error);
                }
            }
            let next = Instant::now() + self.times.look;
            while timeout_at(next, reception.turn_away()).await.is_ok() {}
        }
    }

    async fn look(&mut self, vigil: &mut Vigil) -> Result<Option<TakenOver>, KeepError> {
        let seen = in_time(&self.times, self.keeper.watch()).await?;
        if !vigil.see(seen, self.reception.now()) {
            return Ok(None);
        }
        in_time(&self.times, self.keeper.take_over(seen, self.at_least)).await
    }

    /// Acts as the global ledger of the room, until its term is over.
    async fn hold(&mut self, taken: &TakenOver) {
        let Self { keeper, times, reception, .. } = self;
        let (TakenOver::Kept(kept) | TakenOver::Lost(kept)) = taken;
        let term = kept.term;
        let desk = Desk::open(taken, reception.now(), reception.calendar_now());
        let desk = match desk.map(|desk| desk.term_jump(self.term_jump)) {
            Ok(desk) => desk,
            Err(error) => {
                let lost = KeepError::Lost { found: error.to_string() };
                reception.reported.trouble(&reception.room, &lost);
                return;
            }
        };
        let is_learning = desk.ledger().is_learning();
        tracing::info!(room = reception.room, term = term.number(), is_learning, "holds the room");
        reception.warn_of_rules(&kept.rules);
        self.role.send_replace(Role::Holding(term));
        reception.open();
        let mut tenure = Tenure::new(desk, times, reception);
        let mut earliest = Instant::now();
        let later = loop {
            tenure.gather(earliest).await;
            if let Some(later) = tenure.later_term() {
                tenure.give_way(None, later);
                break later;
            }
            let batch = tenure.begin();
            earliest = Instant::now() + times.batch;
            let kept = store(keeper, times, &batch, &mut tenure).await;
            if let Some(later) = tenure.later_term() {
                tenure.give_way(Some(batch), later);
                break later;
            }
            if kept.is_err() {
                earliest = Instant::now() + times.look;
            }
            if !tenure.settle(batch, kept) {
                return;
            }
        };
        let jump = later.term.number().saturating_sub(term.number());
        self.term_jump = self.term_jump.saturating_sub(jump);
        self.at_least = next_term(later.term, Term::default()).unwrap_or(later.term);
    }
}

/// Stores a batch, while the next one is gathered.
async fn store<K: LedgerKeeper>(
    keeper: &mut K,
    times: &HolderTimes,
    batch: &Batch,
    tenure: &mut Tenure<'_>,
) -> Result<(), KeepError> {
    let mut storing = pin!(in_time(times, keeper.keep(batch.changes())));
    loop {
        tokio::select! {
            biased;
            kept = &mut storing => return kept,
            () = tenure.turn() => {}
        }
    }
}

/// Returns the result of a call to the keeper, which has to answer in time.
async fn in_time<T>(
    times: &HolderTimes,
    call: impl Future<Output = Result<T, KeepError>>,
) -> Result<T, KeepError> {
    let limit = times.keep;
    timeout(limit, call)
        .await
        .unwrap_or_else(|_| Err(KeepError::unavailable(format!("no answer within {limit:?}"))))
}
