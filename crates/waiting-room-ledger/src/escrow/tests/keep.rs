//! What is kept of the global ledger, and ledgers that are restored from it.

use super::*;

#[test]
fn a_heartbeat_that_says_nothing_new_changes_nothing() {
    let mut net = Net::new(10, 3, RULES);
    net.admit(0, 1, at(1)).unwrap();
    net.run(1..=3);
    for second in 4..=200 {
        for site in 0..3 {
            for action in net.sites[site].tick(at(second)) {
                let SiteAction::Send(message) = action else { panic!("no visitor waits") };
                net.global.receive(&message, at(second));
            }
        }
        let changes = net.global.changes();
        assert!(changes.is_empty(), "{changes:?}");
    }
}

#[test]
fn a_change_is_stored_once_and_whole() {
    let mut net = Net::new(10, 3, RULES);
    assert_eq!(net.kept.accounts.len(), 3);
    assert!(net.global.changes().is_empty());
    let Admission::Borrow { request: Some(request), .. } = net.sites[1].admit(id(1), at(1)) else {
        panic!("the site has no reserve")
    };
    net.global.receive(&request, at(1));
    let changes = net.global.changes();
    let (site, account) = changes.accounts.first_key_value().unwrap();
    assert_eq!((changes.accounts.len(), *site, account.granted), (1, SiteId::new(1), 1));
    assert_eq!((changes.limit, changes.rules), (None, None));
    assert!(net.global.changes().is_empty());

    net.global.set_limit(10);
    assert!(net.global.changes().is_empty());
    net.global.set_limit(9);
    assert_eq!(net.global.changes().limit, Some(9));
}

#[test]
fn a_keeper_refuses_a_ledger_whose_term_is_over() {
    let mut net = Net::new(10, 1, RULES);
    let mut old = net.global.clone();
    net.restore_global(2, at(1));
    net.global.set_limit(9);
    net.keep();
    let before = net.kept.clone();
    old.set_limit(3);
    let error = net.kept.apply(&old.changes()).unwrap_err();
    assert_eq!(error.to_string(), "term is 1, expected at least 2, which has taken over");
    assert_eq!((error.kept(), error.given()), (Term::new(2), Term::new(1)));
    assert_eq!(net.kept, before);
}

/// A keeper that does not store every change at once.
struct SlowKeeper {
    unstored: Option<Changes>,
}

impl SlowKeeper {
    /// Accepts changes. Returns whether the answers may be sent, which is the case if all changes
    /// so far are stored.
    fn keep(&mut self, kept: &mut Kept, newer: Changes, is_working: bool) -> bool {
        let changes = match self.unstored.take() {
            Some(mut older) => {
                older.merge(newer).unwrap();
                older
            }
            None => newer,
        };
        if !changes.is_empty() && !is_working {
            self.unstored = Some(changes);
            return false;
        }
        kept.apply(&changes).unwrap();
        true
    }
}

/// Counterexample B1 from a second review of the protocol: the keeper fails once, and the answer to
/// a repeated request changes nothing. It has the total of the unstored grant.
#[test]
fn a_keeper_that_fails_once_loses_no_change() {
    let mut net = Net::new(5, 2, RULES);
    let mut keeper = SlowKeeper { unstored: None };
    for visitor in 1..=5 {
        let asked = net.sites[0].admit(id(visitor), at(1));
        assert!(matches!(asked, Admission::Borrow { .. }), "the site has no reserve");
    }
    let [first, second] = [300, 600].map(|millis| at(1) + Duration::from_millis(millis));
    let answers = |net: &mut Net, now| {
        let SiteAction::Send(request) = net.sites[0].tick(now).remove(0) else { panic!("it asks") };
        net.global.receive(&request, now)
    };
    let _not_sent = answers(&mut net, first);
    let changes = net.global.changes();
    assert_eq!(changes.accounts[&SiteId::new(0)].granted, 5);
    assert!(!keeper.keep(&mut net.kept, changes, false));

    let repeated = answers(&mut net, second);
    assert!(matches!(repeated[0].message, ToSite::Grant(Grant { granted: 5, .. })));
    let changes = net.global.changes();
    assert!(changes.is_empty(), "the answer alone changes nothing: {changes:?}");
    assert!(!keeper.keep(&mut net.kept, changes, false), "the answer overtakes the grant");
    let changes = net.global.changes();
    assert!(keeper.keep(&mut net.kept, changes, true));
    net.sites[0].receive(&repeated[0].message, second);
    assert_eq!(net.sites[0].allowance(), 5);

    net.restore_global(2, at(3));
    net.run(3..=5);
    assert!(net.admit(1, 10, at(5)).is_none(), "ten of five");
}

/// Merging changes has the same effect as applying them one after another.
#[test]
fn merged_changes_are_those_of_both() {
    let mut net = Net::new(4, 3, RULES);
    let before = net.kept.clone();
    net.global.remove(SiteId::new(2), at(1)).unwrap();
    net.global.set_limit(3);
    net.global.drain(SiteId::new(1), at(1)).unwrap();
    let first = net.global.changes();
    net.global.add_site(SiteId::new(2), at(2)).unwrap();
    net.global.remove(SiteId::new(1), at(2)).unwrap();
    let second = net.global.changes();
    let mut apart = before.clone();
    apart.apply(&first).unwrap();
    apart.apply(&second).unwrap();

    let mut merged = first;
    merged.merge(second).unwrap();
    let mut together = before;
    together.apply(&merged).unwrap();
    assert_eq!(together, apart);
    assert_eq!(merged.removed, [SiteId::new(1)].into());
    assert_eq!(merged.accounts.keys().copied().collect::<Vec<_>>(), [SiteId::new(2)]);
}

#[test]
fn claims_on_an_account_that_is_over_are_not_merged() {
    let (mut net, passes) = claimed_once();
    let mut changes = net.global.changes();
    changes.claims.insert(KeptClaim::new(SiteId::new(0), passes[0].epoch, id(1)));
    net.global.tick(at(440));
    changes.merge(net.global.changes()).unwrap();
    assert!(changes.claims.is_empty(), "{changes:?}");
}

#[test]
fn changes_of_different_ledgers_are_not_mixed() {
    let mut net = Net::new(4, 1, RULES);
    let mut old = net.global.clone();
    net.restore_global(2, at(1));
    old.set_limit(3);
    net.global.set_limit(2);
    let older = old.changes();
    let newer = net.global.changes();
    let mut merged = newer.clone();
    let error = merged.merge(older.clone()).unwrap_err();
    assert_eq!((error.kept(), error.given()), (Term::new(2), Term::new(1)));
    assert_eq!(merged, newer);
    merged = older;
    merged.merge(newer.clone()).unwrap();
    assert_eq!(merged, newer, "a later ledger continues without what was never stored");
}

/// Counterexample B2 from a second review of the protocol: the new ledger has nothing to store yet.
/// The old ledger has only been suspended, and stores a grant when it continues.
#[test]
fn a_ledger_is_fenced_as_soon_as_another_one_takes_over() {
    let mut net = Net::new(1, 2, RULES);
    let mut old = net.global.clone();
    let kept = net.kept.take_over(Term::new(2)).unwrap();
    net.global = GlobalLedger::restore(&kept, Term::new(2), at(1)).unwrap();
    assert!(net.global.changes().is_empty());

    let Admission::Borrow { request: Some(request), .. } = net.sites[0].admit(id(1), at(1)) else {
        panic!("the site has no reserve")
    };
    old.receive(&request, at(1));
    let error = net.kept.apply(&old.changes()).unwrap_err();
    assert_eq!((error.kept(), error.given()), (Term::new(2), Term::new(1)));
    assert_eq!(net.kept, kept);

    let again = net.kept.take_over(Term::new(2)).unwrap_err();
    assert_eq!(again.to_string(), "term is 2, expected more than 2");
    assert_eq!(net.kept, kept);
}

#[test]
fn a_ledger_that_has_not_taken_over_is_refused_by_name() {
    let mut net = Net::new(1, 2, RULES);
    let kept = net.kept.clone();
    let sites = [0, 1].map(SiteId::new);
    let restore = |kept: &Kept, term| {
        let restored = GlobalLedger::restore(kept, Term::new(term), at(1));
        restored.map(|_| ()).map_err(|error| error.to_string())
    };
    let recover = |kept: &Kept, term| {
        let recovered = GlobalLedger::recover(kept, 1, sites, Term::new(term), RULES, at(1));
        recovered.map(|_| ()).map_err(|error| error.to_string())
    };
    let expected = Err("term is 2, expected the kept term 1".to_owned());
    assert_eq!((restore(&kept, 2), recover(&kept, 2)), (expected.clone(), expected));

    let kept = net.kept.take_over(Term::new(3)).unwrap();
    let expected = Err("term is 2, expected the kept term 3".to_owned());
    assert_eq!((restore(&kept, 2), recover(&kept, 2)), (expected.clone(), expected));
    assert_eq!((restore(&kept, 3), recover(&kept, 3)), (Ok(()), Ok(())));
}

/// Counterexample E6 from a review of the protocol: one site is down, and the global ledger is
/// lost.
#[test]
fn a_restored_ledger_grants_at_once_although_a_site_is_down() {
    let mut net = Net::new(10, 3, RULES);
    for visitor in 0..4 {
        net.admit(2, visitor, at(1)).unwrap();
    }
    net.cut_off.insert(2);
    net.restore_global(2, at(50));
    assert!(!net.global.is_learning());
    assert_eq!((net.held_by(2), net.global.free()), (4, 6));
    net.run(51..=53);
    for visitor in 10..16 {
        assert!(net.admit(0, visitor, at(53)).is_some(), "visitor {visitor} is refused");
    }
    assert!(net.admit(1, 20, at(53)).is_none());
}

#[test]
fn slots_that_were_granted_and_not_kept_are_noticed() {
    let mut net = Net::new(10, 2, RULES);
    let backup = net.kept.clone();
    for visitor in 0..3 {
        net.admit(0, visitor, at(1)).unwrap();
    }
    let asked = ToSite::Report { term: Term::new(2) };
    let [SiteAction::Send(message)] = &net.sites[0].receive(&asked, at(2))[..] else {
        panic!("the site reports")
    };
    let restored = |kept: &Kept| {
        let kept = kept.clone().take_over(Term::new(2)).unwrap();
        GlobalLedger::restore(&kept, Term::new(2), at(2)).unwrap()
    };
    assert_eq!(restored(&net.kept).surplus(message), 0);
    let before = backup.accounts[&SiteId::new(0)].granted;
    let lost = net.kept.accounts[&SiteId::new(0)].granted - before;
    let mut ledger = restored(&backup);
    assert!(lost > 0 && ledger.surplus(message) == lost);
    ledger.receive(message, at(2));
    assert_eq!(ledger.surplus(message), 0, "they count from now on");
    assert_eq!(ledger.held_by(SiteId::new(0)), before + lost);
}

#[test]
fn a_restored_ledger_has_the_limit_that_was_set() {
    let mut net = Net::new(10, 1, RULES);
    net.global.set_limit(7);
    net.restore_global(2, at(1));
    assert_eq!(net.global.limit(), 7);
    assert_eq!(net.global.term(), Term::new(2));
}

/// The site reported at second 50, so it may make passes until second 170. The new ledger does not
/// know that, and never hears from the site.
#[test]
fn the_lease_of_a_restored_open_account_begins_anew() {
    let mut net = Net::new(1, 2, RULES);
    let pass = net.admit(0, 1, at(40)).unwrap();
    net.run(41..=50);
    net.cut_off.insert(0);
    net.restore_global(2, at(51));
    net.run(51..=168);
    let last = net.prolong(0, &pass, at(169)).unwrap();
    assert_eq!(last.expires_at, at(469));
    // A lease of 120 s, a margin of 2 s and a session of 300 s after the restoration.
    net.global.tick(at(472));
    assert_eq!(net.global.free(), 0);
    net.global.tick(at(473));
    assert_eq!(net.global.free(), 1);
}

/// The first report to a restored ledger renews the lease, even if the clock of the site still
/// shows zero.
#[test]
fn the_first_report_to_a_restored_ledger_begins_a_lease() {
    let mut net = Net::new(1, 1, RULES);
    let pass = net.admit(0, 1, at(0)).unwrap();
    net.restore_global(2, at(0));
    // The clock of the site stands still meanwhile.
    let SiteAction::Send(late) = net.sites[0].tick(at(1)).remove(0) else { panic!("it beats") };
    let report = net.global.receive(&late, at(1)).remove(0).message;
    let SiteAction::Send(said) = net.sites[0].receive(&report, at(1)).remove(0) else {
        panic!("it reports")
    };
    let answer = net.global.receive(&said, at(100)).remove(0).message;
    net.sites[0].receive(&answer, at(100));
    assert!(net.sites[0].honours(&pass, at(100)));
    net.global.tick(at(521));
    assert_eq!(net.global.free(), 0);
    net.global.tick(at(522));
    assert_eq!(net.global.free(), 1);
}

#[test]
fn a_restored_closed_account_runs_out_whole() {
    let mut net = Net::new(1, 2, RULES);
    net.admit(0, 1, at(10)).unwrap();
    net.cut_off.insert(0);
    net.fence(0, at(20));
    net.restore_global(2, at(100));
    net.global.tick(at(401));
    assert_eq!(net.global.free(), 0);
    net.global.tick(at(402));
    assert_eq!(net.global.free(), 1);
}

/// Two visitors of a site that has died; the slot of the first has been claimed.
fn claimed_once() -> (Net, [SitePass; 2]) {
    let mut net = Net::new(2, 3, RULES);
    net.run(1..=9);
    let passes = [1, 2].map(|visitor| net.admit(0, visitor, at(10)).unwrap());
    net.cut_off.insert(0);
    net.run(11..=140);
    net.prolong(1, &passes[0], at(141));
    net.prolong(1, &passes[0], at(142)).unwrap();
    assert_eq!((net.held_by(0), net.held_by(1)), (1, 1));
    (net, passes)
}

#[test]
fn a_slot_is_claimed_once_and_others_still_can_be_after_a_restoration() {
    let (mut net, passes) = claimed_once();
    assert_eq!(net.kept.claims.len(), 1);
    net.restore_global(2, at(143));
    net.run(143..=145);
    // The third site does not know that the second one has claimed this slot.
    net.prolong(2, &passes[0], at(146));
    net.prolong(2, &passes[0], at(147));
    assert_eq!((net.held_by(0), net.held_by(1), net.held_by(2)), (1, 1, 0));
    net.prolong(1, &passes[1], at(148));
    net.prolong(1, &passes[1], at(149));
    assert_eq!((net.held_by(0), net.held_by(1)), (0, 2));
    assert_eq!(net.kept.claims.len(), 2);
}

#[test]
fn claims_of_an_account_that_is_over_are_forgotten() {
    let (mut net, _) = claimed_once();
    net.run(143..=440);
    assert_eq!(net.held_by(0), 0);
    assert!(net.kept.claims.is_empty());
}

#[test]
fn claims_that_were_not_listed_in_time_are_not_listed_at_all() {
    let (mut net, passes) = claimed_once();
    let asked = net.sites[1].prolong(&passes[1], at(143));
    let Prolonged::Borrow { request: Some(claim), .. } = asked else { panic!("there is no slot") };
    net.global.receive(&claim, at(143));
    assert_eq!(net.global.clone().changes().claims.len(), 1);
    net.global.tick(at(431));
    assert_eq!(net.global.clone().changes().claims.len(), 1);
    net.global.tick(at(432));
    assert!(net.global.changes().claims.is_empty());
}

/// The restored ledger does not know when the lease of the site ended by the clock of the site. So
/// it cannot tell whose slots the site has given to other visitors.
#[test]
fn nothing_is_claimed_from_a_site_that_has_not_reported_since() {
    let mut net = Net::new(2, 2, RULES);
    net.run(1..=9);
    let pass = net.admit(0, 1, at(10)).unwrap();
    net.admit(0, 2, at(10)).unwrap();
    net.cut_off.insert(0);
    net.restore_global(2, at(20));
    net.run(20..=150);
    for second in [151, 152] {
        net.prolong(1, &pass, at(second));
    }
    assert_eq!((net.held_by(0), net.held_by(1)), (2, 0));
}

#[test]
fn a_ledger_that_was_still_learning_learns_anew() {
    let mut net = Net::new(3, 2, RULES);
    net.admit(1, 1, at(49)).unwrap();
    net.cut_off.insert(1);
    net.lose_global(2, at(50));
    net.run(50..=100);
    net.restore_global(3, at(100));
    assert!(net.global.is_learning());
    net.run(101..=521);
    assert!(net.global.is_learning());
    net.run(522..=522);
    assert_eq!((net.global.is_learning(), net.global.free()), (false, 3));
}

#[test]
fn a_join_whose_answer_was_lost_with_the_ledger_is_repeated() {
    let mut net = Net::new(2, 1, RULES);
    net.lose(0, 50, at(10));
    let SiteAction::Send(first) = net.sites[0].tick(at(10)).remove(0) else { panic!("it joins") };
    let stale = net.global.receive(&first, at(10)).remove(0).message;
    let SiteAction::Send(join) = net.sites[0].receive(&stale, at(10)).remove(0) else {
        panic!("it joins after the epoch that it was told")
    };
    let _lost = net.global.receive(&join, at(11));
    net.restore_global(2, at(12));
    net.run(12..=15);
    assert!(net.admit(0, 1, at(15)).is_some());
}

#[test]
fn an_impossible_stored_state_is_refused_by_name() {
    let mut net = Net::new(2, 2, RULES);
    let restore = |kept: &Kept, term| {
        GlobalLedger::restore(kept, Term::new(term), at(1)).map(|_| ()).map_err(|e| e.to_string())
    };
    let same = restore(&net.kept, 1).unwrap_err();
    assert_eq!(same, "epoch is 1, expected a term before 1 for site 0");
    net.kept.take_over(Term::new(2)).unwrap();
    assert_eq!(restore(&net.kept, 2), Ok(()));

    let with = |change: &dyn Fn(&mut KeptAccount)| {
        let mut kept = net.kept.clone();
        change(kept.accounts.get_mut(&SiteId::new(1)).unwrap());
        restore(&kept, 2).unwrap_err()
    };
    let returned = with(&|account| (account.granted, account.returned) = (3, 4));
    assert_eq!(returned, "returned is 4, expected at most the granted 3 for site 1");
    let away = with(&|account| (account.granted, account.standing) = (3, Standing::Away));
    assert_eq!(
        away,
        "granted is 3, expected at most the returned 0 for site 1, which has no account"
    );
    let heard = with(&|account| account.heard = Some(at(5)));
    assert_eq!(heard, "heard is 5.000000000s, expected none for site 1, which is not closed");
    let epoch = with(&|account| account.epoch = Epoch::new(Term::new(5), 1));
    assert_eq!(epoch, "epoch is 5, expected a term before 2 for site 1");

    let mut kept = net.kept.clone();
    let away = kept.accounts.get_mut(&SiteId::new(1)).unwrap();
    away.granted = 3;
    away.returned = 3;
    away.standing = Standing::Away;
    assert_eq!(restore(&kept, 2), Ok(()), "a site that has returned all is away");
    let mut kept = net.kept.clone();
    kept.rules = kept.rules.session(Duration::ZERO);
    assert_eq!(restore(&kept, 2).unwrap_err(), "session is 0ns, expected more than no time");
    kept = Kept::new(Term::new(2), 2, RULES);
    assert_eq!(restore(&kept, 2).unwrap_err(), "sites is empty, expected at least one site");
}

#[test]
fn numbers_at_their_limits_are_restored_without_a_panic() {
    let mut net = Net::new(u32::MAX, 2, RULES);
    for account in net.kept.accounts.values_mut() {
        account.granted = u64::MAX;
        account.epoch = Epoch::new(Term::new(1), u32::MAX);
        account.heard = Some(Timestamp::MAX);
        account.standing = Standing::Closed;
    }
    let site = SiteId::new(9);
    net.kept.claims.insert(KeptClaim::new(site, Epoch::default(), id(1)));
    let kept = net.kept.take_over(Term::new(u32::MAX)).unwrap();
    net.global = GlobalLedger::restore(&kept, Term::new(u32::MAX), Timestamp::MAX).unwrap();
    assert_eq!((net.global.held(), net.global.free()), (u64::MAX, 0));
    net.global.tick(Timestamp::MAX);
    net.global.add_site(site, at(0)).unwrap();
    net.run(1..=3);
}
