//! Visitors who stay in the line without being admitted, as the visitors of push streams do.

use std::time::Duration;

use waiting_room_core::{
    MemoryStore, Reason, RoomRules, Store, Ticket, Timestamp, Verdict, VisitorId,
    room::QueueingMethod, time::ManualClock,
};

use crate::support::{node_by, on_each, start};

const START: Timestamp = Timestamp::from_secs(1_700_000_000);
const SEED: u64 = 0x5742_9e11;

fn rules() -> RoomRules {
    RoomRules::new("shop", 2).session_duration(Duration::from_secs(40)).new_users_per_minute(9)
}

/// What a visitor sees of a verdict.
#[derive(Debug, PartialEq)]
enum Seen {
    Admitted(Reason),
    Refused(Reason),
    Waits(Reason, bool, Option<u32>),
}

fn seen(verdict: &Verdict) -> Seen {
    match verdict {
        Verdict::Admit { reason, .. } => Seen::Admitted(reason.clone()),
        Verdict::Refuse { reason, .. } => Seen::Refused(reason.clone()),
        Verdict::Wait { ticket, reason } => {
            Seen::Waits(reason.clone(), ticket.placed, ticket.shown_position)
        }
    }
}

/// Sends the same random requests of a few visitors to a server and to a room in memory, and
/// compares all verdicts.
async fn compare(store: &impl Store, memory: &MemoryStore, clock: &ManualClock) -> u32 {
    let mut tickets = [None::<Ticket>; 7];
    let mut turns = 0;
    let dice = VisitorId::new(SEED.into());
    for step in 0..1_500 {
        let roll = dice.draw(step);
        let who = usize::try_from(roll % 7).unwrap();
        let id = VisitorId::new(who as u128 + 1);
        let mut is_stay = false;
        let verdicts = match (roll >> 8 & 15, tickets[who]) {
            (0..=2, _) => {
                clock.advance(Duration::from_millis(roll >> 16 & 8_191));
                continue;
            }
            (3, _) => {
                store.leave(id).await.unwrap();
                memory.leave(id).await.unwrap();
                continue;
            }
            (4..=5, Some(ticket)) => {
                (store.check_in(ticket).await.unwrap(), memory.check_in(ticket).await.unwrap())
            }
            (_, Some(ticket)) => {
                is_stay = true;
                (store.stay(ticket).await.unwrap(), memory.stay(ticket).await.unwrap())
            }
            (_, None) => (store.enter(id).await.unwrap(), memory.enter(id).await.unwrap()),
        };
        assert_eq!(seen(&verdicts.0), seen(&verdicts.1), "seed {SEED:#x}, step {step}");
        // All visitors are at the front, where a stay lasts for the shortest interval.
        if let Verdict::Wait { ticket, .. } = &verdicts.0
            && is_stay
            && *ticket != tickets[who].unwrap()
        {
            assert_eq!(ticket.next_check_in, ticket.last_check_in + RoomRules::SHORTEST_INTERVAL);
        }
        turns += u32::from(*verdicts.0.reason() == Reason::QueuedTurn);
        tickets[who] = match verdicts.0 {
            Verdict::Wait { ticket, .. } => Some(ticket),
            Verdict::Admit { .. } | Verdict::Refuse { .. } => None,
        };
    }
    turns
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stay_has_the_same_effect_on_a_server_as_in_memory() {
    on_each(async |engine| {
        for method in [QueueingMethod::Fifo, QueueingMethod::Random] {
            let server = start(engine);
            let clock = ManualClock::new(START);
            let rules = rules().queueing_method(method);
            let store = node_by(clock.clone(), &server, rules.clone()).await;
            let memory = MemoryStore::with_clock(rules, clock.clone()).unwrap();
            let turns = compare(&store, &memory, &clock).await;
            assert!(turns >= 20, "{turns} turns with {method:?}");
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_that_one_node_announces_is_taken_on_another() {
    on_each(async |engine| {
        let server = start(engine);
        let clock = ManualClock::new(START);
        let here = node_by(clock.clone(), &server, rules().total_active_users(1)).await;
        let there = node_by(clock.clone(), &server, rules().total_active_users(1)).await;
        let [guest, visitor] = [1, 2].map(VisitorId::new);
        assert!(matches!(here.enter(guest).await.unwrap(), Verdict::Admit { .. }));
        let Verdict::Wait { ticket, .. } = here.enter(visitor).await.unwrap() else { panic!() };
        clock.advance(Duration::from_secs(2));
        let Verdict::Wait { ticket, .. } = here.stay(ticket).await.unwrap() else { panic!() };
        assert!(ticket.placed);
        there.leave(guest).await.unwrap();
        let told = here.stay(ticket).await.unwrap();
        assert_eq!(*told.reason(), Reason::QueuedTurn);
        assert_eq!(there.snapshot().await.unwrap().active, 0);
        // The visitor still has its ticket from before the stream.
        assert!(matches!(there.check_in(ticket).await.unwrap(), Verdict::Admit { .. }));
    })
    .await;
}
