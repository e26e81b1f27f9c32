//! The keeper on a real PostgreSQL server.

use std::{collections::BTreeMap, time::Duration};

use waiting_room_core::{Timestamp, VisitorId};
use waiting_room_engines::PostgresServer;
use waiting_room_ledger::{
    EscrowRules, SiteId,
    model::{
        Changes, Corrections, Epoch, Failover, Fence, GlobalLedger, Incarnation, KeepError, Kept,
        KeptAccount, KeptClaim, LedgerKeeper, PostgresKeeper, Standing, TakenOver, Term,
    },
};

const RULES: EscrowRules = EscrowRules::new().session(Duration::from_secs(300));

/// A world without visitors, before its first ledger.
pub(crate) fn world() -> Kept {
    let mut kept = Kept::new(Term::new(0), 10, RULES);
    for site in 1..=3 {
        let account = KeptAccount::new(Epoch::default(), Standing::Away);
        kept.accounts.insert(SiteId::new(site), account);
    }
    kept
}

fn keeper(server: &PostgresServer, room: &str) -> PostgresKeeper {
    PostgresKeeper::new(server.url(), Failover::None, room, "a test")
}

async fn set_up(server: &PostgresServer, room: &str) -> PostgresKeeper {
    let mut keeper = keeper(server, room);
    keeper.set_up(&world()).await.unwrap();
    keeper
}

/// Takes over at once, as a standby does after its patience.
async fn take_over(keeper: &mut PostgresKeeper) -> TakenOver {
    let seen = keeper.watch().await.unwrap();
    keeper.take_over(seen, Term::default()).await.unwrap().expect("nobody else takes over")
}

pub(crate) async fn take_over_kept(keeper: &mut PostgresKeeper) -> Kept {
    match take_over(keeper).await {
        TakenOver::Kept(kept) => kept,
        other => panic!("the accounts are kept, and not {other:?}"),
    }
}

/// The changes of a ledger of this term that has changed nothing.
pub(crate) fn no_changes(term: Term) -> Changes {
    let mut kept = world();
    kept.term = term;
    GlobalLedger::restore(&kept, term, Timestamp::ZERO).unwrap().changes()
}

/// SplitMix64.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.bits() % bound
    }

    fn coin(&mut self) -> bool {
        self.below(2) == 0
    }

    fn epoch(&mut self) -> Epoch {
        let count = u32::try_from(self.below(3)).unwrap();
        Epoch::new(Term::new(u32::MAX - u32::try_from(self.below(2)).unwrap()), count)
    }

    fn account(&mut self) -> KeptAccount {
        let standings = [Standing::Away, Standing::Open, Standing::Closed, Standing::Unknown];
        let standing = standings[usize::try_from(self.below(4)).unwrap()];
        let mut account = KeptAccount::new(self.epoch(), standing);
        account.incarnation = self.coin().then(|| Incarnation::new(self.bits()));
        account.granted = self.bits();
        account.returned = self.bits();
        account.heard = self.coin().then(|| Timestamp::from_nanos(self.bits()));
        account.is_drained = self.coin();
        let incarnation = self.coin().then(|| Incarnation::new(self.bits()));
        account.fence = self.coin().then(|| Fence::new(self.epoch(), incarnation));
        account
    }

    /// Any changes, even those that no ledger makes.
    pub(crate) fn changes(&mut self, term: Term) -> Changes {
        let mut changes = no_changes(term);
        if self.coin() {
            changes.limit = Some(u32::try_from(self.below(1 << 32)).unwrap());
        }
        if self.coin() {
            let seconds = 1 + self.below(86_400);
            changes.rules = Some(
                RULES
                    .session(Duration::from_secs(seconds))
                    .drift_margin(Duration::from_nanos(self.below(1 << 40))),
            );
        }
        for _ in 0..self.below(4) {
            let site = SiteId::new(u16::MAX - u16::try_from(self.below(4)).unwrap());
            let account = self.account();
            changes.accounts.insert(site, account);
        }
        let gone = SiteId::new(u16::MAX - u16::try_from(self.below(4)).unwrap());
        if !changes.accounts.contains_key(&gone) {
            changes.removed.insert(gone);
        }
        // Only claims on the epoch that its site has after these changes are ever made.
        for (site, account) in &changes.accounts {
            for _ in 0..self.below(3) {
                let visitor = u128::from(self.bits()) << 64 | u128::from(self.bits());
                let claim = KeptClaim::new(*site, account.epoch, VisitorId::new(visitor));
                changes.claims.insert(claim);
            }
        }
        changes
    }
}

/// Rules compare by their times: a margin that was left to the default is stored as its value.
pub(crate) fn same(kept: &Kept) -> (Term, u32, [(&'static str, Duration); 5], Vec<String>) {
    let accounts: BTreeMap<_, _> = kept.accounts.clone();
    let lines = accounts.iter().map(|account| format!("{account:?}"));
    let claims = kept.claims.iter().map(|claim| format!("{claim:?}"));
    (kept.term, kept.limit, kept.rules.times(), lines.chain(claims).collect())
}

#[tokio::test(flavor = "multi_thread")]
async fn postgres_keeps_the_same_state_as_the_keeper_in_memory() {
    let server = PostgresServer::start().unwrap();
    for seed in 1..=5 {
        println!("seed {seed}");
        let mut random = Random(seed);
        let room = format!("random {seed}");
        let mut keeper = set_up(&server, &room).await;
        let mut model = world();
        for term in 1..=4 {
            let kept = take_over_kept(&mut keeper).await;
            let expected = model.take_over(Term::new(term)).unwrap();
            assert_eq!(same(&kept), same(&expected), "seed {seed}");
            for _ in 0..15 {
                let changes = random.changes(Term::new(term));
                keeper.keep(&changes).await.unwrap();
                model.apply(&changes).unwrap();
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replaced_ledger_stores_nothing_and_learns_of_it() {
    let server = PostgresServer::start().unwrap();
    let mut old = set_up(&server, "shop").await;
    let term = take_over_kept(&mut old).await.term;
    let mut random = Random(7);
    let changes = random.changes(term);
    old.keep(&changes).await.unwrap();
    let mut new = keeper(&server, "shop");
    let before = take_over_kept(&mut new).await;
    assert_eq!(before.term, Term::new(2));
    for changes in [random.changes(term), no_changes(term)] {
        let error = old.keep(&changes).await.unwrap_err();
        assert_eq!(
            error.to_string(),
            "the term is 2: another ledger has taken over, or the room is recovered"
        );
    }
    let after = take_over_kept(&mut keeper(&server, "shop")).await;
    assert_eq!(same(&after).3, same(&before).3);
    assert!(matches!(new.keep(&no_changes(before.term)).await, Err(KeepError::Fenced { .. })));
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_standbys_one_takes_over_and_none_does_while_batches_arrive() {
    let server = PostgresServer::start().unwrap();
    let mut first = set_up(&server, "shop").await;
    let mut second = keeper(&server, "shop");
    let seen = (first.watch().await.unwrap(), second.watch().await.unwrap());
    assert!(!seen.0.is_held && seen.0 == seen.1);
    let least = Term::default();
    let taken = tokio::join!(first.take_over(seen.0, least), second.take_over(seen.1, least));
    let taken = [taken.0.unwrap().is_some(), taken.1.unwrap().is_some()];
    assert_eq!(taken.iter().filter(|taken| **taken).count(), 1, "{taken:?}");
    let (mut holder, mut standby) = if taken[0] { (first, second) } else { (second, first) };
    let seen = standby.watch().await.unwrap();
    assert!(seen.is_held);
    holder.keep(&no_changes(Term::new(1))).await.unwrap();
    assert_ne!(standby.watch().await.unwrap(), seen, "a batch without changes is seen");
    assert!(standby.take_over(seen, least).await.unwrap().is_none());
    holder.release(Term::new(1)).await.unwrap();
    assert!(!standby.watch().await.unwrap().is_held);
}

#[tokio::test(flavor = "multi_thread")]
async fn acknowledged_batches_survive_a_crash_of_the_server() {
    let mut server = PostgresServer::start().unwrap();
    let mut keeper = set_up(&server, "shop").await;
    let term = take_over_kept(&mut keeper).await.term;
    let mut model = world();
    model.take_over(term).unwrap();
    let mut random = Random(11);
    for _ in 0..20 {
        let changes = random.changes(term);
        keeper.keep(&changes).await.unwrap();
        model.apply(&changes).unwrap();
    }
    server.kill();
    let error = keeper.keep(&no_changes(term)).await.unwrap_err();
    assert!(matches!(error, KeepError::Unavailable { .. }), "{error}");
    server.start_again().unwrap();
    // The connection is opened again, and the term continues.
    keeper.keep(&no_changes(term)).await.unwrap();
    let kept = take_over_kept(&mut keeper).await;
    let expected = model.take_over(Term::new(2)).unwrap();
    assert_eq!(same(&kept), same(&expected));
}

/// A connection for actions that no keeper takes.
pub(crate) async fn raw(server: &PostgresServer) -> tokio_postgres::Client {
    let (client, connection) =
        tokio_postgres::connect(&server.url(), tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_that_arrives_late_does_not_replace_a_newer_one() {
    let server = PostgresServer::start().unwrap();
    let mut keeper = set_up(&server, "shop").await;
    let term = take_over_kept(&mut keeper).await.term;
    let mut changes = no_changes(term);
    changes.limit = Some(11);
    keeper.keep(&changes).await.unwrap();
    let client = raw(&server).await;
    // As if a later batch of the same holder had been stored over another connection.
    client.execute("UPDATE waiting_room_ledger SET batch = batch + 100", &[]).await.unwrap();
    changes.limit = Some(12);
    assert!(keeper.keep(&changes).await.is_err());
    let limit: i64 =
        client.query_one("SELECT limit_slots FROM waiting_room_ledger", &[]).await.unwrap().get(0);
    assert_eq!(limit, 11);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_may_lose_acknowledged_writes_is_refused_by_its_setting() {
    for (setting, failover, expected) in [
        ("synchronous_commit=off", Failover::None, "synchronous_commit is off, expected on"),
        ("fsync=off", Failover::None, "fsync is off, expected on"),
        (
            "synchronous_commit=on",
            Failover::Synchronous,
            "synchronous_standby_names is empty, expected a standby, because a failover is used",
        ),
    ] {
        let server = PostgresServer::start_with(&[setting]).unwrap();
        let mut keeper = PostgresKeeper::new(server.url(), failover, "shop", "a test");
        let error = keeper.watch().await.unwrap_err();
        assert!(matches!(error, KeepError::Unfit { .. }));
        assert_eq!(error.to_string(), expected);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_promoted_server_has_to_be_recovered_and_then_learns() {
    let server = PostgresServer::start().unwrap();
    let mut keeper = set_up(&server, "shop").await;
    let term = take_over_kept(&mut keeper).await.term;
    let client = raw(&server).await;
    let other = "UPDATE waiting_room_ledger SET timeline = '7/00000009'";
    client.execute(other, &[]).await.unwrap();
    let seen = keeper.watch().await.unwrap();
    let error = keeper.take_over(seen, Term::default()).await.unwrap_err();
    let system = client.query_one("SELECT system_identifier::text FROM pg_control_system()", &[]);
    let system: String = system.await.unwrap().get(0);
    assert_eq!(
        error.to_string(),
        format!(
            "the cluster and the timeline of the server are {system}/00000001, expected 7/00000009, \
             so acknowledged changes may be lost: the room has to be recovered"
        )
    );
    keeper.recover(&Corrections::new()).await.unwrap();
    // The ledger that held the room is fenced.
    assert!(matches!(keeper.keep(&no_changes(term)).await, Err(KeepError::Fenced { .. })));
    let TakenOver::Lost(kept) = take_over(&mut keeper).await else { panic!("the room is lost") };
    assert_eq!(kept.accounts.len(), 3);
    // Until the recovered ledger has stored everything, the next ledger recovers too.
    keeper.keep(&no_changes(kept.term)).await.unwrap();
    let TakenOver::Lost(kept) = take_over(&mut keeper).await else { panic!("it still is") };
    let sites = kept.accounts.keys().copied();
    let mut ledger =
        GlobalLedger::recover(&kept, 10, sites, kept.term, kept.rules, Timestamp::ZERO).unwrap();
    keeper.keep(&ledger.changes()).await.unwrap();
    let kept = take_over_kept(&mut keeper).await;
    assert!(kept.accounts.values().all(|account| account.standing == Standing::Unknown));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_was_rolled_back_is_noticed_by_the_term_of_a_site() {
    let server = PostgresServer::start().unwrap();
    let mut keeper = set_up(&server, "shop").await;
    take_over_kept(&mut keeper).await;
    let seen = keeper.watch().await.unwrap();
    let error = keeper.take_over(seen, Term::new(8)).await.unwrap_err();
    assert!(matches!(error, KeepError::Lost { .. }));
    assert!(error.to_string().starts_with("the term that is kept is 1, and a site knows 7, so "));
    keeper.recover(&Corrections::new()).await.unwrap();
    let seen = keeper.watch().await.unwrap();
    let taken = keeper.take_over(seen, Term::new(8)).await.unwrap().unwrap();
    let TakenOver::Lost(kept) = taken else { panic!("the room is recovered") };
    assert_eq!(kept.term, Term::new(1 + 1024 + 1), "it is above the terms that were lost");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_room_is_set_up_once_and_named_if_it_is_not() {
    let server = PostgresServer::start().unwrap();
    let mut keeper = set_up(&server, "shop").await;
    let error = keeper.set_up(&world()).await.unwrap_err();
    let expected = "room is \"shop\", which is already set up, expected a new one";
    assert_eq!(error.to_string(), expected);
    let mut other = self::keeper(&server, "shoe");
    let error = other.watch().await.unwrap_err();
    assert_eq!(error.to_string(), "room is \"shoe\", expected one that was set up");
}
