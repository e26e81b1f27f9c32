//! Follows the quick start of the guide like a new user, for `scripts/newcomer.sh`.
//!
//! The program starts in an empty folder, creates the package with the commands of the page, and
//! copies the dependencies and the programs as they are printed. It differs from a new user in
//! three ways: the crates come from this checkout instead of the registry, their dependencies have
//! the versions of this checkout's `Cargo.lock`, and the servers listen on free ports.

#![expect(clippy::unwrap_used, reason = "a step that fails ends the program")]

use std::{
    fs,
    path::{Path, PathBuf},
};

use tests::{Block, Reader, Session, replay, workspace};

fn main() {
    let folder = tempfile::tempdir().unwrap();
    let mut session = Session::open(folder.path());
    let mut newcomer = Newcomer { folder: folder.path().to_owned() };
    let page = fs::read_to_string(workspace(PAGE)).unwrap();
    let compared = replay(PAGE, &page, &mut session, &mut newcomer);
    assert!(compared > 0, "{PAGE} contains no transcript");
    println!("{PAGE}: {compared} commands print what it shows");
}

struct Newcomer {
    folder: PathBuf,
}

impl Reader for Newcomer {
    fn dependencies(&mut self, session: &mut Session, dependencies: &Block) {
        let package = package(session);
        let manifest = fs::read_to_string(package.join("Cargo.toml")).unwrap();
        let (head, _) = manifest.split_once("[dependencies]").unwrap();
        fs::write(package.join("Cargo.toml"), format!("{head}{}", dependencies.text)).unwrap();
        fs::copy(workspace("Cargo.lock"), package.join("Cargo.lock")).unwrap();
        let mut config = "[net]\noffline = true\n\n[patch.crates-io]\n".to_owned();
        for name in OURS {
            if name == CORE || dependencies.text.contains(name) {
                let path = workspace("crates").join(name).canonicalize().unwrap();
                config += &format!("{name} = {{ path = {path:?} }}\n");
            }
        }
        fs::create_dir_all(self.folder.join(".cargo")).unwrap();
        fs::write(self.folder.join(".cargo/config.toml"), config).unwrap();
    }

    fn program(&mut self, session: &mut Session, program: &Block) -> String {
        let text = program.text.replace("127.0.0.1:3000", "127.0.0.1:0");
        fs::write(package(session).join("src/main.rs"), text).unwrap();
        "cargo run --quiet".to_owned()
    }
}

/// The folder in which the session is now.
fn package(session: &mut Session) -> PathBuf {
    Path::new(session.run("pwd").1.trim()).to_owned()
}

const PAGE: &str = "docs/guide/quick-start.md";
const CORE: &str = "waiting-room-core";
const OURS: [&str; 4] =
    [CORE, "tower-waiting-room", "waiting-room-dashboard", "waiting-room-redis"];
