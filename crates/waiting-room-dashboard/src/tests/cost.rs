//! The cost of a sample in a busy room, for the docs: at most 1 % of a core.

use std::{fs, time::Duration};

use http::StatusCode;
use tower_waiting_room::Concurrency;

use super::{House, config, live};

/// The CPU time of this thread, in nanoseconds. The kernel updates it every few milliseconds.
fn cpu_nanos() -> u64 {
    let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    text.split(' ').next().unwrap().parse().unwrap()
}

#[tokio::test]
async fn one_open_page_on_a_busy_room_takes_at_most_a_hundredth_of_a_core() {
    let gates = (0..8).map(|number| Concurrency::limit(8).name(format!("gate-{number}")));
    let config = config()
        .total_active_users(100_000)
        .new_users_per_minute(None)
        .session_duration(Duration::from_secs(3_600));
    let config = gates.fold(config, |config, gate| config.concurrency(gate));
    // Code may set up to 64 limits; a file may set more.
    let mut rules = "domain: shop\ndescriptors:\n".to_owned();
    for limit in 0..256 {
        rules += &format!(
            "- {{ key: path, value: /limit-{limit}, rate_limit: {{ unit: day, requests_per_unit: 1 }} }}\n"
        );
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("limits.yaml");
    fs::write(&path, rules).unwrap();
    let config = config.rate_limits_file(path);
    let house = House::new(config);
    let room = house.layer.handle().room().unwrap();
    room.queue_all().await.unwrap();
    let mut tickets = Vec::new();
    for _ in 0..WAITS + MEASURED * 270 {
        tickets.extend(house.visit(None).await.1);
    }
    house.clock.advance(Duration::from_secs(20));
    room.resume().await.unwrap();
    let mut spent = 0;
    let mut largest = 0;
    // In the first second, as many visitors are admitted as a layer remembers. In each of the other
    // seconds, which are measured, 270 visitors are admitted. The reasons are those of 256 limits.
    for (second, visitors) in [WAITS].into_iter().chain([270; MEASURED]).enumerate() {
        for ticket in tickets.drain(..visitors) {
            assert_eq!(house.visit(Some(&ticket)).await.0, StatusCode::OK);
        }
        for limit in 0..256 {
            house.visit_at(&format!("/limit-{limit}"), None).await;
        }
        let mut body = live::stream(&house).await;
        let before = cpu_nanos();
        house.seconds(1).await;
        let events = live::events(&mut body);
        if second > 0 {
            spent += cpu_nanos() - before;
            largest = largest.max(events[0].len());
        }
    }
    assert_eq!(house.layer.handle().waits().len(), WAITS);
    println!(
        "{} us of CPU time per second, events of {largest} bytes",
        spent / 1_000 / MEASURED as u64
    );
    assert!(spent < MEASURED as u64 * 10_000_000, "{spent} ns in {MEASURED} s");
    assert!(largest < 16 * 1_024, "{largest} bytes");
}

/// The number of seconds that are measured.
const MEASURED: usize = 15;

/// The number of waits that a layer remembers.
const WAITS: usize = 16_384;
