//! Tests that any content is read as a rules file or refused with an error, and never causes a
//! panic.

use proptest::{collection::vec, prelude::*, sample::select};

use super::*;

/// Fragments that make a text look like a rules file, or that break such a text.
const FRAGMENTS: [&str; 44] = [
    "domain: d\n",
    "descriptors:\n",
    "  - key: path\n",
    "    value: /x\n",
    "    rate_limit: { unit: day, requests_per_unit: 5 }\n",
    "    descriptors:\n      - key: user\n        rate_limit: { unlimited: true }\n",
    "domain = 'd'\n",
    "[[descriptors]]\n",
    "[[descriptors.descriptors]]\n",
    "key = 'path'\n",
    "[descriptors.rate_limit]\n",
    "unit = 'day'\n",
    "requests_per_unit = 5\n",
    "a.b.c = 1\n",
    "- ",
    "? ",
    ": ",
    "&a ",
    "*a",
    "<<: *a\n",
    "[",
    "]",
    "{",
    "}",
    "\"",
    "'''",
    "|\n",
    ">-\n",
    "#",
    "%YAML 1.2\n",
    "!!str ",
    "---\n",
    "...\n",
    "\t",
    "\n",
    "\r",
    "\u{feff}",
    "訊",
    "\\u12",
    "~",
    "\0",
    "-1",
    "1e9",
    ",",
];

/// Checks that the line of an error is a line of the file, and that every limit has a name.
fn is_sound(name: &str, bytes: &[u8]) {
    match descriptors::parse(Path::new(name), bytes, &registered()) {
        Ok(limits) => assert!(limits.iter().all(|limit| !limit.name.is_empty())),
        Err(error) => {
            let lines = bytes.iter().filter(|&&byte| byte == b'\n').count() + 1;
            let line = error.line().unwrap();
            assert!((1..=lines).contains(&line), "{error} in {lines} lines");
        }
    }
}

proptest! {
    #[test]
    fn any_bytes_are_an_error_or_a_file(bytes in vec(any::<u8>(), 0..200)) {
        is_sound("limits.yaml", &bytes);
        is_sound("limits.toml", &bytes);
    }

    #[test]
    fn any_pieces_are_an_error_or_a_file(pieces in vec(select(&FRAGMENTS[..]), 0..30)) {
        is_sound("limits.yaml", pieces.concat().as_bytes());
        is_sound("limits.toml", pieces.concat().as_bytes());
    }
}

#[test]
fn a_file_of_one_repeated_piece_is_refused() {
    for piece in FRAGMENTS.iter().chain(&["[[", "{a: ", "a = [", "- - ", "a.", "[a]\n", "a: b\n"]) {
        let text = piece.repeat((1 << 17) / piece.len());
        assert!(parse("limits.yaml", &text).is_err(), "{piece:?}");
        assert!(parse("limits.toml", &text).is_err(), "{piece:?}");
    }
}
