use std::sync::atomic::{AtomicU32, Ordering};

use waiting_room_core::Timestamp;

use super::*;

/// A waker that counts how often it is called.
#[derive(Default)]
struct Woken(AtomicU32);

impl std::task::Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

fn streams(push: Push) -> Arc<Streams> {
    Arc::new(Streams::new(push, Telemetry::new("shop".into())))
}

/// The ticket of a visitor, which has a place in line.
fn ticket(id: u128) -> Ticket {
    let at = Timestamp::from_secs;
    let mut ticket = Ticket::new(VisitorId::new(id), at(1), at(1), at(3));
    ticket.placed = true;
    ticket
}

/// Opens a stream for a visitor at this place in the order, and lets the stream wait.
fn waiting(streams: &Arc<Streams>, order: u64, now: Instant) -> (StreamPlace, Arc<Woken>) {
    let place = streams.open(&ticket(order.into()), order, None, now).unwrap();
    place.standing(now);
    let woken = Arc::<Woken>::default();
    assert!(place.waits(now, &Arc::clone(&woken).into()));
    (place, woken)
}

fn count(woken: &Woken) -> u32 {
    woken.0.load(Ordering::Relaxed)
}

fn here(last: u8) -> Option<IpAddr> {
    Some(IpAddr::from([192, 0, 2, last]))
}

#[test]
fn a_free_slot_wakes_the_front_and_no_other_stream() {
    let streams = streams(Push::at("/e"));
    let now = Instant::now();
    // The last visitor in line connects first.
    let all: Vec<_> = (0..1_000).rev().map(|order| waiting(&streams, order, now)).collect();
    streams.call(now);
    let woken: Vec<_> = all.iter().rev().map(|(_, woken)| count(woken)).collect();
    assert_eq!(woken[..Streams::FRONT], [1; Streams::FRONT]);
    assert_eq!(woken.iter().sum::<u32>(), 8);
    let standing = all[999].0.standing(now).unwrap();
    assert_eq!(standing, Standing { is_called: true, is_front: true });
    assert_eq!(all[0].0.standing(now).unwrap(), Standing { is_called: false, is_front: false });
    // A call is delivered once, and a stream that was called meanwhile does not wait.
    assert!(!all[999].0.standing(now).unwrap().is_called);
    streams.call(now);
    assert!(!all[999].0.waits(now, Waker::noop()));
}

#[test]
fn each_turn_wakes_the_stream_that_moves_to_the_front() {
    let streams = streams(Push::at("/e"));
    let now = Instant::now();
    let all: Vec<_> = (0..20).map(|order| waiting(&streams, order, now)).collect();
    for turn in 0..12 {
        all[turn].0.moves(turn as u64, true);
        let woken = all.iter().map(|(_, woken)| count(woken)).sum::<u32>();
        assert_eq!((woken, count(&all[turn + 8].1)), (u32::try_from(turn).unwrap() + 1, 1));
    }
    // The first stream waits again, and the stream that it displaces no longer checks often.
    all[0].0.moves(0, false);
    assert!(all[0].0.standing(now).unwrap().is_front);
    assert!(!all[19].0.standing(now).unwrap().is_front);
}

#[test]
fn a_stream_that_closes_makes_way_for_the_next_one() {
    let streams = streams(Push::at("/e"));
    let now = Instant::now();
    let mut all: Vec<_> = (0..10).map(|order| waiting(&streams, order, now)).collect();
    drop(all.remove(9));
    assert!(all.iter().all(|(_, woken)| count(woken) == 0));
    drop(all.remove(0));
    assert_eq!((count(&all[7].1), streams.len()), (1, 8));
}

#[test]
fn unread_streams_do_not_keep_others_from_the_front() {
    let streams = streams(Push::at("/e"));
    let now = Instant::now();
    let attack: Vec<_> = (0..32).map(|number| waiting(&streams, number / 4, now)).collect();
    let others: Vec<_> = (8..26).map(|order| waiting(&streams, order, now)).collect();
    let later = now + Streams::LATE;
    for (place, woken) in &others {
        place.standing(later);
        assert!(place.waits(later, &Arc::clone(woken).into()));
    }
    streams.call(later);
    assert!(attack.iter().all(|(_, woken)| count(woken) == 0));
    let woken: Vec<_> = others.iter().map(|(_, woken)| count(woken)).collect();
    assert_eq!((woken[..8].iter().min(), woken[8..].iter().max()), (Some(&1), Some(&0)));
    // A stream that is read after all is at the front again, and needs no call.
    let standing = attack[0].0.standing(later).unwrap();
    assert_eq!(standing, Standing { is_called: false, is_front: true });
    assert!(!others[7].0.standing(later).unwrap().is_front);
}

#[test]
fn each_visitor_has_one_stream_at_the_front_and_the_others_follow_its_turn() {
    let streams = streams(Push::at("/e"));
    let now = Instant::now();
    let tabs: Vec<_> = (0..8).map(|number| waiting(&streams, number / 4, now)).collect();
    let others: Vec<_> = (2..20).map(|order| waiting(&streams, order, now)).collect();
    streams.call(now);
    let woken: Vec<_> = tabs.iter().chain(&others).map(|(_, woken)| count(woken)).collect();
    assert_eq!(woken[..15], [1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 1, 1, 1, 1, 0]);
    // Each turn calls the visitor's next tab, and the last turn calls another visitor's stream.
    for (place, woken) in &tabs[..4] {
        assert_eq!((count(woken), count(&others[6].1)), (1, 0));
        place.moves(0, true);
    }
    assert_eq!(count(&others[6].1), 1);
}

#[test]
fn the_streams_in_total_of_a_network_and_of_a_visitor_are_bounded() {
    let now = Instant::now();
    let streams = streams(Push::at("/e").max_streams(6).max_streams_per_network(3));
    let open = |who: u128, network| streams.open(&ticket(who), 1, network, now);
    let mut held: Vec<_> = (0..3).map(|who| open(who, here(1)).unwrap()).collect();
    assert_eq!(open(3, here(1)).err(), Some(NotOpened::NetworkFull));
    held.extend((3..5).map(|who| open(who, here(2)).unwrap()));
    held.push(open(5, None).unwrap());
    assert_eq!(open(6, None).err(), Some(NotOpened::Full));
    held.clear();
    let open_state = streams.locked();
    assert!(open_state.of_network.is_empty() && open_state.of_visitor.is_empty());
    assert!(open_state.by_due.is_empty() && open_state.by_rank.is_empty());
    drop(open_state);
    held.extend((0..4).map(|_| open(1, None).unwrap()));
    assert_eq!(open(1, None).err(), Some(NotOpened::Full));
    assert!(open(2, None).is_ok());
}

#[test]
fn first_tickets_take_half_of_the_streams_and_people_in_line_the_others() {
    let now = Instant::now();
    let streams = streams(Push::at("/e").max_streams(200).max_streams_per_network(10));
    let open = |who: u8, is_placed| {
        let mut ticket = ticket(who.into());
        ticket.placed = is_placed;
        streams.open(&ticket, who.into(), here(who / 10), now)
    };
    // Twenty networks open as many streams with first tickets as they can, before people come.
    let attack: Vec<_> = (0..200).map(|who| open(who, false)).collect();
    assert_eq!(attack.iter().flatten().count(), 100);
    assert_eq!(attack.last().unwrap().as_ref().err(), Some(&NotOpened::Full));
    let people: Vec<_> = (101..201).map(|who| open(who, true)).collect();
    assert!(people.iter().all(Result::is_ok));
    assert_eq!(open(250, true).err(), Some(NotOpened::Full));
}

#[test]
fn an_unread_stream_gives_up_its_place() {
    let now = Instant::now();
    let streams = streams(Push::at("/e").max_streams(2));
    let (slow, woken) = waiting(&streams, 1, now);
    let (read, _) = waiting(&streams, 2, now);
    let later = now + Streams::OVERDUE;
    read.waits(later, Waker::noop());
    let just_before = later - Duration::from_millis(1);
    let open = |at| streams.open(&ticket(3), 3, None, at);
    assert_eq!(open(just_before).err(), Some(NotOpened::Full));
    let third = open(later).unwrap();
    assert_eq!((slow.standing(now), count(&woken), streams.len()), (None, 1, 2));
    assert!(!slow.waits(later, Waker::noop()));
    assert!(read.standing(now).is_some());
    // The stream has already been removed, so dropping its place removes nothing.
    drop(slow);
    assert_eq!(streams.len(), 2);
    drop(third);
    assert_eq!(streams.len(), 1);
}

#[test]
fn all_streams_end_at_once_and_none_is_opened_after_that() {
    let streams = streams(Push::at("/e"));
    let now = Instant::now();
    let all: Vec<_> = (0..10).map(|order| waiting(&streams, order, now)).collect();
    streams.end_all();
    assert_eq!(streams.len(), 0);
    assert!(all.iter().all(|(place, woken)| place.standing(now).is_none() && count(woken) == 1));
    let refused = streams.open(&ticket(1), 1, None, now);
    assert_eq!(refused.err(), Some(NotOpened::Ended));
}
