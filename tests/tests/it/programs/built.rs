//! Compiles the programs. With [`EACH_ALONE`] in the environment, each is compiled as a reader does: in a
//! package of its own, with exactly the dependencies that the page lists. Otherwise they share the
//! libraries of the other tests, which have all features, and the examples are those of cargo.

use std::{
    collections::BTreeMap,
    env, fs,
    num::NonZero,
    path::{Path, PathBuf},
    process::Command,
    sync::LazyLock,
    thread,
};

use super::{
    dashboard,
    guide::GuidePrograms,
    linked::{self, target},
    listing::{Listing, workspace},
    readme,
};

/// The variable that `./test.sh --all` sets.
pub(crate) const EACH_ALONE: &str = "EACH_ALONE";

/// Returns the path of the compiled program with this name. The first call compiles all programs.
pub(crate) fn program(name: &str) -> PathBuf {
    static FOLDER: LazyLock<PathBuf> = LazyLock::new(build);
    let is_named = |listing: Listing| listing.name == name && listing.is_example();
    if env::var_os(EACH_ALONE).is_none() && Listing::all().into_iter().any(is_named) {
        return linked::examples().join(name);
    }
    FOLDER.join(package(name))
}

/// A package name that does not exist in the registry.
fn package(name: &str) -> String {
    format!("docs-{name}")
}

fn build() -> PathBuf {
    let mut listings = Listing::all();
    listings.extend(readme::listings());
    listings.extend(GuidePrograms::listings());
    listings.push(dashboard::listing());
    // On any free port, since tests run concurrently.
    for Listing { program, .. } in &mut listings {
        *program = program.replace("127.0.0.1:3000", "127.0.0.1:0");
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    if env::var_os(EACH_ALONE).is_some() {
        build_each_alone(&folder.join("packages"), &listings);
        target().join("debug")
    } else {
        let folder = folder.join("programs");
        listings.retain(|listing| !listing.is_example());
        link_all(&folder, &listings);
        folder
    }
}

fn link_all(folder: &Path, listings: &[Listing]) {
    fs::create_dir_all(folder).unwrap();
    let threads = thread::available_parallelism().map_or(1, NonZero::get);
    thread::scope(|scope| {
        for share in listings.chunks(listings.len().div_ceil(threads)) {
            scope.spawn(move || {
                for listing in share {
                    let output = folder.join(package(&listing.name));
                    let said = linked::compile(listing, &output, &[]);
                    assert_eq!(said, "", "the compiler prints a warning");
                }
            });
        }
    });
}

fn build_each_alone(folder: &Path, listings: &[Listing]) {
    write_workspace(folder, listings);

    // Packages that are built together share the features of their dependencies, so a missing
    // feature could go unnoticed. Only packages with the same dependencies are built together.
    let mut same = BTreeMap::<&str, Vec<String>>::new();
    for listing in listings {
        same.entry(&listing.dependencies).or_default().push(package(&listing.name));
    }
    for packages in same.values() {
        compile(folder, &target(), packages);
    }
}

/// Writes a workspace with a package for each program, inside the target directory of the tests.
fn write_workspace(folder: &Path, listings: &[Listing]) {
    let mut manifest = "[workspace]\nresolver = \"3\"\nmembers = [\n".to_owned();
    for Listing { name, dependencies, program } in listings {
        let package = package(name);
        manifest += &format!("    \"{package}\",\n");
        let of_package = folder.join(&package);
        let source = folder.join(&package).join("src");
        fs::create_dir_all(&source).unwrap();
        let head = format!("[package]\nname = \"{package}\"\nedition = \"2024\"\n\n");
        write(&of_package.join("Cargo.toml"), &(head + dependencies));
        write(&source.join("main.rs"), program);
    }
    manifest += &format!("]\n\n{}", patches(&OURS));
    // Without debug information, a program takes 20 MB of disk space instead of 80.
    manifest += "\n[profile.dev.package]\n";
    for Listing { name, .. } in listings {
        manifest += &format!("{}.strip = \"debuginfo\"\n", package(name));
    }
    write(&folder.join("Cargo.toml"), &manifest);
    fs::copy(workspace().join("Cargo.lock"), folder.join("Cargo.lock")).unwrap();
}

/// The section of a workspace that replaces these released crates by those of this repository.
pub(crate) fn patches(names: &[&str]) -> String {
    let patch = |name: &&str| {
        let path = workspace().join("crates").join(name);
        format!("{name} = {{ path = {path:?} }}\n")
    };
    "[patch.crates-io]\n".to_owned() + &names.iter().map(patch).collect::<String>()
}

/// Writes a file unless it has this content already, because cargo recompiles changed files.
pub(crate) fn write(file: &Path, text: &str) {
    if fs::read_to_string(file).ok().as_deref() != Some(text) {
        fs::write(file, text).unwrap();
    }
}

fn compile(folder: &Path, target: &Path, packages: &[String]) {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--quiet", "--offline", "--target-dir"]).arg(target).current_dir(folder);
    for package in packages {
        cargo.args(["--package", package]);
    }
    let output = cargo.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert_eq!(said, "", "the compiler prints a warning");
}

/// The crates of this repository that a program may depend on.
const OURS: [&str; 5] = [
    "tower-waiting-room",
    "waiting-room-cloudflare",
    "waiting-room-core",
    "waiting-room-dashboard",
    "waiting-room-redis",
];
