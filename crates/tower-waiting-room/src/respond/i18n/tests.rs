use std::collections::BTreeSet;

use fluent_bundle::{FluentArgs, FluentBundle, FluentResource};
use proptest::prelude::*;

use super::*;
use crate::request::Language;

/// Parses the file of a language with the `fluent-bundle` crate.
fn bundle(language: Language) -> FluentBundle<FluentResource> {
    let resource = FluentResource::try_new(texts::file(language).to_owned()).unwrap();
    let tag = language.tag();
    // The library has plural rules only for the primary subtags of most languages.
    let primary = tag.split('-').next().unwrap();
    let tag = if tag == "pt-PT" { tag } else { primary };
    let mut bundle = FluentBundle::new(vec![tag.parse().unwrap()]);
    // Fluent surrounds arguments with invisible isolation marks, for text of mixed direction. The
    // arguments are numbers and words of the same language, which need no marks, and the marks would
    // end up in titles and plain text.
    bundle.set_use_isolating(false);
    bundle.add_resource(resource).unwrap();
    bundle
}

/// Formats a sentence with the `fluent-bundle` crate. Returns `None` if it is not translated.
fn expected(bundle: &FluentBundle<FluentResource>, id: Phrase, args: Args<'_>) -> Option<String> {
    let mut named = FluentArgs::new();
    named.set("count", args.count);
    named.set("low", args.low);
    for name in ["shown", "span", "text"] {
        named.set(name, args.text);
    }
    let pattern = bundle.get_message(NAMES[id as usize])?.value()?;
    let mut errors = Vec::new();
    let text = bundle.format_pattern(pattern, Some(&named), &mut errors).into_owned();
    assert!(errors.is_empty(), "{errors:?}");
    Some(text)
}

fn compare(counts: impl Iterator<Item = u64> + Clone, text: &str) {
    for language in Language::ALL {
        let bundle = bundle(language);
        for (id, count) in IDS.iter().flat_map(|id| counts.clone().map(move |count| (*id, count))) {
            let args = Args { count, low: count / 2, text };
            let expected = expected(&bundle, id, args);
            let expected = expected.unwrap_or_else(|| Language::ENGLISH.sentence(id, args).into());
            let sentence = language.sentence(id, args);
            assert_eq!(sentence, expected, "{language:?} {id:?} {count}");
        }
    }
}

#[test]
fn every_sentence_agrees_with_fluent_for_every_number_that_occurs() {
    // Above 20, the library has wrong plural rules for some languages.
    compare((0..=20).chain([100, 1_000_000]), "12,345");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4))]

    #[test]
    fn every_sentence_agrees_with_fluent(count in 0..=20_u64, text in "[ -~é]{0,20}") {
        compare([count].into_iter(), &text);
    }
}

#[test]
fn the_sentences_of_every_file_are_in_the_order_of_the_english_file_which_has_all() {
    for language in Language::ALL {
        let lines = texts::file(language).lines().filter(|line| !line.starts_with([' ', '#']));
        let names: Vec<_> = lines.filter_map(|line| Some(line.split_once(" = ")?.0)).collect();
        let translated = |name: &&str| language == Language::ENGLISH || names.contains(name);
        let expected: Vec<_> = NAMES.iter().copied().filter(translated).collect();
        assert_eq!(names, expected, "{language}.ftl");
    }
}

#[test]
fn a_sentence_that_is_not_translated_is_in_english_with_english_plural_forms() {
    let polish = texts::Texts::new(NAMES.iter().map(|_| None).collect(), Language::POLISH);
    let minutes = |count| polish.sentence(Phrase::Minutes, Args { count, ..Args::default() });
    assert_eq!([1, 2, 5].map(minutes), ["1 minute", "2 minutes", "5 minutes"]);
}

#[test]
fn every_file_has_the_arguments_of_the_english_file() {
    let english = &texts::Texts::of(Language::ENGLISH).sentences;
    for language in Language::ALL {
        let mut sentences: Vec<_> = NAMES.iter().map(|_| None).collect();
        parse::parse(texts::file(language), &mut sentences).unwrap();
        let english = english.iter().flatten();
        for ((name, sentence), english) in NAMES.iter().zip(sentences).zip(english) {
            let checked = sentence.map_or(Ok(()), |sentence| sentence.check(name, english));
            assert_eq!(checked, Ok(()), "{language}.ftl");
        }
    }
}

#[test]
fn every_choice_has_every_plural_form_of_its_language() {
    for language in Language::ALL {
        let texts = texts::Texts::of(language);
        let categories = (0..=1_000).map(|count| format!("{:?}", texts.rules.category(count)));
        let needed: BTreeSet<_> = categories.collect();
        for (name, sentence) in NAMES.iter().zip(&texts.sentences) {
            let Some(sentence) = sentence else { continue };
            let found = sentence.categories();
            let found: BTreeSet<_> = found.iter().map(|flaw| format!("{flaw:?}")).collect();
            // Fluent requires the form `other`, even if no whole number has it.
            let needed: BTreeSet<_> = needed.iter().cloned().chain(["Other".to_owned()]).collect();
            let is_right = found.len() == 1 || found == needed;
            assert!(is_right, "{language}.ftl, `{name}`: {found:?} in place of {needed:?}");
        }
        let seconds = texts.sentences[Phrase::Seconds as usize].as_ref().unwrap();
        let has_forms = !WITHOUT_FORMS.contains(&language);
        assert_eq!(seconds.categories().len() > 1, has_forms, "{language}.ftl");
    }
}

/// The languages without plural forms.
const WITHOUT_FORMS: [Language; 8] = [
    Language::CHINESE_SIMPLIFIED,
    Language::CHINESE_TRADITIONAL,
    Language::INDONESIAN,
    Language::JAPANESE,
    Language::KOREAN,
    Language::MALAY,
    Language::THAI,
    Language::VIETNAMESE,
];

/// Returns how a number of minutes is told in a language.
fn minutes(language: Language, count: u64) -> String {
    language.sentence(Phrase::Minutes, Args { count, ..Args::default() }).into_owned()
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of cases")]
fn plural_forms_are_those_of_polish_arabic_russian_and_czech() {
    let cases: [(Language, &[(u64, &str)]); 7] = [
        (
            Language::POLISH,
            &[
                (1, "1 minuta"),
                (2, "2 minuty"),
                (4, "4 minuty"),
                (5, "5 minut"),
                (12, "12 minut"),
                (21, "21 minut"),
                (22, "22 minuty"),
            ],
        ),
        (
            Language::ARABIC,
            &[
                (1, "دقيقة واحدة"),
                (2, "دقيقتان"),
                (3, "3 دقائق"),
                (10, "10 دقائق"),
                (11, "11 دقيقة"),
                (99, "99 دقيقة"),
                (100, "100 دقيقة"),
                (103, "103 دقائق"),
            ],
        ),
        (
            Language::RUSSIAN,
            &[
                (1, "1 минута"),
                (3, "3 минуты"),
                (5, "5 минут"),
                (11, "11 минут"),
                (21, "21 минута"),
                (22, "22 минуты"),
            ],
        ),
        (
            Language::CZECH,
            &[(1, "1 minuta"), (2, "2 minuty"), (4, "4 minuty"), (5, "5 minut"), (22, "22 minut")],
        ),
        (
            Language::SLOVENIAN,
            &[
                (1, "1 minuta"),
                (2, "2 minuti"),
                (3, "3 minute"),
                (4, "4 minute"),
                (5, "5 minut"),
                (101, "101 minuta"),
                (102, "102 minuti"),
            ],
        ),
        (
            Language::LITHUANIAN,
            &[
                (1, "1 minutė"),
                (9, "9 minutės"),
                (10, "10 minučių"),
                (12, "12 minučių"),
                (22, "22 minutės"),
            ],
        ),
        (
            Language::LATVIAN,
            &[
                (0, "0 minūšu"),
                (1, "1 minūte"),
                (2, "2 minūtes"),
                (11, "11 minūšu"),
                (21, "21 minūte"),
            ],
        ),
    ];
    for (language, expected) in cases {
        for (count, text) in expected {
            assert_eq!(minutes(language, *count), *text, "{language}");
        }
    }
}

#[test]
fn counts_have_thousands_separators() {
    assert_eq!(Language::ENGLISH.count(7), "7");
    assert_eq!(Language::ENGLISH.count(999), "999");
    assert_eq!(Language::ENGLISH.count(1_000), "1,000");
    assert_eq!(Language::GERMAN.count(1_234_567), "1.234.567");
    assert_eq!(Language::FRENCH.count(12_345), "12\u{202f}345");
    assert_eq!(Language::HINDI.count(1_234_567), "12,34,567");
    assert_eq!(Language::HINDI.count(12_345), "12,345");
}
