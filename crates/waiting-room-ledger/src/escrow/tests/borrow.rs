//! Visitors that wait for a slot from elsewhere.

use super::*;

const WAIT: Duration = Duration::from_millis(1200);

#[test]
fn a_wait_in_vain_ends_in_time() {
    let mut net = Net::new(1, 2, RULES);
    net.admit(0, 1, at(1)).unwrap();
    let Admission::Borrow { until, .. } = net.sites[1].admit(id(2), at(2)) else {
        panic!("there may be a slot elsewhere")
    };
    assert_eq!(until, at(2) + WAIT);
    assert!(net.sites[1].next_wake() <= until);
    net.beat(at(3));
    assert!(net.gave_up.is_empty());
    net.beat(until);
    assert_eq!(net.gave_up, [id(2)]);
}

#[test]
fn a_slot_freed_in_time_goes_to_the_waiting_visitor() {
    let mut net = Net::new(1, 2, RULES);
    net.admit(0, 1, at(1)).unwrap();
    net.run(2..=299);
    assert!(net.admit(1, 2, at(300)).is_none());
    let actions = net.sites[0].tick(at(301));
    net.carry_out(0, actions, at(301));
    assert_eq!((net.sites[0].used(), net.sites[1].used()), (0, 1));
    assert!(net.gave_up.is_empty());
}

#[test]
fn no_later_visitor_overtakes_a_waiting_one() {
    let mut net = Net::new(1, 1, RULES);
    net.admit(0, 1, at(1)).unwrap();
    assert!(net.admit(0, 2, at(300)).is_none());
    // The slot has lapsed, but the visitor that waits has not got it yet.
    assert!(matches!(net.sites[0].admit(id(3), at(301)), Admission::Borrow { .. }));
    assert_eq!(net.sites[0].next_wake(), at(301));
    let actions = net.sites[0].tick(at(301));
    assert!(matches!(actions[0], SiteAction::Admit(pass) if pass.visitor == id(2)));
}

#[test]
fn simultaneous_arrivals_make_one_request() {
    let mut net = Net::new(10, 1, RULES);
    let mut questions = Vec::new();
    for visitor in 0..5 {
        if let Admission::Borrow { request: Some(request), .. } =
            net.sites[0].admit(id(visitor), at(1))
        {
            questions.push(request);
        }
    }
    assert_eq!(questions.len(), 1);
    // The reply causes a second request, for the visitors that arrived after the first.
    let passes = net.carry_out(0, questions.into_iter().map(SiteAction::Send).collect(), at(1));
    assert_eq!(passes.len(), 5);
}

#[test]
fn an_unanswered_request_is_repeated() {
    let mut net = Net::new(1, 1, RULES);
    assert!(matches!(net.sites[0].admit(id(1), at(1)), Admission::Borrow { request: Some(_), .. }));
    let soon = at(1) + Duration::from_millis(200);
    assert_eq!(net.sites[0].next_wake(), soon);
    net.beat(soon);
    assert_eq!(net.sites[0].used(), 1);
}

#[test]
fn a_repeated_request_gets_one_slot() {
    let mut net = Net::new(5, 1, RULES);
    let Admission::Borrow { request: Some(request), .. } = net.sites[0].admit(id(1), at(1)) else {
        panic!("the site has no reserve")
    };
    net.global.receive(&request, at(1));
    net.global.receive(&request, at(2));
    assert_eq!(net.global.held(), 1);
}

#[test]
fn a_site_without_waiting_is_full() {
    let mut net = Net::new(1, 1, RULES.borrow_wait(Duration::ZERO));
    assert_eq!(net.sites[0].admit(id(1), at(1)), Admission::Full);
}

#[test]
fn an_earlier_wait_elsewhere_counts_towards_the_longest_one() {
    let mut net = Net::new(1, 1, RULES);
    net.admit(0, 1, at(1)).unwrap();
    let mut wait = |visitor, deadline| match net.sites[0].admit_by(id(visitor), deadline, at(2)) {
        Admission::Borrow { until, .. } => Some(until),
        other => (other == Admission::Full).then_some(Timestamp::ZERO),
    };
    let soon = at(2) + WAIT / 2;
    assert_eq!(wait(2, at(9)), Some(at(2) + WAIT));
    assert_eq!(wait(3, soon), Some(soon));
    assert_eq!(wait(4, at(2)), Some(Timestamp::ZERO), "its deadline has passed");
    // The visitor that came first waits for longer.
    assert!(net.sites[0].next_wake() <= soon);
    net.beat(soon);
    assert_eq!(net.gave_up, [id(3)]);
    net.beat(at(2) + WAIT);
    assert_eq!(net.gave_up, [id(3), id(2)]);
}

#[test]
fn the_number_of_waiting_visitors_is_bounded() {
    let mut net = Net::new(1, 1, RULES);
    for visitor in 0..u32::try_from(EscrowRules::MAX_BORROWERS).unwrap() {
        assert!(matches!(net.sites[0].admit(id(visitor), at(1)), Admission::Borrow { .. }));
    }
    assert_eq!(net.sites[0].admit(id(9999), at(1)), Admission::Full);
    assert!(matches!(net.sites[0].admit(id(7), at(1)), Admission::Borrow { .. }), "as before");
}

#[test]
fn asking_again_with_less_patience_shortens_the_wait() {
    let mut net = Net::new(1, 1, RULES);
    net.admit(0, 1, at(1)).unwrap();
    let soon = at(2) + WAIT / 4;
    for deadline in [at(9), soon, at(9)] {
        let Admission::Borrow { until, .. } = net.sites[0].admit_by(id(2), deadline, at(2)) else {
            panic!("there may be a slot elsewhere")
        };
        assert_eq!(until, deadline.min(if deadline == soon { soon } else { until }));
    }
    net.beat(soon);
    assert_eq!(net.gave_up, [id(2)]);
}

#[test]
fn an_expired_wait_is_not_revived_by_a_free_slot() {
    let mut net = Net::new(1, 1, RULES);
    net.admit(0, 1, at(1)).unwrap();
    net.run(2..=298);
    let Admission::Borrow { until, .. } = net.sites[0].admit(id(2), at(299)) else {
        panic!("there may be a slot elsewhere")
    };
    // The next tick comes late, after the first slot has lapsed.
    assert!(until < at(301));
    let actions = net.sites[0].tick(at(302));
    assert_eq!(actions[0], SiteAction::GiveUp(id(2)));
}

#[test]
fn a_visitor_waits_once() {
    let mut net = Net::new(1, 2, RULES);
    let pass = net.admit(0, 1, at(1)).unwrap();
    assert!(net.admit(1, 1, at(2)).is_none());
    assert!(net.prolong(1, &pass, at(2)).is_none());
    assert!(net.admit(1, 1, at(2)).is_none());
    net.beat(at(2) + WAIT);
    net.beat(at(2) + 2 * WAIT);
    assert_eq!(net.gave_up, [id(1)]);
}

#[test]
fn a_visitor_with_a_pass_does_not_wait() {
    let mut net = Net::new(2, 2, RULES);
    let pass = net.admit(0, 1, at(1)).unwrap();
    net.admit(1, 2, at(1)).unwrap();
    net.run(2..=299);
    let pass = net.prolong(0, &pass, at(299)).unwrap();
    let asked = net.sites[1].admit(id(1), at(300) + Duration::from_millis(500));
    assert!(matches!(asked, Admission::Borrow { .. }));
    assert!(matches!(net.sites[1].prolong(&pass, at(301)), Prolonged::Renew { .. }));
    net.run(301..=304);
    assert!(!net.gave_up.contains(&id(1)));
}

#[test]
fn a_visitor_that_is_owed_a_slot_waits_for_that_one() {
    let mut net = Net::new(2, 3, RULES);
    let pass = net.admit(0, 1, at(1)).unwrap();
    net.admit(1, 2, at(1)).unwrap();
    assert!(net.prolong(2, &pass, at(2)).is_none());
    net.run(3..=250);
    assert!(net.admit(2, 1, at(250)).is_none());
    net.global.set_limit(3);
    for Outgoing { to, message } in net.global.tick(at(250)) {
        let to = usize::from(to.number());
        let actions = net.sites[to].receive(&message, at(250));
        net.carry_out(to, actions, at(250));
    }
    let pass = net.admitted.last().unwrap();
    assert_eq!((pass.visitor, pass.home, net.sites[2].used()), (id(1), SiteId::new(2), 1));
}
