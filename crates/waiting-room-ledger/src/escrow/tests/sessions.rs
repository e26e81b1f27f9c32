//! The sessions of one site.

use super::*;

#[test]
fn asking_again_is_answered_with_the_same_pass() {
    let mut net = Net::new(1, 1, RULES);
    let pass = net.admit(0, 1, at(1)).unwrap();
    assert_eq!(net.sites[0].admit(id(1), at(2)), Admission::Admit(pass));
    assert_eq!(net.sites[0].used(), 1);
}

#[test]
fn a_pass_is_extended_at_home_without_a_call() {
    let mut net = Net::new(1, 1, RULES);
    let pass = net.admit(0, 1, at(1)).unwrap();
    let Prolonged::Renew { pass, claim: None } = net.sites[0].prolong(&pass, at(50)) else {
        panic!("it has its slot")
    };
    assert_eq!(pass.expires_at, at(350));
    assert_eq!(net.sites[0].prolong(&pass, at(350)), Prolonged::End);
}

#[test]
fn a_departed_visitor_holds_the_slot_until_its_pass_ends() {
    let mut net = Net::new(1, 2, RULES);
    let pass = net.admit(0, 1, at(1)).unwrap();
    net.sites[0].leave(id(1), at(10));
    assert!(!net.sites[0].honours(&pass, at(10)));
    assert_eq!(net.sites[0].prolong(&pass, at(10)), Prolonged::End);
    assert!(net.sites[1].honours(&pass, at(10)), "the other site has not heard of it");
    assert!(net.admit(1, 2, at(11)).is_none());
    net.run(300..=302);
    assert!(net.admit(1, 2, at(302)).is_some());
}

#[test]
fn a_pass_that_was_never_sent_is_taken_back_at_once() {
    let mut net = Net::new(1, 1, RULES);
    net.admit(0, 1, at(1)).unwrap();
    net.sites[0].withdraw(id(1), at(1));
    assert_eq!(net.sites[0].used(), 0);
}

#[test]
fn an_extended_pass_is_not_taken_back() {
    let mut net = Net::new(1, 1, RULES);
    let pass = net.admit(0, 1, at(1)).unwrap();
    net.prolong(0, &pass, at(2)).unwrap();
    net.sites[0].withdraw(id(1), at(2));
    assert_eq!(net.sites[0].used(), 1);
}

#[test]
fn releasing_a_visitor_frees_its_slot_at_once() {
    let mut net = Net::new(1, 1, RULES);
    let pass = net.admit(0, 1, at(1)).unwrap();
    net.prolong(0, &pass, at(2)).unwrap();
    net.sites[0].release(id(1), at(2));
    assert_eq!(net.sites[0].used(), 0);
    assert!(net.admit(0, 2, at(2)).is_some());
}

#[test]
fn a_pass_that_was_given_twice_is_not_taken_back() {
    let mut net = Net::new(1, 1, RULES);
    let pass = net.admit(0, 1, at(1)).unwrap();
    // The visitor has lost its cookie and asks again. The other limit is full by now.
    assert_eq!(net.admit(0, 1, at(2)), Some(pass));
    net.sites[0].withdraw(id(1), at(2));
    assert!(net.sites[0].honours(&pass, at(2)));
    assert_eq!(net.sites[0].used(), 1);
    assert!(net.admit(0, 2, at(2)).is_none());
}

#[test]
fn returning_in_vain_holds_the_slot_until_the_old_pass_ends() {
    let mut net = Net::new(2, 2, RULES);
    let pass = net.admit(0, 1, at(1)).unwrap();
    net.sites[0].leave(id(1), at(2));
    net.admit(0, 1, at(3)).unwrap();
    net.sites[0].withdraw(id(1), at(3));
    assert!(net.sites[1].honours(&pass, at(3)), "the other site has not heard of it");
    assert_eq!(net.sites[0].used(), 1);
}

#[test]
fn an_adopted_visitor_that_asks_as_a_newcomer_keeps_its_slot() {
    let mut net = Net::new(3, 2, RULES);
    let pass = net.admit(0, 1, at(1)).unwrap();
    // The request is not delivered, so the other site owes the visitor a slot.
    let lacks_slot = net.sites[1].prolong(&pass, at(2));
    assert!(matches!(lacks_slot, Prolonged::Borrow { .. }));
    net.admit(1, 1, at(2));
    net.beat(at(3));
    net.sites[1].withdraw(id(1), at(3));
    assert_eq!(net.sites[1].used(), 1);
}

#[test]
fn a_ledger_that_has_not_joined_admits_no_visitor() {
    let mut ledger = SiteLedger::new(SiteId::new(1), Incarnation::new(1), RULES, at(0)).unwrap();
    let Admission::Borrow { request, .. } = ledger.admit(id(1), at(0)) else {
        panic!("it has no slots")
    };
    assert!(matches!(request, Some(ToGlobal::Join(_))));
}

#[test]
fn time_never_runs_backwards() {
    let mut net = Net::new(2, 1, RULES);
    net.admit(0, 1, at(100)).unwrap();
    assert_eq!(net.admit(0, 2, at(40)).unwrap().expires_at, at(400));
    assert_eq!(net.sites[0].used(), 2);
}

#[test]
fn a_departed_visitor_that_returns_has_its_own_slot() {
    let mut net = Net::new(1, 1, RULES);
    net.admit(0, 1, at(1)).unwrap();
    net.sites[0].leave(id(1), at(2));
    let again = net.admit(0, 1, at(3)).unwrap();
    assert_eq!((again.expires_at, net.sites[0].used()), (at(303), 1));
}

/// The slot of a visitor from elsewhere is held for a margin longer than its pass is valid.
#[test]
fn a_pass_that_is_over_is_not_given_again() {
    let mut net = Net::new(2, 2, RULES);
    let pass = net.admit(0, 1, at(1)).unwrap();
    let renewed = net.prolong(1, &pass, at(20)).unwrap();
    assert_eq!(renewed.expires_at, at(320));
    net.run(21..=320);
    assert_eq!(net.sites[1].used(), 1);
    assert_eq!(net.admit(1, 1, at(321)).unwrap().expires_at, at(621));
}
