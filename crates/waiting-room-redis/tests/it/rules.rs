//! Changes of rules, by releases and by operators.

use waiting_room_core::{RoomRules, Store};

use crate::support::{eventually, manager, node, on_each, start};

#[tokio::test(flavor = "multi_thread")]
async fn what_an_operator_changes_on_one_node_the_others_learn() {
    on_each(async |engine| {
        let server = start(engine);
        let rules = RoomRules::new("shop", 10);
        let (here, there) = (node(&server, rules.clone()).await, node(&server, rules).await);
        here.configure(|rules| rules.with_total_active_users(20)).await.unwrap();
        there.configure(|rules| rules.with_new_users_per_minute(5)).await.unwrap();
        let limits = eventually(async || {
            let rules = here.rules();
            let limits = (rules.total_active_users(), rules.new_users_per_minute());
            (limits.1 == Some(5)).then_some(limits)
        });
        assert_eq!(limits.await, (20, Some(5)), "neither change undoes the other");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_is_started_again_keeps_what_operators_changed_and_a_release_does_not() {
    on_each(async |engine| {
        let server = start(engine);
        let first = node(&server, RoomRules::new("shop", 10)).await;
        first.configure(|rules| rules.with_total_active_users(20)).await.unwrap();
        let again = node(&server, RoomRules::new("shop", 10)).await;
        assert_eq!(again.rules().total_active_users(), 20);
        let release = node(&server, RoomRules::new("shop", 30)).await;
        assert_eq!(release.rules().total_active_users(), 30);
        eventually(async || (first.rules().total_active_users() == 30).then_some(())).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_rules_are_refused_and_the_old_ones_stay() {
    on_each(async |engine| {
        let server = start(engine);
        let store = node(&server, RoomRules::new("shop", 10)).await;
        assert!(store.configure(|rules| rules.with_total_active_users(0)).await.is_err());
        let error = store.configure(|_| RoomRules::new("club", 10)).await.unwrap_err();
        let cause = std::error::Error::source(&error).unwrap().to_string();
        assert_eq!(cause, "name is \"club\", expected \"shop\", the name of the room in use");
        assert_eq!(store.rules().total_active_users(), 10);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_operator_changed_outlives_the_memory_of_the_server_and_a_start_after_it() {
    on_each(async |engine| {
        let server = start(engine);
        let first = node(&server, RoomRules::new("shop", 10)).await;
        first.configure(|rules| rules.with_total_active_users(2)).await.unwrap();
        let () = redis::cmd("FLUSHALL").query_async(&mut manager(&server).await).await.unwrap();
        first.snapshot().await.unwrap();
        let again = node(&server, RoomRules::new("shop", 10)).await;
        assert_eq!(again.rules().total_active_users(), 2);
        let release = node(&server, RoomRules::new("shop", 30)).await;
        assert_eq!(release.rules().total_active_users(), 30);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_that_a_replica_has_not_heard_of_is_replaced_by_the_next_one_everywhere() {
    on_each(async |engine| {
        let server = start(engine);
        let rules = RoomRules::new("shop", 10);
        let (here, there) = (node(&server, rules.clone()).await, node(&server, rules).await);
        let mut connection = manager(&server).await;
        let mut dump = redis::cmd("DUMP");
        let room: Vec<u8> = dump.arg("{wr:shop}:room").query_async(&mut connection).await.unwrap();
        here.configure(|rules| rules.with_total_active_users(20)).await.unwrap();
        let mut restore = redis::cmd("RESTORE");
        restore.arg("{wr:shop}:room").arg(0).arg(room).arg("REPLACE");
        let () = restore.query_async(&mut connection).await.unwrap();
        there.configure(|rules| rules.with_total_active_users(30)).await.unwrap();
        eventually(async || (here.rules().total_active_users() == 30).then_some(())).await;
    })
    .await;
}
