//! A rule of the room: the stores obey it, and a program or a file sets it.

use std::{cell::Cell, time::Duration};

use redis::Client;
use tower_waiting_room::WaitingRoomConfig;
use waiting_room_core::{MemoryStore, RoomRules, Store, time::ManualClock};
use waiting_room_engines::{Engine, EngineServer, Persistence};
use waiting_room_redis::{RedisStore, RedisStoreOptions};
use waiting_room_test::conformance::{SuitePlan, run};

/// The number of commands that each store runs, with each seed.
const COMMANDS: u64 = 2_000;
const SEEDS: u64 = 4;

#[tokio::test]
async fn the_memory_obeys_the_rule_as_the_model_does() {
    let mut refused = 0;
    for seed in 0..SEEDS {
        let build = async |rules, clock| MemoryStore::with_clock(rules, clock).unwrap();
        refused += agrees(SuitePlan::new(seed, COMMANDS), build).await;
    }
    assert!(refused > 0, "the line was never full");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_store_obeys_the_rule_as_the_model_does() {
    let server = EngineServer::start(Engine::Valkey, Persistence::Never).unwrap();
    let client = Client::open(server.url()).unwrap();
    let lives = Cell::new(0);
    let mut refused = 0;
    for seed in 0..SEEDS {
        let plan = SuitePlan::new(seed, COMMANDS);
        refused += agrees(plan, async |rules, clock| {
            lives.set(lives.get() + 1);
            let options = RedisStoreOptions::new().deadline(Duration::from_secs(10));
            let options = options.prefix(lives.get().to_string()).clock(clock);
            let connection = client.get_multiplexed_async_connection().await.unwrap();
            RedisStore::with_connection(connection, rules, options).await.unwrap()
        })
        .await;
    }
    assert!(refused > 0, "the line was never full");
}

/// Runs the suite against a store that loses its data at each restart, and returns how often a visitor
/// was refused because the line was full.
async fn agrees<S: Store>(
    plan: SuitePlan,
    build: impl AsyncFnMut(RoomRules, ManualClock) -> S,
) -> u64 {
    let ran = run(plan, build).await;
    ran.unwrap_or_else(|divergence| panic!("{divergence}")).count("refused:line_full")
}

#[test]
fn the_builder_a_file_and_an_event_set_the_rule() {
    let built =
        WaitingRoomConfig::builder("shop").total_active_users(1).line_reserve(3).build().unwrap();
    let file = r#"{
        "name": "shop", "total_active_users": 1, "line_reserve": 3,
        "events": [{ "name": "doors", "start": "2027-03-01T10:00:00Z",
                     "end": "2027-03-01T11:00:00Z", "line_reserve": 5 }]
    }"#;
    let read: WaitingRoomConfig = serde_json::from_str(file).unwrap();
    for config in [built, read] {
        assert_eq!(config.room().unwrap().line_reserve, 3);
    }
}

#[test]
fn the_page_of_settings_has_the_rule() {
    let setting = RoomRules::setting("line_reserve").unwrap();
    let row = format!("|`line_reserve`|0 to 10000000|0|yes|{}|\n", setting.doc());
    assert!(include_str!("../../../../docs/configuration-file.md").contains(&row), "{row}");
}
