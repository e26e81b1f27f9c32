//! Tests that entrants who went away, and those who were admitted before or after a loss of state,
//! delay nobody after a draw.

use std::time::Duration;

use waiting_room_core::{
    Reason, Store, Verdict, VisitorId,
    room::event::{Event, Schedule, Seed},
    time::ManualClock,
};
use waiting_room_redis::RedisStore;

use crate::{
    events::{Visitor, at, crowd, nodes, shuffled, wait},
    support::{manager, on_each, start},
};

/// Returns the places that were drawn for these visitors.
fn places(store: &RedisStore, crowd: &[(Visitor, u32)]) -> Vec<u32> {
    let reveal = store.plan().unwrap().reveal.clone().unwrap();
    let commitment = shuffled().events()[0].shuffle_at_start.unwrap();
    let shuffle = reveal.verify(&commitment).unwrap();
    crowd.iter().map(|(_, number)| shuffle.place_of(*number).unwrap()).collect()
}

fn number(visitor: Visitor) -> u32 {
    visitor.ticket().entrant.unwrap().number
}

/// Checks that those inside are the `slots` best of these visitors, and that the others know exactly
/// how many of these visitors are ahead of them.
fn check_order(store: &RedisStore, crowd: &[(Visitor, u32)], slots: usize) {
    let places = places(store, crowd);
    for ((visitor, _), place) in crowd.iter().zip(&places) {
        let better = places.iter().filter(|other| *other < place).count();
        match visitor {
            Visitor::Admitted(_) => assert!(better < slots, "place {place}: {better} are better"),
            Visitor::Waits(ticket) => {
                let position = ticket.shown_position.unwrap() as usize;
                assert_eq!(position, better + 1 - slots, "place {place}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn entrants_that_go_away_around_the_start_keep_no_slot_idle() {
    on_each(async |engine| {
        let server = start(engine);
        let clock = ManualClock::new(at(0));
        let stores = nodes(&server, &clock, 3, shuffled()).await;
        clock.advance(Duration::from_secs(110));
        let mut all = crowd(&stores, &clock, 32).await;
        // Ten go away long before the start, and their places lapse. Ten go away shortly before.
        let mut gone = all.split_off(22);
        wait(&mut all, &stores, &clock, at(250)).await;
        gone.extend(all.split_off(12));
        wait(&mut all, &stores, &clock, at(299)).await;
        for visitor in &mut all {
            assert_eq!(visitor.ask(&stores[0]).await, Reason::Prequeue, "{engine}");
        }
        let absent = gone.iter().map(|visitor| (*visitor, number(*visitor))).collect::<Vec<_>>();
        let mut present =
            all.iter().map(|visitor| (*visitor, number(*visitor))).collect::<Vec<_>>();
        // Those who are present take all slots at once, in the drawn order.
        clock.advance(Duration::from_secs(1));
        for _ in 0..2 {
            for (visitor, _) in &mut present {
                visitor.ask(&stores[1]).await;
            }
        }
        let inside = |crowd: &[(Visitor, u32)]| {
            crowd.iter().filter(|(visitor, _)| matches!(visitor, Visitor::Admitted(_))).count()
        };
        assert_eq!(inside(&present), 3, "{engine}");
        check_order(&stores[1], &present, 3);
        // A visitor who comes back counts again from then on, at its place.
        let (mut back, number) = absent[12];
        back.ask(&stores[0]).await;
        let is_better = |place: &u32| *place < places(&stores[1], &[(back, number)])[0];
        let better = places(&stores[1], &present).iter().filter(|place| is_better(place)).count();
        let position = back.ticket().shown_position.unwrap() as usize;
        assert_eq!(position, better.max(3) - 3 + 1, "{engine}");
        for (visitor, _) in &mut present {
            visitor.ask(&stores[0]).await;
        }
        present.push((back, number));
        let ordered = places(&stores[1], &present);
        for ((visitor, _), place) in present.iter().zip(&ordered) {
            let Visitor::Waits(ticket) = visitor else { continue };
            let ahead = present.iter().zip(&ordered).filter(|((other, _), its_place)| {
                matches!(other, Visitor::Waits(_)) && *its_place < place
            });
            assert_eq!(ticket.shown_position.unwrap() as usize, ahead.count() + 1, "{engine}");
        }
        // A visitor who goes away after the start delays nobody either. The waiting visitor with
        // the best place stays away, all others check in, and the visitor with the second best
        // place is admitted.
        let mut waiting: Vec<_> = present.iter().zip(&ordered).collect();
        waiting.retain(|((visitor, _), _)| matches!(visitor, Visitor::Waits(_)));
        waiting.sort_by_key(|(_, place)| **place);
        let mut second = waiting[1].0.0;
        let Visitor::Admitted(pass) = present
            .iter()
            .map(|visitor| visitor.0)
            .find(|visitor| matches!(visitor, Visitor::Admitted(_)))
            .unwrap()
        else {
            panic!()
        };
        // A visitor at the front who follows its place over a stream is away after three seconds.
        stores[0].stay(waiting[0].0.0.ticket()).await.unwrap();
        clock.advance(Duration::from_secs(4));
        stores[0].leave(pass.id).await.unwrap();
        second.ask(&stores[1]).await;
        assert!(matches!(second, Visitor::Admitted(_)), "{engine}: {second:?}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn visitors_without_a_number_do_not_wait_for_each_other_after_a_draw() {
    on_each(async |engine| {
        let server = start(engine);
        let clock = ManualClock::new(at(0));
        let stores = nodes(&server, &clock, 3, shuffled()).await;
        clock.advance(Duration::from_secs(298));
        // Three visitors touch the room before the start, and check in only after it.
        let mut late = Vec::new();
        for who in [3_u128, 1, 2] {
            let verdict = stores[0].enter(VisitorId::new(who << 70)).await.unwrap();
            let Verdict::Wait { ticket, .. } = verdict else { panic!("{verdict:?}") };
            late.push(Visitor::Waits(ticket));
        }
        clock.advance(Duration::from_secs(2));
        stores[0].configure(|rules| rules.total_active_users(1)).await.unwrap();
        let first = stores[0].enter(VisitorId::new(9 << 70)).await.unwrap();
        let Verdict::Admit { pass, .. } = first else { panic!("{first:?}") };
        for visitor in &mut late {
            visitor.ask(&stores[1]).await;
        }
        for visitor in &mut late {
            visitor.ask(&stores[1]).await;
        }
        // The visitors arrived in the same instant, so their ids decide the order.
        let positions: Vec<_> =
            late.iter().map(|visitor| visitor.ticket().shown_position.unwrap()).collect();
        assert_eq!(positions, [3, 1, 2], "{engine}");
        stores[0].leave(pass.id).await.unwrap();
        late[1].ask(&stores[0]).await;
        assert!(matches!(late[1], Visitor::Admitted(_)), "{engine}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_loss_just_behind_the_start_active_visitors_delay_no_others() {
    on_each(async |engine| {
        let server = start(engine);
        let clock = ManualClock::new(at(0));
        let stores = nodes(&server, &clock, 4, shuffled()).await;
        clock.advance(Duration::from_secs(110));
        let mut crowd = crowd(&stores, &clock, 12).await;
        wait(&mut crowd, &stores, &clock, at(300)).await;
        for _ in 0..2 {
            for visitor in &mut crowd {
                visitor.ask(&stores[0]).await;
            }
        }
        crowd.retain(|visitor| matches!(visitor, Visitor::Waits(_)));
        crowd.sort_by_key(|visitor| visitor.ticket().entrant.unwrap().place);
        assert_eq!(crowd.len(), 8);
        clock.advance(Duration::from_secs(1));
        let () = redis::cmd("FLUSHALL").query_async(&mut manager(&server).await).await.unwrap();
        stores[0].configure(|rules| rules.total_active_users(1)).await.unwrap();
        // The four visitors with the best places are inside, but the room does not know this. The
        // next visitor does not wait for those inside, and later visitors wait neither for them nor
        // for those who have left.
        for _ in 0..3 {
            let mut behind = crowd[1];
            assert_eq!(behind.ask(&stores[1]).await, Reason::QueuedBehindOthers, "{engine}");
            assert_eq!(behind.ticket().shown_position, Some(2), "{engine}");
            crowd[1] = behind;
            let mut next = crowd.remove(0);
            assert_eq!(next.ask(&stores[0]).await, Reason::AdmittedSlot, "{engine}");
            let Visitor::Admitted(pass) = next else { panic!() };
            stores[0].leave(pass.id).await.unwrap();
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_room_idle_over_the_start_gives_all_entrants_time_to_check_in() {
    on_each(async |engine| {
        let server = start(engine);
        let clock = ManualClock::new(at(0));
        let seed = Seed::new([7; 32]);
        let doors = Event::new("doors", at(300), at(900)).prequeue_start(at(100));
        let schedule = Schedule::new([doors]).unwrap().with_seed("shop", "doors", seed).unwrap();
        let stores = nodes(&server, &clock, 5, schedule).await;
        clock.advance(Duration::from_secs(110));
        let mut crowd = crowd(&stores, &clock, 20).await;
        wait(&mut crowd, &stores, &clock, at(290)).await;
        // Nobody could check in for a minute, so all of them are away, and nobody is to blame.
        clock.advance(Duration::from_secs(60));
        let numbers: Vec<_> = crowd.iter().map(|visitor| number(*visitor)).collect();
        for visitor in &mut crowd {
            visitor.ask(&stores[0]).await;
        }
        let crowd: Vec<_> = crowd.into_iter().zip(numbers).collect();
        let places = places(&stores[0], &crowd);
        for ((visitor, _), place) in crowd.iter().zip(places) {
            let is_in = matches!(visitor, Visitor::Admitted(_));
            assert!(!is_in || place <= 5, "{engine}: place {place}");
        }
    })
    .await;
}
