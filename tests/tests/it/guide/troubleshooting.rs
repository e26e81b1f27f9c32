//! The page on reasons lists exactly those that exist.

use std::fs;

use tests::workspace;

#[test]
fn each_reason_has_a_row_in_troubleshooting() {
    let reasons = names("crates/waiting-room-core/src/room/reason.rs");
    assert_eq!(reasons.len(), variants("waiting_room_core::room::Reason"));
    let rows: Vec<_> =
        listed(PAGE, "| `", "` |").iter().map(|row| row.replace(['<', '>'], "|")).collect();
    let reasons: Vec<_> = reasons.iter().map(|name| name.replace(['{', '}'], "|")).collect();
    assert_same(&reasons, &rows);
}

/// Checks that the page lists each name once, and no other name.
pub(super) fn assert_same(names: &[String], listed: &[String]) {
    let missing: Vec<_> = names.iter().filter(|name| !listed.contains(name)).collect();
    let unknown: Vec<_> = listed.iter().filter(|name| !names.contains(name)).collect();
    assert!(missing.is_empty() && unknown.is_empty(), "missing: {missing:?}, unknown: {unknown:?}");
    assert_eq!(names.len(), listed.len(), "a name is listed twice");
}

/// Returns the texts to which a file maps the variants of an enum: `Self::Variant => "text"`, or
/// `Self::Variant(value) => write!(f, "text:{value}")`.
pub(super) fn names(file: &str) -> Vec<String> {
    let source = fs::read_to_string(workspace(file)).unwrap();
    let named = source.lines().map(str::trim).filter_map(|line| {
        let arm = || line.strip_prefix("Self::")?.split_once(" => \"");
        let (_, name) = line.split_once("write!(f, \"").or_else(arm)?;
        Some(name.split('"').next()?.to_owned())
    });
    named.collect()
}

/// Returns the number of variants of a public enum.
pub(super) fn variants(path: &str) -> usize {
    let api = fs::read_to_string(workspace("docs/api.txt")).unwrap();
    let (_, rest) = api.split_once(&format!("\n{path} (enum)")).unwrap();
    rest.lines()
        .skip(1)
        .take_while(|line| line.starts_with("    "))
        .filter(|line| line.contains("variant "))
        .count()
}

/// Returns what follows `before`, up to `after`, in the lines of a page that start with `before`.
pub(super) fn listed(page: &str, before: &str, after: &str) -> Vec<String> {
    let page = fs::read_to_string(workspace(page)).unwrap();
    let lines = page.lines().filter_map(|line| line.strip_prefix(before));
    lines.filter_map(|line| Some(line.split_once(after)?.0.to_owned())).collect()
}

const PAGE: &str = "docs/guide/troubleshooting.md";
