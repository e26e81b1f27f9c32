//! Sites with a line: slots for visitors who are not at the door when they are granted.

use super::*;

/// A line of visitors who have arrived at these seconds.
fn line(arrived: &[(u64, u32)]) -> LineFront {
    let mut front = LineFront::new();
    arrived.iter().for_each(|&(second, visitors)| front.add(at(second), visitors));
    front
}

/// The first site of a full world describes its line, and reports it.
fn with_line(limit: u32, arrived: &[(u64, u32)], now: u64) -> Net {
    let mut net = Net::new(0, 2, RULES);
    net.run(1..=2);
    net.sites[0].set_line(line(arrived), at(now));
    net.run(3..=now);
    net.global.set_limit(limit);
    net.run(now + 1..=now + 1);
    net
}

#[test]
fn slots_are_requested_and_kept_for_visitors_behind_the_door() {
    let mut net = with_line(2, &[(1, 3)], 4);
    assert_eq!((net.held_by(0), net.sites[0].unused()), (2, 2));
    let actions = net.sites[0].tick(at(6));
    let [SiteAction::Send(ToGlobal::Heartbeat(report))] = &actions[..] else {
        panic!("{actions:?}")
    };
    assert_eq!((report.want, report.used), (1, 2), "two are kept, and one is wanted");
    assert_eq!(report.front, line(&[(1, 1)]));
    assert!(matches!(net.sites[0].admit(id(7), at(6)), Admission::Admit(_)));
}

#[test]
fn a_slot_that_no_visitor_in_line_takes_is_not_kept_for_long() {
    let mut net = with_line(2, &[(12, 2)], 14);
    // Older visitors wait elsewhere from now on.
    net.sites[1].set_line(line(&[(1, 9)]), at(15));
    net.run(15..=17);
    assert_eq!((net.held_by(0), net.held_by(1)), (2, 0), "they are kept for four seconds");
    net.run(18..=22);
    assert_eq!((net.held_by(0), net.held_by(1)), (0, 2));
}

#[test]
fn a_slot_is_kept_only_for_visitors_still_in_line() {
    let mut net = with_line(2, &[(1, 2)], 4);
    net.sites[0].set_line(line(&[(1, 1)]), at(5));
    let [SiteAction::Send(ToGlobal::Heartbeat(report))] = &net.sites[0].tick(at(6))[..] else {
        panic!()
    };
    assert_eq!((report.granted - report.returned, report.used), (1, 1));
}

#[test]
fn taking_a_slot_leaves_the_line() {
    let mut net = with_line(1, &[(1, 2)], 4);
    let admission = net.sites[0].admit_from_line(id(7), at(1), Timestamp::MAX, at(5));
    assert!(matches!(admission, Admission::Admit(_)));
    // The caller has had no occasion to describe the line.
    let [SiteAction::Send(ToGlobal::Heartbeat(report))] = &net.sites[0].tick(at(6))[..] else {
        panic!()
    };
    assert_eq!((report.used, report.want, report.front), (1, 1, line(&[(1, 1)])));
}

#[test]
fn a_slot_that_an_earlier_line_wanted_is_not_kept_for_this_one() {
    let mut net = with_line(0, &[(1, 1)], 4);
    net.sites[0].set_line(line(&[]), at(5));
    net.run(5..=6);
    let site = &mut net.sites[0];
    site.set_line(line(&[(6, 1)]), at(6));
    let term = site.term();
    let epoch = site.epoch();
    let lease = RULES.lease;
    let reserve = 0;
    let grant = Grant { term, epoch, heard: at(4), lease, granted: 1, reserve, recall: false };
    site.receive(&ToSite::Grant(grant), at(6));
    let [SiteAction::Send(ToGlobal::Heartbeat(report))] = &site.tick(at(7))[..] else { panic!() };
    assert_eq!((report.granted, report.used), (1, 0));
}

#[test]
fn slots_that_were_unusable_without_a_lease_are_requested_again() {
    let mut net = with_line(2, &[(1, 3)], 4);
    let late = net.sites[0].lease_end();
    let [SiteAction::Send(ToGlobal::Heartbeat(report))] = &net.sites[0].tick(late)[..] else {
        panic!()
    };
    assert_eq!((report.used, report.want), (0, 3), "the two slots are not in use");
    assert_eq!(report.front, line(&[(1, 3)]));
}

#[test]
fn a_freed_slot_goes_to_older_visitors_elsewhere() {
    let mut net = with_line(1, &[(12, 2)], 14);
    assert!(net.admit(0, 1, at(15)).is_some(), "the slot was kept for the line");
    net.sites[0].set_line(line(&[(12, 1)]), at(15));
    net.sites[1].set_line(line(&[(1, 1)]), at(15));
    net.run(16..=17);
    net.sites[0].release(id(1), at(18));
    assert!(matches!(net.sites[0].admit(id(2), at(18)), Admission::Borrow { .. }));
    net.run(18..=19);
    assert_eq!((net.held_by(0), net.held_by(1)), (0, 1));
}

#[test]
fn a_site_that_had_too_few_slots_asks_again_with_its_next_heartbeat() {
    let mut net = with_line(1, &[(1, 3)], 4);
    net.admit(0, 1, at(5)).unwrap();
    net.sites[0].set_line(line(&[(1, 2)]), at(5));
    let Admission::Borrow { request, .. } = net.sites[0].admit(id(2), at(5)) else { panic!() };
    assert_eq!(request, None, "the global ledger knows that slots are missing");
}

#[test]
fn a_line_makes_a_site_hasty_at_once() {
    let mut net = Net::new(0, 1, RULES);
    net.run(1..=2);
    assert_eq!(net.sites[0].next_wake(), at(3));
    net.sites[0].set_line(line(&[(1, 1)]), at(2));
    assert_eq!(net.sites[0].next_wake(), at(2) + RULES.pause());
    net.sites[0].tick(at(2) + RULES.pause());
    assert_eq!(net.sites[0].next_wake(), at(2) + 2 * RULES.pause());
}
