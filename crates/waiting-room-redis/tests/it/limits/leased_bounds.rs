//! The accuracy that blocks cost, measured against logs of what was really spent.

use std::{sync::Arc, time::Duration};

use waiting_room_core::{
    Quota, Timestamp,
    rate::{Algorithm, Alignment, Charge, ChargeRequest, RatePolicy, RateStore, Refusals},
    time::{Clock, ManualClock},
};
use waiting_room_engines::{Engine, EngineServer};
use waiting_room_redis::RedisLimits;

use super::{
    leased::{leased, lessee},
    support::{Chance, START, ask, charge, node_at},
};
use crate::support::{eventually, seeds, start};

const NODES: u64 = 3;
const BLOCK: u64 = 9;
const LIMIT: u64 = 120;
const WINDOW: Duration = Duration::from_secs(4);

/// The charges that were allowed, with their times.
#[derive(Default)]
struct Log(Vec<(Timestamp, u64)>);

impl Log {
    fn spent(&self, test: impl Fn(Timestamp) -> bool) -> u64 {
        self.0.iter().filter(|(at, _)| test(*at)).map(|(_, cost)| cost).sum()
    }
}

/// Runs three nodes with random requests, most of them on one node at a time.
///
/// For each request, `judge` receives the log before it, the time, the cost, and whether it was
/// allowed.
async fn run(
    server: &EngineServer,
    algorithm: Algorithm,
    seed: u64,
    mut judge: impl FnMut(&Log, Timestamp, u64, bool),
) {
    let clock = ManualClock::new(START);
    let mut chance = Chance(seed);
    let mut log = Log::default();
    let mut nodes = Vec::new();
    for _ in 0..NODES {
        nodes.push(lessee(server, &clock, BLOCK).await);
    }
    let name = format!("{seed}:{algorithm:?}");
    let policy = RatePolicy::new(name, algorithm, [Quota::new(LIMIT, WINDOW)]);
    let policy = Arc::new(policy);
    for turn in 0..3_000_u64 {
        let busy = turn / 40 % NODES;
        let number = if chance.below(3) == 0 { chance.below(NODES) } else { busy };
        clock.advance(Duration::from_micros(match chance.below(60) {
            0 => chance.below(2_000_000),
            1..20 => chance.below(40_000),
            _ => 0,
        }));
        let cost = chance.of(&[1, 1, 1, 2, 3]);
        let node = &nodes[usize::try_from(number).unwrap()];
        let is_allowed = charge(node, &ask(&policy, "ann", cost)).await.charge.is_some();
        judge(&log, clock.now(), cost, is_allowed);
        if is_allowed {
            log.0.push((clock.now(), cost));
        }
    }
}

/// Runs three seeds. Checks that no window has more than `most` units, and that no request is
/// refused in a window with much less than the limit.
///
/// `is_in` decides whether a charge lies in the window of `now`.
async fn windows_have(
    most: u64,
    algorithm: Algorithm,
    is_in: impl Fn(Timestamp, Timestamp) -> bool,
) {
    let server = start(Engine::Redis);
    for seed in seeds(3) {
        println!("seed {seed}");
        let mut refused = 0;
        run(&server, algorithm, seed, |log, now, cost, is_allowed| {
            let with = cost + log.spent(|at| is_in(at, now));
            if is_allowed {
                assert!(with <= most, "{with} in a window");
            } else {
                refused += 1;
                assert!(with > LIMIT - (NODES - 1) * BLOCK, "refused at {with}");
            }
        })
        .await;
        assert!(refused > 100, "{refused}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_window_of_a_log_exceeds_the_limit_and_the_blocks() {
    let log = Algorithm::SlidingLog(Refusals::Ignore);
    windows_have(LIMIT + NODES * BLOCK, log, |at, now| at + WINDOW > now).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_window_that_begins_while_blocks_are_held_has_the_limit_and_all_of_them() {
    let server = start(Engine::Redis);
    let clock = ManualClock::new(START);
    let log = Algorithm::SlidingLog(Refusals::Ignore);
    let one = ask(&Arc::new(RatePolicy::new("log", log, [Quota::new(LIMIT, WINDOW)])), "ann", 1);
    let mut nodes = Vec::new();
    for _ in 0..NODES {
        let node = lessee(&server, &clock, BLOCK).await;
        for _ in 0..2 {
            assert!(charge(&node, &one).await.charge.is_some());
        }
        nodes.push(node);
    }
    let mut after = 0;
    let other = node_at(&server, &clock).await;
    clock.advance(Duration::from_millis(990));
    for node in &nodes {
        for _ in 0..BLOCK {
            after += u64::from(charge(node, &one).await.charge.is_some());
        }
    }
    assert_eq!(after, NODES * BLOCK);
    clock.advance(WINDOW - Duration::from_millis(990));
    while charge(&other, &one).await.charge.is_some() {
        after += 1;
    }
    assert_eq!(after, LIMIT + NODES * BLOCK);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fixed_window_never_has_more_than_the_limit() {
    let window = |at: Timestamp| at.as_nanos() / u64::try_from(WINDOW.as_nanos()).unwrap();
    let fixed = Algorithm::FixedWindow(Alignment::Epoch);
    windows_have(LIMIT, fixed, |at, now| window(at) == window(now)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bucket_never_allows_more_than_it_holds_gains_and_has_lent() {
    let server = start(Engine::Redis);
    for seed in seeds(3) {
        println!("seed {seed}");
        for algorithm in [Algorithm::Gcra, Algorithm::TokenBucket] {
            let interval = Quota::new(LIMIT, WINDOW).interval().as_nanos();
            run(&server, algorithm, seed, |log, now, cost, is_allowed| {
                let mut spent = if is_allowed { cost } else { 0 };
                for (at, cost) in log.0.iter().rev() {
                    spent += cost;
                    let come = now.since(*at).as_nanos() / interval;
                    let most = LIMIT + NODES * BLOCK + u64::try_from(come).unwrap();
                    assert!(spent <= most, "{spent} since {at:?}");
                }
            })
            .await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_sequence_of_charges_loses_or_creates_a_unit() {
    let server = start(Engine::Redis);
    for seed in seeds(2) {
        println!("seed {seed}");
        for algorithm in leased() {
            let mut books = Books::open(&server, algorithm, seed).await;
            for _ in 0..1_500 {
                books.turn().await;
            }
            books.close().await;
        }
    }
}

/// Two limits, the nodes that spend them, and the sums that were spent.
struct Books {
    clock: ManualClock,
    chance: Chance,
    nodes: Vec<RedisLimits>,
    other: RedisLimits,
    policies: [Arc<RatePolicy>; 2],
    spent: [u64; 2],
    charges: Vec<(usize, ChargeRequest, Charge)>,
}

impl Books {
    async fn open(server: &EngineServer, algorithm: Algorithm, seed: u64) -> Self {
        let clock = ManualClock::new(START);
        let mut nodes = Vec::new();
        for _ in 0..NODES {
            nodes.push(lessee(server, &clock, BLOCK).await);
        }
        // The quotas are so slow that time restores no units.
        let policy = |limit| {
            let name = format!("{limit}:{seed}:{algorithm:?}");
            let quota = Quota::new(limit, Duration::from_secs(300 * 86_400));
            Arc::new(RatePolicy::new(name, algorithm, [quota]))
        };
        Self {
            other: node_at(server, &clock).await,
            clock,
            chance: Chance(seed),
            nodes,
            policies: [policy(700), policy(500)],
            spent: [0; 2],
            charges: Vec::new(),
        }
    }

    async fn turn(&mut self) {
        let Self { chance, clock, .. } = self;
        if chance.below(6) == 0 {
            clock.advance(Duration::from_micros(chance.below(1_500_000)));
        }
        let node = &self.nodes[usize::try_from(chance.below(NODES)).unwrap()];
        if chance.below(4) == 0 && !self.charges.is_empty() {
            let index = usize::try_from(chance.below(self.charges.len() as u64)).unwrap();
            let (policy, ask, charge) = self.charges.swap_remove(index);
            let cost = chance.below(charge.cost + 1);
            node.settle(&ask, &charge, cost).unwrap();
            self.spent[policy] -= charge.cost - cost;
            return;
        }
        let mut asks: Vec<_> = (0..2)
            .map(|index| {
                (index, ask(&self.policies[index], "ann", chance.of(&[0, 1, 1, 2, 5, 60])))
            })
            .collect();
        match chance.below(4) {
            0 => _ = asks.pop(),
            1 => asks[1].1.is_soft = true,
            _ => (),
        }
        let only: Vec<_> = asks.iter().map(|(_, ask)| ask.clone()).collect();
        for ((policy, ask), reply) in asks.into_iter().zip(node.charge_all(&only).await.unwrap()) {
            if let Some(decision) = reply.decision {
                assert!(decision.remaining <= decision.limit, "{decision:?}");
                assert_eq!(decision.reset.is_zero(), decision.remaining == decision.limit);
            }
            if let Some(charge) = reply.charge {
                assert_eq!(charge.cost, ask.cost);
                self.spent[policy] += ask.cost;
                self.charges.push((policy, ask, charge));
            }
        }
    }

    /// Checks that the store has what was not spent, once all leases have ended.
    async fn close(self) {
        self.clock.advance(Duration::from_secs(1));
        for (policy, spent) in self.policies.iter().zip(self.spent) {
            let look = ask(policy, "ann", 0);
            let left = policy.quota(0).limit() - spent;
            let mut said = None;
            eventually(async || {
                let now = charge(&self.other, &look).await.decision.unwrap().remaining;
                let is_news = said.replace(now) != Some(now);
                if is_news {
                    println!("{}: {now} left of {left}", policy.name());
                }
                (now == left).then_some(())
            })
            .await;
        }
    }
}
