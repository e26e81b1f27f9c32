//! Nodes that start with other events than the room has, while an event is in progress.

use std::time::Duration;

use waiting_room_core::{
    Reason, Store, StoreError, Verdict, VisitorId,
    error::StoreErrorKind,
    room::event::{Event, Schedule, Seed},
    time::ManualClock,
};
use waiting_room_engines::EngineServer;
use waiting_room_redis::RedisStore;

use crate::{
    events::{Visitor, at, crowd, doors, nodes, rules, shuffled, wait},
    support::{connect, on_each, patient, start},
};

fn encore() -> Event {
    Event::new("encore", at(2_000), at(3_000)).prequeue_start(at(1_500))
}

fn seeded(events: impl IntoIterator<Item = Event>, seed: u8) -> Schedule {
    Schedule::new(events).unwrap().with_seed("shop", "doors", Seed::new([seed; 32])).unwrap()
}

async fn join(
    server: &EngineServer,
    clock: &ManualClock,
    schedule: Schedule,
) -> Result<RedisStore, StoreError> {
    connect(server, rules(5), patient().clock(clock.clone()).schedule(schedule)).await
}

fn refused(joined: Result<RedisStore, StoreError>) -> String {
    let error = joined.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Rules);
    std::error::Error::source(&error).unwrap().to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_starts_with_other_events_does_not_change_started_ones() {
    on_each(async |engine| {
        let server = start(engine);
        let clock = ManualClock::new(at(0));
        let stores = nodes(&server, &clock, 5, shuffled()).await;
        clock.advance(Duration::from_secs(110));
        let mut crowd = crowd(&stores, &clock, 12).await;
        for during in [200, 310] {
            wait(&mut crowd, &stores, &clock, at(during).min(at(300))).await;
            clock.advance_to(at(during));
            // Another seed. The message contains both commitments, and neither of the seeds.
            let other = seeded([doors()], 8);
            let commitment =
                |schedule: &Schedule| schedule.events()[0].shuffle_at_start.unwrap().to_string();
            let given = commitment(&other);
            let expected = commitment(&shuffled());
            let message = refused(join(&server, &clock, other).await);
            let because = "because event \"doors\" has begun";
            assert_eq!(
                message,
                format!("shuffle_at_start is {given}, expected {expected}, {because}"),
                "{engine}"
            );
            let other = doors().prequeue_start(at(120));
            let message = refused(join(&server, &clock, seeded([other], 7)).await);
            assert!(message.starts_with("prequeue_start is 2023-11-14T22:15:20Z"), "{message}");
            assert!(message.contains("2023-11-14T22:15:00Z, because event \"doors\" has begun"));
            let other = doors().start(at(305));
            if during > 300 {
                let message = refused(join(&server, &clock, seeded([other], 7)).await);
                assert!(message.starts_with("start is 2023-11-14T22:18:25Z"), "{message}");
            }
            // An event that overlaps with the event in progress.
            let other = Event::new("other", at(880), at(990));
            let message = refused(join(&server, &clock, Schedule::new([other]).unwrap()).await);
            assert!(
                message.contains("event \"other\"") && message.contains("\"doors\""),
                "{message}"
            );
            for store in &stores {
                store.snapshot().await.unwrap();
                let plan = store.plan().unwrap();
                assert_eq!(plan.schedule.events(), shuffled().events(), "{engine}");
                assert_eq!(plan.rules, rules(5));
            }
        }
        // The room has gone on, with the same draw.
        for visitor in &mut crowd {
            visitor.ask(&stores[0]).await;
        }
        let reveal = stores[0].plan().unwrap().reveal.clone().unwrap();
        assert_eq!(reveal.entrants(), 12);
        let commitment = shuffled().events()[0].shuffle_at_start.unwrap();
        assert!(reveal.verify(&commitment).is_ok());
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nodes_that_start_with_different_events_keep_the_running_event() {
    on_each(async |engine| {
        let server = start(engine);
        let clock = ManualClock::new(at(0));
        let stores = nodes(&server, &clock, 5, shuffled()).await;
        clock.advance(Duration::from_secs(110));
        let mut crowd = crowd(&stores, &clock, 6).await;
        let numbers: Vec<_> = crowd.iter().map(|visitor| visitor.ticket().entrant).collect();
        // Releases with a further event, with the same events, without any, and with another one.
        let longer = seeded([doors(), encore()], 7);
        let only_encore = Schedule::new([encore()]).unwrap();
        for schedule in [longer.clone(), shuffled(), Schedule::default(), only_encore, longer] {
            let store = join(&server, &clock, schedule.clone()).await.unwrap();
            let plan = store.plan().unwrap();
            let names: Vec<_> = plan.schedule.events().iter().map(|event| &event.name).collect();
            let is_given = schedule.event("encore").is_some();
            let expected: &[&str] = if is_given { &["doors", "encore"] } else { &["doors"] };
            assert_eq!(names, expected, "{engine}");
            assert_eq!(plan.schedule.event("doors"), shuffled().event("doors"));
            let verdict = store.enter(VisitorId::new(77)).await.unwrap();
            assert_eq!(*verdict.reason(), Reason::Prequeue, "{engine}");
        }
        wait(&mut crowd, &stores, &clock, at(300)).await;
        let told: Vec<_> = crowd.iter().map(|visitor| visitor.ticket().entrant).collect();
        assert_eq!(told, numbers, "{engine}");
        for visitor in &mut crowd {
            visitor.ask(&stores[1]).await;
        }
        let is_in = |visitor: &&Visitor| matches!(visitor, Visitor::Admitted(_));
        assert!(crowd.iter().filter(is_in).count() > 0, "{engine}");
        // Once the event is over, a release may lack it, or use its name again.
        clock.advance_to(at(901));
        let again = Event::new("doors", at(4_000), at(5_000));
        let store = join(&server, &clock, Schedule::new([again.clone()]).unwrap()).await.unwrap();
        assert_eq!(store.plan().unwrap().schedule.events(), [again], "{engine}");
        let verdict = store.enter(VisitorId::new(78)).await.unwrap();
        assert!(matches!(verdict, Verdict::Wait { .. } | Verdict::Admit { .. }));
    })
    .await;
}
