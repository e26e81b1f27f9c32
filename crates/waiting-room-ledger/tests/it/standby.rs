//! A synchronous standby of PostgreSQL that is promoted.

use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};
use waiting_room_engines::PostgresServer;
use waiting_room_ledger::{
    SiteId,
    model::{
        Failover, Holder, HolderTimes, KeepError, LedgerKeeper, Order, PostgresKeeper, Role, Term,
    },
};

use crate::postgres::{Random, no_changes, raw, same, take_over_kept, world};

/// The setting of a server that waits for its standby with each commit.
const SYNCHRONOUS: &str = "synchronous_standby_names=standby";
/// The time within which a real server has to do what is expected.
const PATIENCE: Duration = Duration::from_secs(60);

fn keeper(url: &str, room: &str) -> PostgresKeeper {
    PostgresKeeper::new(url, Failover::Synchronous, room, "a test")
}

/// The URL of both servers. Clients use the one that can write.
fn url_of(primary: &PostgresServer, standby: &PostgresServer) -> String {
    let first = primary.port();
    let second = standby.port();
    format!(
        "postgres://postgres@127.0.0.1:{first},127.0.0.1:{second}/postgres\
         ?target_session_attrs=read-write"
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn acknowledged_batches_survive_the_promotion_of_a_synchronous_standby() {
    let mut primary = PostgresServer::start_with(&[SYNCHRONOUS]).unwrap();
    let standby = primary.start_standby("standby", &[SYNCHRONOUS]).unwrap();
    let url = url_of(&primary, &standby);
    let mut kept = keeper(&url, "random");
    kept.set_up(&world()).await.unwrap();
    let term = take_over_kept(&mut kept).await.term;
    let mut model = world();
    let mut random = Random(13);
    model.take_over(term).unwrap();

    let mut keeper_of_shop = keeper(&url, "shop");
    keeper_of_shop.set_up(&world()).await.unwrap();
    let (holder, mut handle) = Holder::new("shop", keeper_of_shop, HolderTimes::default());
    let holder = tokio::spawn(holder.run(std::future::pending()));
    let term_of_shop = handle.holding().await.unwrap();
    handle.order(Order::AddSite(SiteId::new(9))).await.unwrap();
    handle.order(Order::SetLimit(11)).await.unwrap();
    for _ in 0..20 {
        let changes = random.changes(term);
        kept.keep(&changes).await.unwrap();
        model.apply(&changes).unwrap();
    }
    primary.kill();

    let error = kept.keep(&no_changes(term)).await.unwrap_err();
    assert!(matches!(error, KeepError::Unavailable { .. }), "{error}");
    raw(&standby).await.query_one("SELECT pg_promote()", &[]).await.unwrap();
    // The new primary acknowledges nothing before it has a standby of its own.
    let kept_alone = timeout(Duration::from_millis(500), kept.keep(&no_changes(term))).await;
    assert!(!matches!(kept_alone, Ok(Ok(()))));
    let _third = standby.start_standby("standby", &[]).unwrap();
    let deadline = Instant::now() + PATIENCE;
    while let Err(error) = kept.keep(&no_changes(term)).await {
        assert!(Instant::now() < deadline, "{error}");
        assert!(matches!(error, KeepError::Unavailable { .. }), "{error}");
        sleep(Duration::from_millis(100)).await;
    }
    // The holder continues in its term.
    while let Err(error) = handle.order(Order::SetLimit(12)).await {
        assert!(Instant::now() < deadline, "{error}");
    }
    assert_eq!(handle.role(), Role::Holding(term_of_shop));
    holder.abort();

    let mut alone = PostgresKeeper::new(standby.url(), Failover::None, "random", "a test");
    let seen = alone.watch().await.unwrap();
    let error = alone.take_over(seen, Term::default()).await.unwrap_err();
    assert!(matches!(error, KeepError::Lost { .. }), "the promotion is noticed: {error}");
    let found = take_over_kept(&mut kept).await;
    assert_eq!(same(&found), same(&model.take_over(Term::new(2)).unwrap()));
    let found = take_over_kept(&mut keeper(&url, "shop")).await;
    assert!(found.accounts.contains_key(&SiteId::new(9)));
    assert_eq!(found.limit, 12);
}
