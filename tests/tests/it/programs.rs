//! The programs of the README, of `docs/programs.md`, of `docs/dashboard.md` and of the guide. They
//! compile, they serve, and each does what the page claims.
//!
//! ```text
//!  docs/programs.md ─ Listing ─ main.rs ─ compiled ─ Running ◄─ TCP ─ a test
//! ```

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
