//! Gates of layers, which renew their shares by themselves.

use tower_waiting_room::{Concurrency, WaitingRoomConfig, WaitingRoomLayer};
use waiting_room_redis::GateStoreFailure;

use super::{TOTAL, options, share_by};
use crate::support::{eventually, on_each, start};

#[tokio::test(flavor = "multi_thread")]
async fn layers_renew_their_shares_and_close_their_gates_without_the_server() {
    on_each(async |engine| {
        let mut server = start(engine);
        let shared =
            share_by(&server, "checkout", options(GateStoreFailure::Refuse)).await.unwrap();
        let gate = Concurrency::shared(shared);
        let config = WaitingRoomConfig::builder("shop").concurrency(gate).build().unwrap();
        let layers = [WaitingRoomLayer::new(config.clone()), WaitingRoomLayer::new(config)];
        let limit = |layer: &WaitingRoomLayer| {
            layer.handle().gate("gate").unwrap().snapshots()[0].limit.unwrap()
        };
        let limits = || layers.each_ref().map(limit);
        eventually(async || (limits() == [TOTAL / 2; 2]).then_some(())).await;
        server.kill();
        eventually(async || (limits() == [0; 2]).then_some(())).await;
        server.start_again().unwrap();
        eventually(async || (limits() == [TOTAL / 2; 2]).then_some(())).await;
    })
    .await;
}
