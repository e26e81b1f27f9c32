//! One gate for several nodes.

use std::num::NonZeroU32;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use redis::{
    Client,
    aio::{ConnectionManager, MultiplexedConnection},
};
use tokio::time::Instant;
use waiting_room_redis::{Demand, GateShare, OnLoss};
use waiting_room_sim::fresh_seeds;

use crate::{
    link::Link,
    support::{manager, on_each, open, start},
};

const TOTAL: u32 = 20;

async fn share(
    server: &waiting_room_engines::EngineServer,
    on_loss: OnLoss,
) -> GateShare<ConnectionManager> {
    let total = NonZeroU32::new(TOTAL).unwrap();
    GateShare::on(manager(server).await, "checkout", total, on_loss)
}

fn demand(in_flight: u32, queued: u32) -> Demand {
    Demand { in_flight, queued }
}

#[tokio::test(flavor = "multi_thread")]
async fn shares_follow_the_demand() {
    on_each(async |engine| {
        let server = start(engine);
        let mut here = share(&server, OnLoss::Close).await;
        let mut there = share(&server, OnLoss::Close).await;
        assert_eq!(here.renew(demand(0, 0)).await, 20, "nobody else is there");
        assert_eq!(there.renew(demand(0, 9)).await, 0, "it has all been given away");
        assert_eq!(here.renew(demand(1, 0)).await, 6, "one, and half of what nobody wants");
        assert_eq!(there.renew(demand(0, 9)).await, 0, "it is not yet in force there");
        assert_eq!(here.renew(demand(1, 0)).await, 6);
        assert_eq!(there.renew(demand(0, 9)).await, 14);
        // Three times as many want something there.
        for _ in 0..3 {
            here.renew(demand(6, 14)).await;
            there.renew(demand(14, 46)).await;
        }
        assert_eq!(here.renew(demand(5, 15)).await, 5);
        assert_eq!(there.renew(demand(14, 46)).await, 15);
    })
    .await;
}

/// Nodes whose requests come and go at random, and which put their limits in force at random.
#[tokio::test(flavor = "multi_thread")]
async fn all_nodes_together_never_run_more_than_the_total() {
    on_each(async |engine| {
        let server = start(engine);
        let seed = fresh_seeds(1)[0];
        let mut rng = Pcg64Mcg::seed_from_u64(seed);
        let mut nodes = Vec::new();
        for _ in 0..4 {
            nodes.push((share(&server, OnLoss::Close).await, 0_u32, demand(0, 0)));
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
async fn a_node_that_cannot_renew_its_share_does_as_it_was_told_when_the_lease_is_over() {
    on_each(async |engine| {
        let mut server = start(engine);
        let mut keeps = share(&server, OnLoss::Keep).await;
        let mut closes = share(&server, OnLoss::Close).await;
        keeps.renew(demand(0, 0)).await;
        keeps.renew(demand(0, 0)).await;
        closes.renew(demand(0, 0)).await;
        keeps.renew(demand(0, 0)).await;
        keeps.renew(demand(0, 0)).await;
        assert_eq!(closes.renew(demand(0, 0)).await, 10);
        server.kill();
        assert_eq!(closes.renew(demand(0, 0)).await, 10, "the lease is not over");
        let over = tokio::time::Instant::now() + GateShare::<ConnectionManager>::LEASE;
        while tokio::time::Instant::now() < over {
            closes.renew(demand(0, 0)).await;
        }
        assert_eq!(closes.renew(demand(0, 0)).await, 0);
        assert_eq!(keeps.renew(demand(0, 0)).await, 10);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_whose_other_end_has_vanished_is_replaced() {
    on_each(async |engine| {
        let server = start(engine);
        let link = Link::to(server.port()).await;
        let client = Client::open(format!("redis://127.0.0.1:{}", link.port)).unwrap();
        let total = NonZeroU32::new(TOTAL).unwrap();
        let connect = move || open(client.clone());
        let node = GateShare::connect(connect, "checkout", total, OnLoss::Close).await;
        let mut node = node.unwrap();
        assert_eq!(node.renew(demand(1, 0)).await, TOTAL);
        link.vanish();
        // Without another connection there would be nothing left of it when the lease is over.
        let vanished = Instant::now();
        while vanished.elapsed() < GateShare::<MultiplexedConnection>::LEASE * 4 / 3 {
            assert_eq!(node.renew(demand(1, 0)).await, TOTAL);
        }
    })
    .await;
}
