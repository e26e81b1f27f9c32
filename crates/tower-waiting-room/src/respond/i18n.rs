//! The sentences of answers in each language.
//!
//! Each language has one file in `i18n/`, in the Fluent format, with the plural rules of CLDR. To
//! add a language, add a file, a variant of [`Language`] and a line in each table below. Tests then
//! require the file to contain every sentence of [`Phrase`], in the same order. Without the `page`
//! feature, every sentence is in English.
//!
//! A waiting page has up to seven sentences with numbers, and an attacker may request many pages.
//! The files are therefore parsed once per process, into constant pieces and arguments. To compose
//! a sentence, its pieces and digits are copied into one buffer. The parser supports the two
//! features of Fluent that the files use: arguments such as `{ $shown }`, and a choice between
//! `[one]` and `*[other]` that depends on `$count`. Tests compare each sentence with the output of
//! the `fluent-bundle` crate, which needs about 50 times as many instructions.

use std::{borrow::Cow, sync::LazyLock};

use crate::request::Language;

/// The arguments of a sentence. A sentence uses at most two of them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Args<'a> {
    /// `$count`, which also selects the plural form.
    pub(super) count: u64,
    /// `$low`, the lower end of a range.
    pub(super) low: u64,
    /// `$shown`, `$span` or `$text`. A sentence has at most one of these arguments.
    pub(super) text: &'a str,
}

/// Declares the ids of the sentences, in the order in which they appear in the file of each
/// language.
macro_rules! phrases {
    ($($id:ident = $name:literal,)+) => {
        /// A sentence, in any language.
        #[derive(Clone, Copy, Debug)]
        #[cfg_attr(
            not(any(feature = "page", test)),
            expect(dead_code, reason = "some are for the page only")
        )]
        pub(super) enum Phrase { $($id),+ }

        /// The names of the sentences in the files.
        const NAMES: &[&str] = &[$($name),+];

        /// All sentences.
        #[cfg(test)]
        const IDS: &[Phrase] = &[$(Phrase::$id),+];
    };
}

phrases! {
    TitlePosition = "title-position",
    TitleWaiting = "title-waiting",
    TitleTurn = "title-turn",
    HeadlineBusy = "headline-busy",
    HeadlineClosed = "headline-closed",
    HeadlineDraining = "headline-draining",
    HeadlineFull = "headline-full",
    HeadlineKey = "headline-key",
    HeadlineNetwork = "headline-network",
    HeadlineRate = "headline-rate",
    HeadlineSetup = "headline-setup",
    HeadlineTurn = "headline-turn",
    HeadlineUnavailable = "headline-unavailable",
    HeadlineWaiting = "headline-waiting",
    DetailBusy = "detail-busy",
    DetailClosed = "detail-closed",
    DetailDraining = "detail-draining",
    DetailFull = "detail-full",
    DetailKey = "detail-key",
    DetailNetwork = "detail-network",
    DetailRate = "detail-rate",
    DetailSetup = "detail-setup",
    DetailUnavailable = "detail-unavailable",
    Position = "position",
    PositionAbout = "position-about",
    PositionFirst = "position-first",
    PositionLot = "position-lot",
    PositionPending = "position-pending",
    Ahead = "ahead",
    WaitAbout = "wait-about",
    WaitLong = "wait-long",
    WaitPaused = "wait-paused",
    WaitShort = "wait-short",
    WaitUnknown = "wait-unknown",
    Keep = "keep",
    Again = "again",
    Unsent = "unsent",
    Updates = "updates",
    Updated = "updated",
    Offline = "offline",
    Online = "online",
    Cookies = "cookies",
    ButtonAgain = "button-again",
    ButtonSend = "button-send",
    Seconds = "seconds",
    Minutes = "minutes",
    Hours = "hours",
    MinutesRange = "minutes-range",
    HoursRange = "hours-range",
    Stop = "stop",
    EventStart = "event-start",
    EventLot = "event-lot",
    EventNumber = "event-number",
    EventProof = "event-proof",
    EventResult = "event-result",
    EventSeed = "event-seed",
}

impl Language {
    /// Returns the sentence `id` with its arguments filled in.
    pub(super) fn sentence(self, id: Phrase, args: Args<'_>) -> Cow<'static, str> {
        let is_one = self.is_one(args.count);
        CATALOGS[self as usize].0[id as usize].filled(is_one, args)
    }

    /// Returns the sentence `id`, which has no arguments.
    pub(super) fn phrase(self, id: Phrase) -> Cow<'static, str> {
        self.sentence(id, Args::default())
    }

    /// Formats a count with the thousands separator of this language.
    pub(super) fn count(self, count: u32) -> String {
        let mut digits = itoa::Buffer::new();
        let digits = digits.format(count);
        if digits.len() <= 3 {
            return digits.to_owned();
        }
        let mut written = String::with_capacity(digits.len() + 3 * self.separator().len_utf8());
        for (index, digit) in digits.chars().enumerate() {
            if index > 0 && (digits.len() - index).is_multiple_of(3) {
                written.push(self.separator());
            }
            written.push(digit);
        }
        written
    }
}

#[cfg(feature = "page")]
impl Language {
    /// Returns the separator between two sentences. Chinese needs no separator, because its full
    /// stop (`。`) includes a space.
    pub(super) const fn space(self) -> &'static str {
        match self {
            Self::Chinese => "",
            Self::English | Self::French | Self::German | Self::Spanish => " ",
        }
    }

    /// Returns whether a number has the plural form `[one]` (CLDR, "Language Plural Rules"). All
    /// other numbers have the form `[other]` in the files.
    const fn is_one(self, count: u64) -> bool {
        match self {
            Self::Chinese => false,
            Self::English | Self::German | Self::Spanish => count == 1,
            Self::French => count <= 1,
        }
    }

    /// Returns the thousands separator.
    const fn separator(self) -> char {
        match self {
            Self::Chinese | Self::English => ',',
            Self::French | Self::Spanish => '\u{202f}',
            Self::German => '.',
        }
    }

    /// Returns the Fluent file of this language.
    const fn file(self) -> &'static str {
        match self {
            Self::Chinese => include_str!("i18n/zh.ftl"),
            Self::English => include_str!("i18n/en.ftl"),
            Self::French => include_str!("i18n/fr.ftl"),
            Self::German => include_str!("i18n/de.ftl"),
            Self::Spanish => include_str!("i18n/es.ftl"),
        }
    }
}

#[cfg(not(feature = "page"))]
#[expect(clippy::unused_self, reason = "with the `page` feature, the languages differ")]
impl Language {
    pub(super) const fn space(self) -> &'static str {
        " "
    }

    const fn is_one(self, count: u64) -> bool {
        count == 1
    }

    const fn separator(self) -> char {
        ','
    }

    const fn file(self) -> &'static str {
        include_str!("i18n/en.ftl")
    }
}

/// The sentences of one language, in the order of [`Phrase`].
struct Catalog(Box<[Sentence]>);

impl Catalog {
    /// Parses the file of a language.
    fn new(language: Language) -> Self {
        let file = language.file();
        Self(NAMES.iter().map(|name| Sentence::find(name, file)).collect())
    }
}

/// A parsed sentence. Sentences that do not depend on a count have only the form `other`.
#[derive(Default)]
struct Sentence {
    one: Option<Box<[Piece]>>,
    other: Box<[Piece]>,
}

impl Sentence {
    /// Parses the sentence with this name. If the file lacks the sentence, the result is empty. A
    /// test ensures that no file lacks a sentence.
    fn find(name: &str, file: &'static str) -> Self {
        let mut rest = file;
        while let Some((line, after)) = rest.split_once('\n') {
            match line.strip_prefix(name).and_then(|line| line.strip_prefix(" = ")) {
                Some("{ $count ->") => return Self::choice(after),
                Some(text) => return Self { one: None, other: pieces(text) },
                None => rest = after,
            }
        }
        Self::default()
    }

    /// Parses the forms of a sentence that depends on `$count`.
    fn choice(lines: &'static str) -> Self {
        let form = |key| {
            let text = lines.lines().map_while(|line| line.strip_prefix(' '));
            text.map(str::trim_start).find_map(|line| line.strip_prefix(key)).map(pieces)
        };
        Self { one: form("[one] "), other: form("*[other] ").unwrap_or_default() }
    }

    /// Fills in the arguments.
    fn filled(&self, is_one: bool, args: Args<'_>) -> Cow<'static, str> {
        let pieces = match &self.one {
            Some(one) if is_one => one,
            _ => &self.other,
        };
        if let [Piece::Text(text)] = **pieces {
            return Cow::Borrowed(text);
        }
        let [mut count, mut low] = [itoa::Buffer::new(), itoa::Buffer::new()];
        let (count, low) = (count.format(args.count), low.format(args.low));
        let text = |piece: &Piece| match piece {
            Piece::Count => count,
            Piece::Low => low,
            Piece::Text(text) => text,
            Piece::Argument => args.text,
        };
        let mut filled = String::with_capacity(pieces.iter().map(|piece| text(piece).len()).sum());
        pieces.iter().for_each(|piece| filled.push_str(text(piece)));
        Cow::Owned(filled)
    }
}

/// A part of a sentence.
#[derive(Clone, Copy)]
enum Piece {
    /// The text argument.
    Argument,
    /// The digits of the count.
    Count,
    /// The digits of the lower end of a range.
    Low,
    /// Constant text.
    Text(&'static str),
}

/// Splits a sentence at its arguments.
fn pieces(sentence: &'static str) -> Box<[Piece]> {
    let mut parts = sentence.split("{ $");
    let mut pieces: Vec<Piece> = parts.next().map(Piece::Text).into_iter().collect();
    for part in parts {
        let (name, text) = part.split_once(" }").unwrap_or((part, ""));
        pieces.push(match name {
            "count" => Piece::Count,
            "low" => Piece::Low,
            _ => Piece::Argument,
        });
        pieces.push(Piece::Text(text));
    }
    pieces.retain(|piece| !matches!(piece, Piece::Text("")));
    pieces.into()
}

/// The parsed sentences, in the order of [`Language::ALL`].
static CATALOGS: LazyLock<[Catalog; Language::ALL.len()]> =
    LazyLock::new(|| Language::ALL.map(Catalog::new));

#[cfg(test)]
mod tests {
    use fluent_bundle::{FluentArgs, FluentBundle, FluentResource};
    use proptest::prelude::*;

    use super::*;

    /// Parses the file of a language with the `fluent-bundle` crate.
    fn bundle(language: Language) -> FluentBundle<FluentResource> {
        let resource = FluentResource::try_new(language.file().to_owned()).unwrap();
        let tag = if cfg!(feature = "page") { language.tag() } else { "en" };
        let mut bundle = FluentBundle::new(vec![tag.parse().unwrap()]);
        // Fluent surrounds arguments with invisible isolation marks, for text of mixed direction.
        // None of these languages needs the marks, which would end up in titles and plain text.
        bundle.set_use_isolating(false);
        bundle.add_resource(resource).unwrap();
        bundle
    }

    /// Formats a sentence with the `fluent-bundle` crate.
    fn expected(bundle: &FluentBundle<FluentResource>, id: Phrase, args: Args<'_>) -> String {
        let mut named = FluentArgs::new();
        named.set("count", args.count);
        named.set("low", args.low);
        for name in ["shown", "span", "text"] {
            named.set(name, args.text);
        }
        let pattern = bundle.get_message(NAMES[id as usize]).unwrap().value().unwrap();
        let mut errors = Vec::new();
        let text = bundle.format_pattern(pattern, Some(&named), &mut errors).into_owned();
        assert!(errors.is_empty(), "{errors:?}");
        text
    }

    fn compare(counts: impl Iterator<Item = u64> + Clone, text: &str) {
        for language in Language::ALL {
            let bundle = bundle(language);
            for (id, count) in IDS.iter().flat_map(|id| counts.clone().map(move |it| (*id, it))) {
                let args = Args { count, low: count / 2, text };
                let sentence = language.sentence(id, args);
                assert_eq!(sentence, expected(&bundle, id, args), "{language:?} {id:?} {count}");
            }
        }
    }

    #[test]
    fn every_sentence_is_that_of_fluent_for_every_number_that_occurs() {
        compare((0..=200).chain([1_000_000, 2_000_000, 277_777_777_777]), "12,345");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(16))]

        #[test]
        fn every_sentence_is_that_of_fluent(count in 0..1u64 << 53, text in "[ -~é]{0,20}") {
            compare([count].into_iter(), &text);
        }
    }

    #[test]
    fn every_language_has_every_sentence() {
        for language in Language::ALL {
            let lines = language.file().lines().filter(|line| !line.starts_with([' ', '#']));
            let names: Vec<_> = lines.filter_map(|line| Some(line.split_once(" = ")?.0)).collect();
            assert_eq!(names, NAMES, "{language:?}");
        }
    }

    #[test]
    fn the_order_of_the_catalogs_is_that_of_the_variants() {
        for (index, language) in Language::ALL.into_iter().enumerate() {
            assert_eq!(language as usize, index);
        }
    }

    #[test]
    #[cfg(feature = "page")]
    fn counts_have_their_thousands_apart() {
        assert_eq!(Language::English.count(7), "7");
        assert_eq!(Language::English.count(999), "999");
        assert_eq!(Language::English.count(1_000), "1,000");
        assert_eq!(Language::German.count(1_234_567), "1.234.567");
        assert_eq!(Language::French.count(12_345), "12\u{202f}345");
    }
}
