//! The rules of each language: the plural rules of CLDR for whole numbers, and the separators
//! within large numbers and between sentences.
//!
//! A sentence has a form for each category of its language, and the form `other` for all numbers
//! without a form of their own. Languages that distinguish only the number one from all others, or
//! do not distinguish numbers at all, therefore need no rule here. Tests compare the rules with the
//! `icu_plurals` crate, which only tests use because it needs a dozen other crates. The
//! `intl_pluralrules` crate has wrong rules for Arabic, Latvian, Lithuanian and Romanian.

use std::ops::RangeInclusive;

/// The rules of a language.
pub(super) struct Rules {
    plural: PluralRule,
    pub(super) grouping: Grouping,
    /// The separator between two sentences.
    pub(super) space: &'static str,
}

/// The separation of digits in large numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Grouping {
    pub(super) separator: char,
    /// Whether the last group has three digits and every other group has two.
    pub(super) is_indian: bool,
}

impl Rules {
    /// Returns the rules of the language with this tag.
    pub(super) fn of(tag: &str) -> Self {
        let primary = tag.split('-').next().unwrap_or(tag);
        let separator = match tag {
            "es-MX" | "es-419" | "es-US" => ',',
            _ => separator(primary),
        };
        Self {
            plural: rule(tag, primary),
            grouping: Grouping { separator, is_indian: INDIAN.contains(&primary) },
            space: if matches!(primary, "ja" | "yue" | "zh") { "" } else { " " },
        }
    }

    /// Returns the plural category of a count.
    pub(super) fn category(&self, count: u64) -> Category {
        (self.plural)(count)
    }
}

/// Returns the thousands separator of a language (CLDR, "Number Symbols", with Latin digits). For
/// other languages, this is the separator of ISO 80000-1, a narrow space.
fn separator(primary: &str) -> char {
    match primary {
        "ar" | "cy" | "en" | "fa" | "fil" | "ga" | "he" | "hi" | "ja" | "ko" | "ms" | "sw"
        | "ta" | "th" | "ur" | "yue" | "zh" | "bn" | "gu" | "kn" | "ml" | "mr" | "pa" | "te" => ',',
        "az" | "bs" | "ca" | "da" | "de" | "el" | "eu" | "gl" | "hr" | "id" | "is" | "it"
        | "mk" | "nl" | "pt" | "ro" | "sl" | "sr" | "tr" | "vi" => '.',
        _ => '\u{202f}',
    }
}

/// The languages with groups of two digits.
const INDIAN: [&str; 10] = ["bn", "gu", "hi", "kn", "ml", "mr", "or", "pa", "ta", "te"];

/// A plural category of CLDR.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Category {
    Zero,
    One,
    Two,
    Few,
    Many,
    Other,
}

impl Category {
    /// Returns the category with this name.
    pub(super) fn of(name: &str) -> Option<Self> {
        Some(match name {
            "zero" => Self::Zero,
            "one" => Self::One,
            "two" => Self::Two,
            "few" => Self::Few,
            "many" => Self::Many,
            "other" => Self::Other,
            _ => return None,
        })
    }
}

/// A plural rule: the category of each number.
type PluralRule = fn(u64) -> Category;

/// Returns the plural rule of a language, by its tag and the primary subtag.
fn rule(tag: &str, primary: &str) -> PluralRule {
    if tag == "pt-PT" {
        return romance;
    }
    match primary {
        "ar" | "ars" => arabic,
        "be" | "ru" | "uk" => east_slavic,
        "br" => breton,
        "bs" | "hr" | "sh" | "sr" => south_slavic,
        "ca" | "es" | "gl" | "it" | "lld" | "scn" | "vec" => romance,
        "cs" | "sk" => |n| choose(&[(n == 1, One), ((2..=4).contains(&n), Few)]),
        "cy" => welsh,
        "dsb" | "hsb" | "sl" => slovenian,
        "ceb" | "fil" | "tl" => |n| choose(&[(!matches!(n % 10, 4 | 6 | 9), One)]),
        "fr" | "pt" => |n| choose(&[(n <= 1, One), (is_million(n), Many)]),
        "ga" => irish,
        "gd" => scottish_gaelic,
        "gv" => manx,
        "he" | "iu" | "iw" | "naq" | "sat" | "se" | "sma" | "smi" | "smj" | "smn" | "sms" => {
            |n| choose(&[(n == 1, One), (n == 2, Two)])
        }
        "is" | "mk" => |n| choose(&[(ends_in_one(n), One)]),
        "blo" | "cv" | "ksh" | "lag" => |n| choose(&[(n == 0, Zero), (n == 1, One)]),
        "kw" => cornish,
        "lt" => lithuanian,
        "lv" | "prg" => latvian,
        "mo" | "ro" => |n| choose(&[(n == 1, One), (n == 0 || last_two(n, 1..=19), Few)]),
        "mt" => maltese,
        "pl" => polish,
        "shi" => |n| choose(&[(n <= 1, One), ((2..=10).contains(&n), Few)]),
        "tzm" => |n| choose(&[(n <= 1 || (11..=99).contains(&n), One)]),
        "ak" | "am" | "as" | "bho" | "bn" | "csw" | "doi" | "fa" | "ff" | "gu" | "guw" | "hi"
        | "hy" | "kab" | "kn" | "ln" | "mg" | "nso" | "pa" | "pcm" | "si" | "ti" | "vi" | "wa"
        | "zu" => |n| choose(&[(n <= 1, One)]),
        _ => |n| choose(&[(n == 1, One)]),
    }
}

use Category::{Few, Many, One, Other, Two, Zero};

fn arabic(n: u64) -> Category {
    let [few, many] = [3..=10, 11..=99].map(|range| last_two(n, range));
    choose(&[(n == 0, Zero), (n == 1, One), (n == 2, Two), (few, Few), (many, Many)])
}

fn breton(n: u64) -> Category {
    let is_regular = |digit: u64| !matches!(n % 100 / 10, 1 | 7 | 9) && n % 10 == digit;
    let is_few = is_regular(3) || is_regular(4) || is_regular(9);
    choose(&[(is_regular(1), One), (is_regular(2), Two), (is_few, Few), (is_million(n), Many)])
}

fn cornish(n: u64) -> Category {
    let ends_in = |digit: u64| n % 10 == digit && (n % 100 / 10).is_multiple_of(2);
    let is_thousand = n.is_multiple_of(1_000)
        && (matches!(n % 100_000, 1_000..=20_000 | 40_000 | 60_000 | 80_000)
            || n % 1_000_000 == 100_000);
    let is_two = ends_in(2) || is_thousand;
    choose(&[(n == 0, Zero), (n == 1, One), (is_two, Two), (ends_in(3), Few), (ends_in(1), Many)])
}

fn east_slavic(n: u64) -> Category {
    choose(&[(ends_in_one(n), One), (ends_in_few(n), Few), (true, Many)])
}

fn irish(n: u64) -> Category {
    let [few, many] = [3..=6, 7..=10].map(|range: RangeInclusive<u64>| range.contains(&n));
    choose(&[(n == 1, One), (n == 2, Two), (few, Few), (many, Many)])
}

fn latvian(n: u64) -> Category {
    choose(&[(n.is_multiple_of(10) || last_two(n, 11..=19), Zero), (n % 10 == 1, One)])
}

fn lithuanian(n: u64) -> Category {
    let is_regular = !last_two(n, 11..=19) && !n.is_multiple_of(10);
    choose(&[(is_regular && n % 10 == 1, One), (is_regular, Few)])
}

fn maltese(n: u64) -> Category {
    let few = n == 0 || last_two(n, 3..=10);
    let many = last_two(n, 11..=19);
    choose(&[(n == 1, One), (n == 2, Two), (few, Few), (many, Many)])
}

fn manx(n: u64) -> Category {
    choose(&[(n % 10 == 1, One), (n % 10 == 2, Two), (n.is_multiple_of(20), Few)])
}

fn polish(n: u64) -> Category {
    choose(&[(n == 1, One), (ends_in_few(n), Few), (true, Many)])
}

fn romance(n: u64) -> Category {
    choose(&[(n == 1, One), (is_million(n), Many)])
}

fn scottish_gaelic(n: u64) -> Category {
    let is_few = matches!(n, 3..=10 | 13..=19);
    choose(&[(matches!(n, 1 | 11), One), (matches!(n, 2 | 12), Two), (is_few, Few)])
}

fn slovenian(n: u64) -> Category {
    choose(&[(n % 100 == 1, One), (n % 100 == 2, Two), (last_two(n, 3..=4), Few)])
}

fn south_slavic(n: u64) -> Category {
    choose(&[(ends_in_one(n), One), (ends_in_few(n), Few)])
}

fn welsh(n: u64) -> Category {
    choose(&[(n == 0, Zero), (n == 1, One), (n == 2, Two), (n == 3, Few), (n == 6, Many)])
}

/// Returns the first category whose condition holds.
fn choose(categories: &[(bool, Category)]) -> Category {
    categories.iter().find(|(holds, _)| *holds).map_or(Other, |(_, category)| *category)
}

/// Returns whether the last two digits of a number are in a range.
fn last_two(n: u64, range: RangeInclusive<u64>) -> bool {
    range.contains(&(n % 100))
}

/// Returns whether a number ends in 1, but not in 11.
fn ends_in_one(n: u64) -> bool {
    n % 10 == 1 && n % 100 != 11
}

/// Returns whether a number ends in 2, 3 or 4, but not in 12, 13 or 14.
fn ends_in_few(n: u64) -> bool {
    matches!(n % 10, 2..=4) && !last_two(n, 12..=14)
}

/// Returns whether a number is a multiple of a million.
fn is_million(n: u64) -> bool {
    n > 0 && n.is_multiple_of(1_000_000)
}

#[cfg(test)]
mod tests {
    use icu_locale_core::Locale;
    use icu_plurals::{PluralCategory, PluralRules, PluralRulesOptions};

    use super::*;

    /// The languages with several plural forms for which the library has the rules of CLDR.
    const LANGUAGES: &str = "af ak am ar as ast az be bg bho blo bn br brx bs ca ceb chr ckb cs \
        cy da de doi dsb ee el en eo es et eu fa fi fil fo fr fy ga gd gl gu ha he hi hr hsb hu \
        hy ia is it ka kk kn ks ksh ku ky lb lij lt lv mk ml mn mr mt nb ne nl nn no nso om or \
        pa pcm pl prg ps pt pt-PT rm ro ru sat sc scn sd si sk sl so sq sr st sv sw syr ta te ti \
        tk tn tr ug uk ur uz vec vi xh zu";

    type Samples = &'static [(Category, &'static [u64])];

    /// Numbers of each category in CLDR, for other languages that have a rule of their own.
    const SAMPLES: [(&str, Samples); 8] = [
        (
            "ars",
            &[
                (Zero, &[0]),
                (One, &[1]),
                (Two, &[2]),
                (Few, &[3, 10, 103, 1_003]),
                (Many, &[11, 99, 111, 1_011]),
                (Other, &[100, 102, 200, 1_000]),
            ],
        ),
        ("ff guw kab ln mg wa", &[(One, &[0, 1]), (Other, &[2, 17, 100, 1_000])]),
        (
            "gv",
            &[
                (One, &[1, 11, 61, 101, 1_001]),
                (Two, &[2, 12, 72, 102, 1_002]),
                (Few, &[0, 20, 100, 140, 1_000]),
                (Other, &[3, 10, 13, 23, 103, 1_003]),
            ],
        ),
        (
            "iu naq se sma smi smj smn sms",
            &[(One, &[1]), (Two, &[2]), (Other, &[0, 3, 11, 12, 102])],
        ),
        (
            "kw",
            &[
                (Zero, &[0]),
                (One, &[1]),
                (Two, &[2, 22, 42, 62, 82, 102, 1_000, 20_000, 40_000, 60_000, 80_000, 100_000]),
                (Few, &[3, 23, 143, 1_003]),
                (Many, &[21, 41, 161, 1_001]),
                (Other, &[4, 12, 19, 33, 100, 1_004, 21_500, 30_000, 1_000_000]),
            ],
        ),
        ("lag", &[(Zero, &[0]), (One, &[1]), (Other, &[2, 17, 100])]),
        ("shi", &[(One, &[0, 1]), (Few, &[2, 10]), (Other, &[11, 26, 102])]),
        ("tzm", &[(One, &[0, 1, 11, 24, 99]), (Other, &[2, 10, 100, 111])]),
    ];

    #[test]
    fn every_rule_agrees_with_icu() {
        let mut wrong = Vec::new();
        for tag in LANGUAGES.split_whitespace() {
            let locale: Locale = tag.parse().unwrap();
            let rules = PluralRules::try_new(locale.into(), PluralRulesOptions::default()).unwrap();
            assert!(rules.categories().count() > 1, "the library has no rules for {tag}");
            let rule = rule(tag, tag.split('-').next().unwrap());
            let thousands = (1..=200).map(|count| 1_000 * count);
            let millions = [1_000_000, 1_000_001, 1_100_000, 2_000_000, 3_000_004, 10_000_000];
            for n in (0..=1_200).chain(thousands).chain(millions) {
                let expected = match rules.category_for(n) {
                    PluralCategory::Zero => Zero,
                    PluralCategory::One => One,
                    PluralCategory::Two => Two,
                    PluralCategory::Few => Few,
                    PluralCategory::Many => Many,
                    PluralCategory::Other => Other,
                };
                let found = rule(n);
                if found != expected {
                    wrong.push((tag, n, found, expected));
                }
            }
        }
        for (tags, samples) in SAMPLES {
            for tag in tags.split_whitespace() {
                for (expected, numbers) in samples {
                    for n in *numbers {
                        let found = rule(tag, tag)(*n);
                        if found != *expected {
                            wrong.push((tag, *n, found, *expected));
                        }
                    }
                }
            }
        }
        assert_eq!(wrong, []);
    }
}
