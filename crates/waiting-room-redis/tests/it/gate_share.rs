//! One gate that several nodes share.

mod layers;
mod loss;

use std::{num::NonZeroU32, time::Duration};

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use redis::{AsyncCommands, Script};
use waiting_room_core::{
    StoreError,
    gate::{Demand, NodeShare, SharedConcurrency},
};
use waiting_room_engines::EngineServer;
use waiting_room_redis::{GateShare, GateShareOptions, GateStoreFailure};

use crate::support::{eventually, manager, on_each, seeds, start};

const TOTAL: u32 = 20;
const KEY: &str = "{wr:checkout}:shares";
const EXPIRES_US: usize = 3;
const RENEWAL: usize = 4;
const HOUR_US: u64 = 3_600 * 1_000_000;

async fn share(server: &EngineServer, on_failure: GateStoreFailure) -> Box<dyn NodeShare> {
    share_by(server, "checkout", options(on_failure)).await.unwrap().join()
}

async fn share_by(
    server: &EngineServer,
    gate: &str,
    options: GateShareOptions,
) -> Result<GateShare, StoreError> {
    GateShare::with_connection(manager(server).await, gate, options).await
}

/// A deadline that suits a busy machine, and leaves time for several renewals in a lease.
fn options(on_failure: GateStoreFailure) -> GateShareOptions {
    let total = NonZeroU32::new(TOTAL).unwrap();
    GateShareOptions::new(total, on_failure).deadline(Duration::from_millis(200))
}

fn demand(in_flight: u32, queued: u32) -> Demand {
    Demand { in_flight, queued }
}

#[tokio::test(flavor = "multi_thread")]
async fn shares_follow_the_demand() {
    on_each(async |engine| {
        let server = start(engine);
        let mut here = share(&server, GateStoreFailure::Refuse).await;
        let mut there = share(&server, GateStoreFailure::Refuse).await;
        assert_eq!(here.renew(demand(0, 0)).await, 20, "there is no other node");
        assert_eq!(there.renew(demand(0, 9)).await, 0, "the first node has everything");
        assert_eq!(here.renew(demand(1, 0)).await, 6, "its demand, and half of the rest");
        assert_eq!(there.renew(demand(0, 9)).await, 0, "6 is not in force at the first yet");
        assert_eq!(here.renew(demand(1, 0)).await, 6);
        assert_eq!(there.renew(demand(0, 9)).await, 14);
        // The demand of the second node is now three times that of the first.
        for _ in 0..3 {
            here.renew(demand(6, 14)).await;
            there.renew(demand(14, 46)).await;
        }
        assert_eq!(here.renew(demand(5, 15)).await, 5);
        assert_eq!(there.renew(demand(14, 46)).await, 15);
    })
    .await;
}

/// The requests of the nodes come and go at random, and so do their renewals.
#[tokio::test(flavor = "multi_thread")]
async fn all_nodes_together_never_run_more_than_the_total() {
    on_each(async |engine| {
        let server = start(engine);
        let seed = seeds(1)[0];
        let mut rng = Pcg64Mcg::seed_from_u64(seed);
        let mut nodes = Vec::new();
        for _ in 0..4 {
            nodes.push((share(&server, GateStoreFailure::Refuse).await, 0_u32, demand(0, 0)));
        }
        let mut busiest = 0;
        for step in 0..3_000 {
            let index = rng.random_range(0..nodes.len());
            let (share, limit, demand) = &mut nodes[index];
            match rng.random_range(0..3) {
                0 => demand.in_flight = demand.in_flight.saturating_sub(rng.random_range(0..4)),
                1 => {
                    demand.queued += rng.random_range(0..8);
                    let enter = demand.queued.min(limit.saturating_sub(demand.in_flight));
                    demand.in_flight += enter;
                    demand.queued = if rng.random_bool(0.2) { 0 } else { demand.queued - enter };
                }
                _ => *limit = share.renew(*demand).await,
            }
            let running: u32 = nodes.iter().map(|(_, _, demand)| demand.in_flight).sum();
            busiest = busiest.max(running);
            assert!(running <= TOTAL, "seed {seed}, step {step}: {running} run");
        }
        assert_eq!(busiest, TOTAL, "seed {seed}: the total is never used");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn leases_end_after_a_failover_to_a_server_with_a_slow_clock() {
    on_each(async |engine| {
        let server = start(engine);
        let mut gone = share(&server, GateStoreFailure::Refuse).await;
        assert_eq!(gone.renew(demand(0, 0)).await, TOTAL);
        drop(gone);
        // The state that a server leaves if its clock was an hour ahead of this server's clock.
        add(&server, EXPIRES_US, HOUR_US).await;
        let () = manager(&server).await.hincr(KEY, "last_us", HOUR_US).await.unwrap();
        let mut stays = share(&server, GateStoreFailure::Refuse).await;
        assert_eq!(stays.renew(demand(0, 0)).await, 0, "the lease of the other node runs");
        eventually(async || (stays.renew(demand(0, 0)).await == TOTAL).then_some(())).await;
    })
    .await;
}

/// This happens when a connection that the node has given up delivers its data after all.
#[tokio::test(flavor = "multi_thread")]
async fn a_renewal_that_comes_after_a_later_one_changes_nothing() {
    on_each(async |engine| {
        let server = start(engine);
        let mut node = share(&server, GateStoreFailure::Refuse).await;
        node.renew(demand(0, 0)).await;
        add(&server, RENEWAL, 2).await;
        let before = entries(&server).await;
        node.renew(demand(1, 0)).await;
        assert_eq!(entries(&server).await, before);
        node.renew(demand(1, 0)).await;
        assert_ne!(entries(&server).await, before);
    })
    .await;
}

async fn entries(server: &EngineServer) -> Vec<Vec<u8>> {
    manager(server).await.hvals(KEY).await.unwrap()
}

/// Adds a number to one field in the entry of each node.
async fn add(server: &EngineServer, place: usize, number: u64) {
    let added = "for _, name in ipairs(redis.call('HKEYS', KEYS[1])) do
        if not string.find(name, '_us$') then
            local entry, place = cmsgpack.unpack(redis.call('HGET', KEYS[1], name)), tonumber(ARGV[1])
            entry[place] = entry[place] + ARGV[2]
            redis.call('HSET', KEYS[1], name, cmsgpack.pack(entry))
        end
    end";
    let added = Script::new(added);
    let mut invocation = added.key(KEY);
    let connection = &mut manager(server).await;
    let () = invocation.arg(place).arg(number).invoke_async(connection).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn services_that_share_a_server_do_not_meet_and_leave_nothing_behind() {
    on_each(async |engine| {
        let server = start(engine);
        let mut here = share(&server, GateStoreFailure::Refuse).await;
        let there =
            share_by(&server, "checkout", options(GateStoreFailure::Refuse).prefix("other"));
        let mut there = there.await.unwrap().join();
        assert_eq!(here.renew(demand(0, 0)).await, TOTAL);
        assert_eq!(there.renew(demand(0, 0)).await, TOTAL);
        for key in [KEY, "{other:checkout}:shares"] {
            let left_ms: u64 = manager(&server).await.pttl(key).await.unwrap();
            let left = Duration::from_millis(left_ms);
            let lease = GateShareOptions::LEASE;
            assert!(left > 2 * lease && left <= 10 * lease, "{left:?}");
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn impossible_settings_of_a_share_are_refused_by_name_and_value() {
    on_each(async |engine| {
        let server = start(engine);
        let cause = async |server, gate, options| {
            let error = share_by(server, gate, options).await.unwrap_err();
            std::error::Error::source(&error).unwrap().to_string()
        };
        assert_eq!(
            cause(&server, "check}out", options(GateStoreFailure::Refuse)).await,
            "name is \"check}out\", expected 1 to 64 letters, digits, '-' or '_'"
        );
        assert_eq!(
            cause(
                &server,
                "checkout",
                options(GateStoreFailure::Refuse).deadline(Duration::from_secs(2))
            )
            .await,
            "deadline is 2s, expected at most 1s"
        );
        let evicts = ["--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru"];
        let evicts = EngineServer::start_with(engine, &evicts).unwrap();
        let cause = cause(&evicts, "checkout", options(GateStoreFailure::Refuse)).await;
        assert!(
            cause.starts_with("maxmemory-policy is allkeys-lru, expected noeviction"),
            "{cause}"
        );
    })
    .await;
}
