//! Sites that count: what their global ledger knows about the world, and Anywhere's counter.

use waiting_room_core::RoomRules;

use super::*;
use crate::slots::{Minute, SlotRules, Slots};

const PARIS: SiteId = SiteId::new(1);
const TOKYO: SiteId = SiteId::new(2);
/// The beginning of a minute.
const BEGIN: u64 = 60 * 28_000_000;

/// A ledger and its census.
struct Ledger {
    global: GlobalLedger,
    census: Census,
}

impl Ledger {
    fn new(now: Timestamp) -> Self {
        let global = GlobalLedger::new(200, [PARIS, TOKYO], Term::new(3), RULES).unwrap();
        Self { global, census: Census::new(&RULES, now) }
    }

    /// The answers to a site whose report is not refused.
    fn receive(&mut self, tally: &Tally, now: Timestamp) -> Vec<ToSite> {
        assert_eq!(self.global.receive(&ToGlobal::Tally(*tally), now), []);
        self.census.receive(tally, &self.global, now)
    }

    /// At this second, a site reports what it has admitted in the minute before.
    fn report(&mut self, site: SiteId, second: u64, admitted: u32) {
        let now = seconds(second);
        self.receive(&Tally { admitted, ..tally(site, 0, now) }, now);
    }

    fn tickets(&mut self, tally: &Tally, now: Timestamp) -> (u32, bool) {
        let heard = self.receive(tally, now);
        let found = heard.iter().find_map(|message| match message {
            ToSite::Tickets(tickets) => Some((tickets.total, tickets.is_dry)),
            _ => None,
        });
        found.unwrap()
    }
}

/// The report of a site that admitted no visitor and wants no ticket. It is received at the time at
/// which it was sent.
fn tally(site: SiteId, active: u32, now: Timestamp) -> Tally {
    let minute = Minute::of(now);
    let draw = Draw { minute, total: 0, slots: 0, knows_world: true };
    Tally {
        site,
        incarnation: Incarnation::new(7),
        term: Term::new(3),
        sent_at: now,
        rules: RulesDigest::of(&RULES),
        knows: 0,
        active,
        minute: minute.previous(),
        admitted: 0,
        draw,
    }
}

fn seconds(seconds: u64) -> Timestamp {
    Timestamp::from_secs(BEGIN + seconds)
}

fn worlds(heard: &[ToSite]) -> Vec<&World> {
    let worlds = heard.iter().filter_map(|message| match message {
        ToSite::World(world) => Some(world),
        _ => None,
    });
    worlds.collect()
}

#[test]
fn the_world_is_published_once_all_sites_have_reported_and_only_if_new() {
    let mut ledger = Ledger::new(seconds(0));
    assert_eq!(
        ledger.receive(&tally(PARIS, 20, seconds(1)), seconds(1)),
        [],
        "Tokyo may have visitors"
    );
    let heard = ledger.receive(&tally(TOKYO, 30, seconds(2)), seconds(2));
    let [world] = worlds(&heard)[..] else { panic!("{heard:?}") };
    assert_eq!((world.active, world.limit, world.made_at), (50, 200, seconds(2)));
    assert_eq!(world.snapshot().active(), 50);

    let known = Tally { knows: world.version, ..tally(TOKYO, 30, seconds(2)) };
    assert_eq!(ledger.receive(&known, seconds(2)), []);
    let heard = ledger.receive(&Tally { active: 31, ..known }, seconds(3));
    assert_eq!(worlds(&heard).iter().map(|world| world.active).collect::<Vec<_>>(), [51]);
}

#[test]
fn a_site_that_never_reports_is_awaited_as_long_as_passes_may_last() {
    // A session of 300 s, and a margin of 2 s.
    let mut ledger = Ledger::new(seconds(0));
    for second in 1..302 {
        let now = seconds(second);
        assert_eq!(ledger.receive(&tally(PARIS, 1, now), now), [], "after {second} s");
    }
    assert_eq!(worlds(&ledger.receive(&tally(PARIS, 1, seconds(302)), seconds(302))).len(), 1);
}

#[test]
fn the_visitors_of_a_silent_site_count_until_their_passes_are_over() {
    let mut ledger = Ledger::new(seconds(0));
    ledger.receive(&tally(TOKYO, 30, seconds(0)), seconds(0));
    for (second, active) in [(1, 31), (301, 31), (303, 1)] {
        let now = seconds(second);
        let heard = ledger.receive(&tally(PARIS, 1, now), now);
        assert_eq!(worlds(&heard)[0].active, active, "after {second} s");
    }
    assert!(ledger.census.is_in_use(seconds(500)) && !ledger.census.is_in_use(seconds(700)));
}

#[test]
fn a_report_that_was_overtaken_changes_nothing_and_another_life_begins_anew() {
    let mut ledger = Ledger::new(seconds(0));
    ledger.receive(&tally(TOKYO, 0, seconds(0)), seconds(0));
    ledger.receive(&tally(PARIS, 5, seconds(10)), seconds(10));
    ledger.receive(&tally(PARIS, 9, seconds(9)), seconds(10));
    assert_eq!(ledger.census.counted(seconds(10)), (2, 5));
    let life = Incarnation::new(8);
    ledger.receive(&Tally { incarnation: life, ..tally(PARIS, 1, seconds(9)) }, seconds(10));
    assert_eq!(ledger.census.counted(seconds(10)), (2, 1));
}

/// The traffic that is published 1 s after `at`, by site.
fn traffic(ledger: &mut Ledger, at: u64) -> (Minute, Vec<(SiteId, u32)>) {
    let now = seconds(at + 1);
    let minute = Minute::new(0);
    let silent = Tally { minute, sent_at: seconds(0), ..tally(PARIS, 0, now) };
    let world = worlds(&ledger.receive(&silent, now))[0].clone();
    (world.minute, world.traffic)
}

#[test]
fn the_traffic_is_that_of_the_last_minute_that_all_sites_have_reported() {
    let mut ledger = Ledger::new(seconds(0));
    let minute = Minute::of(seconds(0));
    ledger.report(PARIS, 59, 1);
    ledger.report(TOKYO, 59, 2);
    ledger.report(PARIS, 60, 10);
    let before = (minute.previous(), vec![(PARIS, 1), (TOKYO, 2)]);
    assert_eq!(traffic(&mut ledger, 60), before, "Tokyo has not reported the minute");
    ledger.report(TOKYO, 62, 20);
    assert_eq!(traffic(&mut ledger, 62), (minute, vec![(PARIS, 10), (TOKYO, 20)]));
    // Five seconds after the end of a minute, a site that has not reported is left out.
    ledger.report(PARIS, 121, 100);
    assert_eq!(traffic(&mut ledger, 122).0, minute);
    assert_eq!(traffic(&mut ledger, 124), (minute.next(), vec![(PARIS, 100)]));
}

#[test]
fn the_busiest_sites_are_in_the_message_and_it_fits() {
    let last = u16::try_from(World::MAX_SITES).unwrap() + 9;
    let sites = (0..=last).map(SiteId::new);
    let mut global = GlobalLedger::new(200, sites.clone(), Term::new(3), RULES).unwrap();
    let mut census = Census::new(&RULES, seconds(0));
    let mut heard = Vec::new();
    for site in sites {
        let admitted = RoomRules::MAX_USERS - u32::from(last - site.number());
        let tally = Tally { admitted, ..tally(site, 0, seconds(0)) };
        assert_eq!(global.receive(&ToGlobal::Tally(tally), seconds(0)), []);
        heard = census.receive(&tally, &global, seconds(0));
    }
    let [world] = worlds(&heard)[..] else { panic!("{heard:?}") };
    assert_eq!(world.traffic.len(), World::MAX_SITES);
    assert_eq!(world.traffic.first().map(|(site, _)| site.number()), Some(10));
    assert!(heard[0].encode().len() <= MAX_WORLD_LEN);
    assert_eq!(ToSite::decode(&heard[0].encode()).as_ref(), Ok(&heard[0]));
}

#[test]
fn no_ticket_is_drawn_twice_and_all_sites_share_one_counter() {
    let mut ledger = Ledger::new(seconds(0));
    let wants = |site, total, second| {
        let draw = Draw { total, slots: 10, ..tally(site, 0, seconds(second)).draw };
        Tally { draw, ..tally(site, 0, seconds(second)) }
    };
    assert_eq!(ledger.tickets(&wants(PARIS, 4, 0), seconds(0)), (4, false));
    // The answer was lost, and the site asks for one more.
    assert_eq!(ledger.tickets(&wants(PARIS, 5, 1), seconds(1)), (5, false));
    assert_eq!(ledger.tickets(&wants(TOKYO, 9, 1), seconds(1)), (5, true));
    assert_eq!(ledger.tickets(&wants(PARIS, 6, 2), seconds(2)), (5, true));
    // A site that begins anew has lost its tickets, which stay drawn.
    let life = Incarnation::new(8);
    let begun = Tally { incarnation: life, ..wants(PARIS, 2, 3) };
    assert_eq!(ledger.tickets(&begun, seconds(3)), (0, true));
    // The next minute has its own slots. The minute after that has none yet.
    assert_eq!(ledger.tickets(&wants(TOKYO, 3, 60), seconds(59)), (3, false));
    let ahead = Tally { knows: u64::MAX, ..wants(PARIS, 3, 120) };
    assert_eq!(ledger.receive(&ahead, seconds(59)), [], "its clock is wrong");
}

#[test]
fn one_message_draws_a_bounded_number_of_tickets() {
    let mut ledger = Ledger::new(seconds(0));
    let draw = Draw { total: u32::MAX, slots: u32::MAX, ..tally(PARIS, 0, seconds(0)).draw };
    let greedy = Tally { draw, ..tally(PARIS, 0, seconds(0)) };
    let most = Census::MAX_DRAWN_AT_ONCE;
    assert_eq!(ledger.tickets(&greedy, seconds(0)), (most, false));
    assert_eq!(ledger.tickets(&greedy, seconds(0)), (2 * most, false));
}

#[test]
fn sites_that_hold_slots_and_sites_that_count_exclude_each_other() {
    let mut net = Net::new(10, 1, RULES);
    let counting = ToGlobal::Tally(Tally { term: Term::new(1), ..tally(SiteId::new(0), 0, at(1)) });
    assert_eq!(net.global.receive(&counting, at(1)), []);
    net.admit(0, 1, at(1)).unwrap();
    let [refused] = &net.global.receive(&counting, at(1))[..] else { panic!("one answer") };
    let ToSite::Refused(refused) = &refused.message else { panic!("{refused:?}") };
    assert_eq!(refused.reason, Refusal::Policy);
    let warned = JoinRefused::new(PARIS, &RULES, refused);
    let sentence = "the policy of site 1 is not that of the other sites: sites that hold slots and \
                    sites that count exclude each other";
    assert_eq!(warned.to_string(), sentence);
}

#[test]
fn an_old_snapshot_leaves_only_the_floor_of_anywhere() {
    let rules = SlotRules::new(200).stale_after(Duration::from_secs(100));
    let mut ledger = Ledger::new(seconds(0));
    ledger.receive(&tally(TOKYO, 0, seconds(0)), seconds(0));
    let busy = Tally { admitted: 50, ..tally(PARIS, 40, seconds(0)) };
    ledger.receive(&busy, seconds(1));
    let last = Tally { admitted: 50, ..tally(PARIS, 40, seconds(2)) };
    let snapshot = worlds(&ledger.receive(&last, seconds(2)))[0].snapshot();
    let slots = |second| {
        let minute = Minute::of(seconds(second));
        let now = seconds(second);
        let (slots, is_known) = Slots::known(&rules, Some(&snapshot), minute, now);
        (slots.site(PARIS), slots.anywhere(), is_known)
    };
    assert_eq!(slots(3), (40, 120, true));
    assert_eq!(slots(102), (40, 120, true));
    assert_eq!(slots(103), (0, 4, false));
}
