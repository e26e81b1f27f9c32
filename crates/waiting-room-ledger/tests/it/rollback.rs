//! A PostgreSQL server that has lost what it had acknowledged, while a ledger holds the room.

use std::time::Duration;

use tokio::time::timeout;
use waiting_room_engines::PostgresServer;
use waiting_room_ledger::{
    SiteId,
    model::{
        Corrections, Failover, Fence, GlobalLedger, KeepError, KeptAccount, LedgerKeeper,
        PostgresKeeper, Standing, TakenOver, Term,
    },
};

use crate::postgres::{no_changes, raw, take_over_kept, world};

/// Returns a keeper that has set up `shop` and holds it.
async fn holder(url: String, failover: Failover) -> (PostgresKeeper, Term) {
    let mut keeper = PostgresKeeper::new(url, failover, "shop", "a test");
    keeper.set_up(&world()).await.unwrap();
    let term = take_over_kept(&mut keeper).await.term;
    (keeper, term)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_promotion_under_a_holder_is_noticed_without_a_synchronous_failover() {
    let mut primary = PostgresServer::start().unwrap();
    let standby = primary.start_standby("standby", &[]).unwrap();
    let first = primary.port();
    let second = standby.port();
    let url = format!(
        "postgres://postgres@127.0.0.1:{first},127.0.0.1:{second}/postgres\
         ?target_session_attrs=read-write"
    );
    let (mut holder, term) = holder(url, Failover::None).await;
    holder.keep(&no_changes(term)).await.unwrap();
    primary.kill();
    assert!(holder.keep(&no_changes(term)).await.is_err(), "the server is gone");
    raw(&standby).await.query_one("SELECT pg_promote()", &[]).await.unwrap();
    let error = holder.keep(&no_changes(term)).await.unwrap_err();
    assert!(matches!(error, KeepError::Lost { .. }), "{error}");
    assert!(error.to_string().contains("/00000002, expected "), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_room_that_goes_back_is_noticed_by_its_holder_and_by_a_standby() {
    let server = PostgresServer::start().unwrap();
    let (mut holder, term) = holder(server.url(), Failover::None).await;
    for _ in 0..3 {
        holder.keep(&no_changes(term)).await.unwrap();
    }
    let keeper = || PostgresKeeper::new(server.url(), Failover::None, "shop", "a standby");
    let mut standby = keeper();
    let mut behind = keeper();
    standby.watch().await.unwrap();
    // As if a snapshot of the disk had been put back: the server and its timeline are the same.
    raw(&server).await.execute("UPDATE waiting_room_ledger SET batch = 2", &[]).await.unwrap();
    // A process that has not seen the newest batch takes over before the holder looks.
    let seen = behind.watch().await.unwrap();
    let taken = behind.take_over(seen, Term::default()).await.unwrap();
    assert!(matches!(taken, Some(TakenOver::Kept(_))));
    let lost = |found: &str| {
        format!("{found}, so acknowledged changes may be lost: the room has to be recovered")
    };
    let error = holder.keep(&no_changes(term)).await.unwrap_err();
    assert_eq!(error.to_string(), lost("batch 2 of term 2 is kept, expected batch 3 of term 1"));
    let error = standby.watch().await.unwrap_err();
    assert_eq!(error.to_string(), lost("batch 2 of term 3 is kept, expected batch 3 of term 1"));

    // That process is fenced. Neither that process nor a new one takes over again.
    let error = behind.keep(&no_changes(Term::new(2))).await.unwrap_err();
    assert!(matches!(error, KeepError::Fenced { term } if term == Term::new(3)), "{error}");
    for mut keeper in [behind, keeper()] {
        let seen = keeper.watch().await.unwrap();
        let error = keeper.take_over(seen, Term::default()).await.unwrap_err();
        assert_eq!(error.to_string(), lost("a ledger has seen batches that are no longer kept"));
    }
    standby.recover(&Corrections::new()).await.unwrap();
    let seen = standby.watch().await.unwrap();
    let taken = standby.take_over(seen, Term::default()).await.unwrap();
    let Some(TakenOver::Lost(kept)) = taken else { panic!("the room is recovered: {taken:?}") };
    // What the old holder has seen is no longer expected.
    standby.keep(&no_changes(kept.term)).await.unwrap();
    assert!(holder.watch().await.unwrap().is_held);
}

/// The settings are also checked with each batch on an open connection.
#[tokio::test(flavor = "multi_thread")]
async fn a_setting_that_changes_under_a_holder_is_noticed_with_the_next_batch() {
    let synchronous = "synchronous_standby_names=standby";
    let server = PostgresServer::start().unwrap();
    let mut standby = server.start_standby("standby", &[]).unwrap();
    let client = raw(&server).await;
    let set = async |setting: &str| {
        client.batch_execute(&format!("ALTER SYSTEM SET {setting}")).await.unwrap();
        client.batch_execute("SELECT pg_reload_conf()").await.unwrap();
    };
    set(&synchronous.replace('=', " = ")).await;
    let (mut holder, term) = holder(server.url(), Failover::Synchronous).await;
    holder.keep(&no_changes(term)).await.unwrap();

    // The connection keeps its own value: without the standby, nothing is acknowledged.
    set("synchronous_commit = off").await;
    until(&client, "synchronous_commit", "off").await;
    standby.kill();
    let kept = timeout(Duration::from_millis(500), holder.keep(&no_changes(term))).await;
    assert!(!matches!(kept, Ok(Ok(()))), "the batch is not at the standby");

    set("synchronous_standby_names = ''").await;
    until(&client, "synchronous_standby_names", "").await;
    let expected =
        "synchronous_standby_names is empty, expected a standby, because a failover is used";
    // The process of the connection reads the new settings before or with its next statement.
    let error = match holder.keep(&no_changes(term)).await {
        Ok(()) => holder.keep(&no_changes(term)).await.unwrap_err(),
        Err(error) => error,
    };
    assert_eq!(error.to_string(), expected);
    let error = holder.watch().await.unwrap_err();
    assert!(matches!(error, KeepError::Unfit { .. }), "{error}");
}

/// Polls until a new setting has reached a process of the server.
async fn until(client: &tokio_postgres::Client, setting: &str, expected: &str) {
    for _ in 0..1000 {
        let row = client.query_one("SELECT current_setting($1)", &[&setting]).await.unwrap();
        if row.get::<_, String>(0) == expected {
            return;
        }
        client.query_one("SELECT pg_sleep(0.01)", &[]).await.unwrap();
    }
    panic!("{setting} does not become {expected:?}");
}

/// The backup is from before the third site was added and the second site was fenced.
#[tokio::test(flavor = "multi_thread")]
async fn changes_that_a_backup_lacks_are_added_by_the_recovery() {
    let server = PostgresServer::start().unwrap();
    let (mut keeper, _) = holder(server.url(), Failover::None).await;
    let corrections = Corrections::new().add_site(SiteId::new(4)).fence(SiteId::new(2)).limit(7);
    let kept = keeper.recover(&corrections).await.unwrap();
    assert_eq!((kept.limit, kept.accounts.len()), (7, 4));
    assert_eq!(kept.term, Term::new(1 + 1024));
    let far = corrections.clone().first_term(Term::new(100_000));
    assert_eq!(keeper.recover(&far).await.unwrap().term, Term::new(99_999));
    assert_eq!(keeper.recover(&far).await.unwrap().term, Term::new(99_999 + 1024));
    let unknown = corrections.clone().fence(SiteId::new(5));
    let error = keeper.recover(&unknown).await.unwrap_err();
    assert_eq!(error.to_string(), "fence is 5, expected a site on the list");

    let seen = keeper.watch().await.unwrap();
    let taken = keeper.take_over(seen, Term::default()).await.unwrap();
    let Some(TakenOver::Lost(kept)) = taken else { panic!("the room is recovered: {taken:?}") };
    assert_eq!(kept.limit, 7);
    let sites = kept.accounts.keys().copied();
    let now = waiting_room_core::Timestamp::ZERO;
    let mut ledger = GlobalLedger::recover(&kept, 7, sites, kept.term, kept.rules, now).unwrap();
    let states: Vec<_> = ledger
        .site_states(now)
        .map(|state| (state.site.number(), state.standing, state.is_fenced))
        .collect();
    let unknown = Standing::Unknown;
    let expected =
        [(1, unknown, false), (2, unknown, true), (3, unknown, false), (4, unknown, false)];
    assert_eq!(states, expected);
    keeper.keep(&ledger.changes()).await.unwrap();

    // The next ledger finds the fence with the epoch that this one has given to it.
    let kept = take_over_kept(&mut keeper).await;
    let account: KeptAccount = kept.accounts[&SiteId::new(2)];
    assert_eq!(account.fence, Some(Fence::new(account.epoch, None)));
}
