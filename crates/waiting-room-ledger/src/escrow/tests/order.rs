//! The order in which sites get free slots: the order of their visitors' arrivals.

use super::*;
use crate::escrow::need::LONGEST_WAIT;

/// The time at which the sites of a test first report, by the clock of the global ledger, which
/// starts at zero.
const NOW: u64 = 5;
/// The number of seconds by which the clocks of sites are ahead of the clock of the global ledger,
/// unless they are wrong.
const CALENDAR: i64 = 500_000;

/// A full world of this many sites, without visitors.
fn full(sites: u16) -> Net {
    Net::new(0, sites, RULES)
}

/// A site reports that this many visitors want slots. Those in the front have waited for the given
/// numbers of seconds. The clock of the global ledger shows `now`, and the site's clock is wrong by
/// `wrong` seconds.
fn report_by(net: &mut Net, site: u16, want: u64, waited: &[(i64, u32)], now: u64, wrong: i64) {
    let clock = i64::try_from(now).unwrap() + CALENDAR + wrong;
    let by_site = |ago: i64| at(u64::try_from(clock - ago).unwrap());
    let mut front = LineFront::new();
    waited.iter().for_each(|&(ago, visitors)| front.add(by_site(ago), visitors));
    let sent_at = by_site(0);
    let used = net.held_by(site);
    let heartbeat = Heartbeat { want, front, used, ..heartbeat(net, site, sent_at) };
    net.global.receive(&ToGlobal::Heartbeat(heartbeat), at(now));
}

/// The report of a site where no visitor waits.
fn heartbeat(net: &Net, site: u16, sent_at: Timestamp) -> Heartbeat {
    Heartbeat {
        site: SiteId::new(site),
        incarnation: Incarnation::new(site.into()),
        term: net.global.term(),
        epoch: net.global.epoch_of(SiteId::new(site)).unwrap(),
        sent_at,
        lease_end: sent_at + Duration::from_secs(100),
        rules: RulesDigest::of(&RULES),
        granted: 0,
        returned: 0,
        used: 0,
        want: 0,
        demand: 0,
        front: LineFront::new(),
    }
}

/// As `report_by`, but the clock is right, and all visitors are in the front.
fn report(net: &mut Net, site: u16, waited: &[(i64, u32)], now: u64) {
    let want = waited.iter().map(|(_, visitors)| u64::from(*visitors)).sum();
    report_by(net, site, want, waited, now, 0);
}

/// The number of slots that each site gets if `slots` become free at `now`.
fn granted(net: &mut Net, slots: u32, now: u64) -> Vec<u64> {
    let sites = u16::try_from(net.sites.len()).unwrap();
    let held = |net: &Net| (0..sites).map(|site| net.held_by(site)).collect::<Vec<_>>();
    let before = held(net);
    net.global.set_limit(u32::try_from(net.global.limit()).unwrap() + slots);
    net.global.tick(at(now));
    held(net).iter().zip(before).map(|(after, before)| after - before).collect()
}

#[test]
fn a_slot_goes_to_the_longest_waiting_visitor_at_any_site() {
    let mut net = full(3);
    report(&mut net, 0, &[(30, 1)], NOW);
    report(&mut net, 1, &[(300, 1)], NOW);
    report(&mut net, 2, &[(60, 1)], NOW);
    assert_eq!(granted(&mut net, 1, NOW), [0, 1, 0]);
    assert_eq!(granted(&mut net, 1, NOW), [0, 0, 1]);
    assert_eq!(granted(&mut net, 5, NOW), [1, 0, 0]);
}

#[test]
fn slots_run_over_from_one_bucket_to_the_next_of_any_site() {
    let slots = |slots| {
        let mut net = full(3);
        report(&mut net, 0, &[(100, 2), (80, 5)], NOW);
        report(&mut net, 1, &[(90, 3), (20, 100)], NOW);
        report(&mut net, 2, &[(85, 1), (70, 4), (15, 1)], NOW);
        granted(&mut net, slots, NOW)
    };
    assert_eq!(slots(1), [1, 0, 0]);
    assert_eq!(slots(4), [2, 2, 0]);
    assert_eq!(slots(6), [2, 3, 1]);
    assert_eq!(slots(12), [7, 3, 2]);
    assert_eq!(slots(20), [7, 8, 5]);
    assert_eq!(slots(1_000), [7, 103, 6]);
    // The same with one slot at a time, and no reports in between.
    let mut net = full(2);
    report(&mut net, 0, &[(100, 2), (80, 5)], NOW);
    report(&mut net, 1, &[(90, 3), (20, 100)], NOW);
    let one_by_one: Vec<_> = (0..11).map(|_| granted(&mut net, 1, NOW)[0]).collect();
    assert_eq!(one_by_one, [1, 1, 0, 0, 0, 1, 1, 1, 1, 1, 0]);
}

#[test]
fn a_slot_that_a_site_has_already_is_for_its_first_visitor() {
    let mut net = full(2);
    report(&mut net, 0, &[(100, 1), (50, 3)], NOW);
    assert_eq!(granted(&mut net, 1, NOW), [1, 0]);
    // Before the slot has arrived, the same visitors are reported again, and then the visitors of
    // another site.
    let sent_at = at(u64::try_from(CALENDAR).unwrap() + NOW + 1);
    let mut front = LineFront::new();
    [(101, 1), (51, 3)].iter().for_each(|&(ago, of)| {
        front.add(sent_at.before(Duration::from_secs(ago)), of);
    });
    let again = Heartbeat { want: 4, front, ..heartbeat(&net, 0, sent_at) };
    net.global.receive(&ToGlobal::Heartbeat(again), at(NOW + 1));
    report(&mut net, 1, &[(80, 2)], NOW + 1);
    assert_eq!(granted(&mut net, 3, NOW + 1), [1, 2]);
}

#[test]
fn sites_whose_visitors_came_in_the_same_seconds_are_served_in_turn() {
    let mut net = full(2);
    let mut got = Vec::new();
    for second in 0..6 {
        for site in [0, 1] {
            report(&mut net, site, &[(100, 50)], NOW + 2 * second);
        }
        got.push(granted(&mut net, 1, NOW + 2 * second + 1)[0]);
    }
    assert!(got.windows(2).all(|pair| pair[0] != pair[1]), "{got:?}");
}

#[test]
fn visitors_of_the_same_seconds_have_the_same_chance_at_each_site() {
    let slots = |slots| {
        let mut net = full(3);
        report(&mut net, 0, &[(100, 600)], NOW);
        report(&mut net, 1, &[(100, 300), (50, 10)], NOW);
        report(&mut net, 2, &[(100, 3)], NOW);
        granted(&mut net, slots, NOW)
    };
    assert_eq!(slots(301), [200, 100, 1]);
    assert_eq!(slots(3), [1, 1, 1]);
    assert_eq!(slots(2), [1, 1, 0]);
    assert_eq!(slots(1_000), [600, 310, 3]);
    let [first, second, third] = slots(900)[..] else { panic!("three sites") };
    assert_eq!(first + second + third, 900);
    assert!((596..=600).contains(&first) && (297..=300).contains(&second), "{first} {second}");
}

#[test]
fn visitors_at_the_door_come_after_the_line() {
    let mut net = full(2);
    report_by(&mut net, 0, 3, &[], NOW, 0);
    report_by(&mut net, 0, 3, &[], NOW + 8, 0);
    report_by(&mut net, 1, 5, &[(60, 1), (30, 1)], NOW + 8, 0);
    assert_eq!(granted(&mut net, 2, NOW + 8), [0, 2]);
    // Now both sites have visitors only at the door, and the first site has lacked slots for
    // longer.
    assert_eq!(granted(&mut net, 2, NOW + 8), [2, 0]);
}

/// A site that refuses visitors instead of letting them wait has no line.
#[test]
fn a_site_without_a_line_is_served_when_it_has_lacked_slots_for_longest() {
    let mut net = full(2);
    let mut got = Vec::new();
    for second in 0..200 {
        report_by(&mut net, 0, 1, &[], NOW + second, 0);
        report(&mut net, 1, &[(60, 1)], NOW + second);
        got.push(granted(&mut net, 1, NOW + second)[0]);
    }
    let served: Vec<_> =
        (0..).zip(&got).filter(|(_, slots)| **slots > 0).map(|(at, _)| at).collect();
    assert!((55..=70).contains(&served[0]) && served.len() == 3, "{served:?}");
}

#[test]
fn a_site_keeps_its_turn_for_a_moment_but_not_for_long() {
    let first_served = |pause| {
        let mut net = full(2);
        report_by(&mut net, 0, 1, &[], NOW, 0);
        report_by(&mut net, 0, 0, &[], NOW + 1, 0);
        report_by(&mut net, 1, 1, &[], NOW + 2, 0);
        report_by(&mut net, 0, 1, &[], NOW + pause, 0);
        report_by(&mut net, 1, 1, &[], NOW + pause, 0);
        granted(&mut net, 1, NOW + pause)
    };
    assert_eq!(first_served(9), [1, 0]);
    assert_eq!(first_served(12), [0, 1]);
}

#[test]
fn the_time_that_the_clock_of_a_site_shows_does_not_matter() {
    for wrong in [-400_000, -3_600, 0, 3_600, 1_000_000_000] {
        let mut net = full(2);
        report_by(&mut net, 0, 2, &[(100, 1), (40, 1)], NOW, wrong);
        report(&mut net, 1, &[(70, 1), (10, 1)], NOW);
        let got: Vec<_> = (0..4).map(|_| granted(&mut net, 1, NOW)[0]).collect();
        assert_eq!(got, [1, 0, 1, 0], "{wrong}");
    }
}

/// The clock of the first site was set forward by an hour. Its two earlier visitors seem to have
/// waited longer than all others; visitors who come later do not.
#[test]
fn a_clock_set_forward_only_helps_the_visitors_waiting_at_that_moment() {
    let mut net = full(2);
    report_by(&mut net, 0, 4, &[(3_610, 2), (5, 2)], NOW, 3_600);
    report(&mut net, 1, &[(50, 2)], NOW);
    assert_eq!(granted(&mut net, 2, NOW), [2, 0]);
    assert_eq!(granted(&mut net, 2, NOW), [0, 2]);
    assert_eq!(granted(&mut net, 2, NOW), [2, 0]);
}

/// A site that says every second that its visitors have waited since 1970, or will arrive in the
/// future.
#[test]
fn nonsense_keeps_no_site_from_its_slots_for_longer_than_the_longest_wait() {
    let day = i64::try_from(LONGEST_WAIT.as_secs()).unwrap();
    let to_the_honest = |waited: i64, nonsense: i64| {
        let mut net = full(2);
        let mut got = 0;
        for second in 0..40 {
            report(&mut net, 0, &[(nonsense, 1_000)], NOW + second);
            report(&mut net, 1, &[(waited, 10)], NOW + second);
            got += granted(&mut net, 1, NOW + second)[1];
        }
        got
    };
    let since_1970 = CALENDAR;
    assert_eq!(to_the_honest(3_600, since_1970), 0);
    assert!((15..=25).contains(&to_the_honest(day + 1, since_1970)));
    // Visitors from the future count as having just arrived.
    assert_eq!(to_the_honest(10, -1_000), 40);
}

#[test]
fn after_the_loss_of_the_ledger_the_order_is_the_same() {
    let mut net = full(2);
    net.restore_global(2, at(3));
    report(&mut net, 0, &[(7_000, 1)], 4);
    report(&mut net, 1, &[(8_000, 1)], 4);
    assert_eq!(granted(&mut net, 1, 4), [0, 1]);
}

#[test]
fn a_site_reports_its_line_and_admits_from_it_in_order() {
    let mut net = Net::new(1, 1, RULES);
    net.admit(0, 1, at(1)).unwrap();
    net.run(2..=298);
    let now = at(300);
    let site = &mut net.sites[0];
    for (visitor, since) in [(2, None), (3, Some(250)), (4, Some(200)), (5, None), (6, Some(252))] {
        match since {
            Some(since) => site.admit_from_line(id(visitor), at(since), Timestamp::MAX, now),
            None => site.admit(id(visitor), now),
        };
    }
    let actions = site.receive(&ToSite::Report { term: Term::new(1) }, now);
    let [SiteAction::Send(ToGlobal::Heartbeat(said))] = &actions[..] else {
        panic!("{actions:?}");
    };
    let front: Vec<_> = said.front.buckets().map(|(at, of)| (at.as_secs(), of)).collect();
    assert_eq!((said.want, &front[..]), (5, &[(200, 1), (250, 2)][..]));

    net.global.set_limit(20);
    net.beat(at(301));
    let order: Vec<_> = net.admitted[1..].iter().map(|pass| pass.visitor).collect();
    assert_eq!(order, [4, 3, 6, 2, 5].map(id));
}
