//! A keeper in the memory of this process, for tests.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::{
    SiteId,
    escrow::{Changes, Epoch, EscrowRules, Kept, KeptAccount, Standing, Term},
    keeper::{KeepError, LedgerKeeper, Seen, TakenOver, next_term},
};

/// A keeper for tests, which keeps everything in memory. Its clones share the kept state.
///
/// It can be made unavailable, and can be made to store a batch without acknowledging it.
#[derive(Clone, Debug)]
pub struct MemoryKeeper {
    shared: Arc<Mutex<Shared>>,
}

/// A fault of a [`MemoryKeeper`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeeperFault {
    /// Everything is stored and acknowledged.
    #[default]
    None,
    /// Batches are stored, but their acknowledgements are lost.
    SilentlyStored,
    /// Nothing is stored, and no call succeeds.
    Unavailable,
}

#[derive(Debug)]
struct Shared {
    kept: Kept,
    batch: u64,
    is_held: bool,
    is_lost: bool,
    fault: KeeperFault,
}

impl MemoryKeeper {
    /// Creates a keeper of a room that no ledger has held yet.
    #[must_use]
    pub fn new(limit: u32, sites: impl IntoIterator<Item = SiteId>, rules: EscrowRules) -> Self {
        let mut kept = Kept::new(Term::default(), limit, rules);
        let account = KeptAccount::new(Epoch::default(), Standing::Away);
        kept.accounts = sites.into_iter().map(|site| (site, account)).collect();
        let batch = 0;
        let is_held = false;
        let is_lost = false;
        let shared = Shared { kept, batch, is_held, is_lost, fault: KeeperFault::None };
        Self { shared: Arc::new(Mutex::new(shared)) }
    }

    /// Begins or ends a fault, for all clones.
    pub fn set_fault(&self, fault: KeeperFault) {
        self.lock().fault = fault;
    }

    /// Declares that the kept state is unreliable, so that the next ledger recovers.
    pub fn lose(&self) {
        self.lock().is_lost = true;
    }

    /// Everything that is kept.
    #[must_use]
    pub fn kept(&self) -> Kept {
        self.lock().kept.clone()
    }

    fn reach(&self) -> Result<MutexGuard<'_, Shared>, KeepError> {
        let shared = self.lock();
        match shared.fault {
            KeeperFault::Unavailable => Err(KeepError::unavailable("made unavailable by a test")),
            KeeperFault::None | KeeperFault::SilentlyStored => Ok(shared),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LedgerKeeper for MemoryKeeper {
    async fn watch(&mut self) -> Result<Seen, KeepError> {
        let shared = self.reach()?;
        Ok(Seen { term: shared.kept.term, batch: shared.batch, is_held: shared.is_held })
    }

    async fn take_over(
        &mut self,
        seen: Seen,
        at_least: Term,
    ) -> Result<Option<TakenOver>, KeepError> {
        let mut shared = self.reach()?;
        if (shared.kept.term, shared.batch) != (seen.term, seen.batch) {
            return Ok(None);
        }
        let term = next_term(seen.term, at_least)?;
        let kept = shared.kept.take_over(term).map_err(KeepError::unavailable)?;
        shared.is_held = true;
        Ok(Some(if shared.is_lost { TakenOver::Lost(kept) } else { TakenOver::Kept(kept) }))
    }

    async fn keep(&mut self, changes: &Changes) -> Result<(), KeepError> {
        let mut shared = self.reach()?;
        let term = shared.kept.term;
        if term != changes.term {
            return Err(KeepError::Fenced { term });
        }
        let _stored = shared.kept.apply(changes);
        shared.is_lost &= changes.rules.is_none();
        shared.batch += 1;
        match shared.fault {
            KeeperFault::SilentlyStored => Err(KeepError::unavailable("the answer was lost")),
            KeeperFault::None | KeeperFault::Unavailable => Ok(()),
        }
    }

    async fn release(&mut self, term: Term) -> Result<(), KeepError> {
        let mut shared = self.reach()?;
        if shared.kept.term == term {
            shared.is_held = false;
        }
        Ok(())
    }
}
