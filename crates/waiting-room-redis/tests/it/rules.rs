//! Changes of rules, by releases and by operators.

use waiting_room_core::{RoomRules, Store};

use crate::support::{eventually, manager, node, on_each, start};

#[tokio::test(flavor = "multi_thread")]
async fn a_change_by_an_operator_on_one_node_reaches_the_others() {
    on_each(async |engine| {
        let server = start(engine);
        let rules = RoomRules::new("shop", 10);
        let here = node(&server, rules.clone()).await;
        let there = node(&server, rules).await;
        here.configure(|rules| rules.total_active_users(20)).await.unwrap();
        there.configure(|rules| rules.new_users_per_minute(5)).await.unwrap();
        let limits = eventually(async || {
            let rules = here.rules();
            let limits = (rules.total_active_users, rules.new_users_per_minute);
            (limits.1 == Some(5)).then_some(limits)
        });
        assert_eq!(limits.await, (20, Some(5)), "neither change undoes the other");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_keeps_the_changes_of_operators_and_a_release_does_not() {
    on_each(async |engine| {
        let server = start(engine);
        let first = node(&server, RoomRules::new("shop", 10)).await;
        first.configure(|rules| rules.total_active_users(20)).await.unwrap();
        let again = node(&server, RoomRules::new("shop", 10)).await;
        assert_eq!(again.rules().total_active_users, 20);
        let release = node(&server, RoomRules::new("shop", 30)).await;
        assert_eq!(release.rules().total_active_users, 30);
        eventually(async || (first.rules().total_active_users == 30).then_some(())).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_rules_are_refused_and_the_old_ones_stay() {
    on_each(async |engine| {
        let server = start(engine);
        let store = node(&server, RoomRules::new("shop", 10)).await;
        assert!(store.configure(|rules| rules.total_active_users(0)).await.is_err());
        let error = store.configure(|_| RoomRules::new("club", 10)).await.unwrap_err();
        let cause = std::error::Error::source(&error).unwrap().to_string();
        assert_eq!(cause, "name is \"club\", expected \"shop\", the name of the room in use");
        assert_eq!(store.rules().total_active_users, 10);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_by_an_operator_outlive_a_server_loss_and_a_later_start() {
    on_each(async |engine| {
        let server = start(engine);
        let first = node(&server, RoomRules::new("shop", 10)).await;
        first.configure(|rules| rules.total_active_users(2)).await.unwrap();
        let () = redis::cmd("FLUSHALL").query_async(&mut manager(&server).await).await.unwrap();
        first.snapshot().await.unwrap();
        let again = node(&server, RoomRules::new("shop", 10)).await;
        assert_eq!(again.rules().total_active_users, 2);
        let release = node(&server, RoomRules::new("shop", 30)).await;
        assert_eq!(release.rules().total_active_users, 30);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_that_a_replica_missed_is_replaced_by_the_next_one() {
    on_each(async |engine| {
        let server = start(engine);
        let rules = RoomRules::new("shop", 10);
        let here = node(&server, rules.clone()).await;
        let there = node(&server, rules).await;
        let mut connection = manager(&server).await;
        let mut dump = redis::cmd("DUMP");
        let room: Vec<u8> = dump.arg("{wr:shop}:room").query_async(&mut connection).await.unwrap();
        here.configure(|rules| rules.total_active_users(20)).await.unwrap();
        let mut restore = redis::cmd("RESTORE");
        restore.arg("{wr:shop}:room").arg(0).arg(room).arg("REPLACE");
        let () = restore.query_async(&mut connection).await.unwrap();
        there.configure(|rules| rules.total_active_users(30)).await.unwrap();
        eventually(async || (here.rules().total_active_users == 30).then_some(())).await;
    })
    .await;
}
