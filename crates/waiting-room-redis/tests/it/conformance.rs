//! The conformance suite that every store must pass, on both engines.

use std::{cell::Cell, env};

use futures_util::future::join_all;
use waiting_room_core::{Store, VisitorId};
use waiting_room_engines::{Engine, EngineServer};
use waiting_room_redis::RedisStore;
use waiting_room_test::conformance::{self, Coverage, Divergence, Durability, SuitePlan};

use crate::support::{connection, node_by, on_each, open, patient, seeds, start};

#[tokio::test(flavor = "multi_thread")]
async fn redis_agrees_with_the_model() {
    agrees_with_the_model(Engine::Redis).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn valkey_agrees_with_the_model() {
    agrees_with_the_model(Engine::Valkey).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_of_leaves_revives_no_proof_on_an_engine() {
    on_each(async |engine| {
        let server = start(engine);
        let build = async |rules, clock| node_by(clock, &server, rules).await;
        conformance::run_after_a_flood(build, async |store| {
            fill(&server, store.now().as_nanos() / 1_000).await;
            join_all((0..64).map(|who| store.leave(VisitorId::new(1 << 100 | who)))).await;
        })
        .await;
    })
    .await;
}

/// Writes the records of a million visitors who leave now, in the form in which the scripts write
/// them.
async fn fill(server: &EngineServer, now_us: u64) {
    let mut connection = connection(server).await;
    let script = redis::Script::new(
        "for i = ARGV[1], ARGV[1] + 9999 do
            local id = struct.pack('>I8I8', 1, i)
            redis.call('ZADD', KEYS[1], ARGV[2], id)
            redis.call('HSET', KEYS[2], id, cmsgpack.pack({tonumber(ARGV[2]), 'left', 2 ^ 52}))
        end",
    );
    for part in 0..100 {
        let mut call = script.key("{wr:flood}:ended");
        call.key("{wr:flood}:voids").arg(part * 10_000).arg(now_us);
        let () = call.invoke_async(&mut connection).await.unwrap();
    }
}

/// Runs the suite. The environment variables `CONFORMANCE_SEEDS` and `CONFORMANCE_COMMANDS` make it
/// longer, for campaigns.
async fn agrees_with_the_model(engine: Engine) {
    let server = start(engine);
    let client = redis::Client::open(server.url()).unwrap();
    let seeds = seeds(number("CONFORMANCE_SEEDS", 4));
    let runs = seeds.iter().map(async |&seed| run(&client, seed).await);
    let mut coverage = Coverage::default();
    for run in join_all(runs).await {
        coverage.add(&run.unwrap_or_else(|divergence| panic!("{engine}: {divergence}")));
    }
    at_once(&client, seeds[0]).await.unwrap_or_else(|divergence| panic!("{engine}: {divergence}"));
    println!("{engine}, seeds {seeds:?}:\n{coverage}");
    let is_campaign = seeds.len() as u64 * number("CONFORMANCE_COMMANDS", COMMANDS) >= 200_000;
    for said in Coverage::SAID.iter().filter(|_| is_campaign) {
        assert!(coverage.count(said) > 0, "the store never replies {said}:\n{coverage}");
    }
}

/// Runs one stream of commands. With odd seeds, the server loses its data at each restart.
async fn run(client: &redis::Client, seed: u64) -> Result<Coverage, Divergence> {
    let durability = if seed.is_multiple_of(2) { Durability::Lasts } else { Durability::Forgets };
    let plan =
        SuitePlan::new(seed, number("CONFORMANCE_COMMANDS", COMMANDS)).durability(durability);
    let lives = Cell::new(0);
    conformance::run(plan, async |rules, clock| {
        if durability == Durability::Forgets {
            lives.set(lives.get() + 1);
        }
        let options = patient().prefix(format!("{seed}:{}", lives.get())).clock(clock);
        let connection = open(client.clone()).await.unwrap();
        RedisStore::with_connection(connection, rules, options).await.unwrap()
    })
    .await
}

/// Lets visitors enter in the same instant.
async fn at_once(client: &redis::Client, seed: u64) -> Result<(), Divergence> {
    let stores = Cell::new(0);
    conformance::run_at_once(seed, async |rules, clock| {
        stores.set(stores.get() + 1);
        let options = patient().prefix(format!("{seed}:at-once:{}", stores.get())).clock(clock);
        let connection = open(client.clone()).await.unwrap();
        RedisStore::with_connection(connection, rules, options).await.unwrap()
    })
    .await
}

fn number<T: std::str::FromStr>(variable: &str, otherwise: T) -> T {
    env::var(variable).ok().and_then(|value| value.parse().ok()).unwrap_or(otherwise)
}

const COMMANDS: u64 = 4_000;
