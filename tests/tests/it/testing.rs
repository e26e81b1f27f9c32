//! The tests of `docs/testing.md`. Each compiles and passes, with [`EACH_ALONE`] in the environment with only the
//! dependencies listed above it.
//!
//! The first page of a reader is the best place for a test that cannot fail, so each test also runs
//! with a mistake in the code that it tests, and must fail.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::programs::{EACH_ALONE, Listing, compile, patches, target, workspace, write};

#[test]
fn every_test_of_the_page_passes_and_fails_if_the_service_has_a_mistake() {
    let listings = Listing::in_page("docs/testing.md");
    let names: Vec<_> = listings.iter().map(|listing| listing.name.as_str()).collect();
    assert_eq!(names, ["a-limit", "a-sale", "a-store"]);
    let mistakes = [
        ("a-limit", "per_minute(3)", "per_minute(4)", "the_fourth_request"),
        ("a-sale", "total_active_users(50)", "total_active_users(51)", "three_hundred_visitors"),
        ("a-store", "room.leave(id, now)", "room.sweep(now)", "the_store_keeps_the_contract"),
    ];
    let mistaken = mistakes.iter().zip(&listings).map(|((name, from, to, _), listing)| {
        assert_eq!(*name, listing.name);
        listing.replaced(&format!("{name}-mistaken"), from, to)
    });
    let mistaken: Vec<_> = mistaken.collect();
    let folder = write_workspace(&[listings.clone(), mistaken.clone()].concat());

    for listing in &listings {
        let (passed, said) = test(&folder, listing);
        assert!(passed, "{}: {said}", listing.name);
        assert!(!said.contains("warning"), "{}: {said}", listing.name);
    }
    for (listing, (name, .., failing)) in mistaken.iter().zip(mistakes) {
        let (passed, said) = test(&folder, listing);
        assert!(!passed && said.contains(failing), "{name}: {said}");
    }
}

/// Writes a workspace with a package for each test, inside the target directory of the tests.
fn write_workspace(listings: &[Listing]) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("testing");
    let mut members = String::new();
    for Listing { name, dependencies, program } in listings {
        members += &format!("    \"{name}\",\n");
        let package = folder.join(name);
        fs::create_dir_all(package.join("src")).unwrap();
        fs::create_dir_all(package.join("tests")).unwrap();
        let head = format!("[package]\nname = \"docs-{name}\"\nedition = \"2024\"\n\n");
        write(&package.join("Cargo.toml"), &(head + dependencies));
        write(&package.join("src/lib.rs"), "");
        write(&package.join("tests/it.rs"), program);
    }
    let manifest =
        format!("[workspace]\nresolver = \"3\"\nmembers = [\n{members}]\n\n{}", patches(&OURS));
    write(&folder.join("Cargo.toml"), &manifest);
    fs::copy(workspace().join("Cargo.lock"), folder.join("Cargo.lock")).unwrap();
    folder
}

/// Runs the tests of a package. Returns whether they passed, and what the compiler and they printed.
fn test(folder: &Path, listing: &Listing) -> (bool, String) {
    let mut said = String::new();
    let mut tests = if env::var_os(EACH_ALONE).is_some() {
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["test", "--quiet", "--offline", "--test", "it", "--package"]);
        cargo.arg(format!("docs-{}", listing.name)).arg("--target-dir").arg(target());
        cargo
    } else {
        let compiled = folder.join(&listing.name).join("it");
        said += &compile(listing, &compiled, &["--test"]);
        Command::new(compiled)
    };
    let output = tests.current_dir(folder).env("RUST_BACKTRACE", "0").output().unwrap();
    for bytes in [output.stdout, output.stderr] {
        said += &String::from_utf8_lossy(&bytes);
    }
    (output.status.success(), said)
}

/// The crates of this repository that a test may depend on.
const OURS: [&str; 3] = ["tower-waiting-room", "waiting-room-core", "waiting-room-test"];
