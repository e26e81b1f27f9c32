//! The page on errors has an entry for each finding, and for each field that a `ConfigError` names.

use std::{collections::BTreeSet, fs, path::Path};

use tests::workspace;
use tower_waiting_room::room::RoomRules;

use super::troubleshooting::{assert_same, listed, names, variants};

#[test]
fn each_finding_has_a_section() {
    let codes = names("crates/tower-waiting-room/src/misconfiguration.rs");
    assert_eq!(codes.len(), variants("tower_waiting_room::config::Misconfiguration"));
    assert_same(&codes, &listed(PAGE, "### `", "`"));
}

/// The field of an error is a text. The test takes every text in a function that may fail with a
/// `ConfigError`, and leaves out those that are known to be no field.
#[test]
fn each_field_of_an_error_has_an_anchor() {
    let mut fields: BTreeSet<_> =
        RoomRules::SETTINGS.iter().map(|setting| setting.name().to_owned()).collect();
    for folder in SOURCES {
        add_folder(&workspace("crates").join(folder), &mut fields);
    }
    for other in NO_FIELDS {
        assert!(fields.remove(other), "{other} occurs no longer");
    }
    let page = fs::read_to_string(workspace(PAGE)).unwrap();
    let anchors = page.split("<a id=\"").skip(1).map(|rest| {
        let (anchor, rest) = rest.split_once("\"></a>`").unwrap();
        assert!(rest.starts_with(&format!("{anchor}`")), "the anchor of another field: {anchor}");
        anchor.to_owned()
    });
    assert_same(&fields.into_iter().collect::<Vec<_>>(), &anchors.collect::<Vec<_>>());
}

fn add_folder(folder: &Path, fields: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.file_stem() == Some("tests".as_ref()) {
            continue;
        } else if path.is_dir() {
            add_folder(&path, fields);
        } else {
            let source = fs::read_to_string(&path).unwrap();
            let (code, _) = source.split_once("\nmod tests {").unwrap_or((&source, ""));
            add_functions(code, fields);
        }
    }
}

/// Adds the texts of the functions that mention a `ConfigError`, and of the constants beside them.
/// rustfmt indents the closing brace of a function like its first line.
fn add_functions(code: &str, fields: &mut BTreeSet<String>) {
    let mut lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    while let Some(line) = lines.next() {
        let indent = line.len() - line.trim_start().len();
        if line.contains("const ") && line.contains("FIELD: &str = ") {
            fields.extend(texts(line));
        } else if line.contains("fn ") && !line.ends_with([';', '}']) {
            let end = format!("{:indent$}}}", "");
            let body: Vec<_> = lines.by_ref().take_while(|line| *line != end).collect();
            let function = format!("{line}\n{}", body.join("\n"));
            if function.contains("ConfigError") {
                fields.extend(texts(&function));
            }
        }
    }
}

/// Returns the texts that have the form of a field, such as `max_keys` or `push.path`.
fn texts(code: &str) -> impl Iterator<Item = String> {
    let is_field = |text: &&str| {
        text.starts_with(|first: char| first.is_ascii_lowercase())
            && text.chars().all(|char| {
                char.is_ascii_lowercase() || char.is_ascii_digit() || "_-.".contains(char)
            })
    };
    code.split('"').skip(1).step_by(2).filter(is_field).map(str::to_owned)
}

const PAGE: &str = "docs/errors.md";

/// The folders with code that refuses a configuration. The importer for Cloudflare names what it reads.
const SOURCES: [&str; 6] = [
    "tower-waiting-room/src",
    "waiting-room-core/src",
    "waiting-room-dashboard/src",
    "waiting-room-ledger/src/escrow",
    "waiting-room-ledger/src/site",
    "waiting-room-redis/src",
];

/// Texts that are no field.
const NO_FIELDS: [&str; 15] = [
    "absent",
    "concurrent-requests",
    "dark",
    "empty",
    "files",
    "forwarded",
    "light",
    "lottery",
    "missing",
    "noeviction",
    "on",
    "pause",
    "set",
    "title",
    "x-forwarded-for",
];
