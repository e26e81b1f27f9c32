//! The list of sites, while the ledgers run.

use super::*;

/// Adds a ledger for a new site, and lists the site.
fn add(net: &mut Net, now: Timestamp) -> usize {
    let number = net.sites.len();
    let id = SiteId::new(u16::try_from(number).unwrap());
    let life = Incarnation::new(1000 + number as u64);
    net.sites.push(SiteLedger::new(id, life, net.kept.rules, now).unwrap());
    net.global.add_site(id, now).unwrap();
    net.keep();
    number
}

#[test]
fn a_site_that_is_added_gets_slots() {
    let mut net = Net::new(4, 1, RULES);
    let site = add(&mut net, at(10));
    net.run(10..=11);
    assert!(net.admit(site, 1, at(11)).is_some());
    let error = net.global.add_site(SiteId::new(1), at(12)).unwrap_err();
    assert_eq!(error.to_string(), "site 1 is already on the list");
}

#[test]
fn an_unlisted_site_is_notified_once() {
    let mut net = Net::new(4, 1, RULES);
    let site = SiteId::new(1);
    net.sites.push(SiteLedger::new(site, Incarnation::new(5), RULES, at(0)).unwrap());
    net.run(1..=10);
    assert_eq!(net.warned, [JoinRefused::NotListed { site }]);
    assert!(net.admit(1, 1, at(10)).is_none());
    net.global.add_site(site, at(11)).unwrap();
    net.run(11..=12);
    assert!(net.admit(1, 1, at(12)).is_some());
    assert_eq!(net.sites[1].refused(), None);
}

#[test]
fn a_drained_site_keeps_its_visitors_and_admits_no_others() {
    let mut net = Net::new(100, 2, RULES);
    for _ in 0..20 {
        net.sites[0].arrived();
    }
    net.run(1..=3);
    let pass = net.admit(0, 1, at(3)).unwrap();
    assert!(net.sites[0].unused() > 10);
    net.global.drain(SiteId::new(0), at(4)).unwrap();
    net.run(4..=5);
    assert_eq!((net.held_by(0), net.sites[0].unused()), (1, 0));
    assert!(net.admit(0, 2, at(6)).is_none());
    assert!(net.prolong(0, &pass, at(6)).is_some());
    net.run(7..=305);
    // The slot that has lapsed goes back, although a visitor waits for it.
    assert!(net.admit(0, 3, at(306)).is_none());
    net.run(307..=308);
    assert_eq!(net.held_by(0), 0);
    assert!(net.admit(1, 4, at(308)).is_some());
}

#[test]
fn a_drained_site_has_no_part_in_the_split() {
    let mut net = Net::new(400, 2, RULES);
    for second in 1..=60 {
        for site in [0, 1] {
            (0..20).for_each(|_| net.sites[site].arrived());
        }
        if second == 30 {
            net.global.drain(SiteId::new(0), at(30)).unwrap();
        }
        net.beat(at(second));
    }
    assert_eq!(net.held_by(0), 0);
    assert!(net.held_by(1) > 190, "half of all, not of a half: {}", net.held_by(1));
}

#[test]
fn a_site_is_drained_across_a_loss_and_takes_part_again() {
    let mut net = Net::new(4, 2, RULES);
    net.global.drain(SiteId::new(0), at(1)).unwrap();
    net.restore_global(2, at(2));
    net.run(2..=4);
    assert!(net.admit(0, 1, at(4)).is_none());
    net.lose_global(3, at(5));
    net.run(5..=8);
    assert!(!net.global.is_learning());
    assert!(net.admit(0, 1, at(8)).is_none());
    net.global.add_site(SiteId::new(0), at(9)).unwrap();
    net.run(9..=13);
    assert!(net.admit(0, 1, at(13)).is_some());
}

#[test]
fn a_drained_site_without_slots_gets_no_account() {
    let mut net = Net::new(4, 2, RULES);
    net.cut_off.insert(0);
    net.run(1..=430);
    net.global.drain(SiteId::new(0), at(430)).unwrap();
    net.cut_off.clear();
    net.run(431..=440);
    assert_eq!(net.warned, [JoinRefused::Drained { site: SiteId::new(0) }]);
}

#[test]
fn only_a_site_that_holds_nothing_is_removed() {
    let mut net = Net::new(4, 2, RULES);
    let site = SiteId::new(0);
    net.admit(0, 1, at(1)).unwrap();
    let error = net.global.remove(site, at(2)).unwrap_err();
    assert_eq!(error, ListRefused::Holds { site, held: 1 });
    assert_eq!(error.to_string(), "site 0 holds 1 slots, expected 0");
    net.global.drain(site, at(2)).unwrap();
    net.run(2..=303);
    net.global.remove(site, at(303)).unwrap();
    net.keep();
    assert!(!net.global.lists(site) && !net.kept.accounts.contains_key(&site));
    net.run(303..=310);
    assert_eq!(net.warned, [JoinRefused::NotListed { site }]);
    assert!(net.admit(0, 2, at(310)).is_none());

    let unknown = net.global.remove(site, at(310)).unwrap_err();
    assert_eq!(unknown, ListRefused::NotListed { site });
    assert_eq!(net.global.drain(site, at(310)), Err(ListRefused::NotListed { site }));
    let last = SiteId::new(1);
    assert_eq!(net.global.remove(last, at(310)), Err(ListRefused::Last { site: last }));
}

#[test]
fn no_site_is_removed_while_its_holdings_are_unknown() {
    let mut net = Net::new(4, 2, RULES);
    net.lose_global(2, at(1));
    let site = SiteId::new(0);
    assert_eq!(net.global.remove(site, at(1)), Err(ListRefused::Unknown { site }));
}

/// A removed site still has the ledger of its old account, and comes back with it.
#[test]
fn a_site_that_was_removed_and_added_does_not_continue_its_old_account() {
    let mut net = Net::new(4, 2, RULES);
    let site = SiteId::new(0);
    let SiteAction::Send(late) = net.sites[0].tick(at(5)).remove(0) else { panic!("it beats") };
    net.global.remove(site, at(6)).unwrap();
    net.global.add_site(site, at(7)).unwrap();
    let mut global = net.global.clone();
    assert!(matches!(global.receive(&late, at(8))[0].message, ToSite::Stale { .. }));
    net.keep();
    net.lose_global(2, at(9));
    net.run(9..=12);
    assert_eq!(net.held_by(0), 0);
    assert!(net.admit(0, 1, at(13)).is_none(), "its account is not continued");
    assert!(net.warned.is_empty(), "no operator has fenced it: {:?}", net.warned);

    net.run(13..=430);
    assert!(net.admit(0, 1, at(430)).is_some());
}

/// Counterexample B6 from a second review of the protocol: the site was fenced twice, and has begun
/// its second life since.
#[test]
fn an_unfenced_site_gets_no_notice_of_a_fence() {
    let mut net = Net::new(4, 2, RULES);
    let SiteAction::Send(late) = net.sites[0].tick(at(5)).remove(0) else { panic!("it beats") };
    net.lose(0, 50, at(6));
    net.run(6..=8);
    net.fence(0, at(9));
    // A message of the first life, which was never fenced.
    let answers = net.global.receive(&late, at(10));
    assert!(matches!(answers[0].message, ToSite::Stale { .. }), "{answers:?}");
    net.run(10..=11);
    let site = SiteId::new(0);
    let incarnation = Incarnation::new(50);
    assert_eq!(net.warned, [JoinRefused::Fenced { site, incarnation }]);
}

/// Counterexample B8 from a second review of the protocol: if a site is removed and added at once,
/// a keeper that stores accounts first and then removes the removed sites loses the account.
#[test]
fn a_site_that_is_removed_and_added_at_once_is_only_added() {
    let mut net = Net::new(4, 2, RULES);
    let site = SiteId::new(0);
    net.keep();
    net.global.remove(site, at(6)).unwrap();
    net.global.add_site(site, at(7)).unwrap();
    let changes = net.global.changes();
    assert!(changes.removed.is_empty());
    assert!(changes.accounts.contains_key(&site));
    net.global.remove(site, at(8)).unwrap();
    let changes = net.global.changes();
    assert_eq!((changes.removed.len(), changes.accounts.len()), (1, 0));
}

#[test]
fn a_site_that_is_listed_twice_is_refused_by_name() {
    let sites = [1, 0, 1].map(SiteId::new);
    let term = Term::new(1);
    let expected = "sites is [1, 0, 1], expected site 1 only once";
    let error = GlobalLedger::new(4, sites, term, RULES).unwrap_err();
    assert_eq!(error.to_string(), expected);
    let kept = Kept::new(term, 4, RULES);
    let error = GlobalLedger::recover(&kept, 4, sites, term, RULES, at(1)).unwrap_err();
    assert_eq!(error.to_string(), expected);
}

#[test]
fn epochs_of_a_removed_site_are_not_used_again() {
    let mut net = Net::new(4, 2, RULES);
    let before = net.sites[0].epoch();
    net.global.remove(SiteId::new(0), at(6)).unwrap();
    net.global.add_site(SiteId::new(0), at(7)).unwrap();
    net.lose(0, 50, at(8));
    net.run(8..=9);
    assert!(net.sites[0].epoch() > before);
}

/// Counterexample E3 from a review of the protocol: a site that is not on the list is alive, with
/// visitors.
#[test]
fn a_shorter_list_is_refused_after_a_loss() {
    let mut net = Net::new(10, 3, RULES);
    for visitor in 0..8 {
        net.admit(2, visitor, at(1)).unwrap();
    }
    let term = Term::new(2);
    let kept = &net.kept.take_over(term).unwrap();
    let recover = |sites: &[u16]| {
        let sites = sites.iter().map(|site| SiteId::new(*site));
        GlobalLedger::recover(kept, 10, sites, term, RULES, at(2))
    };
    let error = recover(&[0, 1]).unwrap_err();
    let expected = "sites is [0, 1], expected a list with site 2, which is kept";
    assert_eq!(error.to_string(), expected);
    assert!(recover(&[0, 1, 2, 3]).unwrap().is_learning(), "a longer list is not");

    let other = RULES.session(Duration::from_secs(200));
    let sites = [0, 1, 2].map(SiteId::new);
    let error = GlobalLedger::recover(kept, 10, sites, term, other, at(2)).unwrap_err();
    assert_eq!(error.to_string(), "session is 200s, expected 300s as before");
    let error = GlobalLedger::recover(kept, 10, sites, Term::new(1), RULES, at(2)).unwrap_err();
    assert_eq!(error.to_string(), "term is 1, expected the kept term 2");
}

/// A site that is added while the ledger learns may have an account that is not known.
#[test]
fn a_site_that_is_added_while_learning_is_waited_for() {
    let mut net = Net::new(10, 3, RULES);
    for visitor in 0..8 {
        net.admit(2, visitor, at(1)).unwrap();
    }
    let mut kept = net.kept.take_over(Term::new(2)).unwrap();
    kept.accounts.remove(&SiteId::new(2));
    let sites = [0, 1].map(SiteId::new);
    net.global = GlobalLedger::recover(&kept, 10, sites, Term::new(2), RULES, at(2)).unwrap();
    net.global.add_site(SiteId::new(2), at(2)).unwrap();
    net.cut_off.insert(2);
    net.run(2..=4);
    assert!(net.global.is_learning());
    assert!(net.admit(0, 100, at(4)).is_none());
    net.cut_off.clear();
    net.run(5..=8);
    assert!(!net.global.is_learning());
    assert_eq!(net.held_by(2), 8);
}

#[test]
fn the_states_of_all_sites_are_listed_for_an_operator() {
    let mut net = Net::new(10, 2, RULES);
    net.admit(0, 1, at(1));
    net.beat(at(2));
    net.global.drain(SiteId::new(1), at(2)).unwrap();
    let states: Vec<_> = net.global.site_states(at(22)).collect();
    let [first, second] = &states[..] else { panic!("two sites are listed: {states:?}") };
    assert_eq!((first.site, first.standing, first.used), (SiteId::new(0), Standing::Open, 1));
    assert_eq!(first.lease_left, Duration::from_secs(100));
    assert_eq!(Some(first.epoch), net.global.epoch_of(first.site));
    assert!(!first.is_drained && second.is_drained && !second.is_fenced);
    net.global.fence(first.site, first.epoch, at(22)).unwrap();
    let fenced = net.global.site_states(at(22)).next().unwrap();
    assert!(fenced.is_fenced && fenced.standing == Standing::Closed);
    assert_eq!(fenced.lease_left, Duration::ZERO);

    net.global.add_site(SiteId::new(2), at(22)).unwrap();
    let added = net.global.site_states(at(22)).last().unwrap();
    assert!(!added.is_fenced, "it was never declared to be off: {added:?}");
}
