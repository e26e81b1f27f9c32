//! Renders page templates.
//!
//! ```text
//! Answer ─┬─► OwnView ──────────────► the default page
//!         └─► OwnView + View ───────► a template of the application
//! ```
//!
//! Templates are written in the Jinja language and rendered by `minijinja`. A template can neither
//! loop forever nor access anything but its variables, and all inserted values are escaped for
//! HTML. The default page, with its style and script, is `page.html`.

use std::borrow::Cow;

use minijinja::{Environment, Error, UndefinedBehavior, value::Serde};
use serde::Serialize;

use super::{
    Answer, Message,
    answer::{Iso, WaitSeconds},
    cloudflare::{CfWaitingRoom, name},
    i18n::Phrase,
};
use crate::request::ClientKind;

/// A parsed template.
pub(super) struct Template {
    /// The environment, which contains only this template, under [`NAME`].
    environment: Environment<'static>,
    /// Whether this is the default page, which uses only a few of the variables. Computing and
    /// serializing the variables is most of the cost of a page.
    is_own: bool,
}

impl Template {
    /// Parses the default page.
    ///
    /// # Errors
    ///
    /// Returns no error in practice, because the page is embedded and tests render it.
    pub(super) fn own() -> Result<Self, Error> {
        Ok(Self { is_own: true, ..Self::parse(include_str!("page.html").to_owned())? })
    }

    /// Parses a template of the application.
    ///
    /// # Errors
    ///
    /// Returns an error, with the line, if the template has a syntax error.
    pub(super) fn parse(source: String) -> Result<Self, Error> {
        let mut environment = Environment::new();
        // A misspelt name causes an error when the template is checked, instead of a gap in the
        // page.
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        environment.set_fuel(Some(MAX_STEPS));
        environment.add_template_owned(NAME, source)?;
        Ok(Self { environment, is_own: false })
    }

    /// Renders the page for an answer. All inserted values are escaped for HTML.
    ///
    /// # Errors
    ///
    /// Returns an error if a variable is unknown, if an expression fails, or if rendering takes
    /// more than [`MAX_STEPS`] instructions.
    pub(super) fn render(
        &self,
        answer: &Answer,
        title: &str,
        nonce: &str,
    ) -> Result<String, Error> {
        let (template, own) =
            (self.environment.get_template(NAME)?, OwnView::new(answer, title, nonce));
        match self.is_own {
            true => template.render(Serde(&own)),
            false => template.render(Serde(&View::new(answer, own))),
        }
    }
}

/// The variables of the default page. Templates of the application also get these variables.
#[derive(Serialize)]
struct OwnView<'a> {
    /// The title of the [`Page`](super::Page), or the name of the room.
    title: &'a str,
    /// The nonce of this response, for inline styles and scripts.
    nonce: &'a str,
    /// The language tag (BCP 47) for the `lang` attribute.
    lang: &'static str,
    /// `admit`, `refuse` or `wait`.
    outcome: &'static str,
    position: Option<u32>,
    is_approximate: bool,
    /// The time until a retry, in whole seconds; `none` if no retry can succeed.
    retry_after: Option<u64>,
    now: Iso,
    /// The answer in sentences.
    message: Message,
    /// Further texts of the default page.
    labels: Labels,
    /// The elapsed part of the expected wait in percent, or `none` if it is unknown.
    progress: Option<u64>,
}

impl<'a> OwnView<'a> {
    fn new(answer: &Answer, title: &'a str, nonce: &'a str) -> Self {
        Self {
            title,
            nonce,
            lang: answer.language.tag(),
            outcome: answer.outcome.as_str(),
            position: answer.position,
            is_approximate: answer.is_approximate,
            retry_after: answer.retry_after_seconds(),
            now: Iso(answer.now),
            message: answer.message(),
            labels: Labels::new(answer),
            progress: progress(answer),
        }
    }
}

/// The variables of a template of the application: every fact of the [`Answer`] under the name of
/// its field, the sentences, and the variables of a template for Cloudflare Waiting Room.
#[derive(Serialize)]
struct View<'a> {
    #[serde(flatten)]
    own: OwnView<'a>,
    room: &'a str,
    /// The kind of client, which is always `navigation` in the response to a request.
    kind: &'static str,
    /// The reason in its stable form, such as `queued:active_limit`.
    reason: String,
    /// The HTTP status as a number.
    status: u16,
    ahead: Option<u32>,
    /// The expected wait with its range, in whole seconds.
    wait: Option<WaitSeconds>,
    waiting_since: Option<Iso>,
    last_check_in: Option<Iso>,
    /// The time for which a place is kept after the last check-in, in whole seconds.
    place_retention: u64,
    /// The interval between check-ins far back in the line, in whole seconds.
    refresh_interval: u64,
    /// `fifo`, `random`, `passthrough` or `reject`.
    method: &'static str,
    is_placed: bool,
    is_queue_all: bool,
    is_line_full: bool,
    is_safe: bool,
    /// The sealed token, for a page whose script sends further requests.
    token: Option<&'a str>,
    /// The whole hours of Cloudflare's `waitTime`.
    #[serde(rename = "waitTimeHours")]
    wait_time_hours: u64,
    /// The remaining minutes of Cloudflare's `waitTime` after its whole hours.
    #[serde(rename = "waitTimeHourMinutes")]
    wait_time_hour_minutes: u64,
    #[serde(flatten)]
    cloudflare: CfWaitingRoom,
}

impl<'a> View<'a> {
    fn new(answer: &'a Answer, own: OwnView<'a>) -> Self {
        let cloudflare = CfWaitingRoom::new(answer);
        Self {
            own,
            room: &answer.room,
            kind: answer.kind.as_str(),
            reason: answer.reason.to_string(),
            status: answer.status.as_u16(),
            ahead: answer.ahead,
            wait: answer.wait.map(WaitSeconds::new),
            waiting_since: answer.waiting_since.map(Iso),
            last_check_in: answer.last_check_in.map(Iso),
            place_retention: answer.place_retention.as_secs(),
            refresh_interval: answer.refresh_interval.as_secs(),
            method: name(answer.method),
            is_placed: answer.is_placed,
            is_queue_all: answer.is_queue_all,
            is_line_full: answer.is_line_full(),
            is_safe: answer.is_safe,
            token: answer.token.as_deref(),
            wait_time_hours: cloudflare.hours(),
            wait_time_hour_minutes: cloudflare.minutes_over(),
            cloudflare,
        }
    }
}

/// Fixed texts of the default page, in the visitor's language.
#[derive(Serialize)]
struct Labels {
    /// The label of the link that repeats a refused request.
    again: Cow<'static, str>,
    /// The text that is shown if the browser accepts no cookies.
    cookies: Cow<'static, str>,
    /// The text that is shown after two failed polls in a row.
    offline: Cow<'static, str>,
    /// The text that is announced to screen readers when a poll succeeds again.
    online: Cow<'static, str>,
    /// The label of the button that submits a form again.
    send: Cow<'static, str>,
    /// The text that is shown at the visitor's turn if the page must not reload by itself.
    turn: Cow<'static, str>,
    /// The text that is shown if the visitor submitted a form that was not delivered, and `none`
    /// otherwise.
    unsent: Option<Cow<'static, str>>,
    /// The label before the time of the last update.
    updated: Cow<'static, str>,
    /// The note that the page updates by itself.
    updates: Cow<'static, str>,
}

impl Labels {
    fn new(answer: &Answer) -> Self {
        let phrase = |id| answer.language.phrase(id);
        Self {
            again: phrase(Phrase::ButtonAgain),
            cookies: phrase(Phrase::Cookies),
            offline: phrase(Phrase::Offline),
            online: phrase(Phrase::Online),
            send: phrase(Phrase::ButtonSend),
            turn: phrase(Phrase::HeadlineTurn),
            unsent: is_unsent(answer).then(|| phrase(Phrase::Unsent)),
            updated: phrase(Phrase::Updated),
            updates: phrase(Phrase::Updates),
        }
    }
}

/// Returns whether the visitor submitted a form that was not delivered. The page must then offer to
/// submit the form again, because a reload by GET would drop the input.
fn is_unsent(answer: &Answer) -> bool {
    answer.kind == ClientKind::Navigation && !answer.is_safe
}

/// Returns the elapsed part of the expected wait in percent: the time waited so far, divided by the
/// sum of this time and the median remaining wait. `None` if either time is unknown.
fn progress(answer: &Answer) -> Option<u64> {
    let waited = answer.now.since(answer.waiting_since?).as_secs();
    let total = waited.saturating_add(answer.wait?.p50.as_secs());
    Some(100 * waited / total.max(1))
}

/// The name of the template. `minijinja` derives the escaping of values from the extension of the
/// name.
const NAME: &str = "page.html";

/// The maximum number of instructions that rendering may take ("fuel"), so that every loop in a
/// template ends.
const MAX_STEPS: u64 = 1_000_000;
