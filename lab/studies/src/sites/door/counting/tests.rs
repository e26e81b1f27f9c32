use std::path::Path;

use super::*;

/// Two sites with ten slots. In their first minute, all of these are Anywhere's.
fn door() -> CountingDoor {
    let file = "policies = [\"counters\"]
         [limits]
         total_active_users = 10
         new_users_per_minute = 6000
         session_s = 8
         [sites]
         nodes = [1, 1]
         [network]
         wan_rtt_ms = [70, 70]
         [crowd]
         visitors = 20
         over_s = 180";
    let scenario = Scenario::parse("test".to_owned(), file, Path::new("")).unwrap();
    let mut door = CountingDoor::new(&scenario, 1).unwrap();
    // The sites learn the snapshot of an empty world.
    assert!(decided(&mut door, 500).is_empty());
    door
}

/// A new visitor of a site.
fn visitor(who: u32, site: u16, now: u32) -> Asker {
    Asker { who, site, now, arrived: now, is_connected: true, is_next: true, is_new: true, id: who }
}

/// The decisions until a time: the time, the visitor and the decision.
fn decided(door: &mut CountingDoor, until: u32) -> Vec<(u32, u32, Say)> {
    let mut all = Vec::new();
    while let Some(now) = door.next_wake().filter(|now| *now <= until) {
        all.extend(door.wake(now).into_iter().map(|outcome| (now, outcome.who, outcome.say)));
    }
    all
}

#[test]
fn tickets_for_all_waiting_visitors_are_drawn_with_one_message() {
    let mut door = door();
    for who in 0..6 {
        assert_eq!(door.arrive(&visitor(who, 0, 500), 0.0), Say::Wait);
    }
    let admitted = decided(&mut door, 1_000);
    // The first knock sends a message, and the next one is for the others.
    assert_eq!(admitted[0], (570, 0, Say::Admit));
    let others: Vec<_> = admitted[1..].iter().map(|&(_, who, say)| (who, say)).collect();
    assert_eq!(others, (1..6).map(|who| (who, Say::Admit)).collect::<Vec<_>>());
    assert!(admitted[1..].iter().all(|(at, ..)| *at == admitted[1].0), "{admitted:?}");
    assert_eq!(door.trips().asking, 2);
}

#[test]
fn the_last_slot_is_for_the_first_in_line_of_the_same_second() {
    let mut door = door();
    for who in 0..9 {
        door.arrive(&visitor(who, 0, 500), 0.0);
    }
    assert_eq!(decided(&mut door, 1_000).len(), 9);
    let [first, second] = [1_000, 1_200].map(|arrived| {
        door.joins_line(0, arrived);
        Asker { arrived, is_new: false, ..visitor(arrived, 0, 1_300) }
    });
    assert_eq!(door.arrive(&second, 0.0), Say::Wait);
    let says: Vec<_> = decided(&mut door, 1_600).iter().map(|&(_, who, say)| (who, say)).collect();
    assert_eq!(says, [(second.who, Say::Queue)]);
    assert_eq!(door.arrive(&Asker { now: 1_600, ..first }, 0.0), Say::Admit);
}

#[test]
fn visitors_are_refused_at_once_when_no_ticket_is_left() {
    let mut door = door();
    let says = (0..12).map(|who| door.arrive(&visitor(who, 0, 500), 0.0));
    assert!(says.into_iter().all(|say| say == Say::Wait));
    let admitted = decided(&mut door, 1_000);
    let count = |say| admitted.iter().filter(|outcome| outcome.2 == say).count();
    assert_eq!((count(Say::Admit), count(Say::Queue)), (10, 2));
    assert!(decided(&mut door, 1_500).is_empty());
    let asking = door.trips().asking;
    assert_eq!(door.arrive(&visitor(12, 0, 1_500), 0.0), Say::Queue);
    // The other site does not know yet.
    assert_eq!(door.arrive(&visitor(13, 1, 1_500), 0.0), Say::Wait);
    assert_eq!(decided(&mut door, 1_600), [(1_570, 13, Say::Queue)]);
    assert_eq!(door.trips().asking, asking + 1);
    // By the second minute from now, the site that had the traffic is known, and has slots of its own.
    (0..10).for_each(|who| door.lapse(who));
    assert!(decided(&mut door, 121_000).is_empty());
    assert_eq!(door.arrive(&visitor(14, 0, 121_000), 0.0), Say::Admit);
    assert_eq!(door.arrive(&visitor(15, 1, 121_000), 0.0), Say::Queue);
}

#[test]
fn a_site_that_is_cut_off_keeps_visitors_at_the_door_only_briefly() {
    let mut door = door();
    door.cut(0);
    assert_eq!(door.arrive(&visitor(0, 0, 500), 0.0), Say::Wait);
    assert_eq!(decided(&mut door, 3_000), [(500 + DOOR_WAIT, 0, Say::Queue)]);
    door.join(0);
    assert_eq!(door.arrive(&visitor(1, 0, 3_000), 0.0), Say::Wait);
    assert_eq!(door.kill(0), [1]);
}
