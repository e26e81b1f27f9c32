//! The code blocks that a reader copies from a page.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// A program on a page, and the dependencies listed with it.
#[derive(Clone)]
pub(crate) struct Listing {
    /// The heading of the section, as in its URL: `a-waiting-room`.
    pub(crate) name: String,
    /// The sections of the manifest from `[dependencies]` on.
    pub(crate) dependencies: String,
    /// The complete `main.rs` or, on the page about tests, `tests/it.rs`.
    pub(crate) program: String,
}

impl Listing {
    /// The first program of the README.
    pub(crate) fn of_the_readme() -> Self {
        Self::first_in("readme", &page("README.md"))
    }

    /// All programs of `docs/programs.md`, one per section.
    pub(crate) fn all() -> Vec<Self> {
        Self::in_page("docs/programs.md")
    }

    /// All programs of a page, one per section.
    pub(crate) fn in_page(path: &str) -> Vec<Self> {
        let page = page(path);
        let sections = page.split("\n## ").skip(1).map(|section| {
            let (heading, text) = section.split_once('\n').unwrap();
            Self::first_in(&heading.to_lowercase().replace(' ', "-"), text)
        });
        sections.collect()
    }

    /// The first program of a page or a section.
    pub(crate) fn first_in(name: &str, text: &str) -> Self {
        let block = |language: &str| {
            let (_, rest) = text
                .split_once(&format!("```{language}\n"))
                .unwrap_or_else(|| panic!("{name} has no block in {language}"));
            rest.split_once("```\n").unwrap().0.to_owned()
        };
        Self { name: name.to_owned(), dependencies: block("toml"), program: block("rust") }
    }

    /// The same program under another name. `from` must occur exactly once, and is replaced by
    /// `to`.
    pub(crate) fn replaced(&self, name: &str, from: &str, to: &str) -> Self {
        assert_eq!(self.program.matches(from).count(), 1, "{from} in {}", self.program);
        let program = self.program.replace(from, to);
        Self { name: name.to_owned(), dependencies: self.dependencies.clone(), program }
    }
}

/// The text of a file of this repository.
pub(crate) fn page(path: &str) -> String {
    fs::read_to_string(workspace().join(path)).unwrap()
}

/// The root of this repository.
pub(crate) fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}
