//! The keeper on a real Redis and a real Valkey.

use waiting_room_core::Timestamp;
use waiting_room_engines::{Engine, EngineServer, Persistence};
use waiting_room_ledger::{
    LedgerKeeper,
    keeper::{KeepError, RedisKeeper, TakenOver},
};
use waiting_room_sites::{
    SiteId,
    escrow::{Changes, EscrowRules, GlobalLedger, Kept, Term},
};

fn keeper(server: &EngineServer) -> RedisKeeper {
    let sites = (1..=3).map(SiteId::new);
    RedisKeeper::new(server.url(), "shop", "a test", 10, sites, EscrowRules::new())
}

async fn take_over(keeper: &mut RedisKeeper, at_least: Term) -> Kept {
    let seen = keeper.watch().await.unwrap();
    match keeper.take_over(seen, at_least).await.unwrap() {
        Some(TakenOver::Lost(kept)) => kept,
        other => panic!("each take-over is a recovery, and not {other:?}"),
    }
}

fn changes(kept: &Kept) -> Changes {
    let sites = kept.accounts.keys().copied();
    let (limit, term, rules) = (kept.limit, kept.term, kept.rules);
    GlobalLedger::recover(kept, limit, sites, term, rules, Timestamp::ZERO).unwrap().changes()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_term_is_kept_and_each_take_over_is_a_recovery() {
    for engine in Engine::ALL {
        let server = EngineServer::start(engine, Persistence::Never).unwrap();
        let (mut old, mut new) = (keeper(&server), keeper(&server));
        let first = take_over(&mut old, Term::default()).await;
        assert_eq!((first.term, first.accounts.len()), (Term::new(1), 3), "{engine}");
        let seen = new.watch().await.unwrap();
        old.keep(&changes(&first)).await.unwrap();
        assert!(new.take_over(seen, Term::default()).await.unwrap().is_none(), "{engine}");
        let second = take_over(&mut new, Term::new(40)).await;
        assert_eq!(second.term, Term::new(40), "{engine}: a site knows term 39");
        let error = old.keep(&changes(&first)).await.unwrap_err();
        assert!(matches!(error, KeepError::Fenced { term } if term == Term::new(40)), "{engine}");
        assert!(new.watch().await.unwrap().is_held);
        new.release(second.term).await.unwrap();
        assert!(!new.watch().await.unwrap().is_held, "{engine}");
    }
}

/// A keeper with what is configured at a start.
fn configured(server: &EngineServer, sites: &[u16], rules: EscrowRules) -> RedisKeeper {
    let sites = sites.iter().copied().map(SiteId::new);
    RedisKeeper::new(server.url(), "shop", "a test", 10, sites, rules)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_start_without_a_site_or_with_other_rules_is_refused_until_they_are_forgotten() {
    for engine in Engine::ALL {
        let server = EngineServer::start(engine, Persistence::Never).unwrap();
        let rules = EscrowRules::new();
        take_over(&mut keeper(&server), Term::default()).await;
        let refused = async |sites: &[u16], rules| {
            configured(&server, sites, rules).watch().await.map_err(|error| error.to_string())
        };
        let error = refused(&[1, 3], rules).await.unwrap_err();
        assert_eq!(
            error,
            "sites is 1,3, expected also 2, which the last ledger had; when that site has been off for \
             422 s, let the store forget the list: HDEL {wr:shop}:ledger sites",
            "{engine}"
        );
        let shorter = rules.session(std::time::Duration::from_secs(60));
        let error = refused(&[1, 2, 3], shorter).await.unwrap_err();
        assert!(error.starts_with("session is 60s, expected 300s as before; when all"), "{error}");

        // A longer list is used, and is the one that the next ledger has to have.
        let longer =
            take_over(&mut configured(&server, &[1, 2, 3, 4], rules), Term::default()).await;
        assert_eq!(longer.accounts.len(), 4);
        assert!(refused(&[1, 2, 3], rules).await.unwrap_err().contains("expected also 4, "));
        let client = redis::Client::open(server.url()).unwrap();
        let mut connection = client.get_multiplexed_async_connection().await.unwrap();
        for field in ["sites", "rules"] {
            let mut forget = redis::cmd("HDEL");
            let forget = forget.arg("{wr:shop}:ledger").arg(field);
            let () = forget.query_async(&mut connection).await.unwrap();
        }
        let kept = take_over(&mut configured(&server, &[1, 2], shorter), Term::default()).await;
        assert_eq!((kept.term, kept.accounts.len()), (Term::new(3), 2), "the term goes on");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn another_run_of_the_server_ends_the_term() {
    for engine in Engine::ALL {
        let mut server = EngineServer::start(engine, Persistence::Always).unwrap();
        let mut keeper = keeper(&server);
        let kept = take_over(&mut keeper, Term::default()).await;
        keeper.keep(&changes(&kept)).await.unwrap();
        server.kill();
        let error = keeper.keep(&changes(&kept)).await.unwrap_err();
        assert!(matches!(error, KeepError::Unavailable { .. }), "{engine}: {error}");
        server.start_again().unwrap();
        // The term has survived, and other writes may have not.
        let error = keeper.keep(&changes(&kept)).await.unwrap_err();
        assert!(matches!(error, KeepError::Lost { .. }), "{engine}: {error}");
        let again = take_over(&mut keeper, Term::default()).await;
        assert_eq!(again.term, Term::new(2), "{engine}");
        keeper.keep(&changes(&again)).await.unwrap();
    }
}

#[tokio::test]
async fn a_server_that_evicts_keys_is_refused_also_if_it_begins_later() {
    for engine in Engine::ALL {
        let server =
            EngineServer::start_with(engine, &["--maxmemory-policy", "allkeys-lru"]).unwrap();
        let error = keeper(&server).watch().await.unwrap_err();
        let expected = "maxmemory-policy is allkeys-lru, expected noeviction";
        assert_eq!(error.to_string(), expected, "{engine}");

        let server = EngineServer::start(engine, Persistence::Never).unwrap();
        let mut keeper = keeper(&server);
        let kept = take_over(&mut keeper, Term::default()).await;
        let client = redis::Client::open(server.url()).unwrap();
        let mut connection = client.get_multiplexed_async_connection().await.unwrap();
        let mut set = redis::cmd("CONFIG");
        set.arg("SET").arg("maxmemory-policy").arg("volatile-ttl");
        let () = set.query_async(&mut connection).await.unwrap();
        keeper.keep(&changes(&kept)).await.unwrap();
        // The settings are looked at each minute.
        tokio::time::pause();
        tokio::time::advance(std::time::Duration::from_secs(61)).await;
        tokio::time::resume();
        let error = keeper.keep(&changes(&kept)).await.unwrap_err();
        assert!(error.to_string().starts_with("maxmemory-policy is volatile-ttl"), "{error}");
    }
}
