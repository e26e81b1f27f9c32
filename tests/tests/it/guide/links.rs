//! The links between the pages of this repository.

use std::{
    collections::BTreeMap,
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
fn every_page_of_the_docs_is_once_in_the_reading_order() {
    let docs = workspace("docs");
    let summary = fs::read_to_string(docs.join("SUMMARY.md")).unwrap();
    for page in all_pages() {
        let Ok(path) = page.strip_prefix(&docs) else { continue };
        let link = format!("({})", path.display());
        let times = summary.matches(&link).count();
        assert!(path.ends_with("SUMMARY.md") || times == 1, "{link} is there {times} times");
    }
}

/// In the guide, the target of a link is at the end of the page, so that the documentation of the crate
/// can have another one: `links.md` stands before each page there, and a page's own definition has no
/// effect. The name of a link is its target, such as `proxy#caches` for `proxy.md#caches`.
#[test]
fn each_link_of_the_guide_leads_to_a_module_in_the_documentation_of_the_crate() {
    let source = workspace("crates/tower-waiting-room/src");
    let modules = fs::read_to_string(source.join("guide.rs")).unwrap();
    let mut links = BTreeMap::new();
    for page in pages("docs/guide") {
        let name = page.file_name().unwrap().to_str().unwrap();
        let text = without_code(&fs::read_to_string(&page).unwrap());
        let defined: BTreeMap<_, _> = definitions(&text).collect();
        let used = text.split("][").skip(1).filter_map(|rest| Some(rest.split_once(']')?.0));
        for label in used {
            assert!(defined.contains_key(label), "{name}: [{label}] is not defined");
        }
        for (label, target) in defined {
            let (path, heading) = label.split_once('#').unwrap_or((label, ""));
            let heading = if heading.is_empty() { String::new() } else { format!("#{heading}") };
            let outside =
                path.strip_prefix("docs/").or(path.starts_with("design/").then_some(path));
            let file = outside.map_or(format!("{path}.md"), |path| format!("../{path}.md"));
            assert_eq!(target, file + &heading, "{name}: [{label}]");
            let module = match outside {
                Some(_) => "crate::guide#other-pages".to_owned(),
                None => format!("crate::guide::{}{heading}", path.replace('-', "_")),
            };
            links.insert(label.to_owned(), module);
        }
        let inline = links_in_place(&text).find(|link| !link.starts_with('#'));
        assert_eq!(inline, None, "{name}: this link has to be at the end of the page");
        assert!(
            name == "README.md" || modules.contains(&format!("\"{name}\"")),
            "{name}: no module"
        );
    }
    let listed = fs::read_to_string(source.join("guide/links.md")).unwrap();
    let wanted: String = links.iter().map(|(label, to)| format!("[{label}]: {to}\n")).collect();
    assert_eq!(listed, wanted, "crates/tower-waiting-room/src/guide/links.md");
}

fn all_pages() -> Vec<PathBuf> {
    let folders = [".", "docs", "docs/guide", "docs/design"];
    folders.into_iter().flat_map(pages).collect()
}

/// Returns the relative targets of the links in a text.
fn links(text: &str) -> impl Iterator<Item = &str> {
    let defined = definitions(text).map(|(_, target)| target);
    links_in_place(text).chain(defined.filter(|target| !target.contains("://")))
}

fn links_in_place(text: &str) -> impl Iterator<Item = &str> {
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
    targets.map(|(target, _)| target).filter(|target| !target.contains("://"))
}

/// Returns the links that a text names and defines in lines of their own: `[name]: target`.
fn definitions(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.lines().filter_map(|line| line.strip_prefix('[')?.split_once("]: "))
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
