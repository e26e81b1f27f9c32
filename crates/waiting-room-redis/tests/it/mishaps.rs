//! Mishaps of a server and its keys: late calls, lost or deleted keys, unreadable rules, crowds.

use std::{error::Error, time::Duration};

use futures_util::future::join_all;
use redis::AsyncCommands;
use tokio::time::Instant;
use waiting_room_core::{
    RoomRules, Store, Ticket, Timestamp, Verdict, VisitorId,
    room::{QueueingMethod, Renewal, RoomMode},
    time::{Clock, ManualClock},
};
use waiting_room_engines::EngineServer;
use waiting_room_redis::RedisStoreOptions;

use crate::support::{
    admitted, connect, eventually, is_overdue, manager, node, node_by, on_each, patient, queued,
    start,
};

const START: Timestamp = Timestamp::from_secs(1_700_000_000);

#[tokio::test(flavor = "multi_thread")]
async fn a_request_past_its_deadline_is_not_admitted() {
    on_each(async |engine| {
        let server = start(engine);
        let options = RedisStoreOptions::new().deadline(Duration::from_millis(20));
        let store = connect(&server, RoomRules::new("shop", 5), options).await.unwrap();
        eventually(async || store.enter(VisitorId::new(0)).await.ok()).await;
        server.pause().unwrap();
        let error = store.enter(VisitorId::new(1)).await.unwrap_err();
        assert!(is_overdue(error.kind()), "{error:?}");
        let given_up = Instant::now();
        while given_up.elapsed() < Duration::from_millis(50) {
            tokio::task::yield_now().await;
        }
        // The call is still in the socket, and the server reads it now.
        server.resume().unwrap();
        let seen = eventually(async || store.snapshot().await.ok()).await;
        assert_eq!(seen.new_in_last_minute, 1, "only the first visitor");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_room_that_is_opened_again_does_not_begin_behind_the_time_that_nodes_know() {
    on_each(async |engine| {
        let server = start(engine);
        let store = node(&server, RoomRules::new("shop", 3)).await;
        let mut connection = manager(&server).await;
        let an_hour_ahead = (Duration::from_secs(3_600).as_micros()).to_string();
        let () = connection.hset("{wr:shop}:room", "skew_us", an_hour_ahead).await.unwrap();
        admitted(&store, 1).await;
        let () = redis::cmd("FLUSHALL").query_async(&mut connection).await.unwrap();
        let pass = admitted(&store, 2).await;
        assert!(pass.expires_at > store.now(), "{pass:?} at {:?}", store.now());
        let before = store.now();
        eventually(async || (store.now() > before).then_some(())).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_key_of_a_room_stays_forever_after_its_node_was_killed() {
    on_each(async |engine| {
        let server = start(engine);
        let clock = ManualClock::new(START);
        let rules = RoomRules::new("shop", 1).session_duration(Duration::from_secs(80));
        let store = node_by(clock.clone(), &server, rules).await;
        admitted(&store, 1).await;
        let ticket = queued(&store, 7 << 96 | 2).await;
        clock.advance(Duration::from_secs(3));
        let Verdict::Wait { ticket, .. } = store.check_in(ticket).await.unwrap() else {
            panic!("the room is full")
        };
        let away = queued(&store, 7 << 96 | 4).await;
        clock.advance(Duration::from_secs(3));
        store.check_in(away).await.unwrap();
        // The second visitor misses its check-in.
        clock.advance(Duration::from_secs(40));
        store.check_in(ticket).await.unwrap();
        store.leave(VisitorId::new(3)).await.unwrap();
        let mut connection = manager(&server).await;
        let mut keys: Vec<String> = connection.keys("{wr:shop}:*").await.unwrap();
        // The list of the nodes expires after a minute.
        keys.retain(|key| key != "{wr:shop}:nodes");
        assert_eq!(keys.len(), 9, "{engine}: {keys:?}");
        for key in keys {
            let ttl: i64 = connection.ttl(&key).await.unwrap();
            assert!((86_400..87_000).contains(&ttl), "{engine}: {key} is kept for {ttl} s");
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn many_nodes_look_at_a_room_by_one_script_a_second() {
    on_each(async |engine| {
        const NODES: u64 = 10;
        let server = start(engine);
        let mut nodes = Vec::new();
        for _ in 0..NODES {
            nodes.push(node(&server, RoomRules::new("shop", 1)).await);
        }
        let mut connection = manager(&server).await;
        // On a busy machine, nodes are late and look at the room at the same time, but not in each
        // period.
        let mut periods = Vec::new();
        while !periods.iter().any(|scripts| (2..=2 * NODES).contains(scripts)) {
            let mut reset = redis::cmd("CONFIG");
            let () = reset.arg("RESETSTAT").query_async(&mut connection).await.unwrap();
            let began = Instant::now();
            eventually(async || (began.elapsed() >= Duration::from_secs(4)).then_some(())).await;
            periods.push(crate::limits::support::scripts(&server).await);
            assert!(periods.len() < 5, "{engine}: {periods:?} of {}", 4 * NODES);
        }
        // A change on one node still reaches the others.
        nodes[0].configure(|rules| rules.total_active_users(2)).await.unwrap();
        eventually(async || (nodes[9].rules().total_active_users == 2).then_some(())).await;
    })
    .await;
}

#[tokio::test]
async fn a_server_that_may_evict_keys_from_now_on_is_noticed_within_a_minute() {
    let server = start(waiting_room_engines::Engine::Redis);
    let store = node(&server, RoomRules::new("shop", 1)).await;
    let mut connection = manager(&server).await;
    for (policy, may_evict) in [("allkeys-lru", true), ("noeviction", false)] {
        for (option, value) in [("maxmemory", "100mb"), ("maxmemory-policy", policy)] {
            let mut set = redis::cmd("CONFIG");
            set.arg("SET").arg(option).arg(value);
            let () = set.query_async(&mut connection).await.unwrap();
        }
        assert_eq!(store.may_evict(), !may_evict);
        tokio::time::pause();
        tokio::time::advance(Duration::from_secs(61)).await;
        tokio::time::resume();
        eventually(async || (store.may_evict() == may_evict).then_some(())).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deleted_key_stops_nothing() {
    on_each(async |engine| {
        let of_line = ["present", "arrivals", "networks"];
        for key in ["visitors", "deadlines", "ended", "voids"].into_iter().chain(of_line) {
            let server = start(engine);
            let clock = ManualClock::new(START);
            let rules = RoomRules::new("shop", 1).session_duration(Duration::from_secs(80));
            let store = node_by(clock.clone(), &server, rules).await;
            let pass = admitted(&store, 1).await;
            let ticket = queued(&store, 7 << 96 | 2).await;
            clock.advance(Duration::from_secs(3));
            store.check_in(ticket).await.unwrap();
            let away = queued(&store, 7 << 96 | 4).await;
            clock.advance(Duration::from_secs(3));
            store.check_in(away).await.unwrap();
            clock.advance(Duration::from_secs(40));
            store.check_in(ticket).await.unwrap();
            store.leave(VisitorId::new(3)).await.unwrap();
            let () = manager(&server).await.del(format!("{{wr:shop}}:{key}")).await.unwrap();
            store.renew(pass).await.unwrap();
            store.check_in(ticket).await.unwrap();
            clock.advance(Duration::from_secs(1_000));
            store.sweep().await.unwrap();
            let verdict = store.enter(VisitorId::new(9)).await.unwrap();
            assert!(matches!(verdict, Verdict::Admit { .. }), "{engine}, {key}: {verdict:?}");
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rules_that_only_a_newer_release_can_read_are_no_failure_of_the_server() {
    on_each(async |engine| {
        let server = start(engine);
        let rules = RoomRules::new("shop", 100).queueing_method(QueueingMethod::Random);
        let store = node(&server, rules).await;
        let mut connection = manager(&server).await;
        let rules: String = connection.hget("{wr:shop}:room", "rules").await.unwrap();
        assert!(rules.contains("random"), "{rules}");
        let newer = rules.replace("random", "by_seat");
        let () = connection.hset("{wr:shop}:room", "rules", newer).await.unwrap();
        let _: i64 = connection.hincr("{wr:shop}:room", "version", 1).await.unwrap();
        for id in 0..8 {
            store.snapshot().await.unwrap();
            admitted(&store, id).await;
        }
        assert_eq!(store.rules().total_active_users, 100, "the last rules it could read");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_room_with_the_layout_of_another_release_is_refused_and_left_alone() {
    on_each(async |engine| {
        let server = start(engine);
        let store = node(&server, RoomRules::new("shop", 1)).await;
        admitted(&store, 1).await;
        let mut connection = manager(&server).await;
        let own: String = connection.hget("{wr:shop}:room", "layout").await.unwrap();
        for layout in [None, Some("0"), Some("999")] {
            let _: i64 = connection.hdel("{wr:shop}:room", "layout").await.unwrap();
            if let Some(layout) = layout {
                let () = connection.hset("{wr:shop}:room", "layout", layout).await.unwrap();
            }
            let refused = connect(&server, RoomRules::new("shop", 1), patient()).await.unwrap_err();
            let source = Error::source(&refused).unwrap().to_string();
            assert!(source.contains("layout"), "{engine}, {layout:?}: {source}");
            assert_eq!(store.enter(VisitorId::new(2)).await.unwrap_err().kind(), refused.kind());
        }
        let () = connection.hset("{wr:shop}:room", "layout", own).await.unwrap();
        let renewed = eventually(async || store.snapshot().await.ok()).await;
        assert_eq!(renewed.active, 1);
    })
    .await;
}

/// Changes a setting of a server.
async fn set(server: &EngineServer, command: &str, arguments: [&str; 3]) {
    let mut set = redis::cmd(command);
    let () = set.arg(&arguments).query_async(&mut manager(server).await).await.unwrap();
}

/// The server's user lacks a right that only an admission needs.
#[tokio::test(flavor = "multi_thread")]
async fn a_script_that_stops_part_way_leaves_the_room_as_large_as_it_was() {
    on_each(async |engine| {
        let server = start(engine);
        let store = node(&server, RoomRules::new("shop", 2)).await;
        set(&server, "ACL", ["SETUSER", "default", "-lrange"]).await;
        store.enter(VisitorId::new(1)).await.unwrap_err();
        let _ = store.leave(VisitorId::new(1)).await;
        set(&server, "ACL", ["SETUSER", "default", "+lrange"]).await;
        eventually(async || store.snapshot().await.ok().filter(|seen| seen.active == 0)).await;
        admitted(&store, 2).await;
        admitted(&store, 3).await;
        queued(&store, 4).await;
        assert_eq!(store.snapshot().await.unwrap().active, 2, "{engine}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_without_free_memory_renews_and_ends_sessions() {
    on_each(async |engine| {
        let server = start(engine);
        let clock = ManualClock::new(START);
        let rules = RoomRules::new("shop", 2).session_duration(Duration::from_secs(80));
        let store = node_by(clock.clone(), &server, rules).await;
        let ann = admitted(&store, 1).await;
        admitted(&store, 2).await;
        set(&server, "CONFIG", ["SET", "maxmemory", "1"]).await;
        clock.advance(Duration::from_secs(15));
        let renewed = store.renew(ann).await.unwrap();
        assert!(matches!(renewed, Renewal::Renew(_)), "{engine}: {renewed:?}");
        store.leave(VisitorId::new(2)).await.unwrap();
        clock.advance(Duration::from_secs(200));
        store.sweep().await.unwrap();
        assert_eq!(store.snapshot().await.unwrap().active, 0, "{engine}");
        set(&server, "CONFIG", ["SET", "maxmemory", "0"]).await;
        admitted(&store, 4).await;
    })
    .await;
}

/// A script removes at most the lapsed sessions of 128 pages, which contain about a thousand.
#[tokio::test(flavor = "multi_thread")]
async fn sessions_that_have_lapsed_do_not_count_before_they_are_removed() {
    on_each(async |engine| {
        const WAVE: u32 = 1_500;
        let server = start(engine);
        let clock = ManualClock::new(START);
        let rules = RoomRules::new("shop", 3 * WAVE);
        let rules = rules.session_duration(Duration::from_secs(80));
        let store = node_by(clock.clone(), &server, rules).await;
        for wave in 0..3 {
            let crowd =
                (0..WAVE).map(|who| store.enter(VisitorId::new((wave * WAVE + who).into())));
            for verdict in join_all(crowd).await {
                assert!(matches!(verdict, Ok(Verdict::Admit { .. })), "{engine}: {verdict:?}");
            }
            clock.advance(Duration::from_secs(2));
        }
        queued(&store, 1 << 100).await;
        // The passes of a wave are valid for 90 s.
        clock.advance(Duration::from_secs(85));
        for left in [2 * WAVE, WAVE, 0] {
            assert_eq!(store.snapshot().await.unwrap().active, left, "{engine}");
            clock.advance(Duration::from_secs(2));
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crowd_that_has_vanished_is_cleared_within_moments() {
    on_each(async |engine| {
        let server = start(engine);
        let clock = ManualClock::new(START);
        // In a closed room, the server decides each check-in.
        let rules = RoomRules::new("shop", 100).mode(RoomMode::QueueAll);
        let store = node_by(clock.clone(), &server, rules).await;
        for wave in 0..10 {
            let crowd = (0..1_000).map(|who| {
                let id = VisitorId::new((1 << 120) + wave * 1_000 + who);
                let mut ticket = Ticket::new(id, clock.now(), clock.now(), clock.now());
                ticket.placed = true;
                store.check_in(ticket)
            });
            join_all(crowd).await.into_iter().for_each(|verdict| drop(verdict.unwrap()));
        }
        assert_eq!(store.snapshot().await.unwrap().waiting, 10_000);
        // All of them have been away for longer than a place is kept.
        clock.advance(Duration::from_secs(301));
        eventually(async || {
            let pages: u64 = manager(&server).await.hlen("{wr:shop}:visitors").await.ok()?;
            (pages == 0).then_some(())
        })
        .await;
        store.configure(|rules| rules.mode(RoomMode::Auto)).await.unwrap();
        admitted(&store, 1).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_room_without_requests_is_forgotten() {
    on_each(async |engine| {
        let server = start(engine);
        let rules = RoomRules::new("shop", 1).refresh_interval(Duration::from_secs(2));
        let store = node(&server, rules).await;
        admitted(&store, 1).await;
        let ticket = queued(&store, 7 << 96 | 2).await;
        let clock = store.clone();
        eventually(async || (clock.now() >= ticket.next_check_in).then_some(())).await;
        store.check_in(ticket).await.unwrap();
        store.leave(VisitorId::new(3)).await.unwrap();
        store.snapshot().await.unwrap();
        let mut connection = manager(&server).await;
        let keys: Vec<String> =
            redis::cmd("KEYS").arg("*").query_async(&mut connection).await.unwrap();
        // The list of the nodes expires after a minute.
        let keys: Vec<_> = keys.into_iter().filter(|key| key != "{wr:shop}:nodes").collect();
        assert!(keys.len() >= 8, "{keys:?}");
        for key in keys {
            let seconds: i64 = connection.ttl(&key).await.unwrap();
            assert!((86_400..90_000).contains(&seconds), "{key} lasts for {seconds} s");
        }
    })
    .await;
}
