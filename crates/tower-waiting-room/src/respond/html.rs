//! Fills in a page template.

use std::borrow::Cow;

use minijinja::{Environment, Error, UndefinedBehavior, value::Serde};
use serde::Serialize;

use super::{
    Answer, Message,
    answer::{Iso, WaitSeconds},
    cloudflare::{CfWaitingRoom, name},
};

/// A template that was parsed.
pub(super) struct Template {
    environment: Environment<'static>,
    /// Whether it is our own, which needs few of the variables: most of the cost of a page is to
    /// fill them in.
    is_own: bool,
}

impl Template {
    /// Our own page.
    pub(super) fn own() -> Result<Self, Error> {
        Ok(Self { is_own: true, ..Self::parse(include_str!("page.html").to_owned())? })
    }

    /// Parses it.
    pub(super) fn parse(source: String) -> Result<Self, Error> {
        let mut environment = Environment::new();
        // A name that is misspelt is an error when the template is checked, not a gap in the page.
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        environment.set_fuel(Some(MAX_STEPS));
        environment.add_template_owned(NAME, source)?;
        Ok(Self { environment, is_own: false })
    }

    /// Renders it. What is filled in is escaped for HTML.
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

/// The variables of our own page.
#[derive(Serialize)]
struct OwnView<'a> {
    title: &'a str,
    nonce: &'a str,
    lang: &'static str,
    outcome: &'static str,
    position: Option<u32>,
    is_approximate: bool,
    retry_after: Option<u64>,
    now: Iso,
    message: Message,
    labels: Labels,
    /// How much of the wait is over, in percent.
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

/// The variables of a page template: every fact of the [`Answer`], its sentences, and what a
/// template for Cloudflare Waiting Room expects.
#[derive(Serialize)]
struct View<'a> {
    #[serde(flatten)]
    own: OwnView<'a>,
    room: &'a str,
    kind: &'static str,
    reason: String,
    status: u16,
    ahead: Option<u32>,
    wait: Option<WaitSeconds>,
    waiting_since: Option<Iso>,
    last_check_in: Option<Iso>,
    place_retention: u64,
    refresh_interval: u64,
    method: &'static str,
    is_placed: bool,
    is_queue_all: bool,
    is_line_full: bool,
    is_safe: bool,
    token: Option<&'a str>,
    #[serde(rename = "waitTimeHours")]
    wait_time_hours: u64,
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

/// What else the default page says.
#[derive(Serialize)]
struct Labels {
    again: Cow<'static, str>,
    cookies: Cow<'static, str>,
    offline: Cow<'static, str>,
    online: Cow<'static, str>,
    send: Cow<'static, str>,
    turn: Cow<'static, str>,
    unsent: Option<Cow<'static, str>>,
    updated: Cow<'static, str>,
    updates: Cow<'static, str>,
}

impl Labels {
    fn new(answer: &Answer) -> Self {
        let phrase = |id| answer.language.phrase(id);
        Self {
            again: phrase("button-again"),
            cookies: phrase("cookies"),
            offline: phrase("offline"),
            online: phrase("online"),
            send: phrase("button-send"),
            turn: phrase("headline-turn"),
            unsent: answer.is_unsent().then(|| phrase("unsent")),
            updated: phrase("updated"),
            updates: phrase("updates"),
        }
    }
}

fn progress(answer: &Answer) -> Option<u64> {
    let waited = answer.now.since(answer.waiting_since?).as_secs();
    let total = waited.saturating_add(answer.wait?.p50.as_secs());
    Some(100 * waited / total.max(1))
}

/// The name decides what a value is escaped for.
const NAME: &str = "page.html";

/// How many instructions a template may take, so that a loop in it ends.
const MAX_STEPS: u64 = 1_000_000;
