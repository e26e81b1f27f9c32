//! The answer in sentences, in the client's language.

use std::{borrow::Cow, time::Duration};

use fluent_bundle::FluentArgs;
use serde::Serialize;
use waiting_room_core::{QueueingMethod, Reason, Wait};

use super::{Answer, Language, Outcome, answer::whole_seconds};

/// An [`Answer`] in sentences.
///
/// The waiting page shows them, the JSON answer carries them so that its script needs no plural
/// rules, and the plain forms are made of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Message {
    /// For the title of the window: "No. 12 in line".
    pub title: Cow<'static, str>,
    /// What it is about: "You are in line".
    pub headline: Cow<'static, str>,
    /// More about that, where it is not good news.
    pub detail: Option<Cow<'static, str>>,
    /// The place in line: "You are number 12 in line".
    pub position: Option<Cow<'static, str>>,
    /// The number as it stands in [`position`](Self::position), if it does: "12".
    pub number: Option<String>,
    /// How long it takes: "Estimated wait: about 4 to 7 minutes."
    pub wait: Option<Cow<'static, str>>,
    /// How long the visitor may be away: "You may close this tab for 5 minutes …"
    pub keep: Option<Cow<'static, str>>,
    /// When to come back, for who does not wait: "Please try again in 2 minutes."
    pub again: Option<Cow<'static, str>>,
}

impl Message {
    pub(super) fn new(answer: &Answer) -> Self {
        let words = Words(answer.language);
        match answer.outcome {
            Outcome::Admit => Self::bare(words.phrase("title-turn"), words.phrase("headline-turn")),
            Outcome::Refuse => Self::refused(words, answer),
            Outcome::Wait => Self::waiting(words, answer),
        }
    }

    /// Everything there is to say, in one paragraph.
    pub(super) fn paragraph(answer: &Answer) -> String {
        let (words, it) = (Words(answer.language), Self::new(answer));
        let first = it.position.unwrap_or(it.headline);
        let mut paragraph = words.with("stop", "text", &first).into_owned();
        let again = it.again.or_else(|| words.again(answer));
        for sentence in [it.detail, it.wait, again].into_iter().flatten() {
            paragraph.push_str(words.0.space());
            paragraph.push_str(&sentence);
        }
        paragraph
    }

    fn bare(title: Cow<'static, str>, headline: Cow<'static, str>) -> Self {
        let (detail, position, number, wait, keep, again) = (None, None, None, None, None, None);
        Self { title, headline, detail, position, number, wait, keep, again }
    }

    fn refused(words: Words, answer: &Answer) -> Self {
        let (headline, detail) = match answer.reason {
            Reason::RefusedDraining => ("headline-draining", "detail-draining"),
            Reason::RefusedGateFull | Reason::RefusedGateTimeout => ("headline-busy", "detail-busy"),
            Reason::RefusedLineFull => ("headline-full", "detail-full"),
            Reason::RefusedRate(_) => ("headline-rate", "detail-rate"),
            Reason::RefusedReject => ("headline-closed", "detail-closed"),
            _ => ("headline-unavailable", "detail-unavailable"),
        };
        let headline = words.phrase(headline);
        Self {
            detail: Some(words.phrase(detail)),
            again: words.again(answer),
            ..Self::bare(headline.clone(), headline)
        }
    }

    fn waiting(words: Words, answer: &Answer) -> Self {
        let is_early = answer.reason == Reason::Prequeue;
        let headline = if is_early { "headline-prequeue" } else { "headline-waiting" };
        let position = match answer.position {
            Some(1) => words.phrase("position-first"),
            Some(place) => words.with("position", "shown", &words.0.count(place)),
            None if answer.is_placed && answer.method == QueueingMethod::Random => {
                words.phrase("position-lot")
            }
            None => words.phrase("position-pending"),
        };
        let title = match answer.position {
            Some(place) => words.with("title-position", "shown", &words.0.count(place)),
            None => words.phrase("title-waiting"),
        };
        let retention = answer.place_retention;
        let keep = || words.with("keep", "span", &words.span(retention));
        Self {
            detail: is_early.then(|| words.phrase("detail-prequeue")),
            position: Some(position),
            number: answer.position.filter(|place| *place > 1).map(|place| words.0.count(place)),
            wait: Some(words.wait(answer)),
            keep: (answer.is_placed && !retention.is_zero()).then(keep),
            ..Self::bare(title, words.phrase(headline))
        }
    }
}

/// The sentences of one language.
#[derive(Clone, Copy)]
struct Words(Language);

impl Words {
    fn phrase(self, id: &'static str) -> Cow<'static, str> {
        self.0.phrase(id)
    }

    fn with(self, id: &'static str, name: &'static str, value: &str) -> Cow<'static, str> {
        let mut args = FluentArgs::with_capacity(1);
        args.set(name, value);
        self.0.sentence(id, &args)
    }

    fn again(self, answer: &Answer) -> Option<Cow<'static, str>> {
        answer.retry_after.map(|time| self.with("again", "span", &self.span(time)))
    }

    fn wait(self, answer: &Answer) -> Cow<'static, str> {
        match answer.wait {
            None if answer.is_queue_all => self.phrase("wait-paused"),
            None => self.phrase("wait-unknown"),
            Some(wait) if wait.p75 < MINUTE => self.phrase("wait-short"),
            Some(wait) if wait.p50 >= Wait::MAX => self.phrase("wait-long"),
            Some(wait) if wait.p75 <= IN_MINUTES => {
                self.with("wait-about", "span", &self.range("minutes", wait, MINUTE))
            }
            Some(wait) => self.with("wait-about", "span", &self.range("hours", wait, HOUR)),
        }
    }

    /// The middle half of the waits, in whole units: the lower end rounded down, but not to
    /// nothing, and the upper end rounded up.
    fn range(self, unit: &'static str, wait: Wait, length: Duration) -> Cow<'static, str> {
        let length = length.as_secs();
        let low = (wait.p25.as_secs() / length).max(1);
        let high = wait.p75.as_secs().div_ceil(length);
        if low >= high {
            return self.counted(unit, high);
        }
        let mut args = FluentArgs::with_capacity(2);
        args.set("low", low);
        args.set("count", high);
        self.0.sentence(if unit == "hours" { "hours-range" } else { "minutes-range" }, &args)
    }

    /// A length of time in the unit that suits it, rounded up.
    fn span(self, time: Duration) -> Cow<'static, str> {
        let seconds = whole_seconds(time);
        if seconds < 2 * MINUTE.as_secs() && !seconds.is_multiple_of(60) {
            self.counted("seconds", seconds)
        } else if seconds <= IN_MINUTES.as_secs() {
            self.counted("minutes", seconds.div_ceil(60))
        } else {
            self.counted("hours", seconds.div_ceil(3600))
        }
    }

    fn counted(self, unit: &'static str, count: u64) -> Cow<'static, str> {
        let mut args = FluentArgs::with_capacity(1);
        args.set("count", count);
        self.0.sentence(unit, &args)
    }
}

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(60 * 60);

/// What is longer is told in hours.
const IN_MINUTES: Duration = Duration::from_secs(90 * 60);
