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

/// The field of an error is a text. The test takes each text in a function that mentions a
/// `ConfigError`, apart from those that are known to be no field.
#[test]
fn each_field_of_an_error_has_an_anchor() {
    let settings = RoomRules::SETTINGS.iter().map(|setting| setting.name().to_owned());
    let mut fields: BTreeSet<_> = settings.collect();
    for folder in SOURCES {
        add_fields(&workspace("crates").join(folder), &mut fields);
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
    assert_same(&Vec::from_iter(fields), &Vec::from_iter(anchors));
}

fn add_fields(path: &Path, fields: &mut BTreeSet<String>) {
    if path.file_stem() == Some("tests".as_ref()) {
        return;
    }
    if path.is_dir() {
        fs::read_dir(path).unwrap().for_each(|entry| add_fields(&entry.unwrap().path(), fields));
        return;
    }
    let source = fs::read_to_string(path).unwrap();
    let code = source.split("\nmod tests {").next().unwrap();
    let mut lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    while let Some(line) = lines.next() {
        if line.contains("const ") && line.contains("FIELD: &str = ") {
            fields.extend(texts(line));
        } else if line.contains("fn ") && !line.ends_with([';', '}']) {
            // rustfmt indents the closing brace of a function like its first line.
            let end = format!("{:1$}}}", "", line.len() - line.trim_start().len());
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
    let is_part = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-' | b'.');
    let texts = code.split('"').skip(1).step_by(2);
    let texts = texts.filter(|text| text.starts_with(|first: char| first.is_ascii_lowercase()));
    texts.filter(move |text| text.bytes().all(is_part)).map(str::to_owned)
}

const PAGE: &str = "docs/errors.md";

/// The code that refuses a configuration. The importer for Cloudflare names the fields of its input.
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
