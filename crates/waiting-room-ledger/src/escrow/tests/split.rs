//! The number of slots that each site holds.

use super::*;

/// Counts this many arrivals at a site.
fn crowd(net: &mut Net, site: usize, visitors: u32) {
    for _ in 0..visitors {
        net.sites[site].arrived();
    }
}

#[test]
fn reserves_follow_the_demand_and_settle() {
    let mut net = Net::new(400, 2, RULES);
    for second in 1..=60 {
        crowd(&mut net, 0, 30);
        crowd(&mut net, 1, 10);
        net.beat(at(second));
    }
    let [paris, tokyo] = [0, 1].map(|site: usize| net.sites[site].allowance());
    assert!((149..=151).contains(&paris) && (49..=51).contains(&tokyo), "{paris} and {tokyo}");
    assert!(matches!(net.sites[0].admit(id(1), at(60)), Admission::Admit(_)));
}

#[test]
fn a_reserve_that_is_not_needed_any_more_goes_back() {
    let mut net = Net::new(400, 2, RULES);
    crowd(&mut net, 0, 30);
    net.run(1..=3);
    assert_eq!(net.sites[0].allowance(), 200);
    for second in 4..=60 {
        crowd(&mut net, 1, 30);
        net.beat(at(second));
    }
    assert!(net.sites[0].allowance() < 5, "{}", net.sites[0].allowance());
    assert!(net.sites[1].allowance() > 190);
}

#[test]
fn one_site_can_use_every_slot_although_others_have_reserves() {
    let mut net = Net::new(100, 4, RULES);
    (0..4).for_each(|site| crowd(&mut net, site, 25));
    net.run(1..=3);
    assert!(net.sites[3].allowance() > 10);
    // A site is asked for its reserve at most once in a fifth of a second.
    let pause = Duration::from_millis(200);
    let mut now = at(3);
    for visitor in 0..100 {
        now = now + pause;
        assert!(net.admit(0, visitor, now).is_some(), "visitor {visitor} is refused");
    }
    assert!(net.admit(0, 100, now + pause).is_none());
    assert_eq!(net.global.held_by(SiteId::new(0)), 100);
}

#[test]
fn a_slot_that_is_free_goes_to_the_site_that_has_lacked_one_longest() {
    let mut net = Net::new(1, 3, RULES);
    let pass = net.admit(0, 1, at(1)).unwrap();
    net.run(2..=298);
    assert!(net.admit(2, 2, at(299) + Duration::from_millis(900)).is_none());
    assert!(net.admit(1, 3, at(300)).is_none());
    assert_eq!(pass.expires_at, at(301));

    // The site whose slot is free reports it before the other sites send anything.
    let actions = net.sites[0].tick(at(301));
    net.carry_out(0, actions, at(301));
    assert_eq!(net.global.held_by(SiteId::new(2)), 1);
    assert_eq!(net.sites[2].used(), 1);
}

#[test]
fn a_lower_limit_ends_no_session_and_takes_reserves_back() {
    let mut net = Net::new(100, 2, RULES);
    crowd(&mut net, 0, 10);
    net.run(1..=3);
    for visitor in 0..30 {
        net.admit(0, visitor, at(3)).unwrap();
    }
    net.global.set_limit(20);
    net.run(4..=6);
    assert_eq!((net.global.held(), net.global.free()), (30, 0));
    assert!(net.admit(1, 99, at(6)).is_none());

    net.run(7..=303);
    assert_eq!(net.global.free() + net.global.held(), 20);
    assert!(net.admit(1, 99, at(303)).is_some());
}

#[test]
fn no_more_than_the_limit_are_new_in_any_minute_in_the_world() {
    let rules = EscrowRules::rolling_minute();
    let mut net = Net::new(7, 3, rules);
    for tick in 0..2_000_u32 {
        let now = Timestamp::from_millis(u64::from(tick) * 200);
        net.beat(now);
        net.admit((tick % 3) as usize, tick, now);
    }
    let mut admitted: Vec<_> = net.admitted.iter().map(|pass| pass.expires_at).collect();
    admitted.sort_unstable();
    let minute = Duration::from_secs(60);
    for window in admitted.windows(8) {
        assert!(window[7].since(window[0]) >= minute, "eight within {window:?}");
    }
    assert!(admitted.len() >= 7 * 6, "{} in 400 s", admitted.len());
}

/// The clock of the second site is fast by one part in 256, which is the stated bound.
#[test]
fn a_fast_clock_admits_no_more_than_the_limit_within_a_minute() {
    let mut net = Net::new(100, 2, EscrowRules::rolling_minute());
    let mut admitted = Vec::new();
    for tick in 0..2_000_u32 {
        let now = Duration::from_millis(u64::from(tick) * 125);
        let fast = Timestamp::ZERO + now + now / 256;
        let actions = net.sites[1].tick(fast);
        let passes = net.carry_out_by(1, actions, fast, Timestamp::ZERO + now);
        admitted.extend(passes.iter().map(|_| now));
        for visitor in 0..5 {
            let visitor = id(5 * tick + visitor);
            let request = match net.sites[1].admit(visitor, fast) {
                Admission::Admit(_) => {
                    admitted.push(now);
                    None
                }
                Admission::Borrow { request, .. } => request,
                Admission::Full => None,
            };
            let request = request.into_iter().map(SiteAction::Send).collect();
            let passes = net.carry_out_by(1, request, fast, Timestamp::ZERO + now);
            admitted.extend(passes.iter().map(|_| now));
        }
    }
    assert!(admitted.len() >= 400, "{} in 250 s", admitted.len());
    for window in admitted.windows(101) {
        let within = window[100].saturating_sub(window[0]);
        assert!(within >= Duration::from_secs(60), "101 within {within:?}");
    }
}

/// For five minutes, one visitor every 30 s fills the room at the first site. From then on, the
/// first site has five new visitors per second, and the second site has one.
#[test]
fn a_site_that_comes_late_to_a_full_room_gets_its_share() {
    let mut net = Net::new(10, 2, RULES);
    let mut visitor = 0;
    for step in 0..1_800 * 5 {
        let now = Timestamp::from_millis(step * 200);
        let every = if step < 300 * 5 { [30 * 5, u64::MAX] } else { [1, 5] };
        for site in [0, 1] {
            if step % every[site] == 0 && every[site] < u64::MAX {
                visitor += 1;
                net.sites[site].arrived();
                net.admit(site, visitor, now);
            }
        }
        net.beat(now);
    }
    let at_home = |site| net.admitted.iter().filter(|pass| pass.home == SiteId::new(site)).count();
    assert_eq!([0, 1].map(at_home), [10 + 25, 25]);
}

#[test]
fn slots_that_come_one_at_a_time_go_to_one_site_after_the_other() {
    let mut net = Net::new(0, 3, RULES);
    let mut visitor = 0;
    for second in 1..=60 {
        for (site, visitors) in [(0, 8), (1, 1), (2, 2)] {
            for _ in 0..visitors {
                visitor += 1;
                net.admit(site, visitor, at(second));
            }
        }
        net.global.set_limit(u32::try_from(second).unwrap());
        net.beat(at(second));
    }
    let held = [0, 1, 2].map(|site| net.global.held_by(SiteId::new(site)));
    assert!(held.iter().all(|held| (19..=21).contains(held)), "{held:?}");
}

#[test]
fn a_heartbeat_that_says_impossible_things_does_no_harm() {
    let mut net = Net::new(20_000_000, 2, RULES);
    let SiteAction::Send(ToGlobal::Heartbeat(heartbeat)) = net.sites[0].tick(at(5)).remove(0)
    else {
        panic!("a heartbeat is due")
    };
    let used = Heartbeat { used: u64::MAX, want: 1, ..heartbeat };
    let returned = Heartbeat { returned: u64::MAX, want: 1, ..heartbeat };
    for said in [used, returned] {
        assert!(net.global.receive(&ToGlobal::Heartbeat(said), at(5)).len() < 3);
        assert!(net.global.held() + net.global.free() <= net.global.limit());
    }
}

/// At the small site, each visitor waits for a moment and gives up. At the other site, there is
/// always a visitor waiting. Slots become free in bunches.
#[test]
fn a_site_without_a_line_for_a_moment_does_not_lose_its_turn() {
    let mut net = Net::new(10, 2, RULES);
    let mut visitor = 0;
    for second in 1..=4 * 301 {
        for _ in 0..20 {
            visitor += 1;
            net.admit(0, visitor, at(second));
        }
        if second % 3 == 0 {
            visitor += 1;
            net.admit(1, visitor, at(second));
        }
        for part in 0..5 {
            net.beat(at(second) + Duration::from_millis(200 * part));
        }
    }
    let at_home = |site| net.admitted.iter().filter(|pass| pass.home == SiteId::new(site)).count();
    assert!(at_home(1) >= 3, "{} and {}", at_home(0), at_home(1));
}
