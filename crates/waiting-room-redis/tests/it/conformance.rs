//! The suite that every store must pass, on each server.

use std::cell::Cell;

use waiting_room_engines::{Engine, EngineServer, Persistence};
use waiting_room_redis::{RedisStore, RedisStoreOptions};
use waiting_room_sim::{Coverage, Memory, Plan, conformance, fresh_seeds};

const COMMANDS: u64 = 5_000;

#[tokio::test(flavor = "multi_thread")]
async fn redis_says_what_the_model_says() {
    agrees_with_the_model(Engine::Redis).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn valkey_says_what_the_model_says() {
    agrees_with_the_model(Engine::Valkey).await;
}

async fn agrees_with_the_model(engine: Engine) {
    let server = EngineServer::start(engine, Persistence::Never).unwrap();
    let client = redis::Client::open(server.url()).unwrap();
    let mut coverage = Coverage::default();
    for memory in [Memory::Lasts, Memory::Forgets] {
        for seed in fresh_seeds(2) {
            let lives = Cell::new(0);
            let plan = Plan::new(seed, COMMANDS).memory(memory);
            let run = conformance(plan, async |rules, clock| {
                if memory == Memory::Forgets {
                    lives.set(lives.get() + 1);
                }
                let options = RedisStoreOptions::new()
                    .prefix(format!("{seed}:{}", lives.get()))
                    .deadline(std::time::Duration::from_secs(5))
                    .clock(clock);
                let connection = client.get_multiplexed_async_connection().await.unwrap();
                RedisStore::connect_with(connection, rules, options).await.unwrap()
            });
            match run.await {
                Ok(seen) => coverage.add(&seen),
                Err(divergence) => panic!("{divergence}"),
            }
        }
    }
    println!("{coverage}");
}
