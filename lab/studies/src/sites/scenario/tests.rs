//! The errors for invalid files, and the settings that result from valid ones.

use std::{fs, path::Path};

use super::{error::ScenarioError, *};

mod errors;

const GOOD: &str = r#"policies = ["even", "ideal"]
seed = 7

[limits]
total_active_users = 200
new_users_per_minute = 100
session_s = 60

[sites]
nodes = [3, 6, 1]

[traffic]
points = [[0, 0.5], [10, 1.0]]
"#;

fn parse(source: &str) -> Result<Scenario, ScenarioError> {
    Scenario::parse("test".to_owned(), source, Path::new(""))
        .map_err(|error| error.named("test.toml"))
}

#[test]
fn omitted_fields_have_defaults() {
    let scenario = parse(GOOD).unwrap();
    assert_eq!((scenario.name(), scenario.seed()), ("test", Some(7)));
    assert_eq!(scenario.policies, [Policy::Even, Policy::Ideal]);
    assert_eq!(scenario.sites.weights, [3.0, 6.0, 1.0]);
    assert_eq!(scenario.network.site_rtt_ms, [2, 10]);
    assert!(!scenario.slots.is_paced && scenario.visitors.patience.is_none());
    assert_eq!(scenario.length_ms(), 600_000);
    // 200 users who stay for 180 s are 66.7 per minute, and at first half of them arrive.
    let [(_, first), (end, last)] = scenario.traffic.points[..] else { panic!("two points") };
    assert!((first - 33.33).abs() < 0.01 && (last - 66.67).abs() < 0.01 && end > 599.0);
}

#[test]
fn a_crowd_of_the_shop_takes_the_place_of_traffic() {
    let traffic = "[traffic]\npoints = [[0, 0.5], [10, 1.0]]\n";
    let replaced = |by: &str| parse(&GOOD.replace(traffic, by)).map_err(|error| error.to_string());
    let crowd = "[crowd]\nvisitors = 30\nover_s = 20\ndrain_s = 5\n";
    let scenario = replaced(crowd).unwrap();
    // A pass is extended if it is at least an eighth of a session old, and lasts for longer by that.
    assert_eq!((scenario.length_ms(), scenario.pass_ms()), (25_000, 67_500));
    assert_eq!(parse(GOOD).unwrap().pass_ms(), 60_000);

    let error = replaced(&format!("[visitors]\nbots = 0.1\n\n{crowd}")).unwrap_err();
    assert_eq!(error, "test.toml:13: visitors.bots: contradicts crowd, whose visitors have plans");
    let error = replaced(&format!("{traffic}{crowd}")).unwrap_err();
    assert_eq!(error, "test.toml:14: crowd: contradicts traffic");
    let error = replaced("").unwrap_err();
    assert_eq!(error, "test.toml: missing field `traffic`, or `crowd`");
    let error = replaced(&crowd.replace("= 30", "= 0")).unwrap_err();
    assert_eq!(error, "test.toml:13: crowd.visitors: is 0, expected 1 to 100000");
}

#[test]
fn the_lower_limit_determines_the_capacity_of_the_room() {
    let scenario = parse(&GOOD.replace("new_users_per_minute = 100", "new_users_per_minute = 40"));
    assert!((scenario.unwrap().traffic.points[1].1 - 40.0).abs() < 1e-9);
}

#[test]
fn a_day_from_a_file_is_replayed_minute_by_minute() {
    let directory = std::env::temp_dir().join(format!("sites-{}", std::process::id()));
    fs::create_dir_all(&directory).unwrap();
    fs::write(directory.join("day.csv"), "minute,requests\n09:00,30\n09:01,90\n").unwrap();
    let replay = |traffic: &str| {
        let file = GOOD.replace("points = [[0, 0.5], [10, 1.0]]", traffic);
        Scenario::parse("test".to_owned(), &file, &directory).map_err(|error| error.to_string())
    };
    let scenario = replay("replay = \"day.csv\"\nvisitors = 12").unwrap();
    let points = [(0.0, 3.0), (60.0, 3.0), (60.0, 9.0), (120.0, 9.0)];
    assert_eq!(scenario.traffic.points, points);
    let error = replay("replay = \"night.csv\"").unwrap_err();
    assert!(error.starts_with(":13: traffic.replay: ") && error.contains("night.csv"), "{error}");
    let error = replay("replay = \"day.csv\"\npoints = [[0, 1.0]]").unwrap_err();
    assert_eq!(error, ":13: traffic.replay: contradicts points");
    fs::remove_dir_all(directory).unwrap();
}

#[test]
fn every_scenario_of_this_crate_can_be_read() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios");
    let files: Vec<_> =
        fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(files.len() >= 6);
    for file in files {
        Scenario::open(&file).unwrap();
    }
}
