//! Several nodes that share one room.

use std::time::Duration;

use tokio::task::JoinSet;
use waiting_room_core::{RoomRules, Store, Verdict, VisitorId, room::Renewal};
use waiting_room_redis::RedisStoreOptions;

use crate::support::{
    admitted, connect, eventually, is_overdue, node, on_each, patient, queued, start,
};

#[tokio::test(flavor = "multi_thread")]
async fn four_nodes_admit_exactly_the_limit_of_a_crowd() {
    on_each(async |engine| {
        let server = start(engine);
        let rules = RoomRules::new("shop", 20).new_users_per_minute(15);
        let mut visitors = JoinSet::new();
        for number in 0..4_u128 {
            let store = node(&server, rules.clone()).await;
            for id in 0..50 {
                let store = store.clone();
                visitors.spawn(async move { store.enter(VisitorId::new(number << 64 | id)).await });
            }
        }
        let verdicts = visitors.join_all().await;
        let admitted =
            verdicts.iter().filter(|verdict| matches!(verdict, Ok(Verdict::Admit { .. }))).count();
        assert_eq!((admitted, verdicts.len()), (15, 200));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_decision_of_one_node_is_known_to_the_others() {
    on_each(async |engine| {
        let server = start(engine);
        let rules = RoomRules::new("shop", 1);
        let here = node(&server, rules.clone()).await;
        let there = node(&server, rules).await;
        let pass = admitted(&here, 1).await;
        let ticket = queued(&there, 2).await;
        assert!(matches!(there.renew(pass).await, Ok(Renewal::Renew(_))));
        there.leave(pass.id).await.unwrap();
        assert_eq!(here.renew(pass).await.unwrap(), Renewal::End);
        let verdict = here.check_in(ticket).await.unwrap();
        assert!(matches!(verdict, Verdict::Admit { .. }), "{verdict:?}");
        assert_eq!(there.snapshot().await.unwrap().active, 1);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rooms_and_services_that_share_a_server_do_not_meet() {
    on_each(async |engine| {
        let server = start(engine);
        let shop = node(&server, RoomRules::new("shop", 1)).await;
        let club = node(&server, RoomRules::new("club", 1)).await;
        let options = patient().prefix("other");
        let other = connect(&server, RoomRules::new("shop", 1), options).await.unwrap();
        for store in [&shop, &club, &other] {
            admitted(store, 1).await;
            queued(store, 2).await;
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_undelivered_admission_is_undone() {
    on_each(async |engine| {
        let server = start(engine);
        let options = RedisStoreOptions::new().deadline(Duration::from_millis(20));
        let store = connect(&server, RoomRules::new("shop", 2), options).await.unwrap();
        // From now on the server knows the script, so a single command runs it.
        eventually(async || store.enter(VisitorId::new(0)).await.ok()).await;
        server.pause().unwrap();
        let error = store.enter(VisitorId::new(1)).await.unwrap_err();
        assert!(is_overdue(error.kind()), "{error:?}");
        // The server reads the call, and admits the visitor whose node has given up.
        server.resume().unwrap();
        eventually(async || match store.enter(VisitorId::new(2)).await {
            Ok(Verdict::Admit { .. }) => Some(()),
            _ => None,
        })
        .await;
    })
    .await;
}
