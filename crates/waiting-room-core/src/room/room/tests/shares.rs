//! Tests of the shares of networks: attacks from a few networks while people arrive, and crowds
//! within their shares.

use std::num::NonZeroU16;

use proptest::prelude::*;

use super::*;
use crate::room::{Network, Shares};

/// A client in the simulation. It comes back with its ticket when it is due, and with its pass after
/// four minutes.
#[derive(Clone)]
struct Client {
    id: VisitorId,
    ticket: Option<Ticket>,
    pass: Option<Pass>,
    due: u64,
    /// The time from which it was inside without a break, if it was ever inside.
    inside_at: Option<u64>,
    /// How often its session ended.
    ended: usize,
}

impl Client {
    fn new(id: VisitorId, due: u64) -> Self {
        Self { id, ticket: None, pass: None, due, inside_at: None, ended: 0 }
    }

    /// Sends the client's next request, if it is due.
    fn act(&mut self, room: &mut Room, now: u64) {
        if now < self.due {
            return;
        }
        let held = self.pass.take();
        if let Some(pass) = held
            && let Renewal::Renew(pass) = room.renew(&pass, at(now))
        {
            self.holds(pass, now);
            return;
        }
        self.ended += usize::from(held.is_some());
        let verdict = match self.ticket.take() {
            Some(ticket) => room.check_in(&ticket, at(now)),
            None => room.enter(self.id, at(now)),
        };
        match verdict {
            Verdict::Admit { pass, .. } => {
                self.inside_at.get_or_insert(now);
                self.holds(pass, now);
            }
            Verdict::Refuse { ticket, retry_after, .. } => {
                self.ticket = ticket;
                self.due = now + retry_after.map_or(5, |wait| wait.as_secs());
            }
            Verdict::Wait { ticket, .. } => {
                self.due = now + ticket.retry_after(at(now)).as_secs();
                self.ticket = Some(ticket);
            }
        }
    }

    fn holds(&mut self, pass: Pass, now: u64) {
        let lasts = pass.expires_at.since(at(now)).as_secs();
        self.pass = Some(pass);
        self.due = now + lasts.saturating_sub(1).clamp(1, 240);
    }
}

fn of(wide: u16, middle: u16, narrow: u16, who: u128) -> VisitorId {
    id(who << 112 | who).of_network(NonZeroU16::new(wide).map(|w| Network::new(w, middle, narrow)))
}

/// The rules of the room in the README.
fn readme() -> RoomRules {
    RoomRules::new("shop", 200).new_users_per_minute(200).session_duration(Duration::from_secs(300))
}

fn off(rules: RoomRules) -> RoomRules {
    rules.shares(Shares::Off).longest_visit(None)
}

/// Simulates an attacker with these clients, of which up to `each_second` act per second, and 20
/// people who come after `people_at` seconds, each from a network of its own. Returns the wait of
/// each person who was let in within two hours.
fn strike(rules: RoomRules, mut bots: Vec<Client>, each_second: usize, people_at: u64) -> Vec<u64> {
    crate::room::work::Sizes::use_usual();
    let mut room = room(rules);
    let person = |number: u16| of(1_000 + number, 0, 0, number.into());
    let mut people: Vec<_> = (0..20).map(|who| Client::new(person(who), people_at)).collect();
    for now in 1..people_at + 7_200 {
        let due = bots.iter_mut().filter(|bot| bot.due <= now).take(each_second);
        due.for_each(|bot| bot.act(&mut room, now));
        people.iter_mut().for_each(|person| person.act(&mut room, now));
        if people.iter().all(|person| person.inside_at.is_some()) {
            break;
        }
    }
    people.iter().filter_map(|person| Some(person.inside_at? - people_at)).collect()
}

#[test]
fn one_address_that_holds_all_slots_and_its_places_yields_to_people() {
    let bots: Vec<_> = (0..600).map(|who| Client::new(of(7, 0, 0, who), 0)).collect();
    assert_eq!(strike(off(readme()), bots.clone(), 20, 400), [], "without shares");
    let waits = strike(readme(), bots, 20, 400);
    assert_eq!(waits.len(), 20, "{waits:?}");
    assert!(waits.iter().all(|wait| *wait <= 400), "{waits:?}");
}

#[test]
fn one_48_of_ipv6_that_holds_the_slots_and_fills_the_line_yields_to_people() {
    let narrow = |who: u32| u16::try_from(who % 250).unwrap();
    let bots: Vec<_> =
        (0..6_000).map(|who| Client::new(of(7, 1, narrow(who), who.into()), 0)).collect();
    let small = || readme().line_capacity(5_000);
    assert_eq!(strike(off(small()), bots.clone(), 1_000, 400), [], "without shares");
    let waits = strike(small(), bots, 1_000, 400);
    assert_eq!(waits.len(), 20, "{waits:?}");
    assert!(waits.iter().all(|wait| *wait <= 900), "{waits:?}");
}

#[test]
fn many_networks_within_their_shares_yield_after_the_longest_visit() {
    let bots: Vec<_> =
        (0..200u16).map(|who| Client::new(of(who + 1, 0, 0, who.into()), 0)).collect();
    assert_eq!(strike(readme().longest_visit(None), bots.clone(), 20, 400), [], "without an end");
    let waits = strike(readme().longest_visit(Duration::from_secs(1_200)), bots, 20, 400);
    assert_eq!(waits.len(), 20, "{waits:?}");
    assert!(waits.iter().all(|wait| *wait <= 1_200), "{waits:?}");
}

#[test]
fn a_school_alone_has_all_slots_and_never_more_sessions_end_than_visitors_wait() {
    crate::room::work::Sizes::use_usual();
    let mut room = room(readme());
    let mut school: Vec<_> = (0..300).map(|who| Client::new(of(7, 0, 0, who), 0)).collect();
    for now in 1..1_000 {
        school.iter_mut().for_each(|pupil| pupil.act(&mut room, now));
    }
    let inside = |school: &[Client]| school.iter().filter(|pupil| pupil.pass.is_some()).count();
    assert_eq!(inside(&school), 200);
    let first: Vec<_> = school.iter().map(|pupil| pupil.inside_at).collect();
    let mut guests: Vec<_> = (0..3).map(|who| Client::new(of(9, 0, 0, who), 1_000)).collect();
    for now in 1_000..1_700 {
        school.iter_mut().for_each(|pupil| pupil.act(&mut room, now));
        guests.iter_mut().for_each(|guest| guest.act(&mut room, now));
    }
    assert!(guests.iter().all(|guest| guest.inside_at.is_some()));
    let now: Vec<_> = school.iter().map(|pupil| pupil.inside_at).collect();
    assert_eq!(now.iter().zip(first).filter(|(now, first)| *now != first).count(), 100);
    let ended: usize = school.iter().map(|pupil| pupil.ended).sum();
    assert_eq!(ended, 103, "as many sessions end as visitors waited");
}

#[test]
fn a_free_slot_is_not_kept_from_a_late_place() {
    let mut room = room(rules(8).shares(Shares::Limit(1)).line_capacity(1_000));
    (0..8).for_each(|who| _ = pass(room.enter(of(9, 0, 0, who), at(0))));
    let places: Vec<_> = (10..14).map(|who| of(7, 1, who, who.into())).collect();
    let firsts: Vec<_> = places.iter().map(|id| ticket(room.enter(*id, at(1)))).collect();
    let held: Vec<_> = firsts.iter().map(|first| ticket(room.check_in(first, at(2)))).collect();
    let late: Vec<_> = held.iter().map(|ticket| ticket.late_by > 0).collect();
    assert_eq!(late, [false, false, true, true]);
    room.leave(of(9, 0, 0, 0), at(3));
    room.leave(of(9, 0, 0, 1), at(3));
    room.leave(of(9, 0, 0, 2), at(3));
    pass(room.check_in(&held[0], at(4)));
    pass(room.check_in(&held[1], at(4)));
    pass(room.check_in(&held[2], at(4)));
}

#[test]
fn a_school_with_less_than_its_part_of_a_fast_crowd_is_not_late() {
    let mut room = room(readme());
    (0..200u16).for_each(|who| _ = pass(room.enter(of(5_000 + who, 0, 0, who.into()), at(0))));
    for who in 0..500u16 {
        let wide = if who % 5 == 0 { 7 } else { 1_000 + who };
        let first = ticket(room.enter(of(wide, 0, 0, 1_000 + u128::from(who)), at(1)));
        assert_eq!(ticket(room.check_in(&first, at(2))).late_by, 0, "{who}");
    }
}

#[test]
fn places_that_were_given_up_do_not_delay_the_next_one_of_their_network() {
    let mut room = room(rules(8).shares(Shares::Limit(4)));
    (0..8).for_each(|who| _ = pass(room.enter(of(9, 0, 0, who), at(0))));
    let kept = ticket(room.enter(of(7, 0, 0, 9), at(1)));
    ticket(room.check_in(&kept, at(2)));
    for who in 10..60 {
        let first = ticket(room.enter(of(7, 0, 0, who), at(1)));
        assert_eq!(ticket(room.check_in(&first, at(2))).late_by, 0);
        room.leave(first.id, at(2));
    }
}

proptest! {
    /// A crowd within its shares is served exactly as without shares.
    #[test]
    fn a_crowd_within_its_shares_is_served_as_without_them(
        steps in prop::collection::vec((0u8..9, 0u16..72, 1u64..200), 1..400),
    ) {
        let base = || rules(40).session_duration(Duration::from_secs(60)).longest_visit(None);
        let mut rooms = [room(base()), room(base().shares(Shares::Off))];
        let mut tickets = std::collections::BTreeMap::new();
        let mut passes = std::collections::BTreeMap::new();
        let mut now = 1;
        for (verb, who, pause) in steps {
            // Nine visitors of each of eight networks; 10 slots and 10 places are within a share.
            let id = of(who % 8 + 1, 0, 0, who.into());
            if verb == 0 {
                now += pause / 20;
            }
            now += u64::from(verb == 1);
            let said = rooms.each_mut().map(|room| match (verb, passes.get(&who), tickets.get(&who)) {
                (2, Some(pass), _) => (None, Some(room.renew(pass, at(now)))),
                (3, _, _) => {
                    room.leave(id, at(now));
                    (None, None)
                }
                (_, _, Some(ticket)) => (Some(room.check_in(ticket, at(now))), None),
                _ => (Some(room.enter(id, at(now))), None),
            });
            prop_assert_eq!(&said[0], &said[1]);
            let [(verdict, renewal), _] = said;
            match verdict {
                Some(Verdict::Admit { pass, .. }) => _ = passes.insert(who, pass),
                Some(Verdict::Wait { ticket, .. }) => _ = tickets.insert(who, ticket),
                Some(Verdict::Refuse { .. }) | None => {}
            }
            if let Some(Renewal::Renew(pass)) = renewal {
                passes.insert(who, pass);
            }
        }
        let [with, without] = rooms.each_mut().map(|room| room.snapshot(at(now)));
        prop_assert_eq!(with, without);
    }
}
