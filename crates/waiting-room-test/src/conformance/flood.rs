//! A flood of visitors who leave, more than a store remembers.

use std::time::Duration;

use waiting_room_core::{
    Pass, RoomRules, Store, StoreError, Ticket, Timestamp, Verdict, VisitorId,
    error::StoreErrorKind,
    room::{
        Renewal,
        event::{Event, Schedule, Seed},
    },
    time::ManualClock,
};

/// Makes a store forget the ends of sessions, and checks that the proofs of visitors who left before
/// are still void, and that the flood does no harm to active or waiting visitors.
///
/// `flood` makes so many visitors leave that the store has to forget those who left before. It must
/// not advance the clock. If the store has events, the visitors in line are the entrants of a draw,
/// and a visitor who gave up a number must not get it back once the order is known.
///
/// # Panics
///
/// Panics if a call fails, if a proof counts again, or if a visitor loses a session or a place.
pub async fn run_after_a_flood<S: Store>(
    mut build: impl AsyncFnMut(RoomRules, ManualClock) -> S,
    flood: impl AsyncFnOnce(&S),
) {
    let clock = ManualClock::new(START);
    let seconds = |seconds| clock.advance(Duration::from_secs(seconds));
    let rules = RoomRules::new("flood", INSIDE).session_duration(Duration::from_secs(3_600));
    let store = build(rules, clock.clone()).await;
    let event = Event::new("sale", START + EVENT_AFTER, START + EVENT_AFTER * 10);
    let event = event.prequeue_start(START + Duration::from_secs(2));
    let schedule = Schedule::new([event])
        .and_then(|schedule| schedule.with_seed("flood", "sale", Seed::new([7; 32])));
    let has_draw = match store.schedule(schedule.expect("the schedule is valid")).await {
        Ok(()) => true,
        Err(error) if error.kind() == StoreErrorKind::Unsupported => false,
        Err(error) => panic!("the schedule is refused: {error}"),
    };

    let dead_pass = admitted(store.enter(id(0)).await);
    store.leave(id(0)).await.expect("the store answers");
    let mut inside = Vec::new();
    for who in 1..=INSIDE {
        inside.push(admitted(store.enter(id(who)).await));
    }
    seconds(3);
    let dead_ticket = queue(&store, 1_000, &clock).await;
    assert_eq!(dead_ticket.entrant.is_some(), has_draw);
    let mut waiting = Vec::new();
    for who in 0..WAITING {
        waiting.push(queue(&store, 2_000 + who, &clock).await);
    }
    store.leave(dead_ticket.id).await.expect("the store answers");
    seconds(1);
    flood(&store).await;
    seconds(1);

    assert_eq!(store.renew(dead_pass).await.expect("the store answers"), Renewal::End);
    let first = waits(store.enter(id(3_000)).await);
    seconds(2);
    assert!(waits(store.check_in(first).await).placed, "a newcomer gets a place");
    for pass in inside {
        let renewed = store.renew(pass).await.expect("the store answers");
        assert!(matches!(renewed, Renewal::Renew(_)), "a session was ended");
    }
    clock.advance_to(START + EVENT_AFTER + Duration::from_secs(1));
    let mut again = waits(store.check_in(dead_ticket).await);
    // The visitor is a newcomer, even if it has a place when it shows the ticket again.
    for _ in 0..2 {
        assert!(again.first_seen > START + EVENT_AFTER && again.entrant.is_none(), "{again:?}");
        seconds(2);
        assert!(waits(store.check_in(again).await).placed);
        again = waits(store.check_in(dead_ticket).await);
    }
    let mut places = Vec::new();
    for ticket in waiting {
        let kept = waits(store.check_in(ticket).await);
        assert_eq!((kept.placed, kept.first_seen), (true, ticket.first_seen));
        assert_eq!(kept.entrant.map(|own| own.number), ticket.entrant.map(|own| own.number));
        let place = kept.entrant.and_then(|entrant| entrant.place);
        places.push((place.unwrap_or_default(), kept));
    }
    places.sort_by_key(|(place, kept)| (*place, kept.first_seen, kept.id));
    store.leave(id(1)).await.expect("the store answers");
    waits(store.check_in(dead_ticket).await);
    admitted(store.check_in(places[0].1).await);
}

/// Lets a visitor enter, and check in with its first ticket.
async fn queue<S: Store>(store: &S, who: u32, clock: &ManualClock) -> Ticket {
    let first = waits(store.enter(id(who)).await);
    clock.advance(Duration::from_millis(1));
    waits(store.check_in(first).await)
}

#[track_caller]
fn admitted(verdict: Result<Verdict, StoreError>) -> Pass {
    match verdict.expect("the store answers") {
        Verdict::Admit { pass, .. } => pass,
        other @ (Verdict::Refuse { .. } | Verdict::Wait { .. }) => {
            panic!("not admitted: {other:?}")
        }
    }
}

#[track_caller]
fn waits(verdict: Result<Verdict, StoreError>) -> Ticket {
    match verdict.expect("the store answers") {
        Verdict::Wait { ticket, .. } => ticket,
        other @ (Verdict::Admit { .. } | Verdict::Refuse { .. }) => {
            panic!("does not wait: {other:?}")
        }
    }
}

fn id(who: u32) -> VisitorId {
    VisitorId::new(u128::from(who) * 0x9e37_79b9_7f4a_7c15 + 1)
}

const START: Timestamp = Timestamp::from_secs(1_700_000_000);
/// The time from the beginning to the start of the event. Places do not lapse within this time.
const EVENT_AFTER: Duration = Duration::from_secs(120);
const INSIDE: u32 = 20;
const WAITING: u32 = 50;
