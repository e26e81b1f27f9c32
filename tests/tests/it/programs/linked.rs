//! Compiles programs against the libraries of this workspace, which the other tests have compiled.

use std::{
    env,
    path::{Path, PathBuf},
    process::{Command, Output},
    sync::LazyLock,
};

use serde_json::Value;

use super::listing::{Listing, workspace};

/// A compiled library that a program may depend on.
struct Library {
    /// The name in code: `tower_waiting_room`.
    name: String,
    version: String,
    file: PathBuf,
    features: usize,
}

impl Library {
    /// All libraries of the workspace, as cargo lists them.
    fn all() -> &'static [Self] {
        static ALL: LazyLock<Vec<Library>> = LazyLock::new(|| {
            let mut cargo = Command::new(env!("CARGO"));
            cargo.args(["build", "--workspace", "--all-features", "--tests", "--examples"]);
            cargo
                .args(["--offline", "--quiet", "--message-format", "json", "--target-dir"])
                .arg(target());
            // What cargo has set for this test would make some libraries compile anew.
            for (name, _) in env::vars_os() {
                let name_of = name.to_string_lossy();
                if name_of.starts_with("CARGO_PKG_") || name_of.starts_with("CARGO_MANIFEST_") {
                    cargo.env_remove(&name);
                }
            }
            let Output { status, stdout, stderr } =
                cargo.current_dir(workspace()).output().unwrap();
            assert!(status.success(), "{}", String::from_utf8_lossy(&stderr));
            let lines = stdout.split(|&byte| byte == b'\n').filter(|line| !line.is_empty());
            lines.filter_map(|line| Library::read(&serde_json::from_slice(line).unwrap())).collect()
        });
        &ALL
    }

    /// Reads one message of cargo. Returns `None` if it is not about a library.
    fn read(message: &Value) -> Option<Self> {
        let kind = message["target"]["kind"][0].as_str()?;
        if message["profile"]["test"] != false || !["lib", "rlib"].contains(&kind) {
            return None;
        }
        let files = message["filenames"].as_array()?.iter().filter_map(Value::as_str);
        let file = files.into_iter().find(|file| file.ends_with(".rlib"))?.into();
        let (_, version) = message["package_id"].as_str()?.rsplit_once(['@', '#'])?;
        Some(Self {
            name: message["target"]["name"].as_str()?.replace('-', "_"),
            version: version.to_owned(),
            file,
            features: message["features"].as_array()?.len(),
        })
    }

    /// The library that a line of a manifest asks for. Build scripts may use the same one with fewer
    /// features.
    fn asked(line: &str) -> Option<&'static Self> {
        let (name, rest) = line.split_once(" = ")?;
        let asked = rest.split('"').nth(1)?;
        let has_version = |version: &str| {
            version.strip_prefix(asked).is_some_and(|more| more.is_empty() || more.starts_with('.'))
        };
        let found = Self::all().iter().filter(|library| {
            library.name == name.replace('-', "_") && has_version(&library.version)
        });
        let best = found.max_by_key(|library| library.features);
        Some(best.unwrap_or_else(|| panic!("no test depends on {line}")))
    }
}

/// Compiles a program, or a file of tests, into this file. Returns what the compiler printed.
pub(crate) fn compile(listing: &Listing, output: &Path, arguments: &[&str]) -> String {
    let source = output.with_extension("rs");
    super::write(&source, &listing.program);
    let mut rustc = Command::new(Path::new(env!("CARGO")).with_file_name("rustc"));
    rustc.args(["--edition", "2024", "-C", "debuginfo=0"]).args(arguments).arg(&source);
    rustc.arg("-o").arg(output).arg("-L").arg(target().join("debug/deps"));
    for Library { name, file, .. } in listing.dependencies.lines().filter_map(Library::asked) {
        rustc.arg("--extern").arg(format!("{name}={}", file.display()));
    }
    let Output { status, stderr, .. } = rustc.output().unwrap();
    let said = String::from_utf8(stderr).unwrap();
    assert!(status.success(), "{}: {said}", listing.name);
    said
}

/// The directory with the examples of all crates, which cargo compiles together with the libraries.
pub(crate) fn examples() -> PathBuf {
    Library::all();
    target().join("debug/examples")
}

/// The directory into which this workspace is compiled.
pub(crate) fn target() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap().to_owned()
}
