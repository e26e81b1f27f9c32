//! Every operation takes a bounded number of steps, and the removals that it leaves to later
//! operations affect no decision.

use proptest::prelude::*;

use super::*;
use crate::room::{
    Shares,
    work::{Sizes, steps_of},
};

/// The maximum number of entries that an operation may read or move one by one. An operation needs
/// nearly as many for ten thousand visitors as for a hundred thousand. One more per fifty visitors
/// would exceed this maximum.
const MOST: usize = 13_000;

const INTERVAL: Duration = Duration::from_secs(20);

/// Rules for a line of any length behind one slot that is taken for a day.
fn long_line(method: QueueingMethod) -> RoomRules {
    RoomRules::new("shop", 1)
        .session_duration(Duration::from_secs(24 * 60 * 60))
        .line_capacity(RoomRules::MAX_LINE_CAPACITY)
        .shares(Shares::Off)
        .refresh_interval(INTERVAL)
        .queueing_method(method)
}

/// Returns a visitor whose id looks random.
fn spread(number: u32) -> VisitorId {
    id((u128::from(number) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835))
}

/// Runs an operation, and checks its number of steps.
#[track_caller]
fn bounded<T>(what: &str, verb: impl FnOnce() -> T) -> T {
    let (result, steps) = steps_of(verb);
    assert!(steps <= MOST, "{what}: {steps} steps");
    result
}

/// Checks in a visitor that arrived at time 0.
fn stand(room: &mut Room, number: u32, now: Timestamp) -> Ticket {
    let first = Ticket::new(spread(number), at(0), now, now);
    bounded("check_in", || ticket(room.check_in(&first, now)))
}

/// Creates a room with a line in which every second visitor has checked in one interval later than
/// the others.
fn line(visitors: u32, method: QueueingMethod) -> Room {
    let mut room = room(long_line(method));
    pass(room.enter(id(0), at(0)));
    (0..visitors).step_by(2).for_each(|number| _ = stand(&mut room, number, at(0)));
    (1..visitors).step_by(2).for_each(|number| _ = stand(&mut room, number, at(20)));
    room
}

/// Calls each operation as the first one after a pause, in a copy of the room.
#[track_caller]
fn verbs_after_a_pause(room: &Room, now: Timestamp, present: u32) {
    let mut copy = room.clone();
    bounded("enter", || copy.enter(id(1), now));
    assert_eq!(copy.present(), present);
    let mut copy = room.clone();
    bounded("snapshot", || copy.snapshot(now));
    assert_eq!(copy.present(), present);
    let mut copy = room.clone();
    bounded("sweep", || copy.sweep(now));
    stand(&mut room.clone(), 1, now);
    let mut copy = room.clone();
    bounded("configure", || copy.configure(long_line(QueueingMethod::Fifo), now)).unwrap();
    bounded("leave", || copy.leave(spread(3), now));
    let method = QueueingMethod::Random;
    bounded("configure", || copy.configure(long_line(method), now)).unwrap();
    (0..100).for_each(|number| _ = stand(&mut copy, number, now));
}

fn sessions_lapse_in_bounded_steps(visitors: u32) {
    Sizes::use_usual();
    let mut room = room(rules(RoomRules::MAX_USERS));
    for number in 0..visitors {
        let now = at(u64::from(number % 2) * 40);
        bounded("enter", || pass(room.enter(spread(number), now)));
    }
    for (now, active) in [(at(90), visitors / 2), (at(130), 0), (at(100_000), 0)] {
        assert_eq!(bounded("snapshot", || room.clone().snapshot(now)).active, active);
        bounded("sweep", || room.clone().sweep(now));
        bounded("enter", || pass(room.clone().enter(id(1), now)));
        let old = Pass::new(spread(1), 0, at(0), at(0), at(1_000_000));
        bounded("renew", || room.clone().renew(&old, now));
        bounded("leave", || room.clone().leave(spread(2), now));
    }
    for _ in 0..=visitors as usize / Sizes::current().buried {
        bounded("sweep", || room.sweep(at(130)));
    }
    assert_eq!(room.passes().count(), 0);
    room.sessions.invariants();
}

fn a_line_goes_away_in_bounded_steps(visitors: u32) {
    Sizes::use_usual();
    for method in [QueueingMethod::Fifo, QueueingMethod::Random] {
        let room = line(visitors, method);
        verbs_after_a_pause(&room, at(20), visitors);
        // A visitor is present for between 1.5 and 1.95 intervals.
        verbs_after_a_pause(&room, at(45), visitors / 2);
        // A new minute, in which the visitors draw new lots.
        verbs_after_a_pause(&room, at(80), 0);
        // All places have lapsed.
        verbs_after_a_pause(&room, at(5_000), 0);
    }
}

#[test]
fn a_hundred_thousand_sessions_lapse_in_bounded_steps() {
    sessions_lapse_in_bounded_steps(100_000);
}

#[test]
fn a_line_of_a_hundred_thousand_lapses_in_bounded_steps() {
    a_line_goes_away_in_bounded_steps(100_000);
}

#[test]
fn removals_catch_up_with_places_that_lapse_together() {
    let mut room = room(long_line(QueueingMethod::Fifo));
    pass(room.enter(id(0), at(0)));
    (0..100).for_each(|number| _ = stand(&mut room, number, at(0)));
    let verbs = 100_usize.div_ceil(Sizes::current().buried);
    for verb in 1..=verbs {
        let waiting = room.snapshot(at(1_000)).waiting as usize;
        assert_eq!(waiting, 100_usize.saturating_sub(verb * Sizes::current().buried));
    }
    assert_eq!(room.snapshot(at(1_000)).oldest_wait, Duration::ZERO);
}

#[test]
fn the_place_of_the_visitor_itself_is_gone_before_the_verb_decides() {
    let share = Shares::Limit(1);
    let of = |who: u128| {
        id(who).of_network(Some(crate::room::Network::new(std::num::NonZeroU16::MIN, 0, 7)))
    };
    let mut room = room(long_line(QueueingMethod::Fifo).shares(share));
    pass(room.enter(id(0), at(0)));
    // Before this place lapses, more places lapse than one operation removes.
    (0..50).for_each(|number| _ = stand(&mut room, number, at(0)));
    let first = Ticket::new(of(u128::MAX), at(1), at(1), at(1));
    ticket(room.check_in(&first, at(1)));
    let anew = Ticket::new(of(u128::MAX), at(999), at(999), at(999));
    assert_eq!(ticket(room.check_in(&anew, at(1_000))).first_seen, at(999));
}

#[test]
fn a_ticket_is_void_even_if_the_session_that_used_it_is_not_removed_yet() {
    let rules = rules(50).session_duration(Duration::from_secs(8));
    let mut room = room(rules.clone());
    let tickets: Vec<_> = (1..=50).map(|who| Ticket::new(id(who), at(0), at(0), at(1))).collect();
    tickets.iter().for_each(|ticket| _ = pass(room.check_in(ticket, at(1))));
    room.configure(rules.mode(RoomMode::QueueAll), at(2)).unwrap();
    assert!(tickets.len() > 2 * Sizes::current().buried);
    let again = ticket(room.check_in(&tickets[49], at(20)));
    assert_eq!((again.first_seen, again.placed), (at(20), false));
}

/// An operation, or a pause.
#[derive(Clone, Debug)]
enum Step {
    CheckIn(usize),
    Configure(QueueingMethod, u32),
    Enter(u8),
    Leave(u8),
    Pause(u64),
    Renew(usize),
    Snapshot,
}

fn step() -> impl Strategy<Value = Step> {
    let method = prop::sample::select(vec![
        QueueingMethod::Fifo,
        QueueingMethod::Fifo,
        QueueingMethod::Passthrough,
        QueueingMethod::Random,
        QueueingMethod::Reject,
    ]);
    prop_oneof![
        12 => (0usize..60).prop_map(Step::CheckIn),
        1 => (method, 1u32..12).prop_map(|(method, slots)| Step::Configure(method, slots)),
        10 => (0u8..120).prop_map(Step::Enter),
        2 => (0u8..120).prop_map(Step::Leave),
        6 => (0u64..800).prop_map(Step::Pause),
        1 => (0u64..30_000).prop_map(Step::Pause),
        4 => (0usize..60).prop_map(Step::Renew),
        3 => Just(Step::Snapshot),
    ]
}

/// Two rooms on which the same operations are called. The second room removes all lapsed sessions
/// and places at once.
struct Pair {
    rooms: [Room; 2],
    now: Timestamp,
    tickets: Vec<Ticket>,
    passes: Vec<Pass>,
}

impl Pair {
    fn both<T: PartialEq + std::fmt::Debug>(
        &mut self,
        verb: impl Fn(&mut Room, Timestamp) -> T,
    ) -> T {
        Sizes::use_these(Sizes::SMALL);
        let given = verb(&mut self.rooms[0], self.now);
        Sizes::use_these(Sizes { buried: usize::MAX, ..Sizes::SMALL });
        let expected = verb(&mut self.rooms[1], self.now);
        assert_eq!(given, expected);
        given
    }

    fn take(&mut self, step: &Step) {
        let newest = |index: usize, len: usize| len.checked_sub(1 + index);
        match *step {
            Step::CheckIn(index) => {
                if let Some(index) = newest(index, self.tickets.len()) {
                    let ticket = self.tickets[index];
                    let verdict = self.both(|room, now| room.check_in(&ticket, now));
                    self.keep(verdict);
                }
            }
            Step::Configure(method, slots) => self.both(|room, now| {
                room.configure(Self::rules(slots).queueing_method(method), now).unwrap();
            }),
            Step::Enter(who) => {
                let verdict = self.both(|room, now| room.enter(id(who.into()), now));
                self.keep(verdict);
            }
            Step::Leave(who) => self.both(|room, now| room.leave(id(who.into()), now)),
            Step::Pause(millis) => self.now = self.now + Duration::from_millis(millis),
            Step::Renew(index) => {
                if let Some(index) = newest(index, self.passes.len()) {
                    let pass = self.passes[index];
                    if let Renewal::Renew(pass) = self.both(|room, now| room.renew(&pass, now)) {
                        self.passes.push(pass);
                    }
                }
            }
            Step::Snapshot => {
                let waiting = self.rooms.each_mut().map(|room| {
                    Sizes::use_these(Sizes::SMALL);
                    room.snapshot(self.now).waiting
                });
                assert!(waiting[0] >= waiting[1], "a place that has not lapsed is not counted");
                self.both(|room, now| {
                    let snapshot = room.snapshot(now);
                    (snapshot.active, snapshot.present, snapshot.new_in_last_minute, room.present())
                });
            }
        }
    }

    fn keep(&mut self, verdict: Verdict) {
        match verdict {
            Verdict::Admit { pass, .. } => self.passes.push(pass),
            Verdict::Wait { ticket, .. } | Verdict::Refuse { ticket: Some(ticket), .. } => {
                self.tickets.push(ticket);
            }
            Verdict::Refuse { .. } => {}
        }
    }

    fn rules(slots: u32) -> RoomRules {
        RoomRules::new("shop", slots)
            .session_duration(Duration::from_secs(8))
            .line_capacity(1_000)
            .place_retention(Duration::from_secs(20))
            .shares(Shares::Off)
            .refresh_interval(Duration::from_secs(2))
    }
}

proptest! {
    #[test]
    fn lapsed_entries_are_judged_as_if_they_were_removed(
        steps in prop::collection::vec(step(), 1..250),
    ) {
        let new = || room(Pair::rules(8));
        let tickets = Vec::new();
        let passes = Vec::new();
        let mut pair = Pair { rooms: [new(), new()], now: at(0), tickets, passes };
        steps.iter().for_each(|step| pair.take(step));
    }
}
