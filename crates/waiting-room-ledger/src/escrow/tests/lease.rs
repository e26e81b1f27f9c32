//! Sites that are cut off, and sites that are dead.

use super::*;

/// Two sites, the first of which is cut off at second 10, and a pass from that site.
fn cut_off() -> (Net, SitePass) {
    let mut net = Net::new(2, 2, RULES);
    net.run(1..=9);
    let pass = net.admit(0, 1, at(10)).unwrap();
    net.beat(at(10));
    net.cut_off.insert(0);
    (net, pass)
}

#[test]
fn a_site_that_is_back_in_time_resumes() {
    let (mut net, pass) = cut_off();
    let epoch = net.sites[0].epoch();
    net.run(11..=200);
    net.cut_off.clear();
    net.run(201..=202);
    assert_eq!(net.sites[0].epoch(), epoch);
    assert!(net.prolong(0, &pass, at(202)).is_some());
}

#[test]
fn the_slots_of_a_dead_site_are_free_when_its_last_pass_is_void_and_not_before() {
    let (mut net, _) = cut_off();
    assert!(net.admit(1, 2, at(11)).is_some());
    assert!(net.admit(1, 3, at(11)).is_none());
    // A lease of 120 s, a margin of 2 s and a session of 300 s after the last heartbeat.
    net.run(12..=431);
    assert_eq!(net.global.held_by(SiteId::new(0)), 1);
    net.beat(at(432));
    assert_eq!(net.global.held_by(SiteId::new(0)), 0);

    // When the site returns, it starts without slots, in a new epoch.
    net.cut_off.clear();
    let before = net.sites[0].epoch();
    net.run(433..=434);
    assert!(net.sites[0].epoch() > before);
    assert_eq!((net.sites[0].allowance(), net.sites[0].used()), (0, 0));
    assert!(net.admit(0, 4, at(434)).is_some());
}

#[test]
fn a_lease_runs_from_when_the_heartbeat_was_sent() {
    let mut net = Net::new(1, 1, RULES);
    let mut actions = net.sites[0].tick(at(5));
    let SiteAction::Send(heartbeat) = actions.remove(0) else { panic!("a heartbeat is due") };
    let answers = net.global.receive(&heartbeat, at(60));
    net.sites[0].receive(&answers[0].message, at(115));
    assert_eq!(net.sites[0].lease_end(), at(125));
}

#[test]
fn a_fenced_site_is_not_waited_for() {
    let (mut net, _) = cut_off();
    net.fence(0, at(20));
    net.run(20..=321);
    assert_eq!(net.global.held_by(SiteId::new(0)), 1);
    net.beat(at(322));
    assert_eq!(net.global.held_by(SiteId::new(0)), 0);
}

#[test]
fn a_fenced_site_does_not_resume() {
    let (mut net, pass) = cut_off();
    net.fence(0, at(20));
    net.cut_off.clear();
    net.run(21..=22);
    assert_eq!(net.sites[0].prolong(&pass, at(22)), Prolonged::Keep);
    assert!(net.admit(0, 2, at(22)).is_none());
}

#[test]
fn messages_from_before_the_reclaim_have_no_effect_after_it() {
    let (mut net, _) = cut_off();
    let actions = net.sites[0].tick(at(12));
    let late = actions.into_iter().find_map(|action| match action {
        SiteAction::Send(message) => Some(message),
        _ => None,
    });
    net.run(13..=432);
    let before = net.global.clone();
    let answers = net.global.receive(&late.unwrap(), at(432));
    assert!(matches!(answers[0].message, ToSite::Stale { .. }));
    assert_eq!(net.global, before);
}

#[test]
fn a_fence_by_a_clock_that_is_behind_frees_nothing_early() {
    let mut net = Net::new(1, 2, RULES);
    net.run(1..=599);
    let pass = net.admit(0, 1, at(600)).unwrap();
    net.cut_off.insert(0);
    net.fence(0, at(200));
    net.global.tick(at(600));
    assert!(net.sites[0].honours(&pass, at(600)));
    assert_eq!(net.global.free(), 0);
}

#[test]
fn a_site_is_dead_when_its_lease_is_over_by_the_slowest_clock() {
    let (mut net, pass) = cut_off();
    net.run(11..=130);
    let mut is_dead = |second| {
        let asked = net.sites[1].clone().prolong(&pass, at(second));
        let Prolonged::Borrow { request: Some(claim), .. } = asked else {
            panic!("the site has no reserve")
        };
        let answers = net.global.receive(&claim, at(second));
        answers.iter().any(|answer| matches!(answer.message, ToSite::Dead { .. }))
    };
    assert!(!is_dead(131));
    assert!(is_dead(132));
}

/// The messages of the site arrive, but it receives none. Its reports show this: by its own clock
/// it has no lease.
#[test]
fn the_slots_of_a_deaf_site_are_recovered() {
    let mut net = Net::new(4, 2, RULES);
    net.cut_off.insert(1);
    for second in 1..=544 {
        let mut said = net.sites[1].tick(at(second));
        for visitor in 100..104 {
            let Admission::Borrow { request, .. } = net.sites[1].admit(id(visitor), at(second))
            else {
                panic!("it has no slot")
            };
            said.extend(request.map(SiteAction::Send));
        }
        for action in said {
            if let SiteAction::Send(message) = action {
                let _lost = net.global.receive(&message, at(second));
            }
        }
        let actions = net.sites[0].tick(at(second));
        net.carry_out(0, actions, at(second));
    }
    assert!(net.admit(0, 1, at(544)).is_some(), "{} are held", net.global.held());
}

#[test]
fn a_site_that_is_deaf_for_a_while_hears_again() {
    let mut net = Net::new(2, 1, RULES);
    net.run(1..=9);
    for second in 10..=150 {
        for action in net.sites[0].tick(at(second)) {
            if let SiteAction::Send(message) = action {
                let _lost = net.global.receive(&message, at(second));
            }
        }
    }
    let epoch = net.sites[0].epoch();
    net.run(151..=152);
    assert!(net.admit(0, 1, at(152)).is_some());
    assert_eq!(net.sites[0].epoch(), epoch);
}

#[test]
fn a_deaf_site_is_granted_a_lease_before_slots() {
    let mut net = Net::new(1, 2, RULES);
    net.run(1..=2);
    assert!(net.admit(0, 1, at(200)).is_none());
    assert_eq!(net.global.held(), 0);
    net.run(200..=201);
    assert_eq!(net.global.held(), 1);
}

#[test]
fn a_deaf_site_gets_no_reserve() {
    let mut net = Net::new(100, 1, RULES);
    net.sites[0].arrived();
    let SiteAction::Send(heartbeat) = net.sites[0].tick(at(200)).remove(0) else {
        panic!("a heartbeat is due")
    };
    let answers = net.global.receive(&heartbeat, at(200));
    assert_eq!((answers.len(), net.global.held()), (1, 0));
    let actions = net.sites[0].receive(&answers[0].message, at(200));
    net.carry_out(0, actions, at(200));
    net.run(201..=202);
    assert!(net.global.held() > 10, "{}", net.global.held());
}
