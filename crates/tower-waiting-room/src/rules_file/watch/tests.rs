use std::{
    cell::Cell,
    fs,
    sync::mpsc::{Receiver, channel},
};

use tempfile::TempDir;

use super::*;
use crate::rules_file::descriptors;

const HOUR: Duration = Duration::from_secs(3_600);

/// A pace that reads the file only after events, because the intervals are longer than any test.
const EVENTS: Pace = Pace {
    quiet: Duration::from_millis(20),
    patience: HOUR,
    with_events: HOUR,
    without_events: HOUR,
};

/// A watched file, and its content after each change.
struct Scene {
    folder: TempDir,
    path: PathBuf,
    changes: Receiver<String>,
    watch: Watch,
}

impl Scene {
    /// Prepares a folder, and then watches the file with this name in it.
    fn new(pace: Pace, name: &str, prepare: impl FnOnce(&Path)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        prepare(folder.path());
        let path = folder.path().join(name);
        let (sender, changes) = channel();
        let changed = path.clone();
        let watch = Watch::with_pace(path.clone(), pace, move || {
            let content = fs::read_to_string(&changed).unwrap_or_default();
            let is_used = content != "unusable";
            let _ = sender.send(content);
            is_used
        });
        Self { folder, path, changes, watch: watch.unwrap() }
    }

    fn of_a_file() -> Self {
        Self::new(EVENTS, "limits.yaml", |folder| {
            fs::write(folder.join("limits.yaml"), "old").unwrap();
        })
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
fn a_file_that_is_put_in_the_place_of_the_old_one_is_noticed() {
    let scene = Scene::of_a_file();
    for content in ["new", "newer"] {
        fs::write(scene.beside("limits.yaml~"), content).unwrap();
        fs::rename(scene.beside("limits.yaml~"), &scene.path).unwrap();
        scene.becomes(content);
    }
}

#[test]
fn a_file_that_is_written_in_two_steps_is_noticed_when_it_is_complete() {
    use std::io::Write;

    let scene = Scene::of_a_file();
    let mut file = fs::File::create(&scene.path).unwrap();
    file.write_all(b"first, ").unwrap();
    file.sync_all().unwrap();
    file.write_all(b"second").unwrap();
    drop(file);
    scene.becomes("first, second");
}

#[test]
fn an_unusable_file_is_retried_at_every_check() {
    let pace = Pace { with_events: Duration::from_millis(5), ..EVENTS };
    let scene = Scene::new(pace, "limits.yaml", |folder| {
        fs::write(folder.join("limits.yaml"), "old").unwrap();
    });
    fs::write(&scene.path, "unusable").unwrap();
    scene.becomes("unusable");
    scene.becomes("unusable");
    // The content that was read first counts as a change again.
    fs::write(&scene.path, "old").unwrap();
    scene.becomes("old");
}

#[cfg(unix)]
#[test]
fn a_link_that_is_swapped_is_noticed() {
    use std::os::unix::fs::symlink;

    // Kubernetes mounts a ConfigMap with symbolic links like these.
    let scene = Scene::new(EVENTS, "limits.yaml", |folder| {
        for (version, content) in [("..1", "old"), ("..2", "new")] {
            fs::create_dir(folder.join(version)).unwrap();
            fs::write(folder.join(version).join("limits.yaml"), content).unwrap();
        }
        symlink("..1", folder.join("..data")).unwrap();
        symlink("..data/limits.yaml", folder.join("limits.yaml")).unwrap();
    });
    symlink("..2", scene.beside("..data_tmp")).unwrap();
    fs::rename(scene.beside("..data_tmp"), scene.beside("..data")).unwrap();
    scene.becomes("new");
}

#[test]
fn a_file_that_vanishes_briefly_is_noticed_on_its_return() {
    let scene = Scene::of_a_file();
    fs::remove_file(&scene.path).unwrap();
    fs::write(&scene.path, "new").unwrap();
    scene.becomes("new");
}

#[test]
fn a_new_file_is_noticed() {
    let scene = Scene::new(EVENTS, "limits.yaml", |_| {});
    fs::write(&scene.path, "new").unwrap();
    scene.becomes("new");
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
fn a_folder_that_cannot_be_watched_is_polled() {
    let pace = Pace { without_events: Duration::from_millis(5), ..EVENTS };
    let scene = Scene::new(pace, "later/limits.yaml", |_| {});
    fs::create_dir(scene.beside("later")).unwrap();
    fs::write(&scene.path, "new").unwrap();
    scene.becomes("new");
}

#[cfg(unix)]
#[test]
fn a_change_without_an_event_is_found_by_polling() {
    let elsewhere = tempfile::tempdir().unwrap();
    let target = elsewhere.path().join("limits.yaml");
    fs::write(&target, "old").unwrap();
    let pace = Pace { with_events: Duration::from_millis(5), ..EVENTS };
    let scene = Scene::new(pace, "limits.yaml", |folder| {
        std::os::unix::fs::symlink(&target, folder.join("limits.yaml")).unwrap();
    });
    fs::write(&target, "new").unwrap();
    scene.becomes("new");
}

#[test]
fn dropping_the_watch_ends_its_thread() {
    let Scene { folder: _folder, changes, watch, .. } = Scene::of_a_file();
    drop(watch);
    let end = changes.recv_timeout(Duration::from_secs(20));
    assert_eq!(end, Err(RecvTimeoutError::Disconnected), "the thread owns the sender");
}

#[test]
fn signals_are_coalesced_until_it_is_quiet() {
    let pace = Pace { quiet: Duration::from_millis(1), ..EVENTS };
    let (sender, signals) = channel();
    for _ in 0..5 {
        sender.send(()).unwrap();
    }
    assert!(settled(&signals, HOUR, &pace));
    assert!(signals.try_recv().is_err(), "one check for all five signals");
    assert!(settled(&signals, Duration::ZERO, &pace), "a check without a signal");
    drop(sender);
    assert!(!settled(&signals, HOUR, &pace));
}

#[test]
fn a_folder_that_is_never_quiet_does_not_hide_a_change() {
    let pace = Pace { quiet: Duration::from_secs(5), patience: Duration::ZERO, ..EVENTS };
    let (sender, signals) = channel();
    sender.send(()).unwrap();
    sender.send(()).unwrap();
    assert!(settled(&signals, HOUR, &pace));
    assert!(signals.try_recv().is_ok(), "the second signal is for the next check");
}

#[test]
fn only_different_content_is_a_change() {
    let content = |text: &str| Some(Seen::Content(text.as_bytes().to_vec()));
    let unreadable = || Some(Seen::Unreadable(io::ErrorKind::PermissionDenied));
    let shown = Cell::new(content("a"));
    let mut file = Watched::new(|| {
        let seen = shown.take();
        shown.set(seen.clone());
        seen
    });
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
        shown.set(seen.clone());
        assert_eq!(file.changed(), changed, "{seen:?}");
    }
}

#[cfg(unix)]
#[test]
fn an_unreadable_file_is_not_missing() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(look(folder.path()), Some(Seen::Unreadable(io::ErrorKind::IsADirectory)));
    assert_eq!(look(&folder.path().join("limits.yaml")), None);
}

#[test]
fn reading_is_no_change() {
    let event = |kind| Event::new(EventKind::Access(kind));
    assert!(!may_have_changed(&event(AccessKind::Open(AccessMode::Any))));
    assert!(!may_have_changed(&event(AccessKind::Close(AccessMode::Read))));
    assert!(may_have_changed(&event(AccessKind::Close(AccessMode::Write))));
    assert!(may_have_changed(&Event::new(EventKind::Any)));
}
