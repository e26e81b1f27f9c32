//! Tests with Python's requests.

use serde_json::{Value, json};
use tests::{House, Program, config, workspace};

#[tokio::test]
async fn a_session_of_requests_waits_and_enters() {
    let (house, guest) = House::full(config()).await;
    let visit = Program::at(&workspace(".venv/bin/python"))
        .arg(workspace("tests/tests/it/clients/visit.py"))
        .arg(house.url("/item?id=7"));
    let visit = tokio::spawn(visit.run());
    house.has_waiting(1).await;
    guest.leave().await;
    let visit: Value = serde_json::from_str(&visit.await.unwrap()).unwrap();
    let statuses = visit["statuses"].as_array().unwrap();
    let (last, before) = statuses.split_last().unwrap();
    assert!(last == 200 && before.iter().all(|status| status == 429), "{statuses:?}");
    let positions = visit["positions"].as_array().unwrap();
    assert_eq!((positions.first(), positions.last()), (Some(&json!(null)), Some(&json!(1))));
    assert!(visit["page"].as_str().unwrap().contains("GET /item?id=7"), "{visit}");
    assert_eq!(visit["again"], 200);
    assert_eq!(visit["cookies"], json!(["wr-shop"]));
}
