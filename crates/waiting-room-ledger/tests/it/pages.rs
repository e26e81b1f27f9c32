//! The commands on the pages in `docs/`: each prints what its page shows.

use std::{
    env,
    io::Read,
    net::TcpListener,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use waiting_room_engines::{Engine, EngineServer, Persistence, PostgresServer};

const PROGRAM: &str = env!("CARGO_BIN_EXE_waiting-room-ledger");
const OPERATIONS: &str = include_str!("../../../../docs/operations.md");
const THREE_SITES: &str = include_str!("../../../../docs/three-sites.md");
const SITE: &str = include_str!("../../examples/site.rs");

/// The commands of a page, with what they print.
fn commands(page: &str) -> Vec<(String, String)> {
    let mut commands: Vec<(String, String)> = Vec::new();
    for block in page.split("```console\n").skip(1) {
        for line in block.split("```").next().unwrap().lines() {
            match line.strip_prefix("$ ") {
                Some(command) => commands.push((command.to_owned(), String::new())),
                None => {
                    let (command, output) = commands.last_mut().expect("a command comes first");
                    if command.ends_with('\\') {
                        command.pop();
                        command.push_str(line.trim_start());
                    } else {
                        output.push_str(line);
                        output.push('\n');
                    }
                }
            }
        }
    }
    commands
}

/// An address of this machine on which no process listens.
fn free_address() -> String {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string()
}

/// The folder with the examples of this crate.
fn examples() -> PathBuf {
    let test = env::current_exe().unwrap();
    let folder = test.parent().and_then(Path::parent).unwrap().join("examples");
    let example = folder.join("site");
    assert!(
        example.exists(),
        "{} is missing: cargo build -p waiting-room-ledger --all-features --examples",
        example.display()
    );
    folder
}

/// Runs the commands of a page in one shell, and compares what they print. Each of the given names
/// is replaced.
fn replay(page: &str, names: &[(&str, String)]) {
    let replaced = |page: String, (name, by): &(&str, String)| page.replace(name, by);
    let commands = commands(&names.iter().fold(page.to_owned(), replaced));
    assert!(commands.len() >= 12, "{commands:?}");
    let mut script = "exec 2>&1\ntrap 'kill $(jobs -p)' EXIT\n".to_owned();
    for (command, _) in &commands {
        script.push_str(&format!("printf '\\036'\n{command}\n"));
    }
    let programs = [Path::new(PROGRAM).parent().unwrap().to_owned(), examples()];
    let path = env::var_os("PATH").unwrap();
    let folders = env::join_paths(programs.into_iter().chain(env::split_paths(&path)));
    let folder = tempfile::tempdir().unwrap();
    let mut shell = Command::new("timeout")
        .args(["--kill-after=5", "60", "bash", "-c", &script])
        .current_dir(folder.path())
        .env("PATH", folders.unwrap())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = String::new();
    shell.stdout.take().unwrap().read_to_string(&mut said).unwrap();
    shell.wait().unwrap();
    let said: Vec<_> = said.split('\u{1e}').skip(1).collect();
    for ((command, expected), given) in commands.iter().zip(&said) {
        let trim = |text: &str| {
            text.lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>().join("\n")
        };
        assert_eq!(trim(given), trim(expected), "$ {command}");
    }
    assert_eq!(said.len(), commands.len());
}

/// The names of the database and of the ledgers on both pages.
fn ledgers(server: &PostgresServer) -> [(&'static str, String); 3] {
    [
        ("postgres://ledger@db.internal/rooms", server.url()),
        ("ledger-1.internal:7400", free_address()),
        ("ledger-2.internal:7400", free_address()),
    ]
}

#[test]
fn the_commands_of_the_operations_page_print_the_shown_output() {
    let server = PostgresServer::start().unwrap();
    replay(OPERATIONS, &ledgers(&server));
}

#[test]
fn the_three_sites_of_the_page_share_one_limit() {
    let (_, excerpt) = THREE_SITES.split_once("```rust\n").unwrap();
    let (excerpt, _) = excerpt.split_once("```").unwrap();
    assert!(SITE.contains(excerpt), "the page quotes the example");
    let server = PostgresServer::start().unwrap();
    let engines = [Engine::Redis, Engine::Valkey, Engine::Redis];
    let stores = engines.map(|engine| EngineServer::start(engine, Persistence::Never).unwrap());
    let names = ["paris", "tokyo", "new-york"].iter().zip(&stores).flat_map(|(site, store)| {
        [
            (format!("redis://{site}-store.internal:6379"), store.url()),
            (format!("{site}.internal:8080"), free_address()),
        ]
    });
    let names: Vec<_> = names.collect();
    let names = names.iter().map(|(name, by)| (name.as_str(), by.clone()));
    replay(THREE_SITES, &names.chain(ledgers(&server)).collect::<Vec<_>>());
}
