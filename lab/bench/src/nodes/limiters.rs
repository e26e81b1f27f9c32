//! Rate limiters that many nodes share: ours, and others in Rust.

use std::{future::ready, num::NonZeroU32, sync::Arc, time::Duration};

use actix_limitation::Limiter as ActixLimiter;
use anyhow::{Result, ensure};
use governor::RateLimiter;
use http::{Request, Response};
use tower::{Layer, ServiceExt, service_fn};
use tower_rate_limit_redis::{KeyResolver, RateLimitLayer};
use waiting_room_core::{
    Quota,
    rate::{Algorithm, ChargeRequest, KeyHasher, RatePolicy, RateStore},
};
use waiting_room_engines::EngineServer;
use waiting_room_redis::{Blocks, RedisLimits, RedisStoreOptions};

use super::{
    asked::{Asked, ask},
    deciders::connection,
};

/// A limiter that decides about each request. Each caller has its own key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SharedLimiter {
    /// Ours, with this number of limits for each request.
    Ours(u8),
    /// Ours, with leased blocks.
    OursLeased,
    /// Ours, for a client that is over its limit.
    OursRefused,
    /// `tower-rate-limit-redis`, which makes a call for each request.
    TowerRateLimitRedis,
    /// The same for a client that is over its limit.
    TowerRateLimitRedisRefused,
    /// `actix-limitation`, which opens a connection for each request.
    ActixLimitation,
    /// `governor`, in the memory of one node.
    Governor,
}

impl SharedLimiter {
    pub(super) const ALL: [Self; 8] = [
        Self::Ours(1),
        Self::Ours(3),
        Self::OursLeased,
        Self::OursRefused,
        Self::TowerRateLimitRedis,
        Self::TowerRateLimitRedisRefused,
        Self::ActixLimitation,
        Self::Governor,
    ];

    pub(super) fn name(self) -> String {
        match self {
            Self::Ours(1) => "RedisLimits, one limit".to_owned(),
            Self::Ours(limits) => format!("RedisLimits, {limits} limits, all or nothing"),
            Self::OursLeased => format!("RedisLimits, leased blocks of {BLOCK}"),
            Self::OursRefused => "RedisLimits, refused".to_owned(),
            Self::TowerRateLimitRedis => "tower-rate-limit-redis".to_owned(),
            Self::TowerRateLimitRedisRefused => "tower-rate-limit-redis, refused".to_owned(),
            Self::ActixLimitation => "actix-limitation".to_owned(),
            Self::Governor => "governor, keyed, one node".to_owned(),
        }
    }

    /// Measures it with this number of callers.
    pub(super) async fn ask(
        self,
        server: &EngineServer,
        callers: u32,
        duration: Duration,
    ) -> Result<Asked> {
        match self {
            Self::Ours(_) | Self::OursLeased | Self::OursRefused => {
                ours(self, server, callers, duration).await
            }
            Self::TowerRateLimitRedis => tower(server, callers, duration, true).await,
            Self::TowerRateLimitRedisRefused => tower(server, callers, duration, false).await,
            Self::ActixLimitation => actix(server, callers, duration).await,
            Self::Governor => governor(callers, duration).await,
        }
    }
}

async fn ours(
    limiter: SharedLimiter,
    server: &EngineServer,
    callers: u32,
    duration: Duration,
) -> Result<Asked> {
    let options = RedisStoreOptions::new().deadline(Duration::from_secs(10));
    let mut store =
        RedisLimits::with_connection(connection(server).await?, "bench", options).await?;
    if limiter == SharedLimiter::OursLeased {
        store = store.leasing(Blocks::max(BLOCK))?;
    }
    let limits = if let SharedLimiter::Ours(limits) = limiter { limits } else { 1 };
    let is_allowed = limiter != SharedLimiter::OursRefused;
    let quota =
        if is_allowed { Quota::per_second(u64::from(ENOUGH.get())) } else { Quota::per_day(1) };
    let policies: Vec<_> = (0..limits)
        .map(|limit| Arc::new(RatePolicy::new(format!("l{limit}"), Algorithm::Gcra, [quota])))
        .collect();
    let hasher = KeyHasher::shared([3, 1]);
    let asks: Vec<Vec<ChargeRequest>> = (0..callers)
        .map(|caller| {
            let ask = |policy| ChargeRequest::new(Arc::clone(policy), hasher.hash(&caller), 0, 1);
            policies.iter().map(ask).collect()
        })
        .collect();
    for asks in asks.iter().filter(|_| !is_allowed) {
        store.charge_all(asks).await?;
    }
    let asks = Arc::new(asks);
    ask(Some(server), callers, duration, move |caller| {
        let store = store.clone();
        let asks = Arc::clone(&asks);
        async move {
            let replies = store.charge_all(&asks[caller as usize]).await?;
            ensure!(replies.iter().all(|reply| reply.charge.is_some()) == is_allowed);
            Ok(())
        }
    })
    .await
}

async fn tower(
    server: &EngineServer,
    callers: u32,
    duration: Duration,
    is_allowed: bool,
) -> Result<Asked> {
    let client = redis_0_32::Client::open(server.url())?;
    let (capacity, each) = if is_allowed { (u16::MAX, 1) } else { (1, 86_400_000) };
    let layer = RateLimitLayer::builder()
        .conn(client.get_multiplexed_async_connection().await?)
        .key_resolver(ByCaller)
        .capacity(capacity)
        .emission_interval(Duration::from_millis(each))
        .build();
    let page = |_| ready(Ok::<_, std::convert::Infallible>(Response::new(String::new())));
    let service = layer.layer(service_fn(page));
    for caller in (0..callers).filter(|_| !is_allowed) {
        service.clone().oneshot(by(caller)).await?;
    }
    ask(Some(server), callers, duration, move |caller| {
        let service = service.clone();
        async move {
            let response = service.oneshot(by(caller)).await?;
            ensure!(response.status().is_success() == is_allowed, "{}", response.status());
            Ok(())
        }
    })
    .await
}

/// Returns a request of this caller.
fn by(caller: u32) -> Request<()> {
    let mut request = Request::new(());
    request.extensions_mut().insert(caller);
    request
}

#[derive(Clone)]
struct ByCaller;

impl KeyResolver for ByCaller {
    type Key = String;
    type ErrorBody = String;

    fn key<T>(&self, request: &Request<T>) -> Result<String, Response<String>> {
        Ok(format!("bench:{:?}", request.extensions().get::<u32>()))
    }
}

async fn actix(server: &EngineServer, callers: u32, duration: Duration) -> Result<Asked> {
    let limiter = ActixLimiter::builder(server.url()).limit(usize::MAX >> 1).build()?;
    ask(Some(server), callers, duration, move |caller| {
        let limiter = limiter.clone();
        async move {
            limiter.count(format!("bench:{caller}")).await?;
            Ok(())
        }
    })
    .await
}

async fn governor(callers: u32, duration: Duration) -> Result<Asked> {
    let quota = governor::Quota::per_second(ENOUGH);
    let limiter = Arc::new(RateLimiter::keyed(quota));
    ask(None, callers, duration, move |caller| {
        let limiter = Arc::clone(&limiter);
        async move {
            ensure!(limiter.check_key(&caller).is_ok());
            Ok(())
        }
    })
    .await
}

/// The largest leased block.
const BLOCK: u64 = 100;
/// A limit per second that no caller reaches.
const ENOUGH: NonZeroU32 = NonZeroU32::new(100_000_000).unwrap();
