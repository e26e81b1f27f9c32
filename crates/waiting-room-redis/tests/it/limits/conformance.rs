//! Each algorithm on a server against its meter in the core: the same requests, the same replies.

use std::{collections::HashMap, sync::Arc, time::Duration};

use waiting_room_core::{
    Limiter, Quota,
    rate::{
        Algorithm, Charge, ChargeRequest, Decision, RatePolicy, RateStore,
        charging::{LimiterCharge, charge_all},
    },
    time::{Clock, ManualClock},
};
use waiting_room_engines::Engine;
use waiting_room_redis::RedisLimits;

use super::support::{Chance, START, all, in_micros, key, node_at};
use crate::support::{seeds, start};

const COMMANDS: u32 = 3_000;
const LIMITS: [u64; 6] = [0, 1, 2, 3, 7, 1_000];
const KEYS: [&str; 3] = ["ann", "bob", "eve"];

#[tokio::test(flavor = "multi_thread")]
async fn redis_agrees_with_the_core() {
    decides_as_the_core_does(Engine::Redis).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn valkey_agrees_with_the_core() {
    decides_as_the_core_does(Engine::Valkey).await;
}

async fn decides_as_the_core_does(engine: Engine) {
    let server = start(engine);
    let clock = ManualClock::new(START);
    let node = node_at(&server, &clock).await;
    for seed in seeds(2) {
        println!("seed {seed}");
        for (number, algorithm) in all().into_iter().enumerate() {
            let name = format!("{seed}:{number}");
            let mut pair = Pair::by_chance(&name, algorithm, &LIMITS, &mut Chance(seed));
            for _ in 0..COMMANDS / 8 {
                clock.advance(pair.gap());
                pair.compare(&node, &clock).await;
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn numbers_beyond_a_double_are_computed_as_in_the_core() {
    let server = start(Engine::Redis);
    let clock = ManualClock::new(START);
    let node = node_at(&server, &clock).await;
    for seed in seeds(4) {
        println!("seed {seed}");
        let vast = [Quota::MAX_LIMIT - 3];
        let mut chance = Chance(seed);
        let name = seed.to_string();
        let mut pair = Pair::by_chance(&name, Algorithm::SlidingCounter, &vast, &mut chance);
        for _ in 0..COMMANDS / 8 {
            clock.advance(pair.gap());
            pair.compare(&node, &clock).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn several_limits_are_charged_all_or_none() {
    for engine in Engine::ALL {
        let server = start(engine);
        let clock = ManualClock::new(START);
        let node = node_at(&server, &clock).await;
        for seed in seeds(3) {
            println!("seed {seed}");
            let mut chance = Chance(seed);
            let mut pairs: Vec<_> = (0..1 + chance.below(5))
                .map(|number| {
                    let algorithm = chance.of(&all());
                    Pair::by_chance(&format!("{seed}:{number}"), algorithm, &LIMITS, &mut chance)
                })
                .collect();
            for _ in 0..COMMANDS / 6 {
                clock.advance(pairs[0].gap());
                compare_all(&mut pairs, &node, &clock, &mut chance).await;
            }
        }
    }
}

/// A limit on the server, and its twin in the core.
struct Pair {
    policy: Arc<RatePolicy>,
    limiter: Limiter,
    chance: Chance,
    /// The charges that may be settled: the ask, the server's receipt, and the core's.
    charged: Vec<(ChargeRequest, Charge, Charge)>,
    seen: HashMap<bool, u32>,
}

impl Pair {
    fn by_chance(name: &str, algorithm: Algorithm, limits: &[u64], chance: &mut Chance) -> Self {
        // Windows for which a tick of the core's log is at most a microsecond.
        let longest = chance.of(&[500, 2_000_000_000]);
        let window = Duration::from_micros(1_000 + chance.below(longest));
        let limit = chance.of(limits);
        let quota = |limit, burst: bool| {
            let quota = Quota::new(limit, window);
            if burst && algorithm.is_bucket() { quota.burst(1 + limit / 2) } else { quota }
        };
        let quotas = [quota(limit, chance.below(2) == 0), quota(limit + 3, false)];
        Self {
            // Adjustable, so that the node remembers no refusals and the server decides each time.
            policy: Arc::new(RatePolicy::new(name, algorithm, quotas).adjustable()),
            limiter: Limiter::new(algorithm, &quotas, 10_000).unwrap(),
            chance: Chance(chance.below(u64::MAX)),
            charged: Vec::new(),
            seen: HashMap::new(),
        }
    }

    fn gap(&mut self) -> Duration {
        let quota = self.policy.quota(0);
        let interval = u64::try_from(quota.interval().as_micros()).unwrap();
        let window = u64::try_from(quota.window().as_micros()).unwrap();
        Duration::from_micros(match self.chance.below(12) {
            0..4 => 0,
            4..7 => self.chance.below(interval + 1),
            7..9 => interval * self.chance.below(5),
            9..11 => self.chance.below(window / 4 + 1),
            _ => window - 1 + self.chance.below(3) + window * self.chance.below(2),
        })
    }

    fn ask(&mut self) -> ChargeRequest {
        let limit = self.policy.quota(0).limit();
        let cost = match self.chance.below(8) {
            0 => 0,
            1 => self.chance.below(limit + 4),
            2 => 1 + self.chance.below(limit / 3 + 1),
            _ => 1,
        };
        let tier = usize::from(self.chance.below(6) == 0);
        ChargeRequest::new(Arc::clone(&self.policy), key(self.chance.of(&KEYS)), tier, cost)
    }

    /// Charges the server and the core, and sometimes settles an earlier charge in both.
    async fn compare(&mut self, node: &RedisLimits, clock: &ManualClock) {
        if self.chance.below(5) == 0 && !self.charged.is_empty() {
            self.settle(node, clock);
        }
        let ask = self.ask();
        let reply = node.charge_all(std::slice::from_ref(&ask)).await.unwrap()[0];
        let expected = match self.limiter.charge(ask.key, ask.tier, ask.cost, clock.now()) {
            Ok((decision, charge)) => {
                self.charged.push((ask.clone(), reply.charge.expect("it is allowed"), charge));
                decision
            }
            Err(decision) => decision,
        };
        self.agree(&ask, &reply.decision.unwrap(), &expected);
    }

    fn settle(&mut self, node: &RedisLimits, clock: &ManualClock) {
        // Mostly recent charges: time has given back the old ones, so a refund changes nothing.
        let charged = self.charged.len() as u64;
        let most = if self.chance.below(4) > 0 { charged.min(3) } else { charged };
        let ago = self.chance.below(most);
        let index = usize::try_from(charged - 1 - ago).unwrap();
        let (ask, theirs, mut ours) = self.charged.swap_remove(index);
        let cost = match self.chance.below(3) {
            0 => 0,
            1 => self.chance.below(ours.cost + 1),
            _ => ours.cost + self.chance.below(5),
        };
        let settled = node.settle(&ask, &theirs, cost).unwrap();
        self.limiter.settle(ask.key, ask.tier, &mut ours, cost, clock.now());
        // The receipts differ if units were spent after all units had been given back, and if a
        // leaky queue has kept a part of a refund; such a charge is not settled again.
        if theirs.cost > 0 && self.policy.algorithm() != Algorithm::LeakyQueue {
            self.charged.push((ask, settled, ours));
        }
    }

    fn agree(&mut self, ask: &ChargeRequest, said: &Decision, expected: &Decision) {
        *self.seen.entry(said.allowed).or_default() += 1;
        assert_eq!(*said, in_micros(expected), "{ask:?}");
    }
}

/// Charges all limits at once, on the server and in the core.
async fn compare_all(
    pairs: &mut [Pair],
    node: &RedisLimits,
    clock: &ManualClock,
    chance: &mut Chance,
) {
    let asks: Vec<_> = pairs
        .iter_mut()
        .map(|pair| {
            let ask = pair.ask();
            if chance.below(5) == 0 { ask.soft() } else { ask }
        })
        .collect();
    let replies = node.charge_all(&asks).await.unwrap();
    let twins = || pairs.iter().map(|pair| &pair.limiter).zip(&asks);
    let twin = |(limiter, ask): (_, &ChargeRequest)| {
        LimiterCharge::new(limiter, ask.key, ask.tier, ask.cost)
    };
    let mut hard: Vec<_> = twins().filter(|(_, ask)| !ask.is_soft).map(twin).collect();
    let mut soft: Vec<_> = twins().filter(|(_, ask)| ask.is_soft).map(twin).collect();
    let is_allowed = charge_all(&mut hard, clock.now());
    if is_allowed {
        soft.iter_mut().for_each(|ask| _ = charge_all(std::slice::from_mut(ask), clock.now()));
    }
    let mut hard = hard.iter();
    let mut soft = soft.iter();
    let mut expected = Vec::new();
    for ask in &asks {
        let twin = if ask.is_soft { soft.next() } else { hard.next() }.unwrap();
        expected.push((
            twin.decision().map(|decision| in_micros(&decision.describe())),
            twin.charge().is_some(),
        ));
    }
    let said = replies.iter().map(|reply| (reply.decision, reply.charge.is_some()));
    assert_eq!(said.collect::<Vec<_>>(), expected, "{asks:#?}");
}
