//! Renders page templates that applications supply.
//!
//! Templates are written in the Jinja language and rendered by `minijinja`. A template can neither
//! loop forever nor access anything but its variables, and all inserted values are escaped for
//! HTML. Each variable is computed only when the template uses it: most templates use only a few,
//! and computing all of them would account for most of the cost of a page.

use std::{
    fmt,
    sync::{Arc, LazyLock, OnceLock},
};

use minijinja::{
    Environment, Error, UndefinedBehavior, Value,
    value::{Enumerator, Object, Serde},
};
use serde::Serialize;

use super::{
    Answer,
    answer::WaitSeconds,
    cloudflare::{CfWaitingRoom, Variable, name},
    iso::Iso,
    look::Look,
    own_page::{direction, progress},
};
use crate::ambient::random_bytes;

/// A parsed template.
pub(super) struct Template {
    /// The environment of the template engine. It contains only this template, under [`NAME`].
    environment: Environment<'static>,
}

impl Template {
    /// Parses a template that the application supplies.
    ///
    /// # Errors
    ///
    /// Returns an error that names the line if the template has a syntax error.
    pub(super) fn parse(source: String) -> Result<Self, Error> {
        let mut environment = Environment::new();
        // A misspelled name causes an error when the template is checked, instead of a gap in the
        // page.
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        environment.set_fuel(Some(MAX_STEPS));
        environment.add_template_owned(NAME, source)?;
        Ok(Self { environment })
    }

    /// Renders the page with these variables. All inserted values are escaped for HTML.
    ///
    /// # Errors
    ///
    /// Returns an error if a variable is unknown, if an expression fails, or if rendering takes
    /// more than [`MAX_STEPS`] instructions.
    pub(super) fn render(&self, variables: &Arc<Variables>) -> Result<String, Error> {
        let context = Value::from_dyn_object(Arc::clone(variables));
        self.environment.get_template(NAME)?.render(context)
    }
}

/// The variables that a template can use: every fact of the [`Answer`] under the name of its field,
/// the sentences, and the variables of Cloudflare Waiting Room templates.
pub(super) struct Variables {
    answer: Answer,
    look: Arc<Look>,
    nonce: OnceLock<String>,
    message: OnceLock<Value>,
    cloudflare: OnceLock<CfWaitingRoom>,
}

impl Variables {
    /// Creates the variables for an answer, with the settings of the page.
    pub(super) fn new(answer: &Answer, look: &Arc<Look>) -> Self {
        Self {
            answer: answer.clone(),
            look: Arc::clone(look),
            nonce: OnceLock::new(),
            message: OnceLock::new(),
            cloudflare: OnceLock::new(),
        }
    }

    /// Returns the nonce of this response, for inline styles and scripts. It consists of 128 random
    /// bits, the minimum that CSP Level 3 recommends.
    pub(super) fn nonce(&self) -> &str {
        self.nonce.get_or_init(|| format!("{:032x}", u128::from_le_bytes(random_bytes())))
    }

    /// Returns whether the nonce was used.
    pub(super) fn has_nonce(&self) -> bool {
        self.nonce.get().is_some()
    }

    /// Returns the variable of this name, or `None` if the name is unknown. A variable that does
    /// not apply is `none`.
    fn variable(&self, name: &str) -> Option<Value> {
        if let Some((_, value)) = FACTS.iter().find(|(fact, _)| *fact == name) {
            return Some(value(self));
        }
        let cloudflare = self.cloudflare.get_or_init(|| CfWaitingRoom::new(&self.answer));
        cloudflare.variable(name).map(|variable| match variable {
            Variable::Number(number) => number.into(),
            Variable::Text(text) => text.into(),
            Variable::Time(time) => serialized(time),
            Variable::Truth(truth) => truth.into(),
        })
    }
}

impl Object for Variables {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        self.variable(key.as_str()?)
    }

    fn get_value_by_str(self: &Arc<Self>, key: &str) -> Option<Value> {
        self.variable(key)
    }

    /// Lists the names of all variables, for the `debug` function of templates.
    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Str(&NAMES)
    }
}

impl fmt::Debug for Variables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Variables").field("answer", &self.answer).finish_non_exhaustive()
    }
}

/// Converts a value to a value of the template engine.
fn serialized(value: impl Serialize) -> Value {
    Value::from(Serde(value))
}

/// A variable: its name, and its value.
type Fact = (&'static str, fn(&Variables) -> Value);

/// The variables that are facts of the answer or settings of the page.
const FACTS: &[Fact] = &[
    ("ahead", |of| of.answer.ahead.into()),
    ("dir", |of| direction(of.answer.language).into()),
    ("event", |of| serialized(of.answer.event.as_deref())),
    ("is_approximate", |of| of.answer.is_approximate.into()),
    ("is_line_full", |of| of.answer.is_line_full().into()),
    ("is_placed", |of| of.answer.is_placed.into()),
    ("is_queue_all", |of| of.answer.is_queue_all.into()),
    ("is_safe", |of| of.answer.is_safe.into()),
    // Only navigations get a page, so the kind is always `navigation`.
    ("kind", |of| of.answer.kind.as_str().into()),
    ("lang", |of| of.answer.language.tag().into()),
    ("last_check_in", |of| serialized(of.answer.last_check_in.map(Iso))),
    ("line", |of| of.answer.line.into()),
    ("logo", |of| of.look.logo.clone().into()),
    ("message", |of| of.message.get_or_init(|| serialized(of.answer.message())).clone()),
    ("method", |of| name(of.answer.method).into()),
    ("nonce", |of| of.nonce().into()),
    ("notice", |of| of.look.notice.clone().into()),
    ("now", |of| serialized(Iso(of.answer.now))),
    ("outcome", |of| of.answer.outcome.as_str().into()),
    ("palette", |of| Arc::clone(&of.look.palette).into()),
    ("place_retention", |of| of.answer.place_retention.as_secs().into()),
    ("position", |of| of.answer.position.into()),
    ("progress", |of| progress(&of.answer).into()),
    ("push", |of| of.answer.push.as_deref().into()),
    ("reason", |of| of.answer.reason.to_string().into()),
    ("refresh_interval", |of| of.answer.refresh_interval.as_secs().into()),
    ("retry_after", |of| of.answer.retry_after_seconds().into()),
    ("room", |of| Arc::clone(&of.answer.room).into()),
    ("status", |of| of.answer.status.as_u16().into()),
    ("support", |of| of.look.support.clone().into()),
    ("title", |of| Arc::clone(of.look.title.as_ref().unwrap_or(&of.answer.room)).into()),
    ("token", |of| of.answer.token.as_deref().into()),
    ("transfer", |of| of.answer.transfer.as_deref().into()),
    ("wait", |of| serialized(of.answer.wait.map(WaitSeconds::new))),
    ("waiting_since", |of| serialized(of.answer.waiting_since.map(Iso))),
];

/// The names of all variables.
static NAMES: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
    FACTS.iter().map(|(name, _)| *name).chain(CfWaitingRoom::VARIABLES.iter().copied()).collect()
});

/// The name of the template. The extension makes `minijinja` escape values for HTML.
const NAME: &str = "page.html";

/// The maximum number of instructions for rendering one page, called "fuel" in `minijinja`. The
/// limit ensures that every loop in a template ends.
const MAX_STEPS: u64 = 1_000_000;

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::{
        request::Language,
        respond::{EventFacts, Message, sample},
    };

    /// All variables, computed eagerly.
    #[derive(Serialize)]
    struct View<'a> {
        title: &'a str,
        logo: Option<&'a str>,
        notice: Option<&'a str>,
        palette: &'a str,
        support: Option<&'a str>,
        nonce: &'a str,
        lang: &'static str,
        dir: &'static str,
        line: Option<u32>,
        outcome: &'static str,
        position: Option<u32>,
        is_approximate: bool,
        retry_after: Option<u64>,
        now: Iso,
        message: Message,
        progress: Option<u64>,
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
        event: Option<&'a EventFacts>,
        push: Option<&'a str>,
        token: Option<&'a str>,
        transfer: Option<&'a str>,
        #[serde(rename = "waitTimeHours")]
        wait_time_hours: u64,
        #[serde(rename = "waitTimeHourMinutes")]
        wait_time_hour_minutes: u64,
        #[serde(flatten)]
        cloudflare: CfWaitingRoom,
    }

    fn view<'a>(answer: &'a Answer, title: &'a str, nonce: &'a str) -> View<'a> {
        let cloudflare = CfWaitingRoom::new(answer);
        View {
            title,
            logo: None,
            notice: Some("Doors open at ten."),
            palette: "",
            support: Some("mailto:help@shop.example"),
            nonce,
            lang: answer.language.tag(),
            dir: direction(answer.language),
            line: answer.line,
            outcome: answer.outcome.as_str(),
            position: answer.position,
            is_approximate: answer.is_approximate,
            retry_after: answer.retry_after_seconds(),
            now: Iso(answer.now),
            message: answer.message(),
            progress: progress(answer),
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
            event: answer.event.as_deref(),
            push: answer.push.as_deref(),
            token: answer.token.as_deref(),
            transfer: answer.transfer.as_deref(),
            wait_time_hours: cloudflare.hours(),
            wait_time_hour_minutes: cloudflare.minutes_over(),
            cloudflare,
        }
    }

    /// Returns settings with this title.
    fn look(title: &str) -> Arc<Look> {
        let mut look = Look { title: Some(title.into()), ..Look::default() };
        look.set_notice("Doors open at ten.").unwrap();
        look.set_support("mailto:help@shop.example").unwrap();
        Arc::new(look)
    }

    #[test]
    fn every_variable_has_its_value_in_every_answer() {
        for language in Language::ALL {
            for answer in sample::answers() {
                let token = Some("shop=x".to_owned());
                let push = Some("/events".into());
                let answer = Answer { language, token, push, ..answer };
                let variables = Variables::new(&answer, &look("Tom & Jerry"));
                let view = view(&answer, "Tom & Jerry", variables.nonce());
                let serde_json::Value::Object(expected) = serde_json::to_value(&view).unwrap()
                else {
                    panic!("the variables are an object")
                };
                let names: BTreeSet<&str> = expected.keys().map(String::as_str).collect();
                assert_eq!(names, NAMES.iter().copied().collect());
                for (name, expected) in &expected {
                    let value = variables.variable(name).unwrap();
                    assert_eq!(serde_json::to_value(&value).unwrap(), *expected, "{name}");
                }
                assert_eq!(variables.variable("positoin"), None);
            }
        }
    }

    #[test]
    fn a_value_that_a_template_does_not_use_is_not_computed() {
        let template = Template::parse("{{ title }} {{ position }}".to_owned()).unwrap();
        let variables = Arc::new(Variables::new(&sample::placed(), &look("Shop")));
        assert_eq!(template.render(&variables).unwrap(), "Shop 12");
        let Variables { nonce, message, cloudflare, .. } = &*variables;
        assert!(nonce.get().is_none() && message.get().is_none() && cloudflare.get().is_none());
    }

    #[test]
    fn a_template_can_list_its_variables() {
        let template = Template::parse("{{ debug() }}".to_owned()).unwrap();
        let variables = Arc::new(Variables::new(&sample::placed(), &look("Shop")));
        let listed = template.render(&variables).unwrap();
        assert!(NAMES.iter().all(|name| listed.contains(name)), "{listed}");
    }
}
