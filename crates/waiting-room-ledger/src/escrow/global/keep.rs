//! The stored part of the global ledger: the changes to store, and a new ledger from stored accounts.

use std::collections::{BTreeMap, BTreeSet};

use waiting_room_core::{ConfigError, Timestamp, error::ConfigErrorKind};

use crate::{
    SiteId,
    escrow::{
        Changes, Epoch, EscrowRules, Kept, KeptAccount, Standing, Term,
        global::{accounts::distinct, ledger::GlobalLedger},
        member::Member,
    },
};

impl GlobalLedger {
    /// The changes since the last call. This ledger forgets them, so the caller keeps them until
    /// they are stored.
    ///
    /// No answer may be sent before all earlier changes are stored, not even the answer to a
    /// message that has changed nothing: it carries totals, which may include a grant that is not
    /// stored yet. Changes that could not be stored are kept and [merged](Changes::merge) with
    /// newer ones. Otherwise, an answer may grant slots that the next ledger does not know about.
    ///
    /// If the keeper answers that another ledger has taken over, no message may be sent at all. A
    /// heartbeat that reports nothing new changes nothing here.
    #[must_use]
    pub fn changes(&mut self) -> Changes {
        let (accounts, removed, claims) = self.accounts.changes();
        let limit = std::mem::take(&mut self.is_limit_unkept).then_some(self.limit);
        let rules = std::mem::take(&mut self.are_rules_unkept).then_some(self.rules);
        Changes { term: self.term, limit, rules, accounts, removed, claims }
    }

    /// Creates a ledger that continues where another one stopped, from everything that the keeper
    /// returned when this ledger [took over](Kept::take_over) with `term`.
    ///
    /// The new ledger grants free slots at once. The lease of each open account begins anew, and
    /// the slots of a closed account are free after a whole session, as if the account had been
    /// closed just now. The slot of a visitor cannot be claimed from a site that has not reported
    /// to this ledger.
    ///
    /// So each restoration extends the time for which the slots of a dead site are held. Such slots
    /// are never free if ledgers are restored more often than once in
    /// [`reclaim_after`](EscrowRules::reclaim_after), 422 s by default.
    ///
    /// # Errors
    ///
    /// Returns an error if `term` is not the kept term, because this ledger has not taken over, or
    /// because another ledger has taken over since. It is also an error if the keeper has returned
    /// something impossible: no site, an invalid rule, more slots returned than granted, slots of a
    /// site without an account, a message time for an account that is not closed, or an epoch that
    /// did not begin in an earlier term.
    pub fn restore(kept: &Kept, term: Term, now: Timestamp) -> Result<Self, ConfigError> {
        check_term(kept, term)?;
        let mut claimed = BTreeMap::<_, BTreeSet<_>>::new();
        for claim in &kept.claims {
            claimed.entry((claim.site, claim.epoch)).or_default().insert(claim.visitor);
        }
        let rules = kept.rules.validate()?;
        let mut members = Vec::with_capacity(kept.accounts.len());
        for (&site, account) in &kept.accounts {
            check_account(site, account, kept.term)?;
            let claimed = claimed.remove(&(site, account.epoch)).unwrap_or_default();
            members.push((site, Member::restored(account, claimed, &rules, now)));
        }
        let mut ledger = Self::with(kept.limit, members.into_iter(), term, rules, now)?;
        ledger.accounts.forget_changes();
        ledger.is_limit_unkept = false;
        ledger.are_rules_unkept = false;
        Ok(ledger)
    }

    /// Creates a ledger that replaces one whose accounts were lost or rolled back.
    ///
    /// It grants nothing until every site has reported, or until everything that was granted before
    /// has expired. From `kept`, it takes only the term, the rules, the list of sites, and which
    /// sites are fenced or drained. All of these have to be as in the lost ledger. With a shorter
    /// session, the new ledger would not wait for the last pass of a silent site; without a fence
    /// or a site, it would grant slots that are in use. If these values are not known, all sites
    /// stop for [`reclaim_after`](EscrowRules::reclaim_after), and a [new](Self::new) world begins.
    /// A site that reports other rules is refused, and its account is not adopted.
    ///
    /// # Errors
    ///
    /// Returns an error if `sites` lacks a site that was kept: that site may hold slots, and
    /// learning would end without it. It is also an error if `sites` contains a site twice, if a
    /// rule is invalid or differs from the kept rule, if `term` is not the kept term (see
    /// [`Kept::take_over`]), or if there is no site.
    pub fn recover(
        kept: &Kept,
        limit: u32,
        sites: impl IntoIterator<Item = SiteId>,
        term: Term,
        rules: EscrowRules,
        now: Timestamp,
    ) -> Result<Self, ConfigError> {
        check_term(kept, term)?;
        if let Some((field, given, before)) = rules.validate()?.difference(&kept.rules) {
            let given = format!("{given:?}");
            let expected = format!("{before:?} as before");
            return Err(ConfigError::new(ConfigErrorKind::Contradicts, field, given, expected));
        }
        let sites = distinct(sites)?;
        if let Some(missing) = kept.accounts.keys().find(|site| !sites.contains(site)) {
            let given: Vec<_> = sites.iter().map(|site| site.number()).collect();
            let expected = format!("a list with site {}, which is kept", missing.number());
            let given = format!("{given:?}");
            return Err(ConfigError::new(ConfigErrorKind::Missing, "sites", given, expected));
        }
        let epoch = Epoch::before_all_of(term);
        let members = sites.into_iter().map(|site| {
            let account = kept.accounts.get(&site);
            (site, Member::unknown(account, epoch))
        });
        Self::with(limit, members, term, rules, now)
    }
}

/// Refuses a term with which no ledger has taken over, or whose ledger has been replaced since.
fn check_term(kept: &Kept, term: Term) -> Result<(), ConfigError> {
    if term == kept.term {
        return Ok(());
    }
    let given = term.number();
    let expected = format!("the kept term {}", kept.term.number());
    Err(ConfigError::new(ConfigErrorKind::Contradicts, "term", given, expected))
}

/// Refuses an account that no ledger before this term can have kept.
fn check_account(site: SiteId, account: &KeptAccount, term: Term) -> Result<(), ConfigError> {
    let too_large = |field, given: u64, most: String| {
        let expected = format!("at most {most} for site {}", site.number());
        Err(ConfigError::new(ConfigErrorKind::TooLarge, field, given, expected))
    };
    if account.returned > account.granted {
        return too_large("returned", account.returned, format!("the granted {}", account.granted));
    }
    if account.standing == Standing::Away && account.granted > account.returned {
        let most = format!("the returned {}", account.returned);
        let expected = format!("at most {most} for site {}, which has no account", site.number());
        let kind = ConfigErrorKind::TooLarge;
        return Err(ConfigError::new(kind, "granted", account.granted, expected));
    }
    if let Some(heard) = account.heard.filter(|_| account.standing != Standing::Closed) {
        let expected = format!("none for site {}, which is not closed", site.number());
        let kind = ConfigErrorKind::Contradicts;
        let given = format!("{heard:?}");
        return Err(ConfigError::new(kind, "heard", given, expected));
    }
    if account.epoch.term() >= term {
        let given = account.epoch.term().number();
        let term = term.number();
        let site = site.number();
        let expected = format!("a term before {term} for site {site}");
        return Err(ConfigError::new(ConfigErrorKind::TooLarge, "epoch", given, expected));
    }
    Ok(())
}
