//! What a reader copies from a page.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// A program of a page, and the dependencies that stand above it.
pub(crate) struct Listing {
    /// The heading that it stands under, as in an address: `a-waiting-room`.
    pub(crate) name: String,
    /// The `[dependencies]`.
    pub(crate) dependencies: String,
    /// The whole of `main.rs`.
    pub(crate) program: String,
}

impl Listing {
    /// The first program of the README.
    pub(crate) fn of_the_readme() -> Self {
        Self::first_in("readme", &page("README.md"))
    }

    /// Each section of `docs/programs.md` is a program.
    pub(crate) fn all() -> Vec<Self> {
        let page = page("docs/programs.md");
        let sections = page.split("\n## ").skip(1).map(|section| {
            let (heading, text) = section.split_once('\n').unwrap();
            Self::first_in(&heading.to_lowercase().replace(' ', "-"), text)
        });
        sections.collect()
    }

    fn first_in(name: &str, text: &str) -> Self {
        let block = |language: &str| {
            let (_, rest) = text
                .split_once(&format!("```{language}\n"))
                .unwrap_or_else(|| panic!("{name} has no block in {language}"));
            rest.split_once("```\n").unwrap().0.to_owned()
        };
        Self { name: name.to_owned(), dependencies: block("toml"), program: block("rust") }
    }

    /// The same program under another name, with `from` replaced, which stands in it once.
    pub(crate) fn replaced(&self, name: &str, from: &str, to: &str) -> Self {
        assert_eq!(self.program.matches(from).count(), 1, "{from} in {}", self.program);
        let program = self.program.replace(from, to);
        Self { name: name.to_owned(), dependencies: self.dependencies.clone(), program }
    }
}

fn page(path: &str) -> String {
    fs::read_to_string(workspace().join(path)).unwrap()
}

/// Where this repository is.
pub(crate) fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}
