//! The code blocks of a page of the documentation.

use std::{fs, path::PathBuf};

use crate::workspace;

/// A fenced code block.
#[derive(Clone, Debug)]
pub struct Block {
    /// The first word after the fence, such as `rust`; empty if there is none.
    pub language: String,
    /// The lines between the fences.
    pub text: String,
    /// The line number of the opening fence, counted from 1.
    pub line: usize,
}

impl Block {
    /// Returns all code blocks of a page, in order.
    ///
    /// # Panics
    ///
    /// If a block is not closed.
    #[must_use]
    pub fn all(page: &str) -> Vec<Self> {
        let mut blocks = Vec::new();
        let mut lines = page.lines().enumerate();
        while let Some((number, line)) = lines.next() {
            let Some(language) = line.strip_prefix("```") else { continue };
            let inside: Vec<_> =
                lines.by_ref().map(|(_, line)| line).take_while(|line| *line != "```").collect();
            blocks.push(Self {
                language: language.to_owned(),
                text: inside.iter().map(|line| format!("{line}\n")).collect(),
                line: number + 1,
            });
        }
        let fences = page.lines().filter(|line| line.starts_with("```")).count();
        assert_eq!(fences, 2 * blocks.len(), "a code block is not closed");
        blocks
    }

    /// Returns whether this is a complete program.
    #[must_use]
    pub fn is_program(&self) -> bool {
        self.language == "rust" && self.text.contains("fn main()")
    }

    /// Returns whether this is Rust code, but not a complete program.
    #[must_use]
    pub fn is_excerpt(&self) -> bool {
        self.language == "rust" && !self.is_program()
    }
}

/// Returns the Markdown files in a folder of the repository, sorted, without subfolders.
#[must_use]
pub fn pages(folder: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(workspace(folder)).unwrap();
    let files = entries.map(|entry| entry.unwrap().path());
    let mut pages: Vec<_> = files.filter(|file| file.extension() == Some("md".as_ref())).collect();
    pages.sort();
    pages
}
