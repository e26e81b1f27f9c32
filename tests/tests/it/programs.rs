//! The programs of the README, of `docs/programs.md`, of `docs/dashboard.md` and of the guide, and the
//! examples. They compile, they serve, and each does what the page claims.
//!
//! ```text
//!  docs/programs.md ─ Listing ─┬─ main.rs ── rustc ─┬─ Running ◄─ TCP ─ a test
//!                              └─ example ── cargo ─┘
//! ```

use std::fs;

mod built;
mod dashboard;
mod front;
mod guide;
mod limits;
mod linked;
mod listing;
mod readme;
mod room;
mod running;
mod store;

pub(crate) use self::{
    built::{EACH_ALONE, patches, program, write},
    guide::GuidePrograms,
    linked::{compile, target},
    listing::{Listing, workspace},
};

#[test]
fn every_example_of_the_layer_is_short_and_is_a_program_of_the_docs() {
    let listed: Vec<_> = Listing::all().into_iter().map(|listing| listing.name).collect();
    for example in fs::read_dir(workspace().join("crates/tower-waiting-room/examples")).unwrap() {
        let path = example.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        assert!(listed.iter().any(|listed| listed == name), "docs/programs.md lacks {name}");
        assert!(fs::read_to_string(&path).unwrap().lines().count() <= 45, "{name} is long");
    }
}

#[test]
fn every_program_of_the_docs_is_run_by_a_test() {
    let sources = [
        include_str!("programs/front.rs"),
        include_str!("programs/limits.rs"),
        include_str!("programs/room.rs"),
        include_str!("programs/store.rs"),
    ];
    for Listing { name, .. } in Listing::all() {
        let started = format!("\"{name}\"");
        assert!(sources.iter().any(|source| source.contains(&started)), "{name} is not run");
    }
}
