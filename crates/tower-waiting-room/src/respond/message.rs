//! The answer in sentences, in the language of the client.
//!
//! A [`Message`] contains what a person needs to know: the place in line, the expected wait, how
//! long the place is kept, and when to retry. This file selects the sentences, `sentences.rs` fills
//! in numbers and times, and `i18n.rs` contains the translations.

use std::borrow::Cow;

use serde::Serialize;
use waiting_room_core::{Reason, room::QueueingMethod};

use super::{Answer, Outcome, i18n::Phrase, sentences::Sentences};

/// An [`Answer`] in sentences, in the language of the client.
///
/// The waiting page shows the sentences. The JSON answer contains the sentences for the script of
/// the page, which therefore needs no plural rules. All other forms contain the sentences as one
/// paragraph. A field is `None` if it does not apply.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Message {
    /// The title of the browser window, such as "No. 12 in line".
    pub title: Cow<'static, str>,
    /// The topic of the answer, such as "You are in line".
    pub headline: Cow<'static, str>,
    /// An explanation of the headline, for refusals. For a visitor that takes part in the draw of an
    /// event, its number or place, and what anyone needs to recompute the draw.
    pub detail: Option<Cow<'static, str>>,
    /// The place in line, such as "You are number 12 in line". Before the visitor has a place, this
    /// is the number of visitors ahead, such as "About 11 people are ahead of you", or the length of
    /// a line whose order is drawn by lot.
    pub position: Option<Cow<'static, str>>,
    /// The formatted number in [`position`](Self::position), such as "12". `None` if that sentence
    /// contains no number.
    pub number: Option<String>,
    /// The expected wait, such as "Estimated wait: about 4 to 7 minutes.", or the time until an event
    /// starts, such as "It starts in 10 minutes."
    pub wait: Option<Cow<'static, str>>,
    /// The time for which the visitor may be away, such as "You may close this tab for 5 minutes …"
    pub keep: Option<Cow<'static, str>>,
    /// The time to retry, for refusals, such as "Please try again in 2 minutes."
    pub again: Option<Cow<'static, str>>,
}

impl Message {
    /// Selects the sentences for an answer.
    pub(super) fn new(answer: &Answer) -> Self {
        let words = Sentences(answer.language);
        match answer.outcome {
            Outcome::Admit => {
                Self::bare(words.phrase(Phrase::TitleTurn), words.phrase(Phrase::HeadlineTurn))
            }
            Outcome::Refuse => Self::refused(words, answer),
            Outcome::Wait => Self::waiting(words, answer),
        }
    }

    /// Joins the sentences into one paragraph, for plain text, problem documents and gRPC messages.
    ///
    /// These forms do not update by themselves, so they tell the client when to retry even if it is
    /// in the line. The sentence about closing the tab is left out, because it makes sense only on
    /// a page.
    pub(super) fn paragraph(answer: &Answer) -> String {
        let words = Sentences(answer.language);
        let it = Self::new(answer);
        let first = it.position.unwrap_or(it.headline);
        let mut paragraph = words.with(Phrase::Stop, &first).into_owned();
        let again = it.again.or_else(|| words.again(answer));
        for sentence in [it.detail, it.wait, again].into_iter().flatten() {
            paragraph.push_str(words.0.space());
            paragraph.push_str(&sentence);
        }
        paragraph
    }

    /// Creates a message with only a title and a headline.
    fn bare(title: Cow<'static, str>, headline: Cow<'static, str>) -> Self {
        let detail = None;
        let position = None;
        let number = None;
        let wait = None;
        let keep = None;
        let again = None;
        Self { title, headline, detail, position, number, wait, keep, again }
    }

    /// Creates the message for a refusal: a headline, an explanation, and the time to retry.
    #[expect(clippy::wildcard_enum_match_arm, reason = "most reasons share their sentences")]
    fn refused(words: Sentences, answer: &Answer) -> Self {
        // Reasons that a visitor can understand or act on have specific sentences. All other
        // reasons share sentences that promise only that the service will be back.
        let (headline, detail) = match answer.reason {
            Reason::RefusedAddressUnknown => (Phrase::HeadlineSetup, Phrase::DetailSetup),
            Reason::RefusedDraining => (Phrase::HeadlineDraining, Phrase::DetailDraining),
            Reason::RefusedGateFull | Reason::RefusedGateShed | Reason::RefusedGateTimeout => {
                (Phrase::HeadlineBusy, Phrase::DetailBusy)
            }
            Reason::RefusedGateUnknown | Reason::RefusedKeyMissing(_) => {
                (Phrase::HeadlineKey, Phrase::DetailKey)
            }
            Reason::RefusedLineFull => (Phrase::HeadlineFull, Phrase::DetailFull),
            Reason::RefusedNetworkFull => (Phrase::HeadlineNetwork, Phrase::DetailNetwork),
            Reason::RefusedRate(_) | Reason::RefusedTooOften => {
                (Phrase::HeadlineRate, Phrase::DetailRate)
            }
            Reason::RefusedReject => (Phrase::HeadlineClosed, Phrase::DetailClosed),
            _ => (Phrase::HeadlineUnavailable, Phrase::DetailUnavailable),
        };
        // The title of the window repeats the headline, because a refusal has no number to show in
        // the title.
        let headline = words.phrase(headline);
        Self {
            detail: Some(words.phrase(detail)),
            again: words.again(answer),
            ..Self::bare(headline.clone(), headline)
        }
    }

    /// Creates the message for a visitor in the line.
    ///
    /// The waiting page retries by itself, so there is no sentence about the time to retry.
    fn waiting(words: Sentences, answer: &Answer) -> Self {
        // The number that the sentences contain: the place or, for a newcomer, the number of visitors
        // ahead or in the line.
        let line = answer.line.filter(|_| !answer.is_placed);
        let shown = answer.position.or(answer.ahead).or(line);
        let shown = shown.map(|number| words.0.count(number)).unwrap_or_default();
        // The sentence states the most precise fact that is known: the place itself, the number of
        // visitors ahead of a newcomer, the length of the line, or the fact that the order is drawn
        // by lot.
        let position = match (answer.position, answer.ahead) {
            (Some(1), _) => words.phrase(Phrase::PositionFirst),
            (Some(_), _) => {
                let sentence =
                    if answer.is_approximate { Phrase::PositionAbout } else { Phrase::Position };
                words.with(sentence, &shown)
            }
            (None, Some(0)) => words.phrase(Phrase::AheadNone),
            (None, Some(ahead)) => words.ahead(ahead, &shown),
            (None, None) if answer.is_placed && answer.will_be_drawn() => {
                words.phrase(Phrase::EventLot)
            }
            (None, None) if answer.is_placed && answer.method == QueueingMethod::Random => {
                words.phrase(Phrase::PositionLot)
            }
            (None, None) => match line {
                Some(line @ 1..) => words.line(line, &shown),
                _ => words.phrase(Phrase::PositionPending),
            },
        };
        let title = match answer.position {
            Some(_) => words.with(Phrase::TitlePosition, &shown),
            None => words.phrase(Phrase::TitleWaiting),
        };
        // The number must occur in `position`, where the page shows it in large type. The sentence
        // "You are next in line" contains no number.
        let has_number = match answer.position {
            Some(place) => place > 1,
            None => answer.ahead.or(line).is_some_and(|others| others > 0),
        };
        let retention = answer.place_retention;
        Self {
            detail: answer.event.as_ref().and_then(|event| words.draw(event)),
            position: Some(position),
            number: has_number.then_some(shown),
            wait: Some(words.wait(answer)),
            // A newcomer has no place yet, so there is nothing to keep.
            keep: (answer.is_placed && !retention.is_zero()).then(|| words.keep(retention)),
            ..Self::bare(title, words.phrase(Phrase::HeadlineWaiting))
        }
    }
}

impl Answer {
    /// Returns the answer in sentences, in the language of the client.
    #[must_use]
    pub fn message(&self) -> Message {
        Message::new(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{request::Language, respond::sample};

    #[test]
    fn a_place_is_shown_with_its_number_in_every_language() {
        for language in Language::ALL {
            let answer = Answer { language, position: Some(12_345), ..sample::placed() };
            let message = answer.message();
            let number = language.count(12_345);
            assert_eq!(message.position.unwrap().matches(&number).count(), 1);
            assert!(message.title.contains(&number));
            assert_eq!(message.number, Some(number));
        }
        let first = Answer { position: Some(1), ..sample::placed() }.message();
        assert_eq!(first.position.as_deref(), Some("You are next in line"));
        assert_eq!((first.number, &*first.title), (None, "No. 1 in line"));
    }

    #[test]
    fn a_newcomer_sees_the_number_ahead_in_every_language() {
        for language in Language::ALL {
            let message = Answer { language, ..sample::newcomer() }.message();
            assert_eq!(message.position.unwrap().matches("12").count(), 1, "{language:?}");
            assert_eq!(message.number.as_deref(), Some("12"));
        }
        let said = sample::newcomer().message().position;
        assert_eq!(said.as_deref(), Some("About 12 people are ahead of you"));
        let one = Answer { ahead: Some(1), ..sample::newcomer() }.message().position;
        assert_eq!(one.as_deref(), Some("About 1 person is ahead of you"));
    }

    #[test]
    fn the_first_view_shows_the_number_ahead_or_that_the_line_is_empty() {
        for language in Language::ALL {
            let alone = Answer { language, ..sample::alone() }.message();
            assert_eq!(alone.number, None);
            assert_eq!(alone.position.unwrap(), language.phrase(Phrase::AheadNone));
            let drawn = Answer { language, ..sample::shuffled() };
            assert_eq!((drawn.position, drawn.ahead, drawn.line), (None, None, Some(12)));
            let message = drawn.message();
            assert_eq!(message.position.unwrap().matches("12").count(), 1, "{language:?}");
            assert_eq!(message.number.as_deref(), Some("12"));
        }
        let drawn = sample::shuffled().message().position;
        assert_eq!(drawn.as_deref(), Some("About 12 people are waiting"));
        let alone = sample::alone().message().position;
        assert_eq!(alone.as_deref(), Some("Nobody is ahead of you"));
    }

    #[test]
    fn an_approximate_position_is_marked_as_such() {
        let risen = Answer { is_approximate: true, ..sample::placed() }.message().position;
        assert_eq!(risen.as_deref(), Some("You are around number 12 in line"));
    }

    #[test]
    fn leaving_is_offered_only_with_a_place() {
        let keep = "You may close this tab for 5 minutes without losing your place.";
        assert_eq!(sample::placed().message().keep.as_deref(), Some(keep));
        assert_eq!(sample::lottery().message().keep.as_deref(), Some(keep));
        let first = sample::first().message();
        assert_eq!((first.keep, first.number), (None, None));
        assert_eq!(first.position.as_deref(), Some("We are getting your place"));
    }

    #[test]
    fn a_refusal_states_its_reason_and_when_to_return() {
        let message = sample::refusal(Reason::RefusedLineFull).message();
        assert_eq!(message.headline, "The line is full");
        assert_eq!(message.again.as_deref(), Some("Please try again in 2 minutes."));
        assert_eq!(sample::refusal(Reason::RefusedReject).message().again, None);
        for (reason, headline) in [
            (Reason::RefusedAddressUnknown, "This service is not set up correctly"),
            (Reason::RefusedDraining, "The line is closed"),
            (Reason::RefusedGateShed, "Many people are here right now"),
            (Reason::RefusedKeyMissing("plan".into()), "Something is missing from this request"),
            (Reason::RefusedNetworkFull, "Many people on your network are already in line"),
            (Reason::RefusedTooOften, "That was a little too fast"),
            (Reason::RefusedReject, "Sorry, we are full"),
            (Reason::RefusedLimitsUnavailable, "One moment, please"),
        ] {
            assert_eq!(sample::refusal(reason).message().headline, headline);
        }
    }
}
