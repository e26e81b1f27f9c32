//! Counters, and the nodes that draw from them.

use super::*;

/// The counters of the world: one for each site, and Anywhere's.
#[derive(Default)]
pub(crate) struct Counters {
    sites: std::collections::BTreeMap<SiteId, TicketCounter>,
    anywhere: TicketCounter,
    pub(crate) asked: u32,
}

impl Counters {
    /// The decision about a new visitor of this node, with counters that reply at once.
    pub(crate) fn rule(
        &mut self,
        admission: &mut SiteAdmission,
        site: SiteId,
        now: Timestamp,
    ) -> SlotDecision {
        let mut ruling = admission.arrive(now);
        while let SlotDecision::Request(request) = ruling {
            self.asked += 1;
            let counter = match request.pool {
                Pool::Anywhere => &mut self.anywhere,
                Pool::Site => self.sites.entry(site).or_default(),
            };
            ruling = admission.on_reply(&request, counter.take(&request, now), now);
        }
        ruling
    }

    /// The number of visitors of this node that are admitted, out of `visitors`.
    pub(crate) fn admitted(
        &mut self,
        admission: &mut SiteAdmission,
        site: SiteId,
        visitors: u32,
        now: Timestamp,
    ) -> u32 {
        let rulings = (0..visitors).map(|_| self.rule(admission, site, now));
        rulings.map(|ruling| u32::from(ruling == SlotDecision::Admit)).sum()
    }
}

/// The reply of a counter from which this many tickets were drawn before.
pub(crate) fn reply(before: u32, request: &CounterRequest) -> CounterReply {
    let mut counter = TicketCounter::new();
    (0..before).for_each(|_| _ = counter.take(request, noted()));
    counter.take(request, noted())
}

#[test]
fn a_node_that_knows_the_pools_are_dry_makes_no_call() {
    let mut counters = Counters::default();
    let mut admission = admission(rules(SlotPolicy::Counters), SAN_JOSE, state(3));
    assert_eq!(counters.admitted(&mut admission, SAN_JOSE, 129, noted()), 128);
    // 15 requests to the site succeed, and one more finds it dry. 113 to Anywhere succeed, and one
    // more finds it dry.
    assert_eq!(counters.asked, 15 + 1 + 113 + 1);
    assert_eq!(counters.admitted(&mut admission, SAN_JOSE, 100, noted()), 0);
    assert_eq!(counters.asked, 130);
    // In the next minute the node asks again.
    assert_ne!(admission.arrive(clock(11, 46, 0)), SlotDecision::Queue);
}

#[test]
fn the_slots_of_a_minute_stay_as_its_first_decision_had_them() {
    let mut admission = admission(rules(SlotPolicy::Counters), SAN_JOSE, state(3));
    let SlotDecision::Request(first) = admission.arrive(noted()) else { panic!("there are slots") };
    assert_eq!(first.slots, 15);

    // The 15 admitted visitors are active now. Counting them again would queue visitors too early.
    let newer = WorldSnapshot::new(2, noted())
        .with_active(65)
        .with_traffic(Minute::of(clock(11, 44, 0)), [(SAN_JOSE, 20), (LONDON, 30)]);
    admission.observe(Arc::new(newer));
    let slots = |ruling| match ruling {
        SlotDecision::Request(request) => request.slots,
        other => panic!("{other:?}"),
    };
    assert_eq!(slots(admission.arrive(clock(11, 45, 59))), 15);
    // The exact shares of 135 slots are 13.5, 20.25 and 101.25.
    assert_eq!(slots(admission.arrive(clock(11, 46, 0))), 14);
}

#[test]
fn an_older_snapshot_changes_nothing() {
    let mut admission = admission(rules(SlotPolicy::Counters), SAN_JOSE, state(3));
    admission.observe(Arc::new(WorldSnapshot::new(0, noted()).with_active(200)));
    assert!(matches!(admission.arrive(noted()), SlotDecision::Request(_)));
}

#[test]
fn a_ticket_that_comes_after_the_turn_of_the_minute_is_good() {
    let mut admission = admission(rules(SlotPolicy::Counters), SAN_JOSE, state(3));
    let SlotDecision::Request(request) = admission.arrive(clock(11, 45, 59)) else {
        panic!("there are slots")
    };
    let reply = reply(14, &request);
    assert_eq!(admission.on_reply(&request, reply, clock(11, 46, 0)), SlotDecision::Admit);
}

#[test]
fn a_call_without_a_ticket_at_the_turn_of_the_minute_starts_over() {
    let mut admission = admission(rules(SlotPolicy::Counters), SAN_JOSE, state(3));
    let SlotDecision::Request(request) = admission.arrive(clock(11, 45, 59)) else {
        panic!("there are slots")
    };
    let dry = reply(15, &request);
    let SlotDecision::Request(again) = admission.on_reply(&request, dry, clock(11, 46, 0)) else {
        panic!("a new minute")
    };
    assert_eq!((again.pool, again.minute), (Pool::Site, request.minute.next()));
}

#[test]
fn a_clock_that_is_set_back_grants_no_second_share() {
    let mut node = admission(rules(SlotPolicy::Even), SAN_JOSE, state(3));
    let mut counters = Counters::default();
    assert_eq!(counters.admitted(&mut node, SAN_JOSE, 300, clock(11, 46, 0)), 16);
    assert_eq!(counters.admitted(&mut node, SAN_JOSE, 300, clock(11, 45, 59)), 0);
}

#[test]
fn a_clock_that_was_far_ahead_admits_again_once_it_is_set_right() {
    let mut node = admission(rules(SlotPolicy::Even), SAN_JOSE, state(3));
    let mut counters = Counters::default();
    // Long after the snapshot there are no slots.
    assert_eq!(counters.admitted(&mut node, SAN_JOSE, 1, clock(12, 45, 0)), 0);
    assert_eq!(counters.admitted(&mut node, SAN_JOSE, 300, clock(11, 45, 30)), 16);
}

#[test]
fn an_unresponsive_counter_leaves_the_next_one() {
    let mut admission = admission(rules(SlotPolicy::Counters), SAN_JOSE, state(3));
    let SlotDecision::Request(site) = admission.arrive(noted()) else { panic!("there are slots") };
    let SlotDecision::Request(anywhere) = admission.on_timeout(&site, noted()) else {
        panic!("Anywhere has some")
    };
    assert_eq!((anywhere.pool, anywhere.slots), (Pool::Anywhere, 113));
    assert_eq!(admission.on_timeout(&anywhere, noted()), SlotDecision::Queue);
    // The counter may only have been slow, so the next visitor tries again.
    assert_eq!(admission.arrive(noted()), SlotDecision::Request(site));
}

#[test]
fn with_pacing_the_slots_open_one_after_the_other_and_none_is_lost() {
    let rules = rules(SlotPolicy::Counters).pacing(Pacing::Linear);
    let mut admission = admission(rules, DELHI, state(3));
    let mut counters = Counters::default();
    let mut admitted =
        |seconds| counters.admitted(&mut admission, DELHI, 200, clock(11, 45, seconds));
    // A sixth of Anywhere's 113 slots opens at once, rounded up, and another sixth every ten
    // seconds.
    assert_eq!([0, 0, 10, 20, 50, 59].map(&mut admitted), [19, 0, 19, 19, 56, 0]);
}
