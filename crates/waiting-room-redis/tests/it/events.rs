//! Scheduled events that two nodes share: the prequeue, the start, the draw, and losses in between.

use std::time::Duration;

use tower_waiting_room::{
    KeyRing, StoreFailure, TokenKey, WaitingRoomConfig, WaitingRoomLayer, room::RoomMode,
};
use waiting_room_core::{
    Pass, Reason, RoomRules, Store, StoreError, Ticket, Timestamp, Verdict, VisitorId,
    error::StoreErrorKind,
    room::event::{Event, Schedule, Seed},
    time::ManualClock,
};
use waiting_room_engines::EngineServer;
use waiting_room_redis::RedisStore;

use crate::support::{connect, eventually, manager, node, node_by, on_each, patient, start};

const START: u64 = 1_700_000_000;

pub(crate) fn at(secs: u64) -> Timestamp {
    Timestamp::from_secs(START + secs)
}

pub(crate) fn rules(slots: u32) -> RoomRules {
    let day = Duration::from_secs(24 * 60 * 60);
    RoomRules::new("shop", slots).session_duration(day)
}

/// The prequeue begins after 100 s, the event starts after 300 s and ends after 900 s.
pub(crate) fn doors() -> Event {
    Event::new("doors", at(300), at(900)).prequeue_start(at(100))
}

fn plain() -> Schedule {
    Schedule::new([doors()]).unwrap()
}

pub(crate) fn shuffled() -> Schedule {
    plain().with_seed("shop", "doors", Seed::new([7; 32])).unwrap()
}

/// Starts two nodes on one clock. The first one has set the schedule.
pub(crate) async fn nodes(
    server: &EngineServer,
    clock: &ManualClock,
    slots: u32,
    schedule: Schedule,
) -> [RedisStore; 2] {
    let options = patient().clock(clock.clone()).schedule(schedule);
    let here = connect(server, rules(slots), options.clone()).await.unwrap();
    [here, connect(server, rules(slots), options).await.unwrap()]
}

/// A visitor who checks in with its latest ticket, on one node after the other.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Visitor {
    Admitted(Pass),
    Waits(Ticket),
}

impl Visitor {
    pub(crate) fn ticket(self) -> Ticket {
        match self {
            Self::Admitted(pass) => panic!("admitted: {pass:?}"),
            Self::Waits(ticket) => ticket,
        }
    }

    pub(crate) async fn ask(&mut self, store: &RedisStore) -> Reason {
        let Self::Waits(ticket) = *self else { return Reason::AdmittedActive };
        self.take(store.check_in(ticket).await.unwrap())
    }

    fn take(&mut self, verdict: Verdict) -> Reason {
        let (next, reason) = match verdict {
            Verdict::Admit { pass, reason } => (Self::Admitted(pass), reason),
            Verdict::Wait { ticket, reason } => (Self::Waits(ticket), reason),
            refused @ Verdict::Refuse { .. } => panic!("{refused:?}"),
        };
        *self = next;
        reason
    }
}

/// Lets visitors enter in turn on both nodes, and check in until they have places.
pub(crate) async fn crowd(
    stores: &[RedisStore; 2],
    clock: &ManualClock,
    size: u128,
) -> Vec<Visitor> {
    let mut crowd = Vec::new();
    for who in 0..size {
        let store = &stores[usize::from(who % 2 == 1)];
        let verdict = store.enter(VisitorId::new((who + 1) << 70)).await.unwrap();
        let Verdict::Wait { ticket, reason: Reason::Prequeue } = verdict else {
            panic!("{verdict:?}")
        };
        crowd.push(Visitor::Waits(ticket));
    }
    clock.advance(Duration::from_secs(2));
    for (who, visitor) in crowd.iter_mut().enumerate() {
        assert_eq!(visitor.ask(&stores[(who + 1) % 2]).await, Reason::Prequeue);
    }
    crowd
}

/// Keeps the visitors present until `until`, and checks that none is admitted.
pub(crate) async fn wait(
    crowd: &mut [Visitor],
    stores: &[RedisStore; 2],
    clock: &ManualClock,
    until: Timestamp,
) {
    while stores[0].now() + Duration::from_secs(20) < until {
        clock.advance(Duration::from_secs(20));
        for (who, visitor) in crowd.iter_mut().enumerate() {
            assert_eq!(visitor.ask(&stores[who % 2]).await, Reason::Prequeue);
        }
    }
    clock.advance(until.since(stores[0].now()));
}

#[tokio::test(flavor = "multi_thread")]
async fn both_nodes_admit_entrants_in_an_order_that_anyone_can_recompute() {
    on_each(async |engine| {
        let server = start(engine);
        let clock = ManualClock::new(at(0));
        let stores = nodes(&server, &clock, 5, shuffled()).await;
        clock.advance(Duration::from_secs(110));
        let mut crowd = crowd(&stores, &clock, 30).await;
        let numbers: Vec<_> =
            crowd.iter().map(|visitor| visitor.ticket().entrant.unwrap().number).collect();
        assert!(numbers.iter().copied().eq(1..=30), "{engine}: {numbers:?}");
        assert_eq!(crowd[3].ticket().shown_position, None);
        let figures = stores[1].snapshot().await.unwrap().event.unwrap();
        assert_eq!((figures.is_prequeue, figures.is_shuffled, figures.entrants), (true, true, 30));
        // A microsecond before the start, nobody is admitted. From the start on, both nodes admit
        // visitors.
        let last = at(300).before(Duration::from_micros(1));
        wait(&mut crowd, &stores, &clock, last).await;
        for (who, visitor) in crowd.iter_mut().enumerate() {
            assert_eq!(visitor.ask(&stores[who % 2]).await, Reason::Prequeue, "{engine}");
        }
        clock.advance(Duration::from_micros(1));
        for _ in 0..2 {
            for (who, visitor) in crowd.iter_mut().enumerate() {
                visitor.ask(&stores[who % 2]).await;
            }
        }
        // The order follows from what both nodes publish, and from the commitment alone.
        let commitment = shuffled().events()[0].shuffle_at_start.unwrap();
        for store in &stores {
            store.snapshot().await.unwrap();
            let reveal = store.plan().unwrap().reveal.clone().unwrap();
            let shuffle = reveal.verify(&commitment).unwrap();
            assert_eq!(shuffle.entrants(), 30);
            for (visitor, number) in crowd.iter().zip(&numbers) {
                let place = shuffle.place_of(*number).unwrap();
                match visitor {
                    Visitor::Admitted(_) => assert!(place <= 5, "{engine}: place {place}"),
                    Visitor::Waits(ticket) => {
                        assert_eq!(ticket.entrant.unwrap().place, Some(place));
                        assert_eq!(ticket.shown_position, Some(place - 5), "{engine}");
                    }
                }
            }
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn all_nodes_start_at_the_same_instant_of_the_servers_clock_without_a_request() {
    on_each(async |engine| {
        let server = start(engine);
        let stores = [node(&server, rules(5)).await, node(&server, rules(5)).await];
        let begins_at = stores[0].now() + Duration::from_millis(300);
        let doors_at = begins_at + Duration::from_secs(10);
        let doors = Event::new("doors", doors_at, doors_at + Duration::from_secs(60))
            .prequeue_start(begins_at)
            .limits(9, None);
        stores[0].schedule(Schedule::new([doors.clone()]).unwrap()).await.unwrap();
        eventually(async || stores[1].plan()).await;
        let mut tickets = Vec::new();
        for (store, id) in stores.iter().zip([1, 2].map(VisitorId::new)) {
            let ticket = eventually(async || match store.enter(id).await.unwrap() {
                Verdict::Wait { ticket, reason: Reason::Prequeue } => Some(ticket),
                Verdict::Admit { .. } | Verdict::Refuse { .. } | Verdict::Wait { .. } => {
                    store.leave(id).await.unwrap();
                    None
                }
            });
            tickets.push(ticket.await);
        }
        let mut earliest = Timestamp::MAX;
        for (store, mut ticket) in stores.iter().zip(tickets) {
            let pass = eventually(async || match store.check_in(ticket).await.unwrap() {
                Verdict::Admit { pass, .. } => Some(pass),
                Verdict::Wait { ticket: next, .. } => {
                    ticket = next;
                    None
                }
                refused @ Verdict::Refuse { .. } => panic!("{refused:?}"),
            });
            earliest = earliest.min(pass.await.accepted_at);
            assert_eq!(store.rules().total_active_users, 9);
        }
        assert!(earliest >= doors_at, "{engine}: {earliest:?} is before {doors_at:?}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_room_lost_in_a_prequeue_reopens_with_its_events_and_numbers() {
    on_each(async |engine| {
        let server = start(engine);
        let clock = ManualClock::new(at(0));
        let stores = nodes(&server, &clock, 5, shuffled()).await;
        clock.advance(Duration::from_secs(110));
        let mut crowd = crowd(&stores, &clock, 12).await;
        let () = redis::cmd("FLUSHALL").query_async(&mut manager(&server).await).await.unwrap();
        // Nobody is admitted, and nobody loses its number. A newcomer gets no number yet, so that
        // no number is given twice.
        clock.advance(Duration::from_secs(5));
        for visitor in &mut crowd {
            assert_eq!(visitor.ask(&stores[1]).await, Reason::Prequeue, "{engine}");
        }
        let late = VisitorId::new(99 << 70);
        let Verdict::Wait { ticket, .. } = stores[0].enter(late).await.unwrap() else { panic!() };
        let mut late = Visitor::Waits(ticket);
        clock.advance(Duration::from_secs(2));
        assert_eq!(late.ask(&stores[0]).await, Reason::Prequeue);
        assert_eq!(late.ticket().entrant, None);
        crowd.push(late);
        wait(&mut crowd, &stores, &clock, at(300)).await;
        let numbers: Vec<_> =
            crowd.iter().map(|visitor| visitor.ticket().entrant.unwrap().number).collect();
        assert!(numbers.iter().copied().eq(1..=13), "{engine}: {numbers:?}");
        for _ in 0..2 {
            for visitor in &mut crowd {
                visitor.ask(&stores[0]).await;
            }
        }
        let is_in = |visitor: &&Visitor| matches!(visitor, Visitor::Admitted(_));
        assert_eq!(crowd.iter().filter(is_in).count(), 5);
        // After the start, a node that knows the number of entrants also restores this number.
        let places = |crowd: &[Visitor]| -> Vec<_> {
            let waiting = crowd.iter().filter(|visitor| !is_in(visitor));
            waiting.map(|visitor| visitor.ticket().entrant.unwrap().place).collect()
        };
        let before = places(&crowd);
        let () = redis::cmd("FLUSHALL").query_async(&mut manager(&server).await).await.unwrap();
        for visitor in &mut crowd {
            if let Visitor::Waits(ticket) = visitor {
                let verdict = stores[0].stay(*ticket).await.unwrap();
                assert_ne!(*verdict.reason(), Reason::QueuedRecovery, "{engine}");
                visitor.take(verdict);
            }
        }
        assert_eq!(places(&crowd), before);
        assert_eq!(stores[0].plan().unwrap().reveal.as_ref().unwrap().entrants(), 13);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn events_change_on_one_node_and_started_ones_are_fixed_on_all() {
    on_each(async |engine| {
        let server = start(engine);
        let clock = ManualClock::new(at(0));
        let here = node_by(clock.clone(), &server, rules(5)).await;
        let there = node_by(clock.clone(), &server, rules(5)).await;
        assert_eq!(there.plan(), None);
        here.schedule(shuffled()).await.unwrap();
        // A change on the other node, which might not have heard of the events yet, keeps the
        // events.
        there.configure(|rules| rules.total_active_users(7)).await.unwrap();
        assert_eq!(there.plan().unwrap().schedule.events(), shuffled().events());
        clock.advance(Duration::from_secs(150));
        let message = |error: StoreError| {
            assert_eq!(error.kind(), StoreErrorKind::Rules);
            std::error::Error::source(&error).unwrap().to_string()
        };
        let error = there.schedule(plain()).await.unwrap_err();
        assert!(message(error).contains("because event \"doors\" has begun"), "{engine}");
        // The event inherits what an operator changes in the meantime.
        here.configure(|rules| rules.total_active_users(2)).await.unwrap();
        let in_force = here.rules();
        assert_eq!(in_force.total_active_users, 2);
        assert_eq!(in_force.mode, RoomMode::QueueAll);
        // A node that starts again as an older release, which knows no events, keeps the events of
        // the room.
        let again = node_by(clock.clone(), &server, rules(8)).await;
        assert_eq!(again.plan().unwrap().schedule.events(), shuffled().events());
        assert_eq!(again.plan().unwrap().rules.total_active_users, 8);
        again.schedule(Schedule::default()).await.unwrap();
        assert_eq!(again.plan(), None);
        let verdict = there.enter(VisitorId::new(1)).await.unwrap();
        assert!(matches!(verdict, Verdict::Admit { .. }), "{engine}: {verdict:?}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_layer_takes_a_store_that_was_given_the_events_of_its_configuration() {
    on_each(async |engine| {
        let server = start(engine);
        let config = WaitingRoomConfig::builder("shop")
            .total_active_users(5)
            .event(doors())
            .event_seed("doors", Seed::new([7; 32]))
            .keys(KeyRing::new(TokenKey::from_bytes([7; 32])))
            .build()
            .unwrap();
        let rules = config.room().unwrap().clone();
        let clock = ManualClock::new(at(200));
        let options = patient().clock(clock).schedule(config.schedule().clone());
        let store = connect(&server, rules, options).await.unwrap();
        let config = config.into_builder().room_store(store, StoreFailure::Wait);
        let layer = WaitingRoomLayer::new(config.build().unwrap());
        let room = layer.handle().room().unwrap();
        assert_eq!(room.rules_at(at(300)).mode, RoomMode::Auto);
        assert_eq!(room.rules_at(at(299)).mode, RoomMode::QueueAll);
        assert!(room.reveal().is_none(), "{engine}");
        room.set_schedule(Schedule::default()).await.unwrap();
        assert_eq!(room.schedule().events(), []);
    })
    .await;
}
