//! The programs in `examples/`, which the manual quotes: each connects to a real server.

use std::{env, path::PathBuf, process::Command};

const MANUAL: &str = include_str!("../../../../docs/redis.md");
const EXAMPLES: [&str; 3] = [
    include_str!("../../examples/cluster.rs"),
    include_str!("../../examples/sentinel.rs"),
    include_str!("../../examples/tls.rs"),
];

/// Runs an example, and returns what it printed, including its error.
pub(crate) fn run(name: &str, arguments: &[&str]) -> String {
    let test = env::current_exe().unwrap();
    let folder = test.parent().and_then(|folder| folder.parent()).unwrap();
    let program: PathBuf = folder.join("examples").join(name);
    assert!(
        program.exists(),
        "{} is missing: cargo build -p waiting-room-redis --examples",
        program.display()
    );
    let output = Command::new(program).args(arguments).output().unwrap();
    String::from_utf8([output.stdout, output.stderr].concat()).unwrap()
}

/// What each example prints if it has joined an empty room.
pub(crate) const JOINED: &str = "0 of 200 visitors are active\n";

#[test]
fn the_manual_quotes_the_examples() {
    let trimmed = |text: &str| text.lines().map(str::trim).collect::<Vec<_>>().join("\n");
    let examples = EXAMPLES.map(trimmed);
    let blocks = MANUAL.split("```rust\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    let quotes: Vec<_> = blocks.flat_map(|block| block.split("\n\n")).map(trimmed).collect();
    assert!(quotes.len() >= EXAMPLES.len());
    for quote in &quotes {
        let quote = quote.trim();
        assert!(examples.iter().any(|example| example.contains(quote)), "not quoted:\n{quote}");
    }
}

#[test]
fn an_example_without_arguments_prints_its_usage() {
    for name in ["cluster", "sentinel", "tls"] {
        let said = run(name, &[]);
        assert!(said.contains(&format!("usage: {name} <")), "{said}");
    }
}
