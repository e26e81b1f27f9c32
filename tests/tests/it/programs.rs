//! The programs of the README and of `docs/programs.md`: copied into empty packages they compile,
//! they serve, and each does what is said of it there.
//!
//! ```text
//!  docs/programs.md ─ Listing ─ Cargo.toml, main.rs ─ cargo build ─ Running ◄─ TCP ─ a test
//! ```

mod built;
mod front;
mod limits;
mod listing;
mod readme;
mod room;
mod running;
mod store;

use self::listing::Listing;

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
