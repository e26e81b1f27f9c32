//! Visitors that present a pass from another site.

use super::*;

/// A site that dies at second 10 with two visitors, and another site, which the visitors then
/// enter.
fn dead_home() -> (Net, [SitePass; 2]) {
    let mut net = Net::new(2, 2, RULES);
    net.run(1..=9);
    let passes = [1, 2].map(|visitor| net.admit(0, visitor, at(10)).unwrap());
    net.cut_off.insert(0);
    net.run(11..=140);
    (net, passes)
}

#[test]
fn the_slot_of_a_dead_site_follows_its_visitor() {
    let (mut net, passes) = dead_home();
    assert!(net.admit(1, 3, at(140)).is_none(), "all slots are at the dead site");
    // The first claim is answered with the notice of the death. The second one contains the notice.
    assert!(net.prolong(1, &passes[0], at(141)).is_none());
    assert!(net.prolong(1, &passes[0], at(142)).is_some());
    assert!(net.prolong(1, &passes[1], at(143)).is_some());
    assert_eq!([0, 1].map(|site| net.global.held_by(SiteId::new(site))), [0, 2]);
    assert!(net.admit(1, 3, at(143)).is_none(), "the slots have users");
}

#[test]
fn the_same_visitor_is_not_claimed_twice() {
    let (mut net, passes) = dead_home();
    net.prolong(1, &passes[0], at(141));
    let Prolonged::Borrow { request: Some(claim), .. } = net.sites[1].prolong(&passes[0], at(142))
    else {
        panic!("there is no slot before the claim")
    };
    for second in 142..145 {
        net.global.receive(&claim, at(second));
        assert_eq!(net.global.held_by(SiteId::new(1)), 1);
    }
}

#[test]
fn a_claim_made_without_knowing_of_the_death_moves_nothing() {
    let mut net = Net::new(2, 2, RULES);
    net.run(1..=9);
    let pass = net.admit(0, 1, at(10)).unwrap();
    let Prolonged::Borrow { request: Some(early), .. } = net.sites[1].prolong(&pass, at(10)) else {
        panic!("the site has no reserve")
    };
    // The visitor's home makes another pass, and then dies.
    net.prolong(0, &pass, at(60)).unwrap();
    net.cut_off.insert(0);
    net.run(61..=200);
    let answers = net.global.receive(&early, at(200));
    assert!(matches!(answers.last().unwrap().message, ToSite::Dead { .. }));
    assert_eq!(net.global.held_by(SiteId::new(0)), 1);
}

#[test]
fn a_slot_that_its_home_may_have_reassigned_is_not_claimed() {
    let (mut net, passes) = dead_home();
    net.prolong(1, &passes[0], at(141));
    // This pass expired before the lease ended, so the caller should not have accepted it.
    let epoch = passes[0].epoch;
    let old = SitePass::new(id(8), SiteId::new(0), epoch, at(100));
    net.prolong(1, &old, at(142));
    assert_eq!(net.global.held_by(SiteId::new(0)), 2);
}

#[test]
fn a_site_that_was_claimed_from_cannot_resume() {
    let (mut net, passes) = dead_home();
    net.prolong(1, &passes[0], at(141));
    net.prolong(1, &passes[0], at(142)).unwrap();
    net.cut_off.clear();
    net.run(143..=150);
    assert_eq!(net.sites[0].prolong(&passes[1], at(150)), Prolonged::Keep);
    assert!(net.sites[0].honours(&passes[1], at(150)));
}

#[test]
fn a_site_that_owes_slots_admits_no_newcomer() {
    let mut net = Net::new(3, 2, RULES);
    net.run(1..=2);
    let passes = [1, 2].map(|visitor| net.admit(0, visitor, at(3)).unwrap());
    net.cut_off.insert(1);
    for pass in &passes {
        assert!(matches!(net.sites[1].prolong(pass, at(4)), Prolonged::Borrow { .. }));
    }
    net.cut_off.clear();
    // One slot is free, and two visitors are owed one. The slot is kept, and neither has a pass
    // yet.
    let again = at(4) + Duration::from_millis(200);
    net.beat(again);
    assert_eq!((net.sites[1].allowance(), net.sites[1].used()), (1, 2));
    assert!(net.admit(1, 3, again).is_none());
    net.gave_up.clear();
    net.run(300..=304);
    assert_eq!(net.sites[1].used(), 2, "until the slots of their homes have lapsed");
}

#[test]
fn a_site_that_knows_of_the_death_claims_at_once() {
    let (mut net, passes) = dead_home();
    for is_claim in [true, false] {
        let asked = net.sites[1].prolong(&passes[0], at(141));
        let Prolonged::Borrow { request, .. } = asked else { panic!("there is no slot") };
        assert_eq!(request.is_some(), is_claim);
        if let Some(claim) = request {
            let answers = net.global.receive(&claim, at(141));
            // The grant is lost.
            net.sites[1].receive(&answers.last().unwrap().message, at(141));
        }
        let asked = net.sites[1].prolong(&passes[0], at(141));
        let knows = matches!(
            asked,
            Prolonged::Borrow { request: Some(ToGlobal::Claim { death: Some(_), .. }), .. }
        );
        assert_eq!(knows, is_claim);
    }
}

/// The claim of a site that knows about the death.
fn knowing_claim(net: &mut Net, pass: &SitePass, now: Timestamp) -> ToGlobal {
    net.prolong(1, pass, now);
    let asked = net.sites[1].prolong(pass, now + Duration::from_millis(1));
    let Prolonged::Borrow { request: Some(claim), .. } = asked else {
        panic!("there is no slot before the claim: {asked:?}")
    };
    claim
}

#[test]
fn only_the_account_that_made_the_pass_is_claimed_from_by_another_site() {
    let (mut net, passes) = dead_home();
    let claim = knowing_claim(&mut net, &passes[0], at(141));
    let held = |net: &GlobalLedger| [0, 1].map(|site| net.held_by(SiteId::new(site)));
    let ToGlobal::Claim { heartbeat, pass, death } = claim else { panic!("a claim") };
    let epoch = Epoch::default();
    let pass_of_before = SitePass { epoch, ..pass };
    let own = SitePass { home: heartbeat.site, epoch: heartbeat.epoch, ..pass };
    for pass in [pass_of_before, own] {
        let mut global = net.global.clone();
        global.receive(&ToGlobal::Claim { heartbeat, pass, death }, at(142));
        assert_eq!(held(&global), [2, 0], "{pass:?}");
    }
    net.global.receive(&ToGlobal::Claim { heartbeat, pass, death }, at(142));
    assert_eq!(held(&net.global), [1, 1]);
}

#[test]
fn nothing_is_claimed_while_the_global_ledger_learns() {
    let mut net = Net::new(2, 3, RULES);
    net.run(1..=9);
    let pass = net.admit(0, 1, at(10)).unwrap();
    // The third site is silent, so the new ledger cannot finish learning. The first site reports
    // and dies.
    net.cut_off.insert(2);
    net.lose_global(2, at(11));
    net.run(11..=13);
    net.cut_off.insert(0);
    net.run(14..=140);
    net.prolong(1, &pass, at(141));
    net.prolong(1, &pass, at(142));
    assert!(net.global.is_learning());
    assert_eq!([0, 1].map(|site| net.global.held_by(SiteId::new(site))), [1, 0]);
}
