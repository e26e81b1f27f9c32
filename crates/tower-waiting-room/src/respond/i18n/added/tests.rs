use super::*;
use crate::respond::i18n::Phrase;

const ENGLISH: &str = include_str!("../en.ftl");

fn error(tag: &str, file: &str) -> String {
    add(tag, file).unwrap_err().to_string()
}

#[test]
fn a_new_language_has_its_own_sentences_and_plural_forms() {
    let file =
        ENGLISH.replace("[one] { $count } minute\n", "[one] { $count } munud\n    [two] dau\n");
    let welsh = add("cy", &file).unwrap();
    assert_eq!((welsh.tag(), welsh.is_right_to_left()), ("cy", false));
    let minutes =
        |count| welsh.sentence(Phrase::Minutes, super::super::Args { count, ..Default::default() });
    assert_eq!([minutes(1), minutes(2), minutes(3)], ["1 munud", "dau", "3 minutes"]);
    assert_eq!(add("CY", &file).unwrap(), welsh);
    assert!(add("ur-PK", ENGLISH).unwrap().is_right_to_left());
}

#[test]
fn a_built_in_language_keeps_the_sentences_that_are_not_replaced() {
    let german = add("de", "headline-waiting = Sie warten\n").unwrap();
    assert_ne!(german, Language::GERMAN);
    assert_eq!(german.tag(), "de");
    assert_eq!(german.phrase(Phrase::HeadlineWaiting), "Sie warten");
    assert_eq!(german.phrase(Phrase::Online), Language::GERMAN.phrase(Phrase::Online));
    assert_eq!(Language::GERMAN.phrase(Phrase::HeadlineWaiting), "Sie sind in der Warteschlange");
}

#[test]
fn a_sentence_that_a_new_language_lacks_is_in_english() {
    let esperanto = add("eo", "headline-waiting = Vi atendas\n").unwrap();
    assert_eq!(esperanto.phrase(Phrase::HeadlineWaiting), "Vi atendas");
    assert_eq!(esperanto.phrase(Phrase::Online), Language::ENGLISH.phrase(Phrase::Online));
}

#[test]
fn an_argument_that_is_unknown_or_missing_is_named() {
    let with = |from: &str, to: &str| error("gsw", &ENGLISH.replace(from, to));
    let keep = with("tab for { $span } without", "tab without");
    assert!(keep.contains("`keep` without `{ $span }`"), "{keep}");
    let again = with("again in { $span }.", "again in { $shown }.");
    assert!(again.contains("`again` with `{ $shown }`"), "{again}");
    let hours = with("*[other] { $count } hours", "*[other] hours");
    assert!(hours.contains("`hours` without `{ $count }`"), "{hours}");
    let ahead = with("[one] About { $shown } person is", "[one] One person is");
    assert!(ahead.contains("`ahead` without `{ $shown }`"), "{ahead}");
    let offline = error("en", "offline = { $count ->\n [one] x\n *[other] y\n}");
    assert!(offline.contains("a choice by `$count` in `offline`"), "{offline}");
    let empty = error("en", "offline =\n");
    assert!(empty.contains("`offline` without a text"), "{empty}");
}

#[test]
fn a_malformed_file_is_refused_with_the_line() {
    let unknown = error("en", "# Ours\nheadline-wating = x\n");
    assert!(unknown.contains("in line 2 the unknown sentence `headline-wating`"), "{unknown}");
    let recursive = error("en", "keep = { again }\nagain = { keep }\n");
    assert!(recursive.contains("a sentence cannot contain another one"), "{recursive}");
    let itself = error("en", "keep = { keep }\n");
    assert!(itself.contains("which is the sentence itself"), "{itself}");
}

#[test]
fn a_file_that_is_too_long_is_refused_before_it_is_read() {
    let error = add("en", &"x".repeat(10 * 1024 * 1024)).unwrap_err();
    assert_eq!(error.kind(), ConfigErrorKind::TooLarge);
    assert!(error.to_string().contains("10485760 bytes for `en`"), "{error}");
    assert!(error.to_string().contains("at most 65536 bytes"), "{error}");
}

#[test]
fn a_malformed_tag_is_refused() {
    for tag in ["", "-", "e", "english-", "en-", "und", "de_x_y_z", &"en-".repeat(999), "\u{202e}"]
    {
        let error = error(tag, "");
        assert!(error.contains("the language tag"), "{error}");
        assert!(error.len() < 300, "{error}");
    }
}
