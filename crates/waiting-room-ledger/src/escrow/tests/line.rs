//! Sites with a line: slots for visitors who are not at the door when the slots are granted.

use super::*;

/// A line with this many visitors for each second of arrival.
fn line(arrived: &[(u64, u32)]) -> LineFront {
    let mut front = LineFront::new();
    arrived.iter().for_each(|&(second, visitors)| front.add(at(second), visitors));
    front
}

/// A full world whose first site has described and reported its line.
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
