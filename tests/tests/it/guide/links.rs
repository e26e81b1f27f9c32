//! The links between the pages of this repository.

use std::{
    fs,
    path::{Path, PathBuf},
};

use tests::{pages, workspace};

#[test]
fn every_relative_link_leads_to_a_file_and_to_a_heading() {
    let mut dead = Vec::new();
    let mut seen = 0;
    for page in all_pages() {
        let text = without_code(&fs::read_to_string(&page).unwrap());
        for link in links(&text) {
            seen += 1;
            if !leads_somewhere(&page, link) {
                dead.push(format!("{}: {link}", page.display()));
            }
        }
    }
    assert!(seen > 100, "only {seen} links are found");
    assert!(dead.is_empty(), "dead links:\n{}", dead.join("\n"));
}

#[test]
fn every_page_of_the_docs_is_in_the_summary() {
    let docs = workspace("docs");
    let summary = fs::read_to_string(docs.join("SUMMARY.md")).unwrap();
    for page in all_pages() {
        let Ok(path) = page.strip_prefix(&docs) else { continue };
        let link = format!("({})", path.display());
        assert!(path.ends_with("SUMMARY.md") || summary.contains(&link), "{link} is missing");
    }
}

fn all_pages() -> Vec<PathBuf> {
    let folders = [".", "docs", "docs/guide", "docs/design"];
    folders.into_iter().flat_map(pages).collect()
}

/// Returns the relative targets of the links in a text.
fn links(text: &str) -> impl Iterator<Item = &str> {
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
    targets.map(|(target, _)| target).filter(|target| !target.contains("://"))
}

fn leads_somewhere(page: &Path, link: &str) -> bool {
    let (path, heading) = link.split_once('#').unwrap_or((link, ""));
    let file = match path {
        "" => page.to_owned(),
        _ => page.parent().unwrap().join(path),
    };
    if heading.is_empty() || file.extension() != Some("md".as_ref()) {
        return file.exists();
    }
    fs::read_to_string(&file).is_ok_and(|text| anchors(&text).any(|anchor| anchor == heading))
}

/// Returns the names by which the headings of a page can be linked to, as GitHub and mdBook make
/// them, and those of its other anchors.
fn anchors(text: &str) -> impl Iterator<Item = String> {
    let text = without_code(text);
    let headings: Vec<_> = text
        .lines()
        .filter(|line| line.starts_with('#'))
        .map(|line| line.trim_start_matches('#').trim().to_lowercase())
        .map(|heading| {
            let kept = |c: &char| c.is_alphanumeric() || " -_".contains(*c);
            heading.chars().filter(kept).collect::<String>().replace(' ', "-")
        })
        .collect();
    let others = text.split("<a id=\"").skip(1).filter_map(|rest| rest.split_once('"'));
    headings.into_iter().chain(others.map(|(anchor, _)| anchor.to_owned()).collect::<Vec<_>>())
}

/// Removes the code blocks of a page, in which nothing is a link or a heading.
fn without_code(text: &str) -> String {
    let parts = text.split("\n```").enumerate();
    parts.filter(|(number, _)| number % 2 == 0).map(|(_, part)| part).collect::<Vec<_>>().join("\n")
}
