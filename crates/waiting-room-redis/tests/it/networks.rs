//! The share of the places that one network may hold, on all nodes together.

use std::{num::NonZeroU16, time::Duration};

use redis::AsyncCommands;
use waiting_room_core::{
    Reason, RoomRules, Store, Timestamp, Verdict, VisitorId,
    room::{Network, Shares},
    time::{Clock, ManualClock},
};
use waiting_room_engines::EngineServer;
use waiting_room_redis::RedisStore;

use crate::support::{admitted, manager, node_by, on_each, start};

const START: Timestamp = Timestamp::from_secs(1_700_000_000);
const NETWORKS: &str = "{wr:shop}:networks";

fn rules() -> RoomRules {
    RoomRules::new("shop", 1).session_duration(Duration::from_secs(80)).shares(Shares::Limit(2))
}

/// Starts a node, and fills its room.
async fn full(server: &EngineServer, clock: &ManualClock) -> RedisStore {
    let store = node_by(clock.clone(), server, rules()).await;
    admitted(&store, 0).await;
    store
}

fn of(network: u16, who: u128) -> VisitorId {
    VisitorId::new(who).of_network(NonZeroU16::new(network).map(|wide| Network::new(wide, 0, 0)))
}

/// Returns the verdict at the second touch of a newcomer from a network.
async fn comes(store: &RedisStore, network: u16, who: u128) -> Verdict {
    match store.enter(of(network, who)).await.unwrap() {
        Verdict::Wait { ticket, .. } => store.check_in(ticket).await.unwrap(),
        other @ (Verdict::Admit { .. } | Verdict::Refuse { .. }) => panic!("not queued: {other:?}"),
    }
}

async fn has_place(store: &RedisStore, network: u16, who: u128) -> bool {
    let verdict = comes(store, network, who).await;
    match verdict {
        Verdict::Wait { ticket, .. } => ticket.placed,
        Verdict::Refuse { ref reason, .. } if *reason == Reason::RefusedNetworkFull => false,
        other @ (Verdict::Admit { .. } | Verdict::Refuse { .. }) => panic!("neither: {other:?}"),
    }
}

/// Returns the number of places that the server counts, for all networks together.
async fn counted(server: &EngineServer) -> u32 {
    let counts: Vec<u32> = manager(server).await.hvals(NETWORKS).await.unwrap();
    counts.into_iter().sum()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_network_has_no_more_places_than_its_share_whichever_node_it_asks() {
    on_each(async |engine| {
        let server = start(engine);
        let clock = ManualClock::new(START);
        let here = full(&server, &clock).await;
        let there = node_by(clock.clone(), &server, rules()).await;
        assert!(has_place(&here, 7, 1).await && has_place(&there, 7, 2).await);
        for who in 3..40 {
            assert!(!has_place(&here, 7, who).await && !has_place(&there, 7, 100 + who).await);
        }
        assert!(has_place(&there, 8, 1).await && has_place(&here, 0, 1).await);
        assert_eq!(here.snapshot().await.unwrap().waiting, 4);
        assert_eq!(counted(&server).await, 3, "one has no known network");
        // An operator's change applies on all nodes.
        there.configure(|rules| rules.shares(Shares::Off)).await.unwrap();
        assert!(has_place(&here, 7, 50).await);
        let shadow = Shares::Shadow(2);
        here.configure(|rules| rules.shares(shadow)).await.unwrap();
        let verdict = comes(&there, 7, 51).await;
        assert_eq!(*verdict.reason(), Reason::QueuedNetworkFull);
        assert_eq!(counted(&server).await, 5);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_place_that_ends_in_any_way_is_free_for_its_network() {
    on_each(async |engine| {
        let server = start(engine);
        let clock = ManualClock::new(START);
        let store = full(&server, &clock).await;
        assert!(has_place(&store, 7, 1).await && has_place(&store, 7, 2).await);
        store.leave(of(7, 2)).await.unwrap();
        assert!(has_place(&store, 7, 3).await && !has_place(&store, 7, 4).await);
        // The first visitor in line is admitted, which frees a place of its network.
        store.leave(VisitorId::new(0)).await.unwrap();
        let mut ticket = waiting_room_core::Ticket::new(of(7, 1), START, START, START);
        ticket.placed = true;
        let verdict = store.check_in(ticket).await.unwrap();
        assert!(matches!(verdict, Verdict::Admit { .. }), "{verdict:?}");
        assert!(has_place(&store, 7, 5).await && !has_place(&store, 7, 6).await);
        // More places lapse at once than one script clears.
        store.configure(|rules| rules.shares(Shares::Off)).await.unwrap();
        for who in 1_000..2_300 {
            let seen = waiting_room_core::Ticket::new(of(9, who), START, clock.now(), START);
            store.check_in(seen).await.unwrap();
        }
        assert_eq!(counted(&server).await, 1_302);
        clock.advance(Duration::from_secs(301));
        store.sweep().await.unwrap();
        assert_eq!((store.snapshot().await.unwrap().waiting, counted(&server).await), (0, 0));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_count_of_networks_refuses_no_visitor_and_is_no_loss_of_passes() {
    on_each(async |engine| {
        // A key that is lost, and the number of places in the line afterwards.
        for (key, places) in [("networks", 4), ("visitors", 2), ("deadlines", 2)] {
            let server = start(engine);
            let clock = ManualClock::new(START);
            let store = node_by(clock.clone(), &server, rules()).await;
            let pass = admitted(&store, 0).await;
            assert!(has_place(&store, 7, 1).await && has_place(&store, 7, 2).await);
            clock.advance(Duration::from_secs(1));
            let () = manager(&server).await.del(format!("{{wr:shop}}:{key}")).await.unwrap();
            // The active visitor counts again, so that the room is full.
            store.renew(pass).await.unwrap();
            assert!(has_place(&store, 7, 3).await && has_place(&store, 7, 4).await, "{key}");
            assert!(!has_place(&store, 7, 5).await, "{key}");
            assert_eq!(store.snapshot().await.unwrap().waiting, places, "{key}");
            let is_believed = store.remembers_since() == START;
            assert_eq!(is_believed, key == "networks", "{key}");
            // All visitors leave, whether or not their places are counted.
            for who in 1..=5 {
                store.leave(of(7, who)).await.unwrap();
            }
            assert_eq!(counted(&server).await, 0, "{key}");
            assert!(has_place(&store, 7, 11).await && has_place(&store, 7, 12).await, "{key}");
            assert!(!has_place(&store, 7, 13).await, "{key}");
        }
    })
    .await;
}
