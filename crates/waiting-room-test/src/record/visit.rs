//! The requests and answers of one visitor of a crowd.

use std::{fmt, time::Duration};

use cookie::Cookie;
use http::{StatusCode, header};
use waiting_room_core::{Reason, Timestamp};

use crate::{
    client::{ClientForm, TokenCookie, void_from},
    seen::{Seen, SeenAs},
};

/// All that one visitor of a crowd sent and received, without bodies.
///
/// [`Display`](fmt::Display) names the visitor: `visitor 17 (browser)`.
#[derive(Clone, Debug)]
pub struct VisitRecord {
    number: u32,
    form: ClientForm,
    pub(crate) answers: Vec<AnswerRecord>,
    pub(crate) ending: Ending,
    /// The time at which the visitor finished.
    pub(crate) ended: Timestamp,
}

/// One answer that a visitor of a crowd received.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AnswerRecord {
    /// The time at which the request was sent.
    pub sent: Timestamp,
    /// The time at which the whole answer had arrived.
    pub answered: Timestamp,
    /// The meaning of the answer for the visitor.
    pub seen_as: SeenAs,
    /// The status.
    pub status: StatusCode,
    /// The reason that the layer stated, if it did.
    pub reason: Option<Reason>,
    /// The time after which the visitor may ask again, or `None` if the answer states no time.
    pub retry_after: Option<Duration>,
    /// Whether the answer deletes the visitor's token, as it does at the end of a session.
    pub(crate) deletes_token: bool,
    /// Whether the visitor's token, and with it a session, had lapsed when the request was sent.
    pub(crate) token_lapsed: bool,
}

/// The end of a visit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ending {
    /// The crowd was over before the visitor had finished.
    CrowdIsOver,
    /// The visitor was admitted and stayed as long as it wanted.
    Done,
    /// The visitor waited as long as its patience lasted.
    LostPatience,
    /// The visitor was refused for good: the refusal stated no time for another attempt.
    Refused,
}

impl VisitRecord {
    pub(crate) fn new(number: u32, form: ClientForm) -> Self {
        let answers = Vec::new();
        let ending = Ending::CrowdIsOver;
        Self { number, form, answers, ending, ended: Timestamp::ZERO }
    }

    /// Returns the number of the visitor within its crowd, counted from 0.
    #[must_use]
    pub const fn number(&self) -> u32 {
        self.number
    }

    /// Returns the answers in the order in which they arrived.
    #[must_use]
    pub fn answers(&self) -> &[AnswerRecord] {
        &self.answers
    }

    /// Returns how the visit ended.
    #[must_use]
    pub const fn ending(&self) -> Ending {
        self.ending
    }

    /// Returns the time at which the visitor was first forwarded to the application, or `None` if
    /// it never was.
    #[must_use]
    pub fn admitted_at(&self) -> Option<Timestamp> {
        self.admission().map(|answer| answer.answered)
    }

    /// Returns the first answer of the application.
    pub(super) fn admission(&self) -> Option<&AnswerRecord> {
        self.answers.iter().find(|answer| answer.seen_as == SeenAs::Forwarded)
    }

    /// Returns the time from the first request to the admission, or to the end of the visit if the
    /// visitor was not admitted.
    #[must_use]
    pub fn waited(&self) -> Duration {
        let until = self.admitted_at().unwrap_or(self.ended);
        self.answers.first().map_or(Duration::ZERO, |first| until.since(first.sent))
    }
}

impl fmt::Display for VisitRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let form = match self.form {
            ClientForm::Api => "API client",
            ClientForm::Browser => "browser",
        };
        write!(f, "visitor {} ({form})", self.number)
    }
}

impl AnswerRecord {
    pub(crate) fn new(seen: &Seen, token: &TokenCookie, token_lapsed: bool) -> Self {
        let lines = seen.headers.get_all(header::SET_COOKIE).iter();
        let mut cookies = lines.filter_map(|line| Cookie::parse(line.to_str().ok()?).ok());
        // If several lines are for the same cookie, the last one counts.
        let latest = cookies.rfind(|cookie| token.is(cookie.name()));
        let void_from = latest.and_then(|cookie| void_from(&cookie, seen.answered));
        Self {
            sent: seen.sent,
            answered: seen.answered,
            seen_as: seen.seen_as(),
            status: seen.status,
            reason: seen.reason.clone(),
            retry_after: seen.retry_after(),
            deletes_token: void_from.is_some_and(|from| from <= seen.answered),
            token_lapsed,
        }
    }
}

impl fmt::Display for AnswerRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.status.as_u16())?;
        match &self.reason {
            Some(reason) => write!(f, " {reason}"),
            None => Ok(()),
        }
    }
}
