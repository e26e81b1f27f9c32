use proptest::prelude::*;

use super::*;

/// Returns the flaw of a file, with its line.
fn flaw(file: &'static str) -> String {
    let mut sentences: Vec<_> = NAMES.iter().map(|_| None).collect();
    let flaw = parse(file, &mut sentences).unwrap_err();
    format!("{}: {}", flaw.line, flaw.what)
}

#[test]
fn a_flaw_is_named_with_its_line() {
    let cases = [
        ("keep", "1: \"keep\" in place of `name = text`"),
        ("\n# x\npositoin = x", "3: the unknown sentence `positoin`"),
        ("keep = x\nkeep = y", "2: the sentence `keep` for the second time"),
        ("    x = y", "1: \"    x\" in place of the name of a sentence"),
        ("-brand = x", "1: \"-brand\" in place of the name of a sentence"),
        (".title = x", "1: \".title\" in place of the name of a sentence"),
        ("keep = { $span", "1: a single brace in `keep`"),
        ("keep = } x", "1: a single brace in `keep`"),
        ("keep = { $name }", "1: `keep` with `{ $name }`"),
        ("keep = { \"x\" }", "1: `keep` with `{ \"x\" }`"),
        ("keep = { keep }", "1: `keep` with `{ keep }`, which is the sentence itself"),
        (
            "keep = { again }\nagain = { keep }",
            "1: `keep` with `{ again }`, but a sentence cannot contain another one",
        ),
        ("keep = { -a }", "1: `keep` with `{ -a }`, but a sentence cannot contain another one"),
        ("keep = { $low ->\n}", "1: a choice by `$low` in `keep`"),
        ("hours = { $count ->\n [one] x", "1: `hours` without a closing brace"),
        ("hours = { $count ->\n [one] x\n}", "1: `hours` without the form `*[other]`"),
        ("hours = { $count ->\n [uno] x\n}", "2: the form `[uno]` of `hours`"),
        ("hours = { $count ->\n *[one] x\n}", "2: the form `[one]` of `hours`"),
        ("hours = { $count ->\n [one] x\n [one] x\n}", "3: the form `[one]` of `hours`"),
        ("hours = { $count ->\n [other] x\n}", "2: the form `[other]` of `hours`"),
        ("hours = { $count ->\n one\n}", "2: \"one\" in place of a form of `hours`"),
        ("keep = a\u{7}", "1: the control character '\\u{7}'"),
    ];
    for (file, expected) in cases {
        assert_eq!(flaw(file), expected, "{file:?}");
    }
}

#[test]
fn spaces_and_line_ends_may_differ() {
    let mut sentences: Vec<_> = NAMES.iter().map(|_| None).collect();
    let file = "hours={$count->\r\n[one] { $count} hour\r\n  *[other]{ $count } hours\r\n  }\r\n";
    parse(file, &mut sentences).unwrap();
    let hours = sentences.into_iter().flatten().next().unwrap();
    let args = Args { count: 3, ..Args::default() };
    assert_eq!(hours.filled(&Rules::of("en"), args), "3 hours");
}

proptest! {
    #[test]
    fn any_file_has_a_flaw_or_sentences(
        lines in prop::collection::vec("(keep|hours|x)?( ?= ?)?[{}$>*\\[\\]a-z =-]{0,12}", 0..9),
    ) {
        let file: &'static str = String::leak(lines.join("\n"));
        let mut sentences: Vec<_> = NAMES.iter().map(|_| None).collect();
        if let Err(flaw) = parse(file, &mut sentences) {
            prop_assert!((1..=lines.len()).contains(&flaw.line), "{:?}", flaw);
        }
    }
}
