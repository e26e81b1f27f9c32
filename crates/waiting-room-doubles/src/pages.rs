//! The parts of the docs that list what the code declares.

use std::{
    env, fs,
    path::Path,
    sync::{Mutex, PoisonError},
};

/// Checks that a page has this text between `<!-- part -->` and `<!-- end -->`.
///
/// With `WRITE_DOCS` in the environment, the text is written instead.
///
/// # Panics
///
/// Panics if the page lacks the part, or has another text there.
pub fn assert_documented(page: &str, part: &str, expected: &str) {
    static WRITING: Mutex<()> = Mutex::new(());
    let _alone = WRITING.lock().unwrap_or_else(PoisonError::into_inner);
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(page);
    let text = fs::read_to_string(&file).expect("the page exists");
    let begin = format!("<!-- {part} -->\n");
    let found = text.split_once(&begin).and_then(|(before, rest)| {
        let (given, after) = rest.split_once("<!-- end -->")?;
        Some((before, given, after))
    });
    let (before, given, after) = found.unwrap_or_else(|| panic!("{page} has no part {part}"));
    if given == expected {
        return;
    }
    let is_written = env::var_os("WRITE_DOCS").is_some();
    assert!(is_written, "{page}: {part} has to be as follows, WRITE_DOCS=1 writes it:\n{expected}");
    let text = format!("{before}{begin}{expected}<!-- end -->{after}");
    fs::write(file, text).expect("the page can be written");
}
