//! A cluster: a room is stored on one of its nodes, and may be moved to another.

use std::time::Duration;

use redis::{Value, cluster::ClusterClient, cluster_async::ClusterConnection};
use waiting_room_core::{
    Quota, RoomRules, Store, Timestamp, VisitorId,
    rate::{Algorithm, RateStore},
    room::Renewal,
    time::ManualClock,
};
use waiting_room_engines::{Engine, EngineServer};
use waiting_room_redis::{RedisLimits, RedisStore};
use waiting_room_test::conformance::{self, Durability, SuitePlan};

use crate::{
    examples::{self, JOINED},
    limits::support::{ask, policy},
    support::{admitted, connection, eventually, on_each, patient, queued},
};

/// A cluster of three nodes with a third of the slots each.
struct Cluster {
    nodes: Vec<EngineServer>,
}

impl Cluster {
    async fn start(engine: Engine) -> Self {
        let start = |_| EngineServer::start_with(engine, &["--cluster-enabled", "yes"]).unwrap();
        let nodes: Vec<_> = (0..3).map(start).collect();
        for (index, node) in nodes.iter().enumerate() {
            let slots = (0..SLOTS).filter(|slot| slot * 3 / SLOTS == index);
            let slots: Vec<String> = slots.map(|slot| slot.to_string()).collect();
            let _: Value = tell(node, &[&["ADDSLOTS"], as_strs(&slots).as_slice()].concat()).await;
            let first = nodes[0].port().to_string();
            let _: Value = tell(node, &["MEET", "127.0.0.1", &first]).await;
        }
        for node in &nodes {
            eventually(async || {
                let info: String = tell(node, &["INFO"]).await;
                let knows_all = info.contains("cluster_known_nodes:3");
                (knows_all && info.contains("cluster_state:ok")).then_some(())
            })
            .await;
        }
        Self { nodes }
    }

    async fn connect(&self) -> ClusterConnection {
        let client = ClusterClient::builder(self.nodes.iter().map(EngineServer::url))
            .response_timeout(Duration::from_secs(10))
            .build()
            .unwrap();
        client.get_async_connection().await.unwrap()
    }

    /// Moves all keys of a slot to the next node.
    async fn move_slot(&self, key: &str) {
        let slot: usize = tell(&self.nodes[0], &["KEYSLOT", key]).await;
        let from = slot * 3 / SLOTS;
        let to = &self.nodes[(from + 1) % 3];
        let from = &self.nodes[from];
        let slot = slot.to_string();
        let old: String = tell(from, &["MYID"]).await;
        let new: String = tell(to, &["MYID"]).await;
        let _: Value = tell(to, &["SETSLOT", &slot, "IMPORTING", &old]).await;
        let _: Value = tell(from, &["SETSLOT", &slot, "MIGRATING", &new]).await;
        let keys: Vec<String> = tell(from, &["GETKEYSINSLOT", &slot, "1000"]).await;
        assert!(!keys.is_empty(), "the slot has keys");
        let mut migrate = redis::cmd("MIGRATE");
        migrate.arg("127.0.0.1").arg(to.port()).arg("").arg(0).arg(10_000).arg("KEYS").arg(keys);
        let () = migrate.query_async(&mut connection(from).await).await.unwrap();
        for node in &self.nodes {
            let _: Value = tell(node, &["SETSLOT", &slot, "NODE", &new]).await;
        }
    }
}

/// Sends a `CLUSTER` command to a node.
async fn tell<T: redis::FromRedisValue>(node: &EngineServer, arguments: &[&str]) -> T {
    redis::cmd("CLUSTER").arg(arguments).query_async(&mut connection(node).await).await.unwrap()
}

fn as_strs(strings: &[String]) -> Vec<&str> {
    strings.iter().map(String::as_str).collect()
}

const SLOTS: usize = 16_384;

#[tokio::test(flavor = "multi_thread")]
async fn the_example_of_a_cluster_joins_a_room() {
    on_each(async |engine| {
        let cluster = Cluster::start(engine).await;
        let urls: Vec<String> = cluster.nodes.iter().map(EngineServer::url).collect();
        assert_eq!(examples::run("cluster", &as_strs(&urls)), JOINED, "{engine}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_room_in_a_cluster_agrees_with_the_model() {
    on_each(async |engine| {
        let cluster = Cluster::start(engine).await;
        let connection = cluster.connect().await;
        for seed in crate::support::seeds(2) {
            let plan = SuitePlan::new(seed, 1_500).durability(Durability::Lasts);
            let ran = conformance::run(plan, async |rules, clock| {
                let options = patient().prefix(format!("{seed}")).clock(clock);
                RedisStore::with_connection(connection.clone(), rules, options).await.unwrap()
            });
            ran.await.unwrap_or_else(|divergence| panic!("{engine}: {divergence}"));
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_room_that_is_moved_to_another_node_continues() {
    on_each(async |engine| {
        let cluster = Cluster::start(engine).await;
        let clock = ManualClock::new(Timestamp::from_secs(1_700_000_000));
        let options = patient().clock(clock.clone());
        let rules = RoomRules::new("shop", 1);
        let store =
            RedisStore::with_connection(cluster.connect().await, rules, options).await.unwrap();
        let pass = admitted(&store, 1).await;
        let ticket = queued(&store, 2).await;
        cluster.move_slot("{wr:shop}").await;
        clock.advance(Duration::from_secs(60));
        assert!(matches!(store.renew(pass).await.unwrap(), Renewal::Renew(_)));
        store.check_in(ticket).await.unwrap();
        let seen = store.snapshot().await.unwrap();
        assert_eq!((seen.active, seen.waiting), (1, 1));
        store.leave(VisitorId::new(1)).await.unwrap();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn limits_in_a_cluster_are_asked_in_one_script() {
    on_each(async |engine| {
        let cluster = Cluster::start(engine).await;
        let limits =
            RedisLimits::with_connection(cluster.connect().await, "api", patient()).await.unwrap();
        let policies = [Algorithm::Gcra, Algorithm::TokenBucket]
            .map(|algorithm| policy(algorithm, Quota::per_hour(2)));
        let asks = policies.each_ref().map(|policy| ask(policy, "ann", 1));
        for allowed in [true, true, false] {
            let replies = limits.charge_all(&asks).await.unwrap();
            assert_eq!(replies.iter().all(|reply| reply.charge.is_some()), allowed, "{replies:?}");
        }
    })
    .await;
}
