//! Tests with Node's fetch.

use serde_json::{Value, json};
use tests::{House, Program, config, workspace};
use tower_waiting_room::respond::JsonProfile;

fn node(script: &str) -> Program {
    Program::named("node").arg(workspace("tests/tests/it/clients").join(script))
}

#[tokio::test]
async fn fetch_gets_json_without_asking_for_it() {
    for profile in [JsonProfile::Compact, JsonProfile::Cloudflare] {
        let (house, _guest) = House::full(config().json_profile(profile)).await;
        let seen = node("look.mjs").arg(house.url("/")).run().await;
        let seen: Value = serde_json::from_str(&seen).unwrap();
        assert_eq!((&seen["status"], &seen["type"]), (&json!(429), &json!("application/json")));
        assert_eq!(seen["waitingRoom"]["status"], "waiting");
        assert_eq!(seen["waitingRoom"]["reason"], "queued:active_limit");
        let fields = seen.get("cfWaitingRoom").map(|object| object.as_object().unwrap().len());
        let is_cloudflare = profile == JsonProfile::Cloudflare;
        assert_eq!(fields, is_cloudflare.then_some(25), "{profile:?}");
    }
}

#[tokio::test]
async fn a_client_without_cookies_waits_and_enters_by_header() {
    let (house, guest) = House::full(config()).await;
    let visit = tokio::spawn(node("visit.mjs").arg(house.url("/item?id=7")).run());
    house.has_waiting(1).await;
    guest.leave().await;
    let visit: Value = serde_json::from_str(&visit.await.unwrap()).unwrap();
    let statuses = visit["statuses"].as_array().unwrap();
    let (last, before) = statuses.split_last().unwrap();
    assert!(last == 200 && before.iter().all(|status| status == 429), "{statuses:?}");
    let positions = visit["positions"].as_array().unwrap();
    assert_eq!((positions.first(), positions.last()), (Some(&json!(null)), Some(&json!(1))));
    assert!(visit["page"].as_str().unwrap().contains("GET /item?id=7"), "{visit}");
    assert_eq!((&visit["again"], &visit["cookies"]), (&json!(200), &json!([])));
}
