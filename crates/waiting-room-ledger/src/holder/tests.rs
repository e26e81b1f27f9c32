//! A holder whose keeper acknowledges when the test says so.

use std::time::Duration;

use tokio::{
    sync::{
        mpsc::{self, UnboundedReceiver, UnboundedSender},
        oneshot,
    },
    time::{Instant, timeout},
};
use waiting_room_core::Timestamp;

use super::*;
use crate::{
    SiteId,
    escrow::{
        Changes, Draw, EscrowRules, Incarnation, RulesDigest, Standing, Tally, Term, ToGlobal,
        ToSite,
    },
    keeper::{KeepError, LedgerKeeper, MemoryKeeper, Seen, TakenOver},
    logged::Logged,
    model::{SiteAction, SiteLedger},
    slots::Minute,
};

const SITE: SiteId = SiteId::new(1);
const INCARNATION: Incarnation = Incarnation::new(7);
/// A time within which everything that does not wait for the keeper happens.
const SOON: Duration = Duration::from_millis(50);

/// A batch that waits for its fate.
struct Pending {
    changes: Changes,
    fate: oneshot::Sender<Result<(), KeepError>>,
}

/// Shows each batch to the test, and stores nothing.
struct SlowKeeper {
    memory: MemoryKeeper,
    batches: UnboundedSender<Pending>,
}

impl LedgerKeeper for SlowKeeper {
    async fn watch(&mut self) -> Result<Seen, KeepError> {
        self.memory.watch().await
    }

    async fn take_over(
        &mut self,
        seen: Seen,
        at_least: Term,
    ) -> Result<Option<TakenOver>, KeepError> {
        self.memory.take_over(seen, at_least).await
    }

    async fn keep(&mut self, changes: &Changes) -> Result<(), KeepError> {
        let (fate, reported) = oneshot::channel();
        let _ = self.batches.send(Pending { changes: changes.clone(), fate });
        reported.await.unwrap_or_else(|_| Err(KeepError::unavailable("the test has ended")))
    }

    async fn release(&mut self, term: Term) -> Result<(), KeepError> {
        self.memory.release(term).await
    }
}

/// A process that holds a room with one site.
struct World {
    handle: HolderHandle,
    batches: UnboundedReceiver<Pending>,
    outlet: mpsc::Receiver<Delivery>,
}

impl World {
    /// Creates a world whose site opens its stream while the first batch, which is empty, is being
    /// stored.
    async fn new() -> (Self, Pending) {
        let memory = MemoryKeeper::new(10, [SITE], EscrowRules::new());
        let (batches, shown) = mpsc::unbounded_channel();
        let keeper = SlowKeeper { memory, batches };
        let (holder, mut handle) = Holder::new("shop", keeper, HolderTimes::default());
        tokio::spawn(holder.run(std::future::pending()));
        handle.holding().await.unwrap();
        let (sender, outlet) = mpsc::channel(64);
        let mut world = Self { handle, batches: shown, outlet };
        let first = world.batch().await;
        assert!(first.changes.is_empty(), "{:?}", first.changes);
        world.open(sender).await;
        (world, first)
    }

    async fn open(&self, outlet: mpsc::Sender<Delivery>) {
        let (reply, opened) = oneshot::channel();
        let site = SITE;
        let incarnation = INCARNATION;
        let stream = 1;
        self.handle.deliver(Event::Open { site, incarnation, stream, outlet, reply }).await;
        opened.await.unwrap().unwrap();
    }

    async fn say(&self, message: ToGlobal) {
        assert!(self.handle.deliver(Event::Message { stream: 1, message }).await);
    }

    /// The next batch, which begins before the next beat.
    async fn batch(&mut self) -> Pending {
        timeout(SOON, self.batches.recv()).await.expect("a batch is stored").unwrap()
    }

    /// The next message to the site, if there is one.
    async fn answer(&mut self) -> Option<ToSite> {
        Some(timeout(SOON, self.outlet.recv()).await.ok()??.message)
    }

    async fn is_quiet(&mut self) -> bool {
        timeout(SOON, self.outlet.recv()).await.is_err()
            && timeout(SOON, self.batches.recv()).await.is_err()
    }
}

/// The time of the site.
const NOW: Timestamp = Timestamp::from_secs(1);

/// The first message of the site.
fn join() -> ToGlobal {
    let mut site = SiteLedger::new(SITE, INCARNATION, EscrowRules::new(), NOW).unwrap();
    match &site.tick(NOW)[..] {
        [SiteAction::Send(join)] => join.clone(),
        other => panic!("a site joins, and not {other:?}"),
    }
}

/// A message of the site, which knows a ledger of this term.
fn a_message_of_term(term: Term) -> ToGlobal {
    let sent_at = Timestamp::from_secs(60);
    let minute = Minute::of(Timestamp::from_secs(60));
    ToGlobal::Tally(Tally {
        site: SITE,
        incarnation: INCARNATION,
        term,
        sent_at,
        rules: RulesDigest::of(&EscrowRules::new()),
        knows: 0,
        active: 0,
        minute: minute.previous(),
        admitted: 0,
        draw: Draw { minute, total: 0, slots: 0, knows_world: true },
    })
}

fn acknowledge(batch: Pending) {
    batch.fate.send(Ok(())).unwrap();
}

fn lose_touch(batch: Pending) {
    batch.fate.send(Err(KeepError::unavailable("a test"))).unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_answer_leaves_after_its_batch_is_acknowledged() {
    let (mut world, first) = World::new().await;
    world.say(join()).await;
    assert!(world.is_quiet().await, "no answer leaves and no batch is stored before the first one");
    acknowledge(first);

    let second = world.batch().await;
    assert_eq!(second.changes.accounts[&SITE].standing, Standing::Open);
    assert!(world.is_quiet().await, "the answers belong to the second batch");
    acknowledge(second);
    assert!(matches!(world.answer().await, Some(ToSite::Report { .. })));
    assert!(matches!(world.answer().await, Some(ToSite::Welcome(_))));
}

#[tokio::test(start_paused = true)]
async fn answers_that_are_gathered_during_a_batch_wait_for_the_next_one() {
    let (mut world, first) = World::new().await;
    acknowledge(first);
    let second = world.batch().await;
    // The site is greeted in this batch, and joins while it is being stored.
    world.say(join()).await;
    assert!(world.is_quiet().await);
    acknowledge(second);
    assert!(matches!(world.answer().await, Some(ToSite::Report { .. })));
    let third = world.batch().await;
    assert_eq!(third.changes.accounts.len(), 1);
    assert!(world.is_quiet().await, "the account is not stored yet");
    acknowledge(third);
    assert!(matches!(world.answer().await, Some(ToSite::Welcome(_))));
}

#[tokio::test(start_paused = true)]
async fn a_batch_of_unknown_fate_is_stored_again_and_sends_no_answers() {
    let (mut world, first) = World::new().await;
    world.say(join()).await;
    acknowledge(first);
    let second = world.batch().await;
    let account = second.changes.accounts[&SITE];
    let order = Order::SetLimit(3);
    let ordered = tokio::spawn({
        let handle = world.handle.clone();
        async move { handle.order(order).await }
    });
    assert!(world.is_quiet().await);
    lose_touch(second);

    let look = HolderTimes::default().look;
    let third = timeout(look + SOON, world.batches.recv()).await.unwrap().unwrap();
    assert_eq!((third.changes.accounts[&SITE], third.changes.limit), (account, Some(3)));
    assert!(!ordered.is_finished());
    acknowledge(third);
    assert_eq!(ordered.await.unwrap().unwrap(), "stored\n");
    assert!(world.answer().await.is_none(), "the answers of the second batch are dropped");
}

#[tokio::test(start_paused = true)]
async fn a_fenced_ledger_sends_none_of_its_gathered_answers() {
    let (mut world, first) = World::new().await;
    acknowledge(first);
    let second = world.batch().await;
    world.say(join()).await;
    let ordered = tokio::spawn({
        let handle = world.handle.clone();
        async move { handle.order(Order::SetLimit(3)).await }
    });
    assert!(world.is_quiet().await);
    second.fate.send(Err(KeepError::Fenced { term: Term::new(9) })).unwrap();
    assert!(world.answer().await.is_none());
    assert!(world.outlet.is_closed(), "the stream of the site has ended");
    assert!(matches!(ordered.await.unwrap(), Err(OrderError::NotHolding)));
}

#[tokio::test(start_paused = true)]
async fn a_batch_sends_no_answers_if_a_site_has_named_a_later_term() {
    let (mut world, first) = World::new().await;
    world.say(join()).await;
    acknowledge(first);
    let second = world.batch().await;
    world.say(a_message_of_term(Term::new(9))).await;
    assert!(world.is_quiet().await);
    acknowledge(second);
    assert!(world.answer().await.is_none(), "sites obey the later term");
    assert!(world.outlet.is_closed());
    let term = world.handle.holding().await.unwrap();
    assert_eq!(
        term,
        Term::new(10),
        "it takes over with a term that is higher than what sites know"
    );
}

#[tokio::test(start_paused = true)]
async fn a_site_that_was_granted_more_than_was_kept_is_reported_once() {
    let (logged, _guard) = Logged::begin();
    let (mut world, first) = World::new().await;
    world.say(join()).await;
    acknowledge(first);
    acknowledge(world.batch().await);
    let mut site = SiteLedger::new(SITE, INCARNATION, EscrowRules::new(), NOW).unwrap();
    site.tick(NOW);
    while let Some(message) = world.answer().await {
        site.receive(&message, NOW);
    }
    let asked = ToSite::Report { term: site.term() };
    let [SiteAction::Send(ToGlobal::Heartbeat(report))] = &site.receive(&asked, NOW)[..] else {
        panic!("the site reports")
    };
    world.say(ToGlobal::Heartbeat(*report)).await;
    let mut more = *report;
    more.granted += 3;
    for _ in 0..2 {
        world.say(ToGlobal::Heartbeat(more)).await;
        more.granted += 1;
    }
    world.batch().await;
    let reported = "WARN a site was granted slots that were not kept room=shop site=1 slots=3";
    assert_eq!(logged.with("that were not kept"), [reported]);
}

#[tokio::test(start_paused = true)]
async fn a_site_that_names_later_terms_again_and_again_cannot_use_them_up() {
    let (logged, _guard) = Logged::begin();
    let keeper = MemoryKeeper::new(10, [SITE], EscrowRules::new());
    let (holder, mut handle) = Holder::new("shop", keeper, HolderTimes::default());
    tokio::spawn(holder.run(std::future::pending()));
    let mut answers = Vec::new();
    for (held, named) in [(1, 65_001), (65_002, 65_538), (65_539, 65_540)] {
        let taken = async {
            while handle.holding().await != Some(Term::new(held)) {
                tokio::time::sleep(SOON).await;
            }
        };
        timeout(Duration::from_secs(60), taken).await.expect("it holds the room");
        let (outlet, mut deliveries) = mpsc::channel(64);
        let (reply, opened) = oneshot::channel();
        let site = SITE;
        let incarnation = INCARNATION;
        let stream = held.into();
        handle.deliver(Event::Open { site, incarnation, stream, outlet, reply }).await;
        opened.await.unwrap().unwrap();
        let message = a_message_of_term(Term::new(named));
        handle.deliver(Event::Message { stream, message }).await;
        while let Ok(Some(delivery)) = timeout(Duration::from_secs(60), deliveries.recv()).await {
            answers.push(delivery.message);
        }
    }
    let refused = "WARN a site is refused room=shop site=1 reason=it names term 65540, expected at most \
                   65539";
    assert_eq!(logged.with("WARN a site is refused"), [refused]);
    let reported = logged.with("WARN a site knows a later term");
    assert_eq!(reported.len(), 2, "{reported:?}");
    assert!(reported[0].ends_with("room=shop term=1 site=1 later_term=65001"), "{reported:?}");
    assert!(matches!(answers.last(), Some(ToSite::Refused(_))), "{answers:?}");
    assert_eq!(handle.holding().await, Some(Term::new(65_539)));
}

#[tokio::test(start_paused = true)]
async fn the_log_names_each_site_that_is_away_or_missing_and_its_return() {
    let (logged, _guard) = Logged::begin();
    let keeper = MemoryKeeper::new(10, [SITE], EscrowRules::new());
    let (holder, mut handle) = Holder::new("shop", keeper, HolderTimes::default());
    tokio::spawn(holder.run(std::future::pending()));
    handle.holding().await.unwrap();
    let open = async |stream| {
        let (outlet, deliveries) = mpsc::channel(1024);
        let (reply, opened) = oneshot::channel();
        let site = SITE;
        let incarnation = INCARNATION;
        handle.deliver(Event::Open { site, incarnation, stream, outlet, reply }).await;
        opened.await.unwrap().unwrap();
        deliveries
    };
    let pass = |seconds| tokio::time::sleep(Duration::from_secs(seconds));
    let first = open(1).await;
    pass(600).await;
    assert!(logged.with("a site").is_empty(), "{:?}", logged.with("a site"));
    handle.deliver(Event::Close { site: SITE, stream: 1 }).await;
    drop(first);
    pass(59).await;
    assert!(logged.with("a site").is_empty(), "{:?}", logged.with("a site"));
    pass(600).await;
    let away = "WARN a site on the list is not connected room=shop site=1 silent_for=60s";
    assert_eq!(logged.with("a site"), [away]);
    let second = open(2).await;
    pass(600).await;
    let reported = logged.with("a site");
    assert_eq!(reported.len(), 2, "{reported:?}");
    let back =
        reported[1].strip_prefix("INFO a site is connected again room=shop site=1 silent_for=");
    // 659 s and up to two looks.
    assert!(matches!(back, Some("659s" | "660s" | "661s")), "{reported:?}");
    // A site that is added, but never seen.
    handle.order(Order::AddSite(SiteId::new(2))).await.unwrap();
    pass(600).await;
    assert_eq!(logged.with("a site")[2..], [away.replace("site=1", "site=2")]);
    // A connection that breaks ends its stream silently.
    drop(second);
    pass(600).await;
    assert_eq!(logged.with("a site")[3..], [away]);
}

#[tokio::test(start_paused = true)]
async fn answers_are_fresh_for_a_second_after_their_batch_has_begun() {
    let (mut world, first) = World::new().await;
    acknowledge(first);
    let second = world.batch().await;
    let begun = Instant::now();
    tokio::time::advance(Duration::from_millis(700)).await;
    acknowledge(second);
    let until = world.outlet.recv().await.unwrap().until;
    assert!(until <= begun + FRESH, "{:?} too late", until - begun - FRESH);
}

#[tokio::test(start_paused = true)]
async fn events_without_effect_count_towards_no_batch() {
    let (mut world, first) = World::new().await;
    acknowledge(first);
    acknowledge(world.batch().await);
    assert!(world.answer().await.is_some());
    let begin = Instant::now();
    for _ in 0..10_000 {
        world.handle.deliver(Event::Close { site: SITE, stream: 99 }).await;
    }
    world.say(join()).await;
    acknowledge(world.batch().await);
    assert!(matches!(world.answer().await, Some(ToSite::Welcome(_))));
    assert!(begin.elapsed() < HolderTimes::default().beat / 2, "{:?}", begin.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_holder_warns_once_of_a_lease_that_is_as_long_as_a_session() {
    let (logged, _guard) = Logged::begin();
    let reported = || {
        logged.with("WARN the rules of the room are questionable room=shop warning=lease is 120s")
    };
    for (rules, warnings) in [
        (EscrowRules::new(), 0),
        (EscrowRules::rolling_minute(), 0),
        (EscrowRules::new().session(Duration::from_secs(120)), 1),
    ] {
        let mut keeper = MemoryKeeper::new(10, [SITE], rules);
        let (holder, mut handle) = Holder::new("shop", keeper.clone(), HolderTimes::default());
        tokio::spawn(holder.run(std::future::pending()));
        handle.holding().await.unwrap();
        // Another process takes over and is killed, so this process holds the room in two terms.
        let taken = loop {
            let seen = keeper.watch().await.unwrap();
            if let Some(taken) = keeper.take_over(seen, Term::default()).await.unwrap() {
                break taken;
            }
        };
        assert!(matches!(taken, TakenOver::Kept(kept) if kept.term == Term::new(2)));
        let again = async {
            while handle.holding().await != Some(Term::new(3)) {
                tokio::time::sleep(SOON).await
            }
        };
        timeout(Duration::from_secs(10), again).await.expect("it holds the room again");
        assert_eq!(reported().len(), warnings, "{rules:?}");
    }
}
