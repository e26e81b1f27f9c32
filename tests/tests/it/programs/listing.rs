//! The code blocks that a reader copies from a page.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// A program on a page, and the dependencies listed with it.
#[derive(Clone)]
pub(crate) struct Listing {
    /// The name of the example, or the heading of the section as in its URL: `a-sale`.
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

    /// All programs of `docs/programs.md`: those that it quotes, and the examples to which it links.
    pub(crate) fn all() -> Vec<Self> {
        let page = page("docs/programs.md");
        let sections = page.split("\n## ").skip(1);
        let all = sections.flat_map(|section| {
            let (heading, _) = section.split_once('\n').unwrap();
            if section.contains("```rust\n") {
                return vec![Self::first_in(&heading.to_lowercase(), section)];
            }
            let links = section.split("](../crates/").skip(1);
            let examples = links.filter_map(|link| link.split_once(".rs)")).map(|(path, _)| Self {
                name: path.rsplit_once("/examples/").unwrap().1.to_owned(),
                dependencies: block("toml", heading, section),
                program: self::page(&format!("crates/{path}.rs")),
            });
            examples.collect()
        });
        all.collect()
    }

    /// Returns whether cargo compiles the program as an example of a crate.
    pub(crate) fn is_example(&self) -> bool {
        self.program.starts_with("//! ")
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
        let [dependencies, program] = ["toml", "rust"].map(|language| block(language, name, text));
        Self { name: name.to_owned(), dependencies, program }
    }

    /// The same program under another name. `from` must occur exactly once, and is replaced by
    /// `to`.
    pub(crate) fn replaced(&self, name: &str, from: &str, to: &str) -> Self {
        assert_eq!(self.program.matches(from).count(), 1, "{from} in {}", self.program);
        let program = self.program.replace(from, to);
        Self { name: name.to_owned(), dependencies: self.dependencies.clone(), program }
    }
}

/// The first code block in this language.
fn block(language: &str, name: &str, text: &str) -> String {
    let (_, rest) = text
        .split_once(&format!("```{language}\n"))
        .unwrap_or_else(|| panic!("{name} has no block in {language}"));
    rest.split_once("```\n").unwrap().0.to_owned()
}

/// The text of a file of this repository.
pub(crate) fn page(path: &str) -> String {
    fs::read_to_string(workspace().join(path)).unwrap()
}

/// The root of this repository.
pub(crate) fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}
