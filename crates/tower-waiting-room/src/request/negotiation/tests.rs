use proptest::prelude::*;
use unic_langid::LanguageIdentifier;

use super::{super::list::MAX_ELEMENTS, *};

/// Returns the tag of the built-in language that a header prefers.
fn negotiated(header: &str) -> &'static str {
    Languages::built_in().negotiate(header.as_bytes()).tag()
}

#[test]
fn the_preferred_language_is_chosen_by_weight_then_order() {
    let cases = [
        ("", "en"),
        ("de", "de"),
        ("de-AT,de;q=0.9,en;q=0.8", "de"),
        ("FR-ca", "fr"),
        ("en;q=0.5, es;q=0.9", "es"),
        ("gsw,zh-CN;q=0.8,en;q=0.7", "zh-Hans"),
        ("gsw, mi;q=0.9", "en"),
        ("de;q=0, fr;q=0.1", "fr"),
        ("de;q=NaN, de;q=x, fr;q=0.1", "fr"),
        ("en-GB,fr", "en"),
        ("*", "en"),
        (",;,=,-", "en"),
        ("de-DE-u-co-phonebk", "de"),
        ("fr; Q=0.4 , es ;q=0.6", "es"),
        ("de;q=0.3, *;q=0.5", "en"),
        ("*, de", "de"),
        ("gsw, *;q=0.1, de;q=0.5", "de"),
        ("de;q=5, de;q=-1, de;q=inf, de;q=, fr;q=0.001", "fr"),
    ];
    for (header, tag) in cases {
        assert_eq!(negotiated(header), tag, "{header:?}");
    }
}

#[test]
fn the_script_or_the_region_selects_the_form_of_chinese() {
    let cases = [
        ("zh", "zh-Hans"),
        ("zh-CN", "zh-Hans"),
        ("zh-SG", "zh-Hans"),
        ("zh-TW", "zh-Hant"),
        ("zh-HK", "zh-Hant"),
        ("zh-MO", "zh-Hant"),
        ("zh-Hant", "zh-Hant"),
        ("zh-Hant-HK", "zh-Hant"),
        ("zh-Hant-CN", "zh-Hant"),
        ("ZH-HANS-tw", "zh-Hans"),
        ("zh-hant-u-nu-hanidec", "zh-Hant"),
        ("yue", "zh-Hant"),
        ("zh-yue-HK", "zh-Hant"),
    ];
    for (header, tag) in cases {
        assert_eq!(negotiated(header), tag, "{header:?}");
    }
}

#[test]
fn portuguese_and_serbian_have_two_variants() {
    let cases = [
        ("pt", "pt-BR"),
        ("pt-BR", "pt-BR"),
        ("pt-US", "pt-BR"),
        ("pt-PT", "pt-PT"),
        ("pt-AO", "pt-PT"),
        ("pt-MZ", "pt-PT"),
        ("sr", "sr"),
        ("sr-RS", "sr"),
        ("sr-Cyrl-ME", "sr"),
        ("sr-ME", "sr-Latn"),
        ("sr-Latn-RS", "sr-Latn"),
        ("sh", "sr-Latn"),
    ];
    for (header, tag) in cases {
        assert_eq!(negotiated(header), tag, "{header:?}");
    }
}

/// For every language with several scripts and every region, the script is the one that the library
/// considers likely.
#[test]
fn the_script_of_every_region_is_the_likely_one() {
    for primary in ["zh", "sr"] {
        for region in (b'A'..=b'Z').flat_map(|a| (b'A'..=b'Z').map(move |b| [a, b])) {
            let range = format!("{primary}-{}", str::from_utf8(&region).unwrap());
            let mut likely: LanguageIdentifier = range.parse().unwrap();
            likely.maximize();
            let chosen = Languages::built_in().named(range.as_bytes()).unwrap();
            let mut chosen: LanguageIdentifier = chosen.tag().parse().unwrap();
            chosen.maximize();
            assert_eq!(chosen.script, likely.script, "{range}");
        }
    }
}

#[test]
fn ranges_beyond_the_bound_are_not_read() {
    let behind = |ranges: usize| "xx,".repeat(ranges) + "de";
    assert_eq!(negotiated(&behind(MAX_ELEMENTS - 1)), "de");
    assert_eq!(negotiated(&behind(MAX_ELEMENTS)), "en");
}

/// The naive implementation of [`Languages::negotiate`], for languages with one variant.
fn expected(accept_language: &str) -> &'static str {
    let mut preferred = "en";
    let mut best = 0.0;
    let mut rest = 0.0_f32;
    for element in accept_language.split(',').take(MAX_ELEMENTS) {
        let (range, parameters) = element.split_once(';').unwrap_or((element, ""));
        let mut parameters =
            parameters.split(';').filter_map(|parameter| parameter.split_once('='));
        let weight = parameters.find(|(name, _)| name.trim().eq_ignore_ascii_case("q"));
        let is_number = |text: &str| text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'.'));
        let weight = weight.map_or("1", |(_, value)| value.trim());
        let weight = weight.parse().ok().filter(|value| is_number(weight) && *value <= 1.0);
        let weight = weight.unwrap_or(0.0);
        let primary = range.trim().split('-').next().unwrap();
        let language = Language::ALL.into_iter().map(Language::tag).find(|tag| {
            tag.split('-').next().is_some_and(|first| first.eq_ignore_ascii_case(primary))
        });
        if range.trim() == "*" {
            rest = rest.max(weight);
        } else if let Some(language) = language.filter(|_| weight > best) {
            preferred = language;
            best = weight;
        }
    }
    if rest > best { "en" } else { preferred }
}

fn range() -> impl Strategy<Value = String> {
    let tag = prop_oneof![
        prop::sample::select(vec!["de", "EN", "es-419", "fr ", " zh-Hans-TW", "*", "* ", "xx"])
            .prop_map(str::to_owned),
        // Apart from the aliases, no tag of these letters has several variants or other names.
        "[a-lA-Lq* -][a-m* -]{0,4}".prop_filter("an alias", |tag| {
            let primary = tag.trim().split('-').next().unwrap_or_default().to_ascii_lowercase();
            ALIASES.iter().all(|(alias, _)| *alias != primary)
        }),
    ];
    let parameter = prop_oneof![
        3 => "; ?[qQ]=(0(\\.[0-9]{0,3})?|1(\\.0{0,3})?)",
        1 => "[;=] ?[a-zq] ?=? ?[a-z0-9.-]{0,4}",
    ];
    (tag, prop::collection::vec(parameter, 0..3))
        .prop_map(|(tag, parameters)| tag + &parameters.concat())
}

proptest! {
    #[test]
    fn a_header_agrees_with_a_naive_parser(
        ranges in prop::collection::vec(range(), 0..40),
    ) {
        let header = ranges.join(",");
        prop_assert_eq!(negotiated(&header), expected(&header), "{}", header);
    }

    #[test]
    fn any_range_is_a_language_or_none(range in prop::collection::vec(any::<u8>(), 0..40)) {
        let _ = Languages::built_in().named(&range);
    }

    #[test]
    fn any_range_of_chinese_is_chinese(range in "zh(-[a-zA-Z0-9]{0,9}){0,9}") {
        prop_assert!(negotiated(&range).starts_with("zh-"), "{}", range);
    }
}

#[cfg(feature = "room")]
mod added {
    use super::*;

    fn added(tag: &'static str) -> Language {
        Language::add(tag, false).unwrap()
    }

    fn among(languages: &Languages, header: &str) -> Language {
        languages.negotiate(header.as_bytes())
    }

    #[test]
    fn a_language_with_a_new_tag_is_found_beside_the_others() {
        let [swiss, hong_kong, angola] = ["gsw", "zh-Hant-HK", "pt-AO"].map(added);
        let languages = Languages::built_in().with(swiss).with(hong_kong).with(angola);
        assert_eq!(among(&languages, "gsw-CH, de;q=0.9"), swiss);
        assert_eq!(among(&languages, "zh-HK"), hong_kong);
        assert_eq!(among(&languages, "zh-Hant-HK"), hong_kong);
        assert_eq!(among(&languages, "zh-TW"), Language::CHINESE_TRADITIONAL);
        assert_eq!(among(&languages, "zh"), Language::CHINESE_SIMPLIFIED);
        assert_eq!(among(&languages, "pt-AO"), angola);
        assert_eq!(among(&languages, "pt-MZ"), Language::PORTUGUESE_PORTUGAL);
        assert_eq!(among(Languages::built_in(), "gsw-CH, de;q=0.9"), Language::GERMAN);
    }

    #[test]
    fn a_language_with_a_built_in_tag_replaces_it() {
        let [english, nynorsk] = ["en", "nn"].map(added);
        let languages = Languages::built_in().with(english).with(nynorsk);
        assert_eq!(among(&languages, "en-GB"), english);
        assert_eq!(among(&languages, "xx"), english);
        assert_eq!(among(&languages, "nn-NO"), nynorsk);
        assert_eq!(among(&languages, "no"), Language::NORWEGIAN);
        let german = languages.with_default(Language::GERMAN);
        assert_eq!(among(&german, "xx"), Language::GERMAN);
    }
}
