//! A line so long that the node answers most check-ins without the server.

use std::{collections::HashMap, time::Duration};

use redis::AsyncCommands;
use waiting_room_core::{
    Reason, RoomRules, Store, Ticket, Timestamp, Verdict, VisitorId, room::RoomMode,
    time::ManualClock,
};
use waiting_room_engines::EngineServer;
use waiting_room_redis::RedisStore;

use crate::support::{eventually, manager, node_by, on_each, start};

const LINE: u128 = 300;

/// Fills a room, and a line of 300 visitors with places.
async fn line(store: &RedisStore, clock: &ManualClock) -> Vec<Ticket> {
    let mut tickets = Vec::new();
    store.enter(VisitorId::new(0)).await.unwrap();
    for id in 1..=LINE {
        clock.advance(Duration::from_millis(10));
        let Verdict::Wait { ticket, .. } = store.enter(VisitorId::new(id)).await.unwrap() else {
            panic!("the room is full");
        };
        let Verdict::Wait { ticket, .. } = store.check_in(ticket).await.unwrap() else {
            panic!("the room is full");
        };
        tickets.push(ticket);
    }
    tickets
}

#[tokio::test(flavor = "multi_thread")]
async fn a_visitor_far_back_costs_no_call_and_stays_in_line() {
    on_each(async |engine| {
        let server = start(engine);
        let clock = ManualClock::new(Timestamp::from_secs(1_700_000_000));
        let rules = RoomRules::new("shop", 1).session_duration(Duration::from_secs(600));
        let store = node_by(clock.clone(), &server, rules).await;
        let tickets = line(&store, &clock).await;
        clock.advance(Duration::from_secs(20));
        store.snapshot().await.unwrap();

        let asked = check_ins(&server).await;
        let before = dues(&server).await;
        for (ticket, index) in tickets.iter().zip(0_u32..) {
            let verdict = store.check_in(*ticket).await.unwrap();
            let Verdict::Wait { ticket: renewed, .. } = verdict else { panic!("{verdict:?}") };
            assert_eq!(renewed.first_seen, ticket.first_seen);
            assert!(renewed.next_check_in > store.now());
            let shown = renewed.shown_position.unwrap();
            assert!(shown <= index + 1 && shown + 10 > index, "{shown}, not {}", index + 1);
        }
        assert_eq!(check_ins(&server).await - asked, 33, "only visitors before the frontier");

        // Without the heartbeats the server would consider most of them away by now.
        eventually(async || {
            let now = dues(&server).await;
            before.iter().all(|(id, due)| now[id] > *due).then_some(())
        })
        .await;
        clock.advance(Duration::from_secs(25));
        assert_eq!(store.snapshot().await.unwrap().present, 300);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_visitor_far_back_learns_that_no_visitor_is_admitted() {
    on_each(async |engine| {
        let server = start(engine);
        let clock = ManualClock::new(Timestamp::from_secs(1_700_000_000));
        let store = node_by(clock.clone(), &server, RoomRules::new("shop", 1)).await;
        let tickets = line(&store, &clock).await;
        store.configure(|rules| rules.mode(RoomMode::QueueAll)).await.unwrap();
        store.snapshot().await.unwrap();
        let verdict = store.check_in(tickets[299]).await.unwrap();
        assert_eq!(verdict.reason(), &Reason::QueueAll);
    })
    .await;
}

/// Returns how many check-ins have reached the server: each of them runs ZRANK once.
async fn check_ins(server: &EngineServer) -> u64 {
    let mut info = redis::cmd("INFO");
    let info: String =
        info.arg("commandstats").query_async(&mut manager(server).await).await.unwrap();
    let line = info.lines().find(|line| line.starts_with("cmdstat_zrank:")).unwrap();
    line.split(['=', ',']).nth(1).unwrap().parse().unwrap()
}

/// Returns the time until which each visitor in line counts as present, from the pages that
/// `lua/room/pages.lua` describes.
async fn dues(server: &EngineServer) -> HashMap<Vec<u8>, u64> {
    let mut connection = manager(server).await;
    let fields: HashMap<Vec<u8>, Vec<u8>> = connection.hgetall("{wr:shop}:visitors").await.unwrap();
    let pages = fields.iter().filter(|(name, _)| name.len() == 3);
    let records = pages.flat_map(|(_, page)| page[7..].chunks_exact(38));
    let places = records.filter(|record| record[16] == b'P');
    let deadline =
        |record: &[u8]| record[17..24].iter().fold(0, |sum, &byte| sum << 8 | u64::from(byte));
    places.map(|record| (record[..16].to_vec(), deadline(record))).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn places_that_lapse_or_are_given_up_are_counted() {
    on_each(async |engine| {
        let server = start(engine);
        let clock = ManualClock::new(Timestamp::from_secs(1_700_000_000));
        let store = node_by(clock.clone(), &server, RoomRules::new("shop", 1)).await;
        assert!(matches!(store.enter(VisitorId::new(1)).await, Ok(Verdict::Admit { .. })));
        let mut tickets = Vec::new();
        for id in [2, 3] {
            let verdict = store.enter(VisitorId::new(id)).await.unwrap();
            let Verdict::Wait { ticket, .. } = verdict else { panic!("the room is full") };
            tickets.push(ticket);
        }
        clock.advance(Duration::from_secs(3));
        for ticket in tickets {
            assert!(matches!(store.check_in(ticket).await, Ok(Verdict::Wait { .. })));
        }
        let seen = store.snapshot().await.unwrap();
        assert_eq!((seen.waiting, seen.abandoned), (2, 0), "{engine}");
        store.leave(VisitorId::new(2)).await.unwrap();
        assert_eq!(store.snapshot().await.unwrap().abandoned, 1, "{engine}");
        clock.advance(Duration::from_secs(301));
        let seen = store.snapshot().await.unwrap();
        assert_eq!((seen.waiting, seen.abandoned), (0, 2), "{engine}");
    })
    .await;
}
