//! Runs foreign programs.

use std::{
    env,
    ffi::OsStr,
    path::{Path, PathBuf},
    process::Stdio,
};

use tokio::{process::Command, time};

use crate::visitor::PATIENCE;

/// A program to run. Of the caller's environment it inherits only `PATH`.
#[derive(Debug)]
pub struct Program {
    name: String,
    command: Command,
}

impl Program {
    /// The program with this name in `PATH`.
    #[must_use]
    pub fn named(name: &str) -> Self {
        Self::at(&installed(name))
    }

    /// The program in this file.
    #[must_use]
    pub fn at(path: &Path) -> Self {
        let mut command = Command::new(path);
        command.env_clear().envs(env::vars_os().filter(|(name, _)| name == "PATH"));
        command.stdin(Stdio::null()).kill_on_drop(true);
        Self { name: path.display().to_string(), command }
    }

    /// Adds an argument.
    #[must_use]
    pub fn arg(mut self, argument: impl AsRef<OsStr>) -> Self {
        self.command.arg(argument);
        self
    }

    /// Adds arguments.
    #[must_use]
    pub fn args(mut self, arguments: impl IntoIterator<Item: AsRef<OsStr>>) -> Self {
        self.command.args(arguments);
        self
    }

    /// Runs the program, and returns its standard output.
    ///
    /// # Panics
    ///
    /// If the program fails. If a script lacks a package, the message contains the command that
    /// installs it.
    pub async fn run(mut self) -> String {
        let Ok(output) = time::timeout(PATIENCE, self.command.output()).await else {
            panic!("{} did not end within {PATIENCE:?}", self.name);
        };
        let output = output.unwrap_or_else(|error| panic!("{}: {error}", self.name));
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!lacks_a_package(&said), "{} lacks a package: {INSTALL}: {said}", self.name);
        assert!(output.status.success(), "{}: {}: {said}", self.name, output.status);
        String::from_utf8(output.stdout).unwrap()
    }
}

/// Returns the path of the program with this name.
///
/// # Panics
///
/// If it is not installed. The message contains the command that installs it.
#[must_use]
pub fn installed(name: &str) -> PathBuf {
    let path = env::var_os("PATH").unwrap_or_default();
    let found = env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file());
    found.unwrap_or_else(|| missing(name))
}

/// Returns the path of a file in the workspace that the installer creates.
///
/// # Panics
///
/// If the file is missing. The message contains the command that installs it.
#[must_use]
pub fn workspace(path: &str) -> PathBuf {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path);
    if file.exists() { file } else { missing(path) }
}

fn missing(part: &str) -> ! {
    panic!("{part} is not installed: {INSTALL}")
}

/// Returns whether Node or Python reported that a package which a script imports is missing.
fn lacks_a_package(said: &str) -> bool {
    ["ERR_MODULE_NOT_FOUND", "ModuleNotFoundError"].iter().any(|error| said.contains(error))
}

const INSTALL: &str = "run scripts/install-test-parts.sh";
