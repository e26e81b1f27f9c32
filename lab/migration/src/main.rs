//! Runs a program of `docs/guide/migration.md`, before or after a migration: `migration before-0`.

#![expect(clippy::disallowed_methods, reason = "tower_governor needs a thread that sleeps")]

use std::{env, error::Error};

type Program = fn() -> Result<(), Box<dyn Error>>;

include!(concat!(env!("OUT_DIR"), "/programs.rs"));

fn main() -> Result<(), Box<dyn Error>> {
    let wanted = env::args().nth(1);
    let program = PROGRAMS.iter().find(|(name, _)| Some(*name) == wanted.as_deref());
    let (_, run) = program.ok_or("the name of a program, such as before-0, is missing")?;
    run()
}
