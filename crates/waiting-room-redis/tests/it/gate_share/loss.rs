//! Nodes of a gate that cannot reach the server.

use std::{cell::RefCell, num::NonZeroU32, time::Duration};

use redis::Client;
use tokio::time::{Instant, sleep};
use waiting_room_core::gate::{NodeShare, SharedConcurrency};
use waiting_room_redis::{GateShare, GateShareOptions, GateStoreFailure};

use super::{TOTAL, demand, options, share};
use crate::{
    link::Link,
    support::{eventually, on_each, open, start},
};

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_cannot_renew_its_share_follows_its_policy_after_the_lease() {
    on_each(async |engine| {
        let mut server = start(engine);
        let mut keeps = share(&server, GateStoreFailure::LocalShare).await;
        let mut closes = share(&server, GateStoreFailure::Refuse).await;
        keeps.renew(demand(0, 0)).await;
        keeps.renew(demand(0, 0)).await;
        closes.renew(demand(0, 0)).await;
        keeps.renew(demand(0, 0)).await;
        keeps.renew(demand(0, 0)).await;
        assert_eq!(closes.renew(demand(0, 0)).await, 10);
        server.kill();
        assert_eq!(closes.renew(demand(0, 0)).await, 10, "the lease has not ended");
        let over = Instant::now() + GateShareOptions::LEASE;
        while Instant::now() < over {
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
        let gate = share_through(&link).await;
        let mut node = gate.join();
        assert_eq!(node.renew(demand(1, 0)).await, TOTAL);
        link.vanish();
        // The node can get its part of the new total only from a renewal that succeeds.
        gate.set_total(NonZeroU32::new(2 * TOTAL).unwrap());
        eventually(async || (node.renew(demand(1, 0)).await == 2 * TOTAL).then_some(())).await;
    })
    .await;
}

/// The node that is cut off renews after the usual pauses, and the other nodes renew without
/// pauses.
#[tokio::test(flavor = "multi_thread")]
async fn limits_in_force_never_add_up_to_more_than_the_total_when_a_node_is_cut_off() {
    on_each(async |engine| {
        let server = start(engine);
        let link = Link::to(server.port()).await;
        let mut cut_off = share_through(&link).await.join();
        let mut others = [
            share(&server, GateStoreFailure::Refuse).await,
            share(&server, GateStoreFailure::Refuse).await,
        ];
        let limits = Limits::default();
        let pause = cut_off.until_next();
        let [one, other] = &mut others;
        let happens = async {
            limits.until(|limits| limits == [6, 6, 6]).await;
            link.cut();
            limits.until(|limits| limits == [0, 10, 10]).await;
            link.mend();
            limits.until(|limits| limits == [6, 6, 6]).await;
        };
        tokio::select! {
            () = limits.renewed(0, &mut cut_off, pause) => {}
            () = limits.renewed(1, one, Duration::ZERO) => {}
            () = limits.renewed(2, other, Duration::ZERO) => {}
            () = happens => {}
        }
    })
    .await;
}

async fn share_through(link: &Link) -> GateShare {
    let client = Client::open(format!("redis://127.0.0.1:{}", link.port)).unwrap();
    let connect = move || open(client.clone());
    GateShare::connect(connect, "checkout", options(GateStoreFailure::Refuse)).await.unwrap()
}

/// The limits in force at three nodes.
#[derive(Default)]
struct Limits(RefCell<[u32; 3]>);

impl Limits {
    /// Renews the share of a node and applies it, for ever, with a pause after each renewal.
    async fn renewed(&self, node: usize, share: &mut Box<dyn NodeShare>, pause: Duration) {
        loop {
            let limit = share.renew(demand(0, 3 * TOTAL)).await;
            self.put_in_force(node, limit);
            sleep(pause).await;
        }
    }

    fn put_in_force(&self, node: usize, limit: u32) {
        let mut limits = self.0.borrow_mut();
        limits[node] = limit;
        assert!(limits.iter().sum::<u32>() <= TOTAL, "{limits:?}");
    }

    async fn until(&self, is_so: impl Fn([u32; 3]) -> bool) {
        eventually(async || is_so(*self.0.borrow()).then_some(())).await;
    }
}
