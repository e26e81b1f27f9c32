//! An algorithm: limits on a server decide as those in memory do, and files name it.

#[path = "../it/limits/conformance.rs"]
mod conformance;
#[path = "../it/limits/support.rs"]
pub(crate) mod support;

use tower_waiting_room::WaitingRoomConfig;
use waiting_room_core::rate::Algorithm;

#[test]
fn each_algorithm_is_drawn_once_and_has_a_name_in_files() {
    let mut names: Vec<_> = support::all().iter().map(Algorithm::as_str).collect();
    names.dedup();
    assert_eq!(names, Algorithm::ALL.map(|algorithm| algorithm.as_str()));
    assert!(names.contains(&"noon_window"));
    for name in names {
        let file = format!(
            r#"{{ "name": "api", "rate_limits": [{{ "key": "everyone", "rate_limit": {{ "name": "per_ip",
                  "unit": "minute", "requests_per_unit": 60, "algorithm": "{name}" }} }}] }}"#
        );
        let _: WaitingRoomConfig = serde_json::from_str(&file).unwrap();
    }
}
