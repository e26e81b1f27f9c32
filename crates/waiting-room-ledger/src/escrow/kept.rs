//! The part of the global ledger's state that outlives the ledger.
//!
//! A keeper, such as a database, stores this part. The global ledger lists the changes since the
//! last call, and a new ledger is restored from the stored state.

use std::{
    collections::{BTreeMap, BTreeSet},
    error::Error,
    fmt,
};

use waiting_room_core::{ConfigError, Timestamp, VisitorId, error::ConfigErrorKind};

use crate::{
    SiteId,
    escrow::{Epoch, EscrowRules, Incarnation, Term},
};

/// The stored state of a global ledger: the limit, the rules, and the account of each site.
///
/// It contains no time of the global ledger's clock, so it can be restored on another machine.
///
/// The fields are public, so that a keeper can store them in any form.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Kept {
    /// The term of the ledger that has [taken over](Self::take_over) last.
    pub term: Term,
    /// The limit.
    pub limit: u32,
    /// The rules, the same at every site.
    pub rules: EscrowRules,
    /// All sites on the list, and their accounts.
    pub accounts: BTreeMap<SiteId, KeptAccount>,
    /// The visitors whose slots were moved away from the current accounts of dead sites.
    pub claims: BTreeSet<KeptClaim>,
}

/// The changes to [`Kept`] since the last call. They are stored all together or not at all, and in
/// the order in which the ledger has listed them.
///
/// Changes that could not be stored are [merged](Self::merge) with newer ones, and no answer is
/// sent until they are stored. Each account is complete, so it replaces the stored one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Changes {
    /// The term of the ledger that makes the changes. A keeper refuses a term that is lower than
    /// its own.
    pub term: Term,
    /// The limit, if it has changed.
    pub limit: Option<u32>,
    /// The rules, if they are not stored yet.
    pub rules: Option<EscrowRules>,
    /// The accounts that are new or have changed.
    pub accounts: BTreeMap<SiteId, KeptAccount>,
    /// The sites that were removed from the list.
    pub removed: BTreeSet<SiteId>,
    /// The claims that are new. A stored claim can be deleted when no account has its epoch any
    /// more.
    pub claims: BTreeSet<KeptClaim>,
}

/// The stored account of one site.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct KeptAccount {
    /// The epoch of the account or, without an account, of the last account.
    pub epoch: Epoch,
    /// The state of the account.
    pub standing: Standing,
    /// The incarnation that has the account, if it is known.
    pub incarnation: Option<Incarnation>,
    /// The total of slots ever granted in this epoch.
    pub granted: u64,
    /// The total of slots ever given back in this epoch.
    pub returned: u64,
    /// For a closed account: the time at which the last message of the site was sent, by its clock.
    /// This time is not stored for open accounts, because it would change with each heartbeat.
    pub heard: Option<Timestamp>,
    /// Whether the site is being drained, so that it is granted nothing.
    pub is_drained: bool,
    /// The accounts of the site that are never continued.
    pub fence: Option<Fence>,
}

/// A slot that was moved away from the account of a dead site.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub struct KeptClaim {
    /// The dead site.
    pub site: SiteId,
    /// The epoch of its account.
    pub epoch: Epoch,
    /// The visitor that had the slot.
    pub visitor: VisitorId,
}

/// The accounts of a site that are never continued, because the site was declared to be off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Fence {
    /// The newest of these accounts. All earlier accounts are fenced too.
    pub epoch: Epoch,
    /// The incarnation that was fenced last, if it is known. This incarnation gets no other account
    /// either.
    pub incarnation: Option<Incarnation>,
}

/// The state of an account.
///
/// ```text
/// Away ──join──► Open ──claim, fence──► Closed
///  ▲              │                       │
///  └──────────────┴── all passes void ◄───┘
///
/// Unknown (after a loss) ──report, leased─────────────► Open
///                        ──report, fenced or no lease─► Closed
///                        ──enough time────────────────► Away
/// ```
#[expect(clippy::exhaustive_enums, reason = "complete by nature")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Standing {
    /// There is no account, and no slot is held.
    Away,
    /// The account is no longer used. Its slots are reclaimed when the last pass is void.
    Closed,
    /// The account is in use.
    Open,
    /// The global ledger was lost, and does not know whether there is an account.
    Unknown,
}

/// A change was refused, because a later ledger has taken over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TermOver {
    kept: Term,
    given: Term,
}

impl Kept {
    /// The state of a ledger without sites, to which the first [`Changes`] are applied.
    #[must_use]
    pub const fn new(term: Term, limit: u32, rules: EscrowRules) -> Self {
        Self { term, limit, rules, accounts: BTreeMap::new(), claims: BTreeSet::new() }
    }

    /// Takes over from the last ledger: raises the term, and returns the kept state, from which a
    /// ledger of the new term is restored or recovered.
    ///
    /// A keeper does both in one transaction. From then on the last ledger is fenced: it cannot
    /// store further changes, even if the new ledger has no change to store yet. If the keeper read
    /// first and raised the term later, the last ledger could store a grant in between, and the new
    /// ledger would not know about it.
    ///
    /// # Errors
    ///
    /// Returns an error, and changes nothing, if `term` is not higher than the kept term.
    pub fn take_over(&mut self, term: Term) -> Result<Self, ConfigError> {
        if term <= self.term {
            let given = term.number();
            let expected = format!("more than {}", self.term.number());
            return Err(ConfigError::new(ConfigErrorKind::TooSmall, "term", given, expected));
        }
        self.term = term;
        Ok(self.clone())
    }

    /// Stores changes.
    ///
    /// # Errors
    ///
    /// Returns an error, and changes nothing, if a ledger of a higher term has taken over.
    pub fn apply(&mut self, changes: &Changes) -> Result<(), TermOver> {
        if changes.term < self.term {
            return Err(TermOver { kept: self.term, given: changes.term });
        }
        self.term = changes.term;
        self.limit = changes.limit.unwrap_or(self.limit);
        self.rules = changes.rules.unwrap_or(self.rules);
        self.accounts.retain(|site, _| !changes.removed.contains(site));
        self.accounts.extend(&changes.accounts);
        self.claims.extend(&changes.claims);
        let accounts = &self.accounts;
        let epoch_of = |site| accounts.get(&site).map(|account| account.epoch);
        self.claims.retain(|claim| epoch_of(claim.site) == Some(claim.epoch));
        Ok(())
    }
}

impl Changes {
    /// Adds `newer` changes of the ledger to these. Stored together, the changes have the same
    /// effect as if they were stored one after the other.
    ///
    /// A keeper merges changes that it could not store, and those that it stores in one batch.
    /// Changes of a ledger of a higher term replace these: that ledger has continued from what is
    /// stored, and these changes will never be stored.
    ///
    /// # Errors
    ///
    /// Returns an error, and changes nothing, if `newer` is from a ledger of a lower term.
    pub fn merge(&mut self, newer: Self) -> Result<(), TermOver> {
        if newer.term < self.term {
            return Err(TermOver { kept: self.term, given: newer.term });
        }
        if newer.term > self.term {
            *self = newer;
            return Ok(());
        }
        let Self { term: _, limit, rules, accounts, removed, claims } = newer;
        self.limit = limit.or(self.limit);
        self.rules = rules.or(self.rules);
        self.removed.retain(|site| !accounts.contains_key(site));
        self.accounts.retain(|site, _| !removed.contains(site));
        self.claims.retain(|claim| {
            let epoch = accounts.get(&claim.site).map(|account| account.epoch);
            !removed.contains(&claim.site) && epoch.is_none_or(|epoch| epoch == claim.epoch)
        });
        self.removed.extend(removed);
        self.accounts.extend(accounts);
        self.claims.extend(claims);
        Ok(())
    }

    /// Returns whether there is nothing to store.
    ///
    /// Answers without changes of their own still wait until all earlier changes are stored,
    /// because they may carry totals that result from those changes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let Self { term: _, limit, rules, accounts, removed, claims } = self;
        let is_listed = accounts.is_empty() && removed.is_empty() && claims.is_empty();
        is_listed && limit.is_none() && rules.is_none()
    }
}

impl KeptAccount {
    /// Creates an account without slots, which is neither fenced nor drained.
    #[must_use]
    pub const fn new(epoch: Epoch, standing: Standing) -> Self {
        Self {
            epoch,
            standing,
            incarnation: None,
            granted: 0,
            returned: 0,
            heard: None,
            is_drained: false,
            fence: None,
        }
    }

    /// Returns whether an incarnation of the site, or its present account, is fenced. A site that
    /// was removed and added again may have a fence that covers only its earlier accounts.
    #[must_use]
    pub fn is_fenced(&self) -> bool {
        self.fence.is_some_and(|fence| fence.incarnation.is_some() || self.epoch <= fence.epoch)
    }
}

impl KeptClaim {
    /// The claim to the slot of `visitor`, who was on the account of `site` in this `epoch`.
    #[must_use]
    pub const fn new(site: SiteId, epoch: Epoch, visitor: VisitorId) -> Self {
        Self { site, epoch, visitor }
    }
}

impl Fence {
    /// Fences all accounts up to `epoch`, and `incarnation`.
    #[must_use]
    pub const fn new(epoch: Epoch, incarnation: Option<Incarnation>) -> Self {
        Self { epoch, incarnation }
    }

    /// Fences every account that a site has had, although it is unknown which account was the last.
    /// The ledger that recovers the room replaces the epoch of this fence with an epoch before all
    /// of its own accounts.
    #[must_use]
    pub const fn of_all_accounts() -> Self {
        Self::new(Epoch::new(Term::new(u32::MAX), u32::MAX), None)
    }
}

impl TermOver {
    /// The higher term that is stored.
    #[must_use]
    pub const fn kept(&self) -> Term {
        self.kept
    }

    /// The lower term of the changes.
    #[must_use]
    pub const fn given(&self) -> Term {
        self.given
    }
}

impl fmt::Display for TermOver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let given = self.given.number();
        let kept = self.kept.number();
        write!(f, "term is {given}, expected at least {kept}, which has taken over")
    }
}

impl Error for TermOver {}
