//! What a site knows of its account, and the slots that are its to use.

use std::collections::BTreeMap;

use waiting_room_core::{ConfigError, Timestamp};

use crate::{
    SiteId,
    escrow::{
        Death, Epoch, EscrowRules, Incarnation, SitePass, Term,
        demand::{Borrowers, Demand},
        epoch::Allowance,
        sessions::{Sessions, Stage},
    },
};

/// The ledger of one site: who uses its slots, and how many it may use.
///
/// The times that it is given are those of one clock that never runs back, and that goes on where it
/// stood when a ledger is made anew after a loss. No other clock has to agree with it.
///
/// After each verb, and at [`next_wake`](Self::next_wake), the caller calls [`tick`](Self::tick).
/// See the [module docs](crate::escrow) for an example.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SiteLedger {
    pub(super) site: SiteId,
    pub(super) incarnation: Incarnation,
    pub(super) rules: EscrowRules,
    pub(super) clock: Timestamp,
    pub(super) term: Term,
    /// The epoch of the account, or without one the newest that was heard of.
    pub(super) epoch: Epoch,
    pub(super) has_account: bool,
    pub(super) allowance: Allowance,
    pub(super) lease_end: Timestamp,
    pub(super) heard: Timestamp,
    pub(super) reserve: u64,
    /// Until then somebody waits elsewhere, as far as is known.
    pub(super) recalled_until: Timestamp,
    pub(super) sessions: Sessions,
    pub(super) ghosts: Ghosts,
    pub(super) borrowers: Borrowers,
    pub(super) demand: Demand,
    pub(super) next_heartbeat: Timestamp,
    pub(super) question: Question,
    /// The newest that was heard of each site that died.
    pub(super) deaths: BTreeMap<SiteId, Death>,
}

/// Slots that an earlier incarnation may have given to visitors that this one has not met.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Ghosts {
    pub(super) count: u64,
    pub(super) until: Timestamp,
}

/// Whether the global ledger is being asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Question {
    /// It is not.
    None,
    /// It is since then, and has not answered.
    Open(Timestamp),
    /// The same, and somebody has come who is not in the question.
    Outdated(Timestamp),
}

impl SiteLedger {
    /// A ledger that has yet to join. Its first [`tick`](Self::tick) asks.
    ///
    /// # Errors
    ///
    /// The first rule that cannot be obeyed.
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
            demand: Demand::new(now),
            next_heartbeat: now,
            question: Question::None,
            deaths: BTreeMap::new(),
        })
    }

    /// Whether a visitor with this pass may go through. Needs no slot and changes nothing.
    ///
    /// `home_now` is the latest time that the clock of the pass's home can show: `now` for a pass of
    /// this site.
    #[must_use]
    pub fn honours(&self, pass: &SitePass, home_now: Timestamp) -> bool {
        let has_left =
            self.sessions.of(pass.visitor).is_some_and(|session| session.stage == Stage::Ended);
        home_now < pass.expires_at && !has_left
    }

    /// How many slots the site may use.
    #[must_use]
    pub const fn allowance(&self) -> u64 {
        self.allowance.held()
    }

    /// How many slots are in use, or owed to a visitor from elsewhere.
    #[must_use]
    pub fn used(&self) -> u64 {
        self.sessions.count() + self.ghosts.count
    }

    /// How many slots are not in use.
    #[must_use]
    pub fn unused(&self) -> u64 {
        self.allowance().saturating_sub(self.used())
    }

    /// The highest term it has heard of.
    #[must_use]
    pub const fn term(&self) -> Term {
        self.term
    }

    /// The epoch of the site's account, or the newest it has heard of.
    #[must_use]
    pub const fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// When the site has to stop admitting, unless the global ledger is heard from.
    #[must_use]
    pub const fn lease_end(&self) -> Timestamp {
        self.lease_end
    }
}
