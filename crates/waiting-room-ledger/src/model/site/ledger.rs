//! The state of a site: its account as known to the site, and its use of the slots.

use std::collections::BTreeMap;

use waiting_room_core::{ConfigError, Timestamp, error::ConfigErrorKind};

use crate::{
    SiteId,
    escrow::{
        Death, Epoch, EscrowRules, Incarnation, JoinRefused, SitePass, Term, epoch::Allowance,
    },
    model::site::{
        demand::{Borrowers, Demand},
        line::Line,
        sessions::{Sessions, Stage},
    },
};

/// The ledger of one site: the slots that the site may use, and the visitors that use them.
///
/// All times that are passed to it come from one clock that never runs backwards, not even when a
/// new ledger is created after a loss. No other clock has to agree with it.
///
/// The caller has to call [`tick`](Self::tick) after each verb, and at
/// [`next_wake`](Self::next_wake). See the [module docs](crate::model) for an example.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SiteLedger {
    pub(super) site: SiteId,
    pub(super) incarnation: Incarnation,
    pub(super) rules: EscrowRules,
    pub(super) clock: Timestamp,
    pub(super) term: Term,
    /// The epoch of the account; without an account, the newest epoch that is known.
    pub(super) epoch: Epoch,
    pub(super) has_account: bool,
    pub(super) allowance: Allowance,
    /// The end of the lease. Passes are made only before it.
    pub(super) lease_end: Timestamp,
    /// The time at which the site sent the message that the newest grant answers.
    pub(super) heard: Timestamp,
    /// The number of unused slots that the site may keep.
    pub(super) reserve: u64,
    /// The time until which unused slots have to be given back, because visitors wait elsewhere.
    pub(super) recalled_until: Timestamp,
    pub(super) sessions: Sessions,
    pub(super) ghosts: Ghosts,
    pub(super) borrowers: Borrowers,
    pub(super) line: Line,
    pub(super) demand: Demand,
    pub(super) next_heartbeat: Timestamp,
    pub(super) question: Question,
    /// The newest notice of the death of each site.
    pub(super) deaths: BTreeMap<SiteId, Death>,
    /// The reason why the site has no account, if it was refused one.
    pub(super) refused: Option<JoinRefused>,
}

/// Slots that an earlier incarnation may have given to visitors unknown to this one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Ghosts {
    pub(super) count: u64,
    /// The time at which all passes of the earlier incarnation are void.
    pub(super) until: Timestamp,
}

/// The state of the request to the global ledger for slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Question {
    /// No request is under way.
    None,
    /// A request was sent at this time, and there is no reply yet.
    Open(Timestamp),
    /// Like `Open`, but visitors who are not in the request have arrived since.
    Outdated(Timestamp),
}

impl SiteLedger {
    /// Creates a ledger without an account. Its first [`tick`](Self::tick) asks for one.
    ///
    /// # Errors
    ///
    /// Returns the first rule that is invalid.
    pub fn new(
        site: SiteId,
        incarnation: Incarnation,
        rules: EscrowRules,
        now: Timestamp,
    ) -> Result<Self, ConfigError> {
        Ok(Self {
            site,
            incarnation,
            rules: rules.validate()?,
            clock: now,
            term: Term::default(),
            epoch: Epoch::default(),
            has_account: false,
            allowance: Allowance::default(),
            lease_end: Timestamp::ZERO,
            heard: Timestamp::ZERO,
            reserve: 0,
            recalled_until: Timestamp::ZERO,
            sessions: Sessions::default(),
            ghosts: Ghosts::default(),
            borrowers: Borrowers::default(),
            line: Line::default(),
            demand: Demand::new(now),
            next_heartbeat: now,
            question: Question::None,
            deaths: BTreeMap::new(),
            refused: None,
        })
    }

    /// Begins a new life of the ledger, without an account and without visitors, because the site
    /// was switched off. Its caller calls this before anything else whenever it finds a ledger that
    /// is older than the last start of the machine, of the store, or of the process that holds the
    /// ledger.
    ///
    /// The old ledger must no longer be used, even if its lease seems to be running: an operator may
    /// have [fenced](crate::escrow::GlobalLedger::fence) the site meanwhile, so that its slots belong
    /// to other sites.
    ///
    /// # Errors
    ///
    /// Returns an error, and changes nothing, if the incarnation is the same as before, or if the
    /// clock has been set back. With such a clock, passes of the last life would be honoured for
    /// longer than their slots are held, so the caller waits until the clock has caught up.
    pub fn restart(&mut self, incarnation: Incarnation, now: Timestamp) -> Result<(), ConfigError> {
        if now < self.clock {
            let given = format!("{now:?}");
            let expected = format!("at least {:?}", self.clock);
            let expected = format!("{expected}, as in the last life");
            return Err(ConfigError::new(ConfigErrorKind::TooSmall, "now", given, expected));
        }
        if incarnation == self.incarnation {
            let given = format!("{:016x}", incarnation.bits());
            let kind = ConfigErrorKind::Contradicts;
            let expected = "another one than before";
            return Err(ConfigError::new(kind, "incarnation", given, expected));
        }
        let term = self.term;
        let epoch = self.epoch;
        *self = Self { term, epoch, ..Self::new(self.site, incarnation, self.rules, now)? };
        Ok(())
    }

    /// Returns whether a visitor with this pass is let through. This takes no slot and changes
    /// nothing.
    ///
    /// `home_now` is the latest time that the clock of the pass's home can show: `now` for a pass
    /// of this site.
    #[must_use]
    pub fn honours(&self, pass: &SitePass, home_now: Timestamp) -> bool {
        let has_left =
            self.sessions.of(pass.visitor).is_some_and(|session| session.stage == Stage::Ended);
        home_now < pass.expires_at && !has_left
    }

    /// The number of slots that the site may use.
    #[must_use]
    pub const fn allowance(&self) -> u64 {
        self.allowance.held()
    }

    /// The number of slots that are in use, or owed to a visitor.
    #[must_use]
    pub fn used(&self) -> u64 {
        self.sessions.count() + self.ghosts.count
    }

    /// The number of slots that are not in use.
    #[must_use]
    pub fn unused(&self) -> u64 {
        self.allowance().saturating_sub(self.used())
    }

    /// Returns whether slots have to be given back as soon as they are not in use, because visitors
    /// wait at other sites.
    #[must_use]
    pub fn is_recalled(&self) -> bool {
        self.has_account && self.clock < self.recalled_until
    }

    /// The highest term that the site knows.
    #[must_use]
    pub const fn term(&self) -> Term {
        self.term
    }

    /// The epoch of the site's account; without an account, the newest epoch that the site knows.
    #[must_use]
    pub const fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// The incarnation of the ledger.
    #[must_use]
    pub const fn incarnation(&self) -> Incarnation {
        self.incarnation
    }

    /// The reason why the site has no account, if the global ledger refuses to give it one.
    #[must_use]
    pub const fn refused(&self) -> Option<JoinRefused> {
        self.refused
    }

    /// The time at which the site stops admitting visitors, unless the global ledger renews the
    /// lease.
    #[must_use]
    pub const fn lease_end(&self) -> Timestamp {
        self.lease_end
    }
}
