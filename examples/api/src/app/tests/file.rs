//! Tests of the rules file: in both formats, and while it changes.

use std::{fs, path::Path};

use tower_waiting_room::rate::RulesFileError;

use super::*;
use crate::limits::limits;

/// The path of a file that comes with the example.
fn path_of(name: &str) -> String {
    format!("{}/{name}", env!("CARGO_MANIFEST_DIR"))
}

#[tokio::test]
async fn the_files_in_yaml_and_in_toml_mean_the_same() {
    let [yaml, toml] = ["limits.yaml", "limits.toml"].map(|name| {
        let cli = Cli::try_parse_from(["api", "--limits", &path_of(name)]).unwrap();
        (Api::new(&["--limits", &path_of(name)]), format!("{:#?}", cli.config().unwrap()))
    });
    let but_the_path = |config: String| config.replace("limits.toml", "limits.yaml");
    assert_eq!(but_the_path(yaml.1), but_the_path(toml.1));
    for key in ["", "free-demo", "gold-demo"] {
        for (method, path) in [(Method::GET, "/quotes/1"), (Method::POST, "/essays?words=1")] {
            let request = || with_key(Request::builder().method(&method).uri(path), key);
            let seen = yaml.0.send(request()).await;
            let other = toml.0.send(request()).await;
            assert_eq!(seen.status, StatusCode::OK);
            assert_eq!(seen.header("ratelimit"), other.header("ratelimit"), "{path} by {key:?}");
        }
    }
}

#[tokio::test]
async fn a_plan_has_its_limit_by_the_day_and_gold_has_none() {
    let api = Api::new(&[]);
    for (key, daily) in [("", "daily_anonymous"), ("free-demo", "daily_free")] {
        let seen = api.send(with_key(Request::get("/quotes/1"), key)).await;
        assert!(seen.header("ratelimit-policy").unwrap().contains(daily), "{daily}");
    }
    let seen = api.send(with_key(Request::get("/quotes/1"), "gold-demo")).await;
    assert!(!seen.header("ratelimit-policy").unwrap().contains("daily"));
}

#[tokio::test]
async fn a_limit_on_trial_refuses_no_request_and_is_not_reported() {
    let api = Api::new(&[]);
    for _ in 0..5 {
        let request = Request::post("/essays?words=1");
        let seen = api.send(with_key(request, "gold-demo")).await;
        assert_eq!(seen.status, StatusCode::OK);
        assert!(!seen.header("ratelimit-policy").unwrap().contains("trial"));
    }
}

#[tokio::test]
async fn a_file_may_change_and_a_bad_one_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("limits.yaml");
    let text = fs::read_to_string(path_of("limits.yaml")).unwrap();
    put(&path, &text);
    let api = Api::new(&["--limits", path.to_str().unwrap()]);
    assert_eq!(remaining_today(&api).await, 999);

    put(&path, &text.replace("unit: day", "unit: fortnight"));
    let error = until(&api, |error| error.is_some()).await.unwrap();
    assert!(error.to_string().ends_with(
        "limits.yaml:10:52: descriptors[0].descriptors[0].rate_limit.unit is \"fortnight\", \
         expected second, minute, hour, day or week"
    ));
    assert_eq!(remaining_today(&api).await, 998);

    put(&path, &text.replace("requests_per_unit: 1000", "requests_per_unit: 2000"));
    until(&api, |error| error.is_none()).await;
    // Two of 1000 units were used, which become four of 2000.
    assert_eq!(remaining_today(&api).await, 1_995);
}

#[test]
fn the_examples_of_the_manual_are_valid() {
    let folder = tempfile::tempdir().unwrap();
    let mut seen = Vec::new();
    for block in MANUAL.split("\n```").skip(1).step_by(2) {
        let (form, text) = block.split_once('\n').unwrap();
        if matches!(form, "toml" | "yaml") {
            let path = folder.path().join(format!("limits.{form}"));
            put(&path, text);
            limits(&path).build().unwrap_or_else(|error| panic!("{error}\n{text}"));
            seen.push(form);
        }
    }
    assert_eq!(seen, ["yaml", "yaml", "yaml", "toml"]);
}

#[test]
fn the_messages_of_the_manual_are_the_real_ones() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("limits.yaml");
    for descriptor in [
        "{ key: path, rate_limit: { unit: fortnight, requests_per_unit: 5 } }",
        "{ key: path, rate_limit: { unit: day, requests_per_unit: 5, limit: 5 } }",
        "{ key: plans, rate_limit: { unit: day, requests_per_unit: 5 } }",
        "{ key: path, value: /login }",
    ] {
        put(&path, &format!("domain: d\ndescriptors:\n  - {descriptor}\n"));
        let error = limits(&path).build().unwrap_err();
        let error = format!("{}, expected {}", error.given(), error.expected());
        let message = error.strip_prefix(&format!("{}/", folder.path().display())).unwrap();
        assert!(MANUAL.contains(&format!("\n{message}\n")), "{message}");
    }
}

/// Replaces the file by a rename, as editors do.
fn put(path: &Path, text: &str) {
    let new = path.with_extension("new");
    fs::write(&new, text).unwrap();
    fs::rename(new, path).unwrap();
}

/// The number of requests left for the day to an anonymous client, after the one that this sends.
async fn remaining_today(api: &Api) -> u32 {
    let seen = api.get("/quotes/1").await;
    let lines = seen.header("ratelimit").unwrap();
    let (_, rest) = lines.split_once(r#""daily_anonymous";r="#).unwrap();
    rest.split(';').next().unwrap().parse().unwrap()
}

/// Waits until the error that the layer reports for its file satisfies `holds`.
async fn until(
    api: &Api,
    holds: impl Fn(Option<&RulesFileError>) -> bool,
) -> Option<RulesFileError> {
    let soon = async {
        loop {
            let error = api.handle.limits().file_error();
            if holds(error.as_ref()) {
                return error;
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), soon).await.expect("the file was noticed")
}

const MANUAL: &str = include_str!("../../../../../docs/rules-file.md");
