//! The program prints a file that configures the same room.

#![allow(clippy::unwrap_used, reason = "these are tests")]

use std::{fs, process::Command};

use tower_waiting_room::WaitingRoomConfig;
use waiting_room_cloudflare::WaitingRoom;

/// Runs the program in a folder with these files. Returns whether it succeeded, and both outputs.
fn run(files: &[(&str, &str)], args: &[&str]) -> (bool, String, String) {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        fs::write(folder.path().join(name), text).unwrap();
    }
    let program = env!("CARGO_BIN_EXE_from-cloudflare");
    let output = Command::new(program).current_dir(folder.path()).args(args).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.success(), text(output.stdout), text(output.stderr))
}

const ROOM: &str = r#"{ "result": {
    "name": "shop", "host": "shop.example", "total_active_users": 300,
    "new_users_per_minute": 200, "custom_page_html": "<p>\n{{waitTime}}"
} }"#;

const RULES: &str = r#"{ "result": [{ "expression": "http.request.uri.path eq \"/healthz\"" }] }"#;

const EVENTS: &str = r#"{ "result": [{
    "name": "doors",
    "event_start_time": "2026-11-21T10:00:00Z", "event_end_time": "2026-11-21T12:00:00Z"
}] }"#;

#[test]
fn the_output_is_the_configuration_and_the_rest_is_named() {
    let files = [("room.json", ROOM), ("rules.json", RULES), ("events.json", EVENTS)];
    let args = ["room.json", "--rules", "rules.json", "--events", "events.json"];
    let (succeeded, file, rest) = run(&files, &args);
    assert!(succeeded, "{rest}");
    let config: WaitingRoomConfig = toml::from_str(&file).unwrap();
    let room = WaitingRoom::from_json(ROOM).unwrap();
    assert_eq!(config.room(), room.config().unwrap().room());
    assert!(file.contains("path = \"/healthz\""), "{file}");
    let lines: Vec<_> = rest.lines().collect();
    assert_eq!(lines[0], "event: doors, add it to the file as one of [[events]]");
    assert!(lines[1].starts_with("unsupported: cookie_attributes.samesite: "), "{rest}");
    assert!(lines[2].starts_with("unsupported: host: \"shop.example\""), "{rest}");
    assert_eq!(lines.len(), 3);
}

#[test]
fn the_usage_is_printed_on_request() {
    let (succeeded, usage, rest) = run(&[], &["--help"]);
    assert!(succeeded && usage.starts_with("usage: from-cloudflare") && rest.is_empty());
}

#[test]
fn errors_are_named() {
    let negative = ROOM.replace("300", "-300");
    for (files, args, message) in [
        (&[][..], &[][..], "from-cloudflare: usage: "),
        (&[][..], &["room.json"][..], "from-cloudflare: room.json: "),
        (
            &[("room.json", ROOM)][..],
            &["room.json", "--rulez", "x"][..],
            "from-cloudflare: usage: ",
        ),
        (
            &[("room.json", &*negative)][..],
            &["room.json"][..],
            "from-cloudflare: total_active_users is -300, expected a number from 1 to",
        ),
    ] {
        let (succeeded, file, rest) = run(files, args);
        assert!(!succeeded && file.is_empty() && rest.starts_with(message), "{rest}");
    }
}
