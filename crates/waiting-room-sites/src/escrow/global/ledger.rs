//! The limit, the accounts of all sites, and the slots that are free.

use waiting_room_core::{ConfigError, ConfigErrorKind, Timestamp};

use crate::{
    SiteId,
    escrow::{
        Epoch, EscrowRules, Term,
        global::accounts::Accounts,
        member::{Member, Standing},
    },
};

/// The global ledger: the limit, and how much of it each site holds.
///
/// The times that it is given are those of one clock that never runs back.
/// See the [module docs](crate::escrow) for an example.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct GlobalLedger {
    pub(super) limit: u64,
    pub(super) rules: EscrowRules,
    pub(super) term: Term,
    pub(super) clock: Timestamp,
    pub(super) accounts: Accounts,
    /// Nothing is granted before this, unless every site has reported.
    pub(super) learning_until: Option<Timestamp>,
}

impl GlobalLedger {
    /// A ledger for a world in which nobody has a slot yet: once, when the limit is set up.
    ///
    /// After a restart it is [`recover`](Self::recover) that makes the next one. This one takes all
    /// slots for free, and would grant the whole limit again while the passes of before are valid.
    ///
    /// # Errors
    ///
    /// The first rule that cannot be obeyed.
    pub fn new(
        limit: u32,
        sites: impl IntoIterator<Item = SiteId>,
        term: Term,
        rules: EscrowRules,
    ) -> Result<Self, ConfigError> {
        Self::with(limit, sites, term, rules, Standing::Away)
    }

    /// A ledger in the place of one that was lost or rolled back.
    ///
    /// It grants nothing until every site has reported, or until all that was granted before is
    /// over. The `term` must be higher than that of the lost ledger.
    ///
    /// # Errors
    ///
    /// The first rule that cannot be obeyed.
    pub fn recover(
        limit: u32,
        sites: impl IntoIterator<Item = SiteId>,
        term: Term,
        rules: EscrowRules,
        now: Timestamp,
    ) -> Result<Self, ConfigError> {
        let mut ledger = Self::with(limit, sites, term, rules, Standing::Unknown)?;
        ledger.clock = now;
        ledger.learning_until = Some(now + rules.reclaim_after());
        Ok(ledger)
    }

    fn with(
        limit: u32,
        sites: impl IntoIterator<Item = SiteId>,
        term: Term,
        rules: EscrowRules,
        standing: Standing,
    ) -> Result<Self, ConfigError> {
        let rules = rules.validate()?;
        let members = sites.into_iter().map(|site| (site, Member::new(term, standing)));
        let clock = Timestamp::ZERO;
        let accounts = Accounts::new(members, rules, clock);
        if accounts.is_empty() {
            let (given, expected) = ("empty", "at least one site");
            return Err(ConfigError::new(ConfigErrorKind::Missing, "sites", given, expected));
        }
        Ok(Self { limit: limit.into(), rules, term, clock, accounts, learning_until: None })
    }

    /// An operator knows that a site is switched off. Its slots are free when the passes that it
    /// made are void, without waiting for the end of its lease. Nothing changes while it is
    /// [not known](Self::is_learning) what the site holds.
    pub fn fence(&mut self, site: SiteId, now: Timestamp) {
        self.advance(now);
        let clock = self.clock;
        self.accounts.change(site, clock, |member| {
            if member.standing == Standing::Open {
                member.close(clock);
            }
        });
    }

    /// Changes the limit. A lower one sends nobody away: slots come back as sessions end.
    pub fn set_limit(&mut self, limit: u32) {
        self.limit = limit.into();
    }

    /// The limit.
    #[must_use]
    pub const fn limit(&self) -> u64 {
        self.limit
    }

    /// How many slots sites hold, those of dead sites among them.
    #[must_use]
    pub fn held(&self) -> u64 {
        self.accounts.held()
    }

    /// How many slots one site holds, as far as is known here: never fewer than it does.
    #[must_use]
    pub fn held_by(&self, site: SiteId) -> u64 {
        self.accounts.of(site).map_or(0, |member| member.allowance.held())
    }

    /// The term of this ledger.
    #[must_use]
    pub const fn term(&self) -> Term {
        self.term
    }

    /// The epoch of a site's account, or of its next one.
    #[must_use]
    pub fn epoch_of(&self, site: SiteId) -> Option<Epoch> {
        self.accounts.of(site).map(|member| member.epoch)
    }

    /// How many slots can be granted.
    #[must_use]
    pub fn free(&self) -> u64 {
        if self.is_learning() { 0 } else { self.limit.saturating_sub(self.held()) }
    }

    /// Whether this ledger is new after a loss and grants nothing yet.
    #[must_use]
    pub const fn is_learning(&self) -> bool {
        self.learning_until.is_some()
    }

    /// The present, at which nothing is left that is over.
    pub(super) fn advance(&mut self, now: Timestamp) {
        self.clock = self.clock.max(now);
        let (rules, term, now) = (self.rules, self.term, self.clock);
        while let Some(site) = self.accounts.first_due(now) {
            self.accounts.change(site, now, |member| {
                if member.is_spent(&rules, now) {
                    member.reclaim(term);
                }
            });
        }
        if self.learning_until.is_some_and(|until| until <= now) {
            for site in self.accounts.sites().collect::<Vec<_>>() {
                self.accounts.change(site, now, Member::forget_if_unknown);
            }
        }
        if !self.accounts.has_unknown() {
            self.learning_until = None;
        }
        debug_assert!(self.accounts.are_counted(now), "the sums are those of all accounts");
    }
}
