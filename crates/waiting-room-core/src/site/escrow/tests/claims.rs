//! Visitors who show the pass of another site.

use super::*;

/// Two visitors at a site that dies at second 10, and another site to which they go.
fn dead_home() -> (Net, [SitePass; 2]) {
    let mut net = Net::new(2, 2, RULES);
    net.run(1..=9);
    let passes = [1, 2].map(|visitor| net.admit(0, visitor, at(10)).unwrap());
    net.cut_off.insert(0);
    net.run(11..=140);
    (net, passes)
}

#[test]
fn a_visitor_from_elsewhere_is_honoured_and_put_on_the_account_when_the_pass_is_prolonged() {
    let mut net = Net::new(2, 2, RULES);
    let pass = net.admit(0, 1, at(1)).unwrap();
    assert!(net.sites[1].honours(&pass, at(20)));
    assert_eq!(net.sites[1].used(), 0);
    let renewed = net.prolong(1, &pass, at(20)).unwrap();
    assert_eq!((renewed.home, renewed.expires_at), (SiteId::new(1), at(320)));
    // The old slot lapses by itself.
    assert_eq!(net.global.held(), 2);
    net.run(300..=303);
    assert_eq!(net.global.held(), 1);
}

#[test]
fn the_slot_of_a_dead_site_follows_its_visitor() {
    let (mut net, passes) = dead_home();
    assert!(net.admit(1, 3, at(140)).is_none(), "all slots are at the dead site");
    // The first to come is told of the death, and is taken on once more with that knowledge.
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
    let Prolonged::Borrow { ask: Some(claim), .. } = net.sites[1].prolong(&passes[0], at(142))
    else {
        panic!("there is no slot before the claim")
    };
    for second in 142..145 {
        net.global.receive(&claim, at(second));
        assert_eq!(net.global.held_by(SiteId::new(1)), 1);
    }
}

#[test]
fn a_claim_of_who_did_not_know_of_the_death_moves_nothing() {
    let mut net = Net::new(2, 2, RULES);
    net.run(1..=9);
    let pass = net.admit(0, 1, at(10)).unwrap();
    let Prolonged::Borrow { ask: Some(early), .. } = net.sites[1].prolong(&pass, at(10)) else {
        panic!("the site has no reserve")
    };
    // Its home makes another pass, and then dies.
    net.prolong(0, &pass, at(60)).unwrap();
    net.cut_off.insert(0);
    net.run(61..=200);
    let answers = net.global.receive(&early, at(200));
    assert!(matches!(answers.last().unwrap().message, ToSite::Dead { .. }));
    assert_eq!(net.global.held_by(SiteId::new(0)), 1);
}

#[test]
fn a_slot_that_its_home_may_have_given_to_somebody_else_is_not_claimed() {
    let (mut net, passes) = dead_home();
    net.prolong(1, &passes[0], at(141));
    // This visitor's pass ended before the lease did: the caller should not have taken it.
    let epoch = passes[0].epoch;
    let old = SitePass::new(id(8), SiteId::new(0), epoch, at(100));
    net.prolong(1, &old, at(142));
    assert_eq!(net.global.held_by(SiteId::new(0)), 2);
}

#[test]
fn who_was_claimed_from_cannot_resume() {
    let (mut net, passes) = dead_home();
    net.prolong(1, &passes[0], at(141));
    net.prolong(1, &passes[0], at(142)).unwrap();
    net.cut_off.clear();
    net.run(143..=150);
    assert_eq!(net.sites[0].prolong(&passes[1], at(150)), Prolonged::Keep);
    assert!(net.sites[0].honours(&passes[1], at(150)));
}

#[test]
fn a_site_that_is_alive_keeps_its_slots() {
    let mut net = Net::new(2, 2, RULES);
    let pass = net.admit(0, 1, at(1)).unwrap();
    net.prolong(1, &pass, at(20)).unwrap();
    net.prolong(1, &pass, at(21)).unwrap();
    assert_eq!(net.global.held_by(SiteId::new(0)), 1);
}

#[test]
fn who_returns_goes_before_who_is_new() {
    let mut net = Net::new(2, 3, RULES);
    let pass = net.admit(0, 1, at(1)).unwrap();
    net.admit(2, 9, at(1)).unwrap();
    let visit = at(300) + Duration::from_millis(500);
    assert!(net.admit(1, 2, visit).is_none());
    assert!(net.prolong(1, &pass, visit).is_none());
    // Both slots lapse at their homes, one after the other.
    let actions = net.sites[0].tick(at(301));
    net.carry_out(0, actions, at(301));
    assert_eq!(net.global.held_by(SiteId::new(1)), 1);
    assert_eq!(net.sites[1].used(), 1, "the one who returned, and not yet the one who is new");
}

#[test]
fn while_a_site_owes_slots_nobody_new_is_admitted() {
    let mut net = Net::new(3, 2, RULES);
    net.run(1..=2);
    let passes = [1, 2].map(|visitor| net.admit(0, visitor, at(3)).unwrap());
    net.cut_off.insert(1);
    for pass in &passes {
        assert!(matches!(net.sites[1].prolong(pass, at(4)), Prolonged::Borrow { .. }));
    }
    net.cut_off.clear();
    // One slot is free for two who are owed one: it is kept, and neither has a pass yet.
    let again = at(4) + Duration::from_millis(200);
    net.beat(again);
    assert_eq!((net.sites[1].allowance(), net.sites[1].used()), (1, 2));
    assert!(net.admit(1, 3, again).is_none());
    net.gave_up.clear();
    net.run(300..=304);
    assert_eq!(net.sites[1].used(), 2, "until the slots of their homes have lapsed");
}

#[test]
fn a_claim_that_is_lost_is_followed_by_a_question() {
    let (mut net, passes) = dead_home();
    let ask = net.sites[1].prolong(&passes[0], at(141));
    assert!(matches!(ask, Prolonged::Borrow { ask: Some(ToGlobal::Claim { .. }), .. }));
    assert_eq!(net.sites[1].next_wake(), at(141) + Duration::from_millis(200));
}
