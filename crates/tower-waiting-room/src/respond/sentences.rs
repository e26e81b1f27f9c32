//! Sentences that contain numbers and durations, in one language.
//!
//! Durations are rounded for readability. An expected wait is shown as a range in minutes or hours.
//! Any other duration, such as the time to retry, is rounded up, so a visitor who waits for that
//! long is never too early. The length of the duration determines the unit:
//!
//! | duration | unit |
//! |---|---|
//! | less than 2 min, except 1 min | seconds |
//! | up to 90 min | minutes |
//! | longer | hours |

use std::{borrow::Cow, time::Duration};

use waiting_room_core::room::WaitEstimate;

use super::{
    Answer, EventFacts,
    i18n::{Args, Phrase},
};
use crate::{rate_headers::whole_seconds, request::Language};

/// The sentences of one language.
#[derive(Clone, Copy)]
pub(super) struct Sentences(pub(super) Language);

impl Sentences {
    /// Returns the sentence `id`, which has no arguments.
    pub(super) fn phrase(self, id: Phrase) -> Cow<'static, str> {
        self.0.phrase(id)
    }

    /// Returns the sentence `id` with its text argument filled in.
    pub(super) fn with(self, id: Phrase, text: &str) -> Cow<'static, str> {
        self.0.sentence(id, Args { text, ..Args::default() })
    }

    /// Returns the sentence about the number of visitors ahead of a newcomer. The plural form
    /// depends on `count`, and the sentence contains `shown`, the formatted number.
    pub(super) fn ahead(self, count: u32, shown: &str) -> Cow<'static, str> {
        let args = Args { count: count.into(), text: shown, ..Args::default() };
        self.0.sentence(Phrase::Ahead, args)
    }

    /// Returns the sentence about the number of visitors in a line. The parameters are those of
    /// [`ahead`](Self::ahead).
    pub(super) fn line(self, count: u32, shown: &str) -> Cow<'static, str> {
        let args = Args { count: count.into(), text: shown, ..Args::default() };
        self.0.sentence(Phrase::LineAbout, args)
    }

    /// Returns the sentence about the time for which a place is kept.
    pub(super) fn keep(self, retention: Duration) -> Cow<'static, str> {
        self.with(Phrase::Keep, &self.span(retention))
    }

    /// Returns the sentence about the time to retry, or `None` if no retry can succeed.
    pub(super) fn again(self, answer: &Answer) -> Option<Cow<'static, str>> {
        answer.retry_after.map(|time| self.with(Phrase::Again, &self.span(time)))
    }

    /// Returns the sentences about the draw of an event: before the draw, the visitor's number and
    /// the commitment, and afterwards, the visitor's place and the seed. Returns `None` if the visitor
    /// takes part in no draw.
    pub(super) fn draw(self, event: &EventFacts) -> Option<Cow<'static, str>> {
        let low = event.number?;
        let (own, public) = match (event.place, event.entrants, &event.seed) {
            (Some(place), Some(entrants), Some(seed)) => {
                let place = self.0.count(place);
                let count = entrants.into();
                let args = Args { count, low: low.into(), text: &place };
                let own = self.0.sentence(Phrase::EventResult, args);
                (own, self.with(Phrase::EventSeed, seed))
            }
            _ => {
                let own = self.with(Phrase::EventNumber, &self.0.count(low));
                (own, self.with(Phrase::EventProof, event.commitment.as_deref()?))
            }
        };
        Some([&own, self.0.space(), &public].concat().into())
    }

    /// Returns the sentence about the expected wait or the time until an event starts, or a
    /// sentence for an unknown wait. Estimates are capped at one day, so an estimate of a day may
    /// stand for any longer wait, and the sentence then contains no number.
    pub(super) fn wait(self, answer: &Answer) -> Cow<'static, str> {
        if let Some(event) = answer.event.as_ref().filter(|event| event.is_prequeue)
            && !answer.is_queue_all
        {
            return self.with(Phrase::EventStart, &self.span(event.starts_in));
        }
        match answer.wait {
            None if answer.is_queue_all => self.phrase(Phrase::WaitPaused),
            None => self.phrase(Phrase::WaitUnknown),
            // Minutes are the smallest unit of a range.
            Some(wait) if wait.p75 < MINUTE => self.phrase(Phrase::WaitShort),
            Some(wait) if wait.p50 >= WaitEstimate::MAX => self.phrase(Phrase::WaitLong),
            Some(wait) => self.with(Phrase::WaitAbout, &self.range(wait)),
        }
    }

    /// Formats the range from the 25th to the 75th percentile of the expected wait, in minutes or
    /// hours. The lower end is rounded down, but not below 1, and the upper end is rounded up. If
    /// both ends are equal, only one number is shown.
    fn range(self, wait: WaitEstimate) -> Cow<'static, str> {
        let (unit, range, length) = if wait.p75 <= IN_MINUTES {
            (Phrase::Minutes, Phrase::MinutesRange, MINUTE.as_secs())
        } else {
            (Phrase::Hours, Phrase::HoursRange, HOUR.as_secs())
        };
        let low = (wait.p25.as_secs() / length).max(1);
        let high = wait.p75.as_secs().div_ceil(length);
        if low >= high {
            return self.counted(unit, high);
        }
        self.0.sentence(range, Args { low, count: high, ..Args::default() })
    }

    /// Formats a duration in a suitable unit, rounded up. One minute is shown in minutes, although
    /// other short durations are shown in seconds.
    pub(super) fn span(self, time: Duration) -> Cow<'static, str> {
        let seconds = whole_seconds(time);
        if seconds < 2 * MINUTE.as_secs() && !seconds.is_multiple_of(60) {
            self.counted(Phrase::Seconds, seconds)
        } else if seconds <= IN_MINUTES.as_secs() {
            self.counted(Phrase::Minutes, seconds.div_ceil(60))
        } else {
            self.counted(Phrase::Hours, seconds.div_ceil(3600))
        }
    }

    /// Formats a number with its unit, in the plural form that the language requires.
    fn counted(self, unit: Phrase, count: u64) -> Cow<'static, str> {
        self.0.sentence(unit, Args { count, ..Args::default() })
    }
}

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(60 * 60);

/// The longest duration that is shown in minutes. Longer durations are shown in hours.
const IN_MINUTES: Duration = Duration::from_secs(90 * 60);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::respond::sample;

    fn wait_of(language: Language, seconds: [u64; 3]) -> String {
        let [p25, p50, p75] = seconds.map(Duration::from_secs);
        let wait = Some(WaitEstimate::new(p25, p50, p75));
        let answer = Answer { language, wait, ..sample::placed() };
        answer.message().wait.unwrap().into_owned()
    }

    #[test]
    fn one_and_two_have_forms_of_their_own() {
        let told = |language, count| {
            [Phrase::Seconds, Phrase::Minutes, Phrase::Hours]
                .map(|unit| Sentences(language).counted(unit, count).into_owned())
        };
        let cases = [
            (Language::CHINESE_SIMPLIFIED, 1, ["1 秒", "1 分钟", "1 小时"]),
            (Language::CHINESE_SIMPLIFIED, 2, ["2 秒", "2 分钟", "2 小时"]),
            (Language::ENGLISH, 1, ["1 second", "1 minute", "1 hour"]),
            (Language::ENGLISH, 2, ["2 seconds", "2 minutes", "2 hours"]),
            (Language::FRENCH, 1, ["1 seconde", "1 minute", "1 heure"]),
            (Language::FRENCH, 2, ["2 secondes", "2 minutes", "2 heures"]),
            (Language::GERMAN, 1, ["1 Sekunde", "1 Minute", "1 Stunde"]),
            (Language::GERMAN, 2, ["2 Sekunden", "2 Minuten", "2 Stunden"]),
            (Language::HEBREW, 1, ["שנייה אחת", "דקה אחת", "שעה אחת"]),
            (Language::HEBREW, 2, ["2 שניות", "2 דקות", "שעתיים"]),
            (Language::SPANISH, 1, ["1 segundo", "1 minuto", "1 hora"]),
            (Language::SPANISH, 2, ["2 segundos", "2 minutos", "2 horas"]),
        ];
        for (language, count, expected) in cases {
            assert_eq!(told(language, count), expected);
        }
    }

    #[test]
    fn a_wait_is_shown_as_a_range_in_a_suitable_unit() {
        let english = |seconds| wait_of(Language::ENGLISH, seconds);
        assert_eq!(english([10, 20, 59]), "Estimated wait: less than a minute.");
        assert_eq!(english([60, 60, 60]), "Estimated wait: about 1 minute.");
        assert_eq!(english([20, 50, 70]), "Estimated wait: about 1 to 2 minutes.");
        assert_eq!(english([250, 330, 400]), "Estimated wait: about 4 to 7 minutes.");
        assert_eq!(english([1, 300, 5_400]), "Estimated wait: about 1 to 90 minutes.");
        assert_eq!(english([3_600, 5_400, 5_401]), "Estimated wait: about 1 to 2 hours.");
        assert_eq!(english([90_000, 90_000, 90_000]), "Estimated wait: more than a day.");
        assert_eq!(
            wait_of(Language::GERMAN, [250, 330, 400]),
            "Voraussichtliche Wartezeit: etwa 4 bis 7 Minuten."
        );
    }
}
