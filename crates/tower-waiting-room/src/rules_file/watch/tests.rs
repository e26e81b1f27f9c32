use std::{
    cell::{Cell, RefCell},
    fs,
    sync::mpsc::Receiver,
};

use tempfile::TempDir;

use super::*;
use crate::rules_file::descriptors;

/// A watched file, and its content after each change.
struct Scene {
    folder: TempDir,
    path: PathBuf,
    changes: Receiver<String>,
    watch: Watch,
}

impl Scene {
    /// Prepares a folder, and then watches the file `limits.yaml` in it.
    fn new(prepare: impl FnOnce(&Path)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        prepare(folder.path());
        let path = folder.path().join("limits.yaml");
        let (sender, changes) = channel();
        let changed = path.clone();
        let watch = Watch::with_interval(path.clone(), Duration::from_millis(5), move || {
            let content = fs::read_to_string(&changed).unwrap_or_default();
            let is_used = content != "unusable";
            let _ = sender.send(content);
            is_used
        });
        Self { folder, path, changes, watch: watch.unwrap() }
    }

    fn of_a_file() -> Self {
        Self::new(|folder| fs::write(folder.join("limits.yaml"), "old").unwrap())
    }

    /// Receives changes until the file has this content.
    #[track_caller]
    fn becomes(&self, content: &str) {
        while self.changes.recv_timeout(Duration::from_secs(20)).expect("a change") != content {}
    }

    fn beside(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

#[test]
fn a_file_is_noticed_however_it_is_replaced() {
    let scene = Scene::new(|_| {});
    for content in ["created", "rewritten"] {
        fs::write(&scene.path, content).unwrap();
        scene.becomes(content);
    }
    for content in ["renamed over it", "and again"] {
        fs::write(scene.beside("limits.yaml~"), content).unwrap();
        fs::rename(scene.beside("limits.yaml~"), &scene.path).unwrap();
        scene.becomes(content);
    }
    fs::remove_file(&scene.path).unwrap();
    fs::write(&scene.path, "deleted, and created").unwrap();
    scene.becomes("deleted, and created");
    // A copy may keep the time of its original.
    let scene = Scene::of_a_file();
    fs::write(scene.beside("limits.yaml~"), "copied").unwrap();
    let copy = fs::File::options().append(true).open(scene.beside("limits.yaml~")).unwrap();
    copy.set_modified(std::time::UNIX_EPOCH).unwrap();
    fs::rename(scene.beside("limits.yaml~"), &scene.path).unwrap();
    scene.becomes("copied");
}

/// Kubernetes mounts a `ConfigMap` with links like the first two. If the target is in another
/// folder, a change of the target causes no event in the folder of the link.
#[cfg(unix)]
#[test]
fn a_link_to_a_link_is_followed_into_another_folder() {
    use std::os::unix::fs::symlink;

    let elsewhere = tempfile::tempdir().unwrap();
    let target = elsewhere.path().join("limits.yaml");
    let scene = Scene::new(|folder| {
        for (version, content) in [("..1", "old"), ("..2", "new")] {
            fs::create_dir(folder.join(version)).unwrap();
            fs::write(folder.join(version).join("limits.yaml"), content).unwrap();
        }
        fs::create_dir(folder.join("..3")).unwrap();
        symlink(&target, folder.join("..3/limits.yaml")).unwrap();
        symlink("..1", folder.join("..data")).unwrap();
        symlink("..data/limits.yaml", folder.join("limits.yaml")).unwrap();
    });
    let swap = |version: &str| {
        symlink(version, scene.beside("..data_tmp")).unwrap();
        fs::rename(scene.beside("..data_tmp"), scene.beside("..data")).unwrap();
    };
    swap("..2");
    scene.becomes("new");
    fs::write(&target, "elsewhere").unwrap();
    swap("..3");
    scene.becomes("elsewhere");
    fs::write(&target, "changed there").unwrap();
    scene.becomes("changed there");
}

#[test]
fn an_unusable_file_is_retried_at_every_check() {
    let scene = Scene::of_a_file();
    fs::write(&scene.path, "unusable").unwrap();
    scene.becomes("unusable");
    scene.becomes("unusable");
    // The content that was read first counts as a change again.
    fs::write(&scene.path, "old").unwrap();
    scene.becomes("old");
}

#[test]
fn a_bad_file_and_then_a_good_one_are_both_noticed() {
    let scene = Scene::of_a_file();
    fs::write(&scene.path, "domain: [").unwrap();
    scene.becomes("domain: [");
    let error = descriptors::load(&scene.path, &[]).unwrap_err();
    assert_eq!(error.line(), Some(1));

    let good = "domain: d\ndescriptors: []\n";
    fs::write(&scene.path, good).unwrap();
    scene.becomes(good);
    assert!(descriptors::load(&scene.path, &[]).is_ok());
}

#[test]
fn the_default_interval_is_short_enough() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("limits.yaml");
    let (sender, changes) = channel();
    let watch = Watch::start(&path, move || sender.send(()).is_ok()).unwrap();
    fs::write(&path, "new").unwrap();
    assert_eq!(changes.recv_timeout(Duration::from_secs(20)), Ok(()));
    drop(watch);
}

#[test]
fn dropping_the_watch_ends_its_thread() {
    let Scene { folder: _folder, changes, watch, .. } = Scene::of_a_file();
    drop(watch);
    let end = changes.recv_timeout(Duration::from_secs(20));
    assert_eq!(end, Err(RecvTimeoutError::Disconnected), "the thread owns the sender");
}

fn content(text: &str) -> Option<Seen> {
    Some(Seen::Content(text.as_bytes().to_vec()))
}

#[test]
fn only_different_content_is_a_change() {
    let unreadable = || Some(Seen::Unreadable(io::ErrorKind::PermissionDenied));
    let shown = RefCell::new(content("a"));
    let mut file = Watched::new(|| shown.borrow().clone());
    for (seen, changed) in [
        (content("a"), false),
        (None, false),
        (content("a"), false),
        (content("b"), true),
        (content("b"), false),
        (unreadable(), true),
        (unreadable(), false),
        (content("b"), true),
    ] {
        shown.replace(seen.clone());
        assert_eq!(file.changed(|| true), changed, "{seen:?}");
    }
}

#[test]
fn a_file_that_is_being_written_counts_when_it_stays_the_same() {
    let written = Cell::new(0);
    let readings = Cell::new(0);
    let mut file = Watched::new(|| {
        readings.set(readings.get() + 1);
        content(&"x".repeat(written.get()))
    });
    written.set(1);
    // The writer adds a byte in each of the first three pauses.
    assert!(file.changed(|| {
        written.set((written.get() + 1).min(4));
        true
    }));
    assert_eq!((file.seen.clone(), readings.get()), (content("xxxx"), 6));

    // A file that never stays the same is used after a while, and a watch that was dropped ends.
    readings.set(0);
    written.set(5);
    assert!(file.changed(|| {
        written.set(written.get() + 1);
        true
    }));
    assert_eq!(readings.get(), MAX_READINGS);
    written.set(0);
    assert!(!file.changed(|| false));
}

#[cfg(unix)]
#[test]
fn an_unreadable_file_is_not_missing() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(look(folder.path()), Some(Seen::Unreadable(io::ErrorKind::IsADirectory)));
    assert_eq!(look(&folder.path().join("limits.yaml")), None);
}
