//! Visitors that wait for a slot from elsewhere.

use super::*;

const WAIT: Duration = Duration::from_millis(1200);

#[test]
fn no_later_visitor_overtakes_a_waiting_one() {
    let mut net = Net::new(1, 1, RULES);
    net.admit(0, 1, at(1)).unwrap();
    assert!(net.admit(0, 2, at(300)).is_none());
    // The slot has lapsed, but the visitor that waits does not have it yet.
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
    // The reply causes a second request, for the visitors that arrived after the first request.
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
    // The visitor that came first waits longer.
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
