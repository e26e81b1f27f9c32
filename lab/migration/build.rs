//! Applies the diffs of `docs/guide/migration.md` in both directions. Two diffs are one migration:
//! that of the dependencies, which the manifest of this package states, and that of the program.

use std::{env, error::Error, fmt::Write, fs, path::Path};

fn main() -> Result<(), Box<dyn Error>> {
    let page = "../../docs/guide/migration.md";
    println!("cargo::rerun-if-changed={page}");
    let page = fs::read_to_string(page)?;
    let blocks = page.split("\n```diff\n").skip(1);
    let diffs: Vec<_> = blocks.filter_map(|rest| Some(rest.split_once("\n```")?.0)).collect();
    let mut modules = String::new();
    let mut table = String::new();
    for (number, diffs) in diffs.chunks_exact(2).enumerate() {
        for (side, left_out) in [("before", '+'), ("after", '-')] {
            let program = side_of(diffs[1], left_out).replace(":3000", ":0");
            let program = program.replace("async fn main", "pub(crate) async fn main");
            write!(modules, "mod {side}_{number} {{\n{program}}}\n\n")?;
            write!(table, "(\"{side}-{number}\", {side}_{number}::main as Program), ")?;
        }
    }
    let count = 2 * (diffs.len() / 2);
    writeln!(modules, "const PROGRAMS: [(&str, Program); {count}] = [{table}];")?;
    fs::write(Path::new(&env::var("OUT_DIR")?).join("programs.rs"), modules)?;
    Ok(())
}

/// Returns one of the two texts that a diff compares. An empty line is one of its context.
fn side_of(diff: &str, left_out: char) -> String {
    let lines = diff.lines().filter(|line| !line.starts_with(left_out));
    lines.map(|line| format!("{}\n", line.get(1..).unwrap_or_default())).collect()
}
