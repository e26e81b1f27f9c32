//! The pages of the guide: their programs and commands do what the pages show, their excerpts
//! compile and run, its fragments configure nginx and a client of gRPC, its calculations are right,
//! no block is left out, and the list of causes and reasons is complete.
//!
//! ```text
//!  docs/guide/*.md ─ Block ─┬─ program ─── cargo build ─┐
//!                           ├─ excerpts ── cargo build ─┼─ replay ─ bash, curl, …
//!                           ├─ transcripts ─────────────┘
//!                           └─ fragments ─ nginx, node
//! ```
//!
//! `scripts/newcomer.sh` replays the quick start, because it starts from `cargo new`.

use std::{fs, process::Command, thread};

use tests::{Block, Reader, Session, pages, replay, workspace};

use crate::programs::{GuidePrograms, program};

mod blocks;
mod errors;
mod fragments;
mod links;
mod troubleshooting;

#[test]
fn every_command_of_the_guide_prints_the_shown_output() {
    thread::scope(|threads| {
        let replays: Vec<_> = pages("docs/guide")
            .into_iter()
            .map(|file| file.file_stem().unwrap().to_str().unwrap().to_owned())
            .filter(|name| name != QUICK_START)
            .map(|name| threads.spawn(move || replayed(&name)))
            .collect();
        let compared: usize = replays.into_iter().map(|replay| replay.join().unwrap()).sum();
        assert!(compared > 0, "no page of the guide has a transcript");
    });
}

fn replayed(name: &str) -> usize {
    let page = fs::read_to_string(workspace("docs/guide").join(format!("{name}.md"))).unwrap();
    if !Block::all(&page).iter().any(|block| block.language == "console") {
        return 0;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut session = Session::open(folder.path());
    let mut reader = Compiled { page: name.to_owned(), programs: 0 };
    replay(name, &page, &mut session, &mut reader)
}

/// A reader whose programs are compiled already.
struct Compiled {
    page: String,
    programs: usize,
}

impl Reader for Compiled {
    fn dependencies(&mut self, _: &mut Session, _: &Block) {}

    fn program(&mut self, _: &mut Session, _: &Block) -> String {
        self.programs += 1;
        let name = GuidePrograms::name(&self.page, self.programs);
        format!("'{}'", program(&name).display())
    }
}

#[test]
fn every_excerpt_of_the_guide_runs() {
    let output = Command::new(program(GuidePrograms::EXCERPTS)).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(String::from_utf8_lossy(&output.stdout).lines().count() > 0, "there is no excerpt");
}

const QUICK_START: &str = "quick-start";
