//! The state of a holder without its connections: the ledger, the changes that are not stored yet,
//! and the answers that wait for these changes. Time is an argument, and nothing waits here.

use std::fmt::Write as _;

use waiting_room_core::{ConfigError, Timestamp};

use crate::{
    SiteId,
    escrow::{
        Census, Changes, GlobalLedger, LaterTerm, Outgoing, Refusal, Refused, Standing, TermOver,
        ToGlobal, ToSite,
    },
    holder::{Order, OrderError},
    keeper::TakenOver,
};

/// A global ledger. It returns its answers together with the changes that have to be stored before
/// the answers are sent. Calendar times are for sites that count.
#[derive(Debug)]
pub(super) struct Desk {
    ledger: GlobalLedger,
    /// The world of sites that count instead of holding slots.
    census: Census,
    /// The changes that are not part of a batch yet, or that were in a batch whose fate is unknown.
    unstored: Option<Changes>,
    /// The answers of the next batch.
    answers: Vec<(SiteId, ToSite)>,
}

impl Desk {
    /// Continues from what the keeper has returned.
    pub(super) fn open(
        taken: &TakenOver,
        now: Timestamp,
        calendar: Timestamp,
    ) -> Result<Self, ConfigError> {
        let (TakenOver::Kept(kept) | TakenOver::Lost(kept)) = taken;
        let census = Census::new(&kept.rules, calendar);
        let ledger = match taken {
            TakenOver::Kept(kept) => GlobalLedger::restore(kept, kept.term, now)?,
            TakenOver::Lost(kept) => {
                let sites = kept.accounts.keys().copied();
                let limit = kept.limit;
                let term = kept.term;
                let rules = kept.rules;
                GlobalLedger::recover(kept, limit, sites, term, rules, now)?
            }
        };
        Ok(Self { ledger, census, unstored: None, answers: Vec::new() })
    }

    /// Sets the number of terms by which a site may be ahead of this ledger.
    pub(super) fn term_jump(mut self, terms: u32) -> Self {
        self.ledger = self.ledger.term_jump(terms);
        self
    }

    /// Asks a site that has just connected for a report, so that the site learns the term at once.
    pub(super) fn greet(&mut self, site: SiteId) {
        let message = ToSite::Report { term: self.ledger.term() };
        self.answers.push((site, message));
    }

    /// Handles a message of a site.
    pub(super) fn receive(&mut self, message: &ToGlobal, now: Timestamp, calendar: Timestamp) {
        let site = message.from();
        if matches!(message, ToGlobal::Join(_)) && self.census.is_in_use(calendar) {
            let (incarnation, over) = message.life();
            let term = self.ledger.term();
            let refused = Refused::new(term, incarnation, over, Refusal::Policy);
            self.answers.push((site, ToSite::Refused(refused)));
            return;
        }
        let answers = self.ledger.receive(message, now);
        let is_accepted = answers.is_empty() && self.ledger.later_term().is_none();
        self.answers.extend(answers.into_iter().map(addressed));
        if let ToGlobal::Tally(tally) = message
            && is_accepted
        {
            let heard = self.census.receive(tally, &self.ledger, calendar);
            self.answers.extend(heard.into_iter().map(|answer| (site, answer)));
        }
    }

    /// Lets time pass: reclaims slots, and serves the sites that lack some.
    pub(super) fn tick(&mut self, now: Timestamp) {
        let answers = self.ledger.tick(now);
        self.answers.extend(answers.into_iter().map(addressed));
    }

    /// Carries out an order. The result is for the operator, after the batch is stored.
    pub(super) fn order(
        &mut self,
        order: Order,
        now: Timestamp,
        calendar: Timestamp,
    ) -> Result<String, OrderError> {
        let ledger = &mut self.ledger;
        match order {
            Order::AddSite(site) => ledger.add_site(site, now),
            Order::Drain(site) => ledger.drain(site, now),
            Order::Fence(site, epoch) => ledger.fence(site, epoch, now),
            Order::Remove(site) => ledger.remove(site, now),
            Order::SetLimit(limit) => {
                ledger.set_limit(limit);
                Ok(())
            }
            Order::Status => return Ok(self.status(now, calendar)),
        }
        .map_err(OrderError::Refused)?;
        Ok("stored\n".to_owned())
    }

    /// Returns whether a batch has something to store or to send.
    pub(super) fn has_news(&mut self) -> bool {
        self.gather();
        let is_stored = self.unstored.as_ref().is_none_or(Changes::is_empty);
        !is_stored || !self.answers.is_empty()
    }

    /// Begins a batch: all changes that are not stored yet, which may be none, and the answers that
    /// may be sent once these changes are stored. The caller stores the batch before it begins
    /// another one.
    pub(super) fn begin(&mut self) -> (Changes, Vec<(SiteId, ToSite)>) {
        self.gather();
        let changes = self.unstored.take().unwrap_or_else(|| self.ledger.changes());
        (changes, std::mem::take(&mut self.answers))
    }

    /// Takes back the changes of a batch if it is unknown whether they were stored. The next batch
    /// contains them.
    pub(super) fn not_stored(&mut self, mut older: Changes) {
        self.gather();
        if let Some(newer) = self.unstored.take() {
            join(&mut older, newer);
        }
        self.unstored = Some(older);
    }

    /// The higher term that a site knows, if there is one. A later ledger has then replaced this one.
    pub(super) const fn later_term(&self) -> Option<LaterTerm> {
        self.ledger.later_term()
    }

    pub(super) const fn ledger(&self) -> &GlobalLedger {
        &self.ledger
    }

    /// Adds the new changes of the ledger to those that are not part of a batch yet.
    fn gather(&mut self) {
        let newer = self.ledger.changes();
        match &mut self.unstored {
            None => self.unstored = Some(newer),
            Some(older) => join(older, newer),
        }
    }

    /// The state of the room, as text for an operator.
    fn status(&self, now: Timestamp, calendar: Timestamp) -> String {
        let ledger = &self.ledger;
        let mut text = format!(
            "term {}, limit {}, held {}, free {}{}\n",
            ledger.term().number(),
            ledger.limit(),
            ledger.held(),
            ledger.free(),
            if ledger.is_learning() { ", learning: nothing is granted yet" } else { "" },
        );
        if self.census.is_in_use(calendar) {
            let (sites, active) = self.census.counted(calendar);
            // Writing to a string cannot fail.
            let _ = writeln!(text, "counting: sites {sites}, active {active}");
        }
        text.push_str("site  epoch     account  held      used      lease   notes\n");
        for state in ledger.site_states(now) {
            let epoch = format!("{}/{}", state.epoch.term().number(), state.epoch.count());
            let account = match state.standing {
                Standing::Away => "away",
                Standing::Closed => "closed",
                Standing::Open => "open",
                Standing::Unknown => "unknown",
            };
            let notes = [(state.is_drained, "drained"), (state.is_fenced, "fenced")];
            let notes: Vec<_> =
                notes.into_iter().filter_map(|(holds, note)| holds.then_some(note)).collect();
            // Writing to a string cannot fail.
            let _ = writeln!(
                text,
                "{:<5} {epoch:<9} {account:<8} {:<9} {:<9} {:<7} {}",
                state.site.number(),
                state.held,
                state.used,
                format!("{}s", state.lease_left.as_secs()),
                notes.join(" "),
            );
        }
        text
    }
}

/// Adds newer changes of the same ledger.
fn join(older: &mut Changes, newer: Changes) {
    let merged: Result<(), TermOver> = older.merge(newer);
    debug_assert!(merged.is_ok(), "one ledger has one term");
}

fn addressed(outgoing: Outgoing) -> (SiteId, ToSite) {
    (outgoing.to, outgoing.message)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use waiting_room_core::VisitorId;

    use crate::{
        escrow::{Draw, EscrowRules, Incarnation, Kept, KeptAccount, RulesDigest, Tally, Term},
        model::{Admission, SiteAction, SiteLedger},
        slots::Minute,
    };

    use super::*;

    const SITE: SiteId = SiteId::new(1);

    fn kept() -> Kept {
        let mut kept = Kept::new(Term::new(1), 10, EscrowRules::new());
        let account = KeptAccount::new(Default::default(), Standing::Away);
        kept.accounts.insert(SITE, account);
        kept
    }

    fn joining_site() -> (SiteLedger, ToGlobal) {
        let now = Timestamp::from_secs(1);
        let rules = EscrowRules::new();
        let mut site = SiteLedger::new(SITE, Incarnation::new(7), rules, now).unwrap();
        let [SiteAction::Send(join)] = &site.tick(now)[..] else { panic!("the site joins") };
        let join = join.clone();
        (site, join)
    }

    #[test]
    fn the_answers_of_a_batch_are_those_to_its_changes() {
        let now = Timestamp::from_secs(1);
        let mut kept = kept();
        let mut desk = Desk::open(&TakenOver::Kept(kept.clone()), now, now).unwrap();
        assert!(!desk.has_news());
        let (_, join) = joining_site();
        desk.receive(&join, now, now);
        assert!(desk.has_news());
        let (changes, answers) = desk.begin();
        assert_eq!(changes.accounts[&SITE].standing, Standing::Open);
        kept.apply(&changes).unwrap();
        assert!(matches!(answers[..], [(SITE, ToSite::Welcome(_))]));
        assert!(!desk.has_news());
    }

    #[test]
    fn changes_of_unknown_fate_are_stored_with_later_ones() {
        let now = Timestamp::from_secs(1);
        let kept = kept();
        let mut desk = Desk::open(&TakenOver::Kept(kept), now, now).unwrap();
        let (mut site, join) = joining_site();
        desk.receive(&join, now, now);
        let (first, answers) = desk.begin();
        // The answers were dropped. The limit changes while the batch is being stored.
        desk.order(Order::SetLimit(3), now, now).unwrap();
        desk.not_stored(first.clone());
        assert!(desk.has_news(), "the changes still have to be stored");
        let (second, none) = desk.begin();
        assert_eq!((second.limit, none.len()), (Some(3), 0));
        assert_eq!(second.accounts, first.accounts);

        // A newer account replaces the one of unknown fate.
        let [(_, welcome)] = &answers[..] else { panic!("the site is welcome: {answers:?}") };
        let mut actions = site.receive(welcome, now);
        if let Admission::Borrow { request: Some(request), .. } = site.admit(VisitorId::new(1), now)
        {
            actions.push(SiteAction::Send(request));
        }
        for action in actions {
            let SiteAction::Send(message) = action else { continue };
            desk.receive(&message, now, now);
        }
        desk.not_stored(second);
        let (third, answers) = desk.begin();
        assert_eq!(third.limit, Some(3));
        assert!(third.accounts[&SITE].granted > 0, "{third:?}");
        let has_grant = matches!(answers.last(), Some((SITE, ToSite::Grant(_))));
        assert!(has_grant, "{answers:?}");
    }

    #[test]
    fn an_order_is_refused_by_name_and_a_status_shows_the_room() {
        let now = Timestamp::from_secs(1);
        let kept = kept();
        let mut desk = Desk::open(&TakenOver::Kept(kept), now, now).unwrap();
        let refused = desk.order(Order::AddSite(SITE), now, now).unwrap_err();
        assert_eq!(refused.to_string(), "site 1 is already on the list");
        let epoch = desk.ledger().epoch_of(SITE).unwrap();
        desk.order(Order::Fence(SITE, epoch), now, now).unwrap();
        let status = desk.order(Order::Status, now, now).unwrap();
        assert!(status.starts_with("term 1, limit 10, held 0, free 10\n"), "{status}");
        assert!(
            status.contains("1     0/0       away     0         0         0s      fenced\n"),
            "{status}"
        );
    }

    #[test]
    fn while_sites_count_none_gets_an_account_and_the_status_lists_them() {
        let now = Timestamp::from_secs(1);
        let calendar = Timestamp::from_secs(60);
        let mut desk = Desk::open(&TakenOver::Kept(kept()), now, calendar).unwrap();
        let minute = Minute::of(calendar);
        let tally = ToGlobal::Tally(Tally {
            site: SITE,
            incarnation: Incarnation::new(7),
            term: Term::default(),
            sent_at: calendar,
            rules: RulesDigest::of(&EscrowRules::new()),
            knows: 0,
            active: 5,
            minute: minute.previous(),
            admitted: 0,
            draw: Draw { minute, total: 2, slots: 5, knows_world: true },
        });
        desk.receive(&tally, now, calendar);
        let (_, answers) = desk.begin();
        assert!(
            matches!(answers[..], [(SITE, ToSite::World(_)), (SITE, ToSite::Tickets(_))]),
            "{answers:?}"
        );
        let status = desk.order(Order::Status, now, calendar).unwrap();
        assert!(status.contains("counting: sites 1, active 5\n"), "{status}");

        let (_, join) = joining_site();
        desk.receive(&join, now, calendar);
        let (_, answers) = desk.begin();
        let [(SITE, ToSite::Refused(refused))] = answers[..] else { panic!("{answers:?}") };
        assert_eq!(refused.reason, Refusal::Policy);
        // The passes of the visitors have expired.
        desk.receive(&join, now, calendar + Duration::from_secs(1000));
        assert!(matches!(desk.begin().1[..], [(SITE, ToSite::Welcome(_))]));
    }

    #[test]
    fn a_recovered_ledger_grants_nothing_until_every_site_has_reported() {
        let now = Timestamp::from_secs(1);
        let kept = kept();
        let mut desk = Desk::open(&TakenOver::Lost(kept), now, now).unwrap();
        assert!(desk.ledger().is_learning());
        let (mut site, join) = joining_site();
        desk.receive(&join, now, now);
        let (changes, answers) = desk.begin();
        assert!(changes.rules.is_some(), "everything is stored anew");
        assert_eq!(answers, []);
        let later = now + EscrowRules::new().reclaim_after() + Duration::from_secs(1);
        let [SiteAction::Send(join)] = &site.tick(later)[..] else { panic!("the site joins") };
        desk.receive(join, later, later);
        for (_, message) in desk.begin().1 {
            for action in site.receive(&message, later) {
                let SiteAction::Send(message) = action else { continue };
                desk.receive(&message, later, later);
            }
        }
        assert!(matches!(site.admit(VisitorId::new(1), later), Admission::Borrow { .. }));
        assert!(!desk.ledger().is_learning());
    }
}
