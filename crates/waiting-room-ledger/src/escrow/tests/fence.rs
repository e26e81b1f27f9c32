//! Sites that are declared to be switched off, and sites with other rules.

use super::*;

/// Two sites and two slots, with a session that hardly outlasts a lease.
const SHORT: EscrowRules =
    EscrowRules::new().session(Duration::from_secs(130)).lease(Duration::from_secs(120));

/// A site that was switched off with two visitors, and fenced at second 13. The other site has
/// claimed both slots.
fn fenced_and_claimed() -> Net {
    let mut net = Net::new(2, 2, SHORT);
    net.run(1..=12);
    let passes = [1, 2].map(|visitor| net.admit(0, visitor, at(12)).unwrap());
    net.cut_off.insert(0);
    net.fence(0, at(13));
    net.keep();
    net.run(13..=15);
    for second in [16, 17] {
        for pass in &passes {
            net.prolong(1, pass, at(second));
        }
    }
    assert_eq!((net.held_by(0), net.held_by(1), net.sites[1].used()), (0, 2, 2));
    net
}

/// Counterexample E1 from a review of the protocol: the site is switched on again with its old
/// ledger, whose lease seems to be running. Its account was opened again by the recovered global
/// ledger.
#[test]
fn a_fence_outlives_the_global_ledger() {
    let mut net = fenced_and_claimed();
    net.lose_global(2, at(21));
    net.cut_off.clear();
    net.run(21..=120);
    net.cut_off.insert(0);
    // At second 150 the old sessions have lapsed, but the renewed lease has not.
    assert!(net.admit(0, 8, at(150)).is_none());
    let site = SiteId::new(0);
    let incarnation = net.sites[0].incarnation();
    assert_eq!(net.warned, [JoinRefused::Fenced { site, incarnation }]);
    assert_eq!(net.warned[0].to_string(), "incarnation 0000000000000000 of site 0 is fenced");
}

#[test]
fn a_fence_outlives_two_global_ledgers() {
    let mut net = fenced_and_claimed();
    net.lose_global(2, at(18));
    net.lose_global(3, at(19));
    net.restore_global(4, at(20));
    net.cut_off.clear();
    net.run(21..=120);
    assert_eq!(net.sites[0].refused().map(|_| net.warned.len()), Some(1));
    assert!(net.admit(0, 8, at(120)).is_none());
}

/// The fence was set after the backup from which the keeper was restored. An operator sets it again.
#[test]
fn every_account_of_a_site_can_be_fenced_for_a_recovery() {
    let mut net = Net::new(10, 2, RULES);
    net.admit(0, 1, at(1)).unwrap();
    let old = net.sites[0].clone();
    net.cut_off.insert(0);
    net.kept.accounts.get_mut(&SiteId::new(0)).unwrap().fence = Some(Fence::of_all_accounts());
    net.lose_global(2, at(20));
    let state = net.global.site_states(at(20)).next().unwrap();
    assert!(state.is_fenced && state.standing == Standing::Unknown);
    net.cut_off.clear();
    net.run(21..=22);
    let state = net.global.site_states(at(22)).next().unwrap();
    assert_eq!(state.standing, Standing::Closed, "the running lease is not continued");

    // Accounts of the new ledger are not fenced, even if the next ledger has to recover again.
    net.sites[0] = old;
    let margin = RULES.reclaim_after().as_secs();
    net.run(23..=30 + margin);
    let pass = net.admit(0, 2, at(30 + margin)).expect("the site has a new account");
    net.lose_global(3, at(31 + margin));
    net.run(31 + margin..=33 + margin);
    let state = net.global.site_states(at(33 + margin)).next().unwrap();
    assert_eq!((state.standing, state.used), (Standing::Open, 1));
    assert!(net.sites[0].honours(&pass, at(33 + margin)));
}

/// Counterexample E2 from a review of the protocol: a site is switched off, fenced, and switched on
/// again when its slots belong to others. Its lease seems to be running, so the site must not rely
/// on it.
#[test]
fn a_site_that_was_off_begins_anew() {
    let mut net = Net::new(10, 2, EscrowRules::rolling_minute());
    for visitor in 0..5 {
        net.admit(0, visitor, at(1)).unwrap();
    }
    net.run(1..=5);
    net.cut_off.insert(0);
    net.fence(0, at(6));
    for second in 6..=70 {
        let actions = net.sites[1].tick(at(second));
        net.carry_out(1, actions, at(second));
    }
    for visitor in 100..110 {
        net.admit(1, visitor, at(70)).unwrap();
    }
    assert_eq!(net.held_by(1), 10);

    let mut resumed = net.sites[0].clone();
    let admission = resumed.admit(id(200), at(71));
    assert!(matches!(admission, Admission::Admit(_)), "its old ledger would let others in");

    net.sites[0].restart(Incarnation::new(99), at(71)).unwrap();
    assert!(net.admit(0, 200, at(71)).is_none());
    net.cut_off.clear();
    net.run(71..=73);
    assert!(net.admit(0, 201, at(73)).is_none());
    assert_eq!((net.sites[0].allowance(), net.warned.len()), (0, 0));
    // The slots of the other site are held until a little after second 130.
    net.run(130..=131);
    assert!(net.admit(0, 202, at(131)).is_some());
}

#[test]
fn a_site_that_is_on_again_needs_another_incarnation() {
    let mut net = Net::new(2, 2, RULES);
    let before = net.sites[1].clone();
    let error = net.sites[1].restart(Incarnation::new(1), at(5)).unwrap_err();
    let expected = "incarnation is 0000000000000001, expected another one than before";
    assert_eq!(error.to_string(), expected);
    assert_eq!(net.sites[1], before);
}

/// Counterexample B5 from a second review of the protocol: the ledger kept the later time, and did
/// nothing until the clock had caught up.
#[test]
fn a_site_whose_clock_went_back_is_notified() {
    let mut net = Net::new(2, 1, RULES);
    net.admit(0, 1, at(100)).unwrap();
    let before = net.sites[0].clone();
    let error = net.sites[0].restart(Incarnation::new(7), at(50)).unwrap_err();
    let expected = "now is 50.000000000s, expected at least 100.000000000s, as in the last life";
    assert_eq!(error.to_string(), expected);
    assert_eq!(net.sites[0], before);
}

#[test]
fn a_site_that_was_off_keeps_its_clock_and_inherits_its_account() {
    let mut net = Net::new(2, 1, RULES);
    let pass = net.admit(0, 1, at(100)).unwrap();
    net.sites[0].restart(Incarnation::new(7), at(100)).unwrap();
    net.run(101..=102);
    assert_eq!((net.sites[0].allowance(), net.sites[0].used()), (1, 1));
    assert!(net.sites[0].honours(&pass, at(102)));
    assert!(net.admit(0, 2, at(102)).is_some());
    assert!(net.admit(0, 3, at(102)).is_none());
}

/// A site that is fenced by mistake is told about the fence, and admits visitors again when the
/// slots of its old account are free: a margin and a session after the fence.
#[test]
fn a_site_that_was_fenced_by_mistake_returns_with_a_new_incarnation() {
    let mut net = Net::new(2, 2, RULES);
    net.admit(0, 1, at(5)).unwrap();
    net.fence(0, at(6));
    net.run(6..=400);
    assert!(matches!(net.warned[..], [JoinRefused::Fenced { .. }]), "{:?}", net.warned);
    assert!(net.admit(0, 2, at(400)).is_none());

    let mut net = Net::new(2, 2, RULES);
    net.admit(0, 1, at(5)).unwrap();
    net.fence(0, at(6));
    net.sites[0].restart(Incarnation::new(7), at(7)).unwrap();
    net.run(7..=307);
    assert!(net.admit(0, 2, at(307)).is_none());
    net.run(308..=310);
    assert!(net.admit(0, 2, at(310)).is_some());
    assert!(net.warned.is_empty());
}

#[test]
fn an_unknown_site_is_not_fenced() {
    let mut net = Net::new(2, 2, RULES);
    let error = net.global.fence(SiteId::new(9), Epoch::default(), at(1)).unwrap_err();
    assert_eq!(error, ListRefused::NotListed { site: SiteId::new(9) });
}

/// Counterexample B4 from a second review of the protocol: the site is switched on again before the
/// operator confirms.
#[test]
fn a_fence_does_not_hit_the_next_life_of_a_site() {
    let mut net = Net::new(2, 1, RULES);
    net.admit(0, 1, at(1)).unwrap();
    let site = SiteId::new(0);
    let shown = net.global.epoch_of(site).unwrap();
    net.lose(0, 50, at(5));
    net.run(5..=7);
    let current = net.sites[0].epoch();
    let before = net.global.clone();
    let error = net.global.fence(site, shown, at(7)).unwrap_err();
    assert_eq!(error, ListRefused::OtherEpoch { site, given: shown, current });
    assert_eq!(error.to_string(), "epoch is 1/1, expected 1/2, which is that of site 0");
    assert_eq!(net.global, before);
    assert!(net.admit(0, 2, at(8)).is_some());

    net.global.fence(site, current, at(9)).unwrap();
    net.global.fence(site, current, at(9)).unwrap();
}

/// Counterexample E5 from a review of the protocol: passes of the site live twice as long as the
/// global ledger waits for them.
#[test]
fn a_site_with_other_rules_gets_no_account_and_learns_which_rule_differs() {
    for (rules, field, values) in [
        (RULES.session(Duration::from_secs(600)), "session", [600, 300]),
        (RULES.lease(Duration::from_secs(60)), "lease", [60, 120]),
        (RULES.drift_margin(Duration::from_secs(1)), "drift_margin", [1, 2]),
        (RULES.borrow_wait(Duration::from_secs(9)), "borrow_wait", [9, 1]),
    ] {
        let global = RULES.borrow_wait(Duration::from_secs(1));
        let mut net = Net::new(10, 2, global);
        let rules =
            if field == "borrow_wait" { rules } else { rules.borrow_wait(global.borrow_wait) };
        let site = SiteId::new(1);
        let life = Incarnation::new(77);
        net.sites[1] = SiteLedger::new(site, life, rules, at(0)).unwrap();
        net.run(1..=20);
        assert!(net.admit(1, 1, at(20)).is_none());
        assert_eq!(net.held_by(1), 0);
        let [site, global] = values.map(Duration::from_secs);
        let reason = JoinRefused::RulesDiffer { field, site, global };
        assert_eq!(net.warned, [reason], "the operator is told once");
        let told = format!("{field} is {site:?} at the site and {global:?} in the global ledger");
        assert_eq!(reason.to_string(), told);
    }
}

/// Counterexample B3 from a second review of the protocol: the operator has invented the kept
/// rules.
#[test]
fn a_site_with_other_rules_is_not_adopted() {
    let mut net = Net::new(4, 1, RULES);
    net.admit(0, 1, at(1)).unwrap();
    let other = RULES.session(Duration::from_secs(200));
    let mut made_up = net.kept.take_over(Term::new(2)).unwrap();
    made_up.rules = other;
    let sites = [SiteId::new(0)];
    let term = Term::new(2);
    net.global = GlobalLedger::recover(&made_up, 4, sites, term, other, at(2)).unwrap();
    net.run(2..=5);
    assert!(net.global.is_learning());
    assert_eq!(net.held_by(0), 0);
    let site = Duration::from_secs(300);
    let global = Duration::from_secs(200);
    assert_eq!(net.warned, [JoinRefused::RulesDiffer { field: "session", site, global }]);
}

#[test]
fn a_claim_of_a_site_with_other_rules_is_refused() {
    let mut net = Net::new(2, 1, RULES);
    let pass = net.admit(0, 1, at(1)).unwrap();
    let SiteAction::Send(ToGlobal::Heartbeat(heartbeat)) = net.sites[0].tick(at(3)).remove(0)
    else {
        panic!("a heartbeat is due")
    };
    let other = Heartbeat { rules: RulesDigest::new(5), ..heartbeat };
    let before = net.global.held();
    for message in
        [ToGlobal::Heartbeat(other), ToGlobal::Claim { heartbeat: other, pass, death: None }]
    {
        let answers = net.global.receive(&message, at(3));
        let rules = RULES;
        let digest = RulesDigest::of(&RULES);
        let reason = Refusal::Rules { rules, digest };
        assert!(matches!(answers[..], [Outgoing { message: ToSite::Refused(refused), .. }]
            if refused.reason == reason));
    }
    assert_eq!(net.global.held(), before);
}

/// Counterexample B10 from a second review of the protocol: the versions of the crate differ, but
/// the rules do not.
#[test]
fn digests_distinguish_two_versions() {
    let mut net = Net::new(4, 1, RULES);
    net.lose(0, 8, at(1));
    let incarnation = net.sites[0].incarnation();
    let over = net.sites[0].epoch();
    let reason = Refusal::Rules { rules: RULES, digest: RulesDigest::new(5) };
    let refused = Refused { term: Term::new(1), incarnation, over, reason };
    let actions = net.sites[0].receive(&ToSite::Refused(refused), at(1));
    let [SiteAction::Warn(warning)] = &actions[..] else { panic!("{actions:?}") };
    let site = RulesDigest::of(&RULES);
    let global = RulesDigest::new(5);
    assert_eq!(*warning, JoinRefused::VersionsDiffer { site, global });
    let bits = site.bits();
    let expected = format!(
        "the digest of the same rules is {bits:016x} at the site and 0000000000000005 in the \
         global ledger, so their versions differ"
    );
    assert_eq!(warning.to_string(), expected);
}

#[test]
fn a_digest_is_that_of_the_times_and_the_same_in_each_build() {
    let explicit = RULES.drift_margin(RULES.margin());
    assert_eq!(RulesDigest::of(&RULES), RulesDigest::of(&explicit));
    assert_eq!(RulesDigest::of(&EscrowRules::new()).bits(), 0x980e_be12_a8d7_747e);
    let mut digests: BTreeSet<_> = [RulesDigest::of(&RULES)].into();
    let second = Duration::from_secs(1);
    for other in [
        RULES.session(second),
        RULES.lease(second),
        RULES.drift_margin(second),
        RULES.heartbeat(2 * second),
        RULES.borrow_wait(second),
    ] {
        assert!(digests.insert(RulesDigest::of(&other)), "{other:?}");
        assert!(RULES.difference(&other).is_some());
    }
    assert_eq!(RULES.difference(&explicit), None);
}
