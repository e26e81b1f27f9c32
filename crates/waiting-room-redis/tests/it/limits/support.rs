//! Helpers for the tests of limits: nodes, policies, and random requests.

use std::{iter::successors, sync::Arc, time::Duration};

use redis::aio::{ConnectionManager, ConnectionManagerConfig};
use waiting_room_core::{
    Quota, Timestamp,
    rate::{
        Algorithm, Alignment, ChargeReply, ChargeRequest, Decision, KeyHash, KeyHasher, RatePolicy,
        RateStore, Refusals,
    },
    time::ManualClock,
};
use waiting_room_engines::EngineServer;
use waiting_room_redis::RedisLimits;

use crate::support::{connection, patient};

/// Returns every algorithm with each of its options. A variant that is added does not compile until it
/// has a place in the order here.
pub(crate) fn all() -> Vec<Algorithm> {
    let first = Algorithm::FixedWindow(Alignment::Epoch);
    let algorithms = successors(Some(first), |algorithm| match algorithm {
        Algorithm::FixedWindow(Alignment::Epoch) => {
            Some(Algorithm::FixedWindow(Alignment::FirstHit))
        }
        Algorithm::FixedWindow(Alignment::FirstHit) => Some(Algorithm::Gcra),
        Algorithm::Gcra => Some(Algorithm::LeakyQueue),
        Algorithm::LeakyQueue => Some(Algorithm::SlidingCounter),
        Algorithm::SlidingCounter => Some(Algorithm::SlidingLog(Refusals::Count)),
        Algorithm::SlidingLog(Refusals::Count) => Some(Algorithm::SlidingLog(Refusals::Ignore)),
        Algorithm::SlidingLog(Refusals::Ignore) => Some(Algorithm::TokenBucket),
        Algorithm::TokenBucket => None,
    });
    algorithms.collect()
}

pub(crate) const START: Timestamp = Timestamp::from_secs(1_700_000_000);

/// Starts a node on the server's clock, with the longest deadline.
pub(crate) async fn node(server: &EngineServer) -> RedisLimits {
    RedisLimits::with_connection(connection(server).await, "api", patient()).await.unwrap()
}

/// Starts a node on a given clock, with the longest deadline.
pub(crate) async fn node_at(server: &EngineServer, clock: &ManualClock) -> RedisLimits {
    let options = patient().clock(clock.clone());
    RedisLimits::with_connection(connection(server).await, "api", options).await.unwrap()
}

pub(crate) fn policy(algorithm: Algorithm, quota: Quota) -> Arc<RatePolicy> {
    Arc::new(RatePolicy::new("per_ip", algorithm, [quota]))
}

pub(crate) fn key(name: &str) -> KeyHash {
    KeyHasher::shared([3, 1]).hash(name)
}

pub(crate) fn ask(policy: &Arc<RatePolicy>, name: &str, cost: u64) -> ChargeRequest {
    ChargeRequest::new(Arc::clone(policy), key(name), 0, cost)
}

/// Returns the number of scripts that a server has run by their hashes.
pub(crate) async fn scripts(server: &EngineServer) -> u64 {
    let mut connection = connection(server).await;
    let said: String =
        redis::cmd("INFO").arg("commandstats").query_async(&mut connection).await.unwrap();
    let line = said.lines().find(|line| line.starts_with("cmdstat_evalsha:")).unwrap();
    line.split(['=', ',']).nth(1).unwrap().parse().unwrap()
}

/// Charges a single limit.
pub(crate) async fn charge(node: &RedisLimits, ask: &ChargeRequest) -> ChargeReply {
    node.charge_all(std::slice::from_ref(ask)).await.unwrap()[0]
}

/// Rounds a decision up to microseconds, the resolution of the store.
pub(crate) fn in_micros(decision: &Decision) -> Decision {
    let micros = |duration: Duration| {
        let micros = duration.as_nanos().div_ceil(1_000);
        Duration::from_micros(u64::try_from(micros).unwrap())
    };
    let Decision { limit, remaining, .. } = *decision;
    Decision::new(limit, remaining, micros(decision.reset), decision.retry_after.map(micros))
        .with_delay(micros(decision.delay))
}

/// A seeded generator of random numbers.
pub(crate) struct Chance(pub(crate) u64);

impl Chance {
    /// Returns a number below `bound`, from SplitMix64.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }

    pub(crate) fn of<T: Copy>(&mut self, these: &[T]) -> T {
        let index = self.below(these.len() as u64);
        these[usize::try_from(index).unwrap()]
    }
}

/// Opens a connection that reconnects by itself.
pub(crate) async fn manager(server: &EngineServer) -> ConnectionManager {
    let client = redis::Client::open(server.url()).unwrap();
    let quick = ConnectionManagerConfig::new()
        .set_connection_timeout(Some(Duration::from_millis(500)))
        .set_response_timeout(Some(Duration::from_millis(500)))
        .set_max_delay(Duration::from_millis(100));
    ConnectionManager::new_with_config(client, quick).await.unwrap()
}
