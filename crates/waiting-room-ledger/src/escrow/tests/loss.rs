//! Ledgers that are lost.

use super::*;

#[test]
fn a_request_to_join_that_comes_late_takes_nothing_from_the_next_incarnation() {
    let mut net = Net::new(1, 1, RULES);
    net.lose(0, 77, at(10));
    let SiteAction::Send(late) = net.sites[0].tick(at(10)).remove(0) else { panic!("it joins") };
    net.lose(0, 78, at(20));
    net.run(20..=21);
    let epoch = net.global.epoch_of(SiteId::new(0));
    let answers = net.global.receive(&late, at(22));
    assert!(matches!(answers[0].message, ToSite::Stale { .. }));
    assert_eq!(net.global.epoch_of(SiteId::new(0)), epoch);
}

#[test]
fn a_request_to_join_that_comes_twice_is_answered_alike() {
    let mut net = Net::new(1, 1, RULES);
    net.lose(0, 77, at(10));
    let SiteAction::Send(first) = net.sites[0].tick(at(10)).remove(0) else { panic!("it joins") };
    let stale = net.global.receive(&first, at(10)).remove(0).message;
    let SiteAction::Send(join) = net.sites[0].receive(&stale, at(10)).remove(0) else {
        panic!("it joins after the epoch that it was told")
    };
    let welcome = net.global.receive(&join, at(11));
    assert!(matches!(welcome[0].message, ToSite::Welcome(_)));
    assert_eq!(net.global.receive(&join, at(12)), welcome);
}

#[test]
fn a_new_global_ledger_grants_nothing_before_every_site_has_reported() {
    let mut net = Net::new(3, 2, RULES);
    let pass = net.admit(0, 1, at(1)).unwrap();
    net.lose_global(2, at(50));
    net.cut_off.insert(1);
    net.run(50..=52);
    assert!(net.global.is_learning());
    assert!(net.admit(0, 2, at(52)).is_none());
    assert!(net.prolong(0, &pass, at(52)).is_some(), "who is in may stay");

    net.cut_off.clear();
    net.run(54..=55);
    assert!(!net.global.is_learning());
    assert_eq!(net.global.held(), 1);
    assert!(net.admit(0, 3, at(55)).is_some());
}

#[test]
fn a_new_global_ledger_waits_for_a_silent_site_until_its_account_is_over() {
    let mut net = Net::new(3, 2, RULES);
    net.lose_global(2, at(50));
    net.cut_off.insert(1);
    net.run(50..=471);
    assert!(net.global.is_learning());
    net.beat(at(472));
    assert!(!net.global.is_learning());
    assert_eq!(net.global.free(), 3);
    net.cut_off.clear();
    net.run(473..=474);
    assert!(net.admit(1, 1, at(474)).is_some());
}

#[test]
fn a_report_at_the_start_of_time_begins_a_lease_like_any_other() {
    let mut net = Net::new(1, 1, RULES);
    let pass = net.admit(0, 1, at(0)).unwrap();
    net.lose_global(2, at(0));
    assert!(net.admit(0, 2, at(0)).is_none(), "but the question is a report");
    assert!(!net.global.is_learning());

    net.cut_off.insert(0);
    let renewed = net.prolong(0, &pass, at(119)).unwrap();
    assert_eq!(renewed.expires_at, at(419));
    net.global.tick(at(418));
    assert_eq!(net.global.free(), 0, "the pass is valid");
    net.global.tick(at(422));
    assert_eq!(net.global.free(), 1);
}

#[test]
fn messages_from_before_the_loss_are_no_reports() {
    let mut net = Net::new(3, 1, RULES);
    let SiteAction::Send(late) = net.sites[0].tick(at(5)).remove(0) else { panic!("it beats") };
    net.admit(0, 1, at(6)).unwrap();
    net.lose_global(2, at(50));
    let answers = net.global.receive(&late, at(50));
    assert_eq!(answers[0].message, ToSite::Report { term: Term::new(2) });
    assert!(net.global.is_learning());
}

#[test]
fn a_site_whose_lease_is_over_does_not_resume_with_a_new_global_ledger() {
    let mut net = Net::new(1, 2, RULES);
    net.admit(0, 1, at(1)).unwrap();
    net.beat(at(1));
    net.cut_off.insert(0);
    net.run(2..=200);
    // Another site may have claimed the slot in the meantime, which only the lost ledger knew.
    net.lose_global(2, at(200));
    net.cut_off.clear();
    net.run(200..=320);
    assert!(net.admit(0, 2, at(320)).is_none());
    // The slot is free after a margin of 2 s and a session of 300 s, counted from the report.
    net.run(321..=510);
    assert!(net.admit(0, 3, at(510)).is_some());
}

#[test]
fn the_ledger_of_an_earlier_term_is_not_obeyed_and_does_not_grant() {
    let mut net = Net::new(3, 1, RULES);
    let mut old = net.global.clone();
    net.lose_global(2, at(5));
    net.run(5..=6);
    let SiteAction::Send(heartbeat) = net.sites[0].tick(at(7)).remove(0) else {
        panic!("it beats")
    };
    assert_eq!(old.later_term(), None);
    assert!(old.receive(&heartbeat, at(7)).is_empty());
    let later = LaterTerm { site: SiteId::new(0), term: Term::new(2) };
    assert_eq!((old.later_term(), net.global.later_term()), (Some(later), None));
}

/// A heartbeat in which a site says that it knows this term.
fn heartbeat_of_term(net: &mut Net, term: u32, now: Timestamp) -> ToGlobal {
    let SiteAction::Send(ToGlobal::Heartbeat(heartbeat)) = net.sites[0].tick(now).remove(0) else {
        panic!("it beats")
    };
    ToGlobal::Heartbeat(Heartbeat { term: Term::new(term), ..heartbeat })
}

/// The reason of the refusal, which is the only answer.
fn refusal_in(answers: &[Outgoing]) -> Refusal {
    match answers {
        [Outgoing { message: ToSite::Refused(refused), .. }] => refused.reason,
        other => panic!("it is refused, and not answered by {other:?}"),
    }
}

#[test]
fn a_later_term_is_accepted_only_from_a_listed_site_with_the_same_rules() {
    let mut net = Net::new(3, 1, RULES);
    let ToGlobal::Heartbeat(heartbeat) = heartbeat_of_term(&mut net, 2, at(5)) else {
        unreachable!()
    };
    let stranger = ToGlobal::Heartbeat(Heartbeat { site: SiteId::new(9), ..heartbeat });
    assert_eq!(refusal_in(&net.global.receive(&stranger, at(5))), Refusal::NotListed);
    let rules = RulesDigest::of(&RULES.session(Duration::from_secs(1)));
    let other = ToGlobal::Heartbeat(Heartbeat { rules, ..heartbeat });
    let refused = refusal_in(&net.global.receive(&other, at(5)));
    assert!(matches!(refused, Refusal::Rules { .. }), "{refused:?}");
    assert!(net.global.later_term().is_none());
}

#[test]
fn a_jump_of_more_than_65536_terms_or_to_the_last_term_is_refused_by_name() {
    for (ours, theirs, is_believed) in [
        (1, 65_537, true),
        (1, 65_538, false),
        (1, u32::MAX, false),
        (u32::MAX - 9, u32::MAX - 1, true),
        (u32::MAX - 9, u32::MAX, false),
    ] {
        let mut net = Net::new(3, 1, RULES);
        if ours > 1 {
            net.restore_global(ours, at(1));
        }
        let message = heartbeat_of_term(&mut net, theirs, at(5));
        let answers = net.global.receive(&message, at(5));
        assert_eq!(net.global.later_term().is_some(), is_believed, "{ours}, {theirs}");
        if is_believed {
            assert_eq!(answers, []);
            continue;
        }
        let most = Term::new(if ours == 1 { 65_537 } else { u32::MAX - 1 });
        let refusal = Refusal::TermTooHigh { given: Term::new(theirs), most };
        assert_eq!(refusal_in(&answers), refusal);
    }
    let given = Term::new(65_538);
    let most = Term::new(65_537);
    let refusal = Refusal::TermTooHigh { given, most };
    assert_eq!(refusal.to_string(), "it names term 65538, expected at most 65537");
    let refused = Refused::new(Term::new(1), Incarnation::new(7), Epoch::default(), refusal);
    let sentence = "site 3 knows term 65538, expected at most 65537, the latest one that the global \
                    ledger believes";
    assert_eq!(JoinRefused::new(SiteId::new(3), &RULES, &refused).to_string(), sentence);
}

#[test]
fn the_site_that_has_named_the_latest_term_is_remembered() {
    let mut net = Net::new(3, 2, RULES);
    let ToGlobal::Heartbeat(first) = heartbeat_of_term(&mut net, 7, at(5)) else { unreachable!() };
    let site = SiteId::new(1);
    for (site, term) in [(SiteId::new(0), 7), (site, 9), (SiteId::new(0), 9), (SiteId::new(0), 8)] {
        let message = Heartbeat { site, term: Term::new(term), ..first };
        net.global.receive(&ToGlobal::Heartbeat(message), at(5));
    }
    assert_eq!(net.global.later_term(), Some(LaterTerm { site, term: Term::new(9) }));
    let mut none_left = Net::new(3, 1, RULES);
    none_left.global = none_left.global.term_jump(0);
    let message = heartbeat_of_term(&mut none_left, 2, at(5));
    assert!(matches!(
        refusal_in(&none_left.global.receive(&message, at(5))),
        Refusal::TermTooHigh { .. }
    ));
}

/// Counterexample B7 from a second review of the protocol: a world was set up again with the same
/// term.
#[test]
fn a_site_with_a_newer_epoch_than_the_ledger_gets_an_account() {
    let mut net = Net::new(3, 1, RULES);
    net.lose(0, 50, at(1));
    net.run(1..=3);
    net.lose(0, 51, at(4));
    net.run(4..=6);
    let before = net.sites[0].epoch();
    net.sites[0].restart(Incarnation::new(52), at(500)).unwrap();
    net.global = GlobalLedger::new(3, [SiteId::new(0)], Term::new(1), RULES).unwrap();
    assert!(net.global.epoch_of(SiteId::new(0)).unwrap() < before);
    net.run(500..=503);
    assert!(net.sites[0].epoch() > before);
    assert!(net.admit(0, 1, at(503)).is_some());
}

#[test]
fn a_world_that_begins_with_a_lower_term_is_found_out() {
    let mut net = Net::new(3, 1, RULES);
    net.restore_global(4, at(1));
    net.lose(0, 50, at(1));
    net.run(1..=3);
    net.sites[0].restart(Incarnation::new(51), at(500)).unwrap();
    net.global = GlobalLedger::new(3, [SiteId::new(0)], Term::new(1), RULES).unwrap();
    net.kept = Kept::new(Term::new(1), 3, RULES);
    net.run(500..=503);
    let later = LaterTerm { site: SiteId::new(0), term: Term::new(4) };
    assert_eq!((net.global.later_term(), net.global.held()), (Some(later), 0));
}

/// Counterexample B9 from a second review of the protocol: an account is adopted from an impossible
/// report and stored, so that the next ledger cannot be restored.
#[test]
fn an_impossible_report_is_not_kept() {
    let mut net = Net::new(3, 2, RULES);
    net.lose_global(2, at(5));
    let mut report = |site: usize| {
        let question = ToSite::Report { term: Term::new(2) };
        match net.sites[site].receive(&question, at(5)).remove(0) {
            SiteAction::Send(ToGlobal::Heartbeat(heartbeat)) => heartbeat,
            other => panic!("{other:?}"),
        }
    };
    let more = Heartbeat { granted: 3, returned: 9, ..report(0) };
    let later = Heartbeat { epoch: Epoch::new(Term::new(7), 1), ..report(1) };
    net.global.receive(&ToGlobal::Heartbeat(more), at(5));
    net.global.receive(&ToGlobal::Heartbeat(later), at(5));
    net.keep();
    assert_eq!(net.kept.accounts[&SiteId::new(0)].returned, 3);
    assert_eq!(net.kept.accounts[&SiteId::new(1)].standing, Standing::Unknown);
    net.restore_global(3, at(6));
    net.run(6..=9);
    assert!(!net.global.is_learning());
}

#[test]
fn a_site_keeps_its_reserve_while_a_new_global_ledger_learns() {
    let mut net = Net::new(100, 2, RULES);
    net.sites[0].arrived();
    net.run(1..=3);
    let reserve = net.sites[0].allowance();
    assert!(reserve > 10);
    net.lose_global(2, at(4));
    net.cut_off.insert(1);
    net.run(4..=9);
    assert!(net.global.is_learning());
    assert_eq!(net.sites[0].allowance(), reserve);
}

#[test]
fn a_fence_does_not_end_the_learning() {
    let mut net = Net::new(3, 2, RULES);
    let pass = net.admit(1, 1, at(49)).unwrap();
    net.cut_off.insert(1);
    net.lose_global(2, at(50));
    net.run(50..=52);
    net.fence(1, at(52));
    net.run(53..=347);
    assert!(net.sites[1].honours(&pass, at(347)));
    assert!(net.global.is_learning());
}
