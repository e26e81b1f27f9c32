//! The sentences of answers in each language.
//!
//! Each language has one file in `i18n/`, in the Fluent format, with the plural rules of CLDR. To
//! add a built-in language, add a file, a line in `request/language.rs` and a line in `texts.rs`.
//! Applications add languages at start-up (`added.rs`).
//!
//! To add a sentence, add a line to [`Phrase`] and the English sentence to `en.ftl`. A language
//! without the sentence uses the English one. `scripts/untranslated.py` lists missing translations,
//! and fails if there are any, so that each release is complete. In a translated file, the
//! sentences are in the order of [`Phrase`], with every plural form of the language.
//!
//! A waiting page has up to seven sentences with numbers, and an attacker may request many pages. A
//! file is therefore parsed once per process, when it is first needed, into constant pieces and
//! arguments (`parse.rs`). To compose a sentence, its pieces and digits are copied into one buffer.
//! Tests compare each sentence with the output of the `fluent-bundle` crate, which needs about 50
//! times as many instructions.

#[cfg(feature = "room")]
mod added;
mod parse;
mod rules;
mod texts;

#[cfg(feature = "room")]
pub(super) use self::added::{MAX_TEXTS_LEN, add};

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
    AheadNone = "ahead-none",
    LineAbout = "line-about",
    Slower = "slower",
    Returned = "returned",
    Retries = "retries",
    Support = "support",
    EventStart = "event-start",
    EventLot = "event-lot",
    EventNumber = "event-number",
    EventProof = "event-proof",
    EventResult = "event-result",
    EventSeed = "event-seed",
    TransferHere = "transfer-here",
    TransferLink = "transfer-link",
    TransferOffer = "transfer-offer",
    TransferVoid = "transfer-void",
}

#[cfg(test)]
mod tests;
