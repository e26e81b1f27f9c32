//! The limit, the accounts of all sites, and the slots that are free.

use waiting_room_core::{ConfigError, Timestamp, error::ConfigErrorKind};

use crate::{
    SiteId,
    escrow::{
        Epoch, EscrowRules, Standing, Term,
        global::accounts::{Accounts, distinct},
        member::Member,
    },
};

/// The global ledger: the limit, and the part of it that each site holds.
///
/// All times that are passed to it come from one clock that never runs backwards.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct GlobalLedger {
    pub(super) limit: u32,
    pub(super) rules: EscrowRules,
    pub(super) term: Term,
    pub(super) clock: Timestamp,
    pub(super) accounts: Accounts,
    /// After a loss: the time until which nothing is granted, unless every site reports earlier.
    pub(super) learning_until: Option<Timestamp>,
    /// The greatest epoch of the sites that were removed. Sites that are added begin after it.
    pub(super) last_removed: Epoch,
    /// Whether the limit has changed since the keeper was last told the limit.
    pub(super) is_limit_unkept: bool,
    /// Whether the keeper has not been given the rules yet.
    pub(super) are_rules_unkept: bool,
    /// The highest term that a site has named, if it is higher than the term of this ledger.
    pub(super) later_term: Option<LaterTerm>,
    /// The number of terms by which a site may be ahead of this ledger and still be followed.
    pub(super) term_jump: u32,
}

/// A term that is later than the term of a ledger, and the site that has named the later term.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct LaterTerm {
    /// The site that knows the term.
    pub site: SiteId,
    /// The term.
    pub term: Term,
}

impl GlobalLedger {
    /// The maximum number of terms by which a site may be ahead of a ledger and still be believed.
    ///
    /// Terms are 32-bit numbers, and each new ledger has a later term than all sites. Without this
    /// bound, one faulty site could use up all terms with one message.
    pub const MAX_TERM_JUMP: u32 = 65_536;

    /// Creates a ledger for a world without visitors. This is called once, when the limit is set
    /// up.
    ///
    /// If sites have been part of another world before, `term` has to be higher than all terms of
    /// that world. Sites obey the highest term that they know, and ignore a lower one
    /// ([`later_term`](Self::later_term)).
    ///
    /// After a restart, use [`restore`](Self::restore), or [`recover`](Self::recover) if the accounts
    /// were not kept. A ledger created by `new` counts all slots as free, and would grant the whole
    /// limit again while earlier passes are still valid.
    ///
    /// # Errors
    ///
    /// Returns the first rule that is invalid, or an error if there is no site, or if a site is
    /// listed twice.
    pub fn new(
        limit: u32,
        sites: impl IntoIterator<Item = SiteId>,
        term: Term,
        rules: EscrowRules,
    ) -> Result<Self, ConfigError> {
        let epoch = Epoch::before_all_of(term);
        let members = distinct(sites)?.into_iter();
        let members = members.map(|site| (site, Member::new(epoch, Standing::Away)));
        Self::with(limit, members, term, rules, Timestamp::ZERO)
    }

    /// Creates a ledger with these accounts. The keeper does not know the accounts yet.
    pub(super) fn with(
        limit: u32,
        members: impl Iterator<Item = (SiteId, Member)>,
        term: Term,
        rules: EscrowRules,
        clock: Timestamp,
    ) -> Result<Self, ConfigError> {
        let rules = rules.validate()?;
        let accounts = Accounts::new(members, rules, clock);
        if accounts.count_sites() == 0 {
            let given = "empty";
            let expected = "at least one site";
            return Err(ConfigError::new(ConfigErrorKind::Missing, "sites", given, expected));
        }
        Ok(Self {
            limit,
            rules,
            term,
            clock,
            learning_until: accounts.has_unknown().then(|| clock + rules.reclaim_after()),
            accounts,
            last_removed: Epoch::default(),
            is_limit_unkept: true,
            are_rules_unkept: true,
            later_term: None,
            term_jump: Self::MAX_TERM_JUMP,
        })
    }

    /// Sets the number of terms by which a site may be ahead of this ledger,
    /// [`MAX_TERM_JUMP`](Self::MAX_TERM_JUMP) by default. A site that names a term beyond that
    /// number, or the last possible term, is refused
    /// ([`Refusal::TermTooHigh`](crate::escrow::Refusal::TermTooHigh)).
    ///
    /// A process that has followed sites to a later term passes the remaining number to its next ledger,
    /// so sites cannot exhaust the terms in small steps.
    #[must_use]
    pub const fn term_jump(mut self, terms: u32) -> Self {
        self.term_jump = terms;
        self
    }

    /// Changes the limit. No session is ended: a lower limit takes effect as sessions lapse.
    pub fn set_limit(&mut self, limit: u32) {
        self.is_limit_unkept |= self.limit != limit;
        self.limit = limit;
    }

    /// The limit.
    #[must_use]
    pub fn limit(&self) -> u64 {
        self.limit.into()
    }

    /// The number of slots that all sites hold, including dead sites.
    #[must_use]
    pub fn held(&self) -> u64 {
        self.accounts.held()
    }

    /// The number of slots that one site holds, as known here: never fewer than it actually holds.
    #[must_use]
    pub fn held_by(&self, site: SiteId) -> u64 {
        self.accounts.of(site).map_or(0, |member| member.allowance.held())
    }

    /// The term of this ledger.
    #[must_use]
    pub const fn term(&self) -> Term {
        self.term
    }

    /// The highest term that a site has named, if it is above the term of this ledger: either
    /// another ledger has taken over, or this world was set up with too low a term.
    ///
    /// Only sites on the list with the rules of this ledger are believed, and only within
    /// [`term_jump`](Self::term_jump). The term of this ledger is then over. Sites ignore its
    /// answers, so its caller stops it, and tells the operator.
    #[must_use]
    pub const fn later_term(&self) -> Option<LaterTerm> {
        self.later_term
    }

    /// The epoch of a site's account, or of the site's next account.
    #[must_use]
    pub fn epoch_of(&self, site: SiteId) -> Option<Epoch> {
        self.accounts.of(site).map(|member| member.epoch)
    }

    /// The number of slots that can be granted.
    #[must_use]
    pub fn free(&self) -> u64 {
        if self.is_learning() { 0 } else { self.limit().saturating_sub(self.held()) }
    }

    /// Returns whether this ledger has replaced a lost one, and grants nothing yet.
    #[must_use]
    pub const fn is_learning(&self) -> bool {
        self.learning_until.is_some()
    }

    /// The latest term that a site is believed to know. The very last term is excluded, because it
    /// has no successor.
    pub(super) fn most_believed_term(&self) -> Term {
        let most = self.term.number().saturating_add(self.term_jump);
        Term::new(most.min(u32::MAX - 1)).max(self.term)
    }

    /// Advances the clock, and reclaims everything that has expired by then.
    pub(super) fn advance(&mut self, now: Timestamp) {
        self.clock = self.clock.max(now);
        let rules = self.rules;
        let term = self.term;
        let now = self.clock;
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
        debug_assert!(self.accounts.are_counted(now), "the sums equal those over all accounts");
    }
}
