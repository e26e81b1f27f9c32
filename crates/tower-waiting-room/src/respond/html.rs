//! Renders page templates that applications supply.
//!
//! Templates are written in the Jinja language and rendered by `minijinja`. A template can neither
//! loop forever nor access anything but its variables, and all inserted values are escaped for
//! HTML. Each variable is computed only when the template uses it: most templates use only a few,
//! and computing all of them would account for most of the cost of a page.

use std::sync::{Arc, OnceLock};

use minijinja::{
    Environment, Error, UndefinedBehavior, Value,
    value::{Enumerator, Object, Serde},
};
use serde::{Serialize, Serializer};

use super::{
    Answer,
    answer::WaitSeconds,
    cloudflare::CfWaitingRoom,
    i18n::Phrase,
    iso::Iso,
    look::Look,
    own_page::{direction, is_unsent, progress},
};
use crate::{ambient::random_bytes, request::Language};

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
#[derive(Debug)]
pub(super) struct Variables {
    answer: Answer,
    look: Arc<Look>,
    nonce: OnceLock<String>,
    message: OnceLock<Value>,
    /// Cloudflare's variables, as a map.
    cloudflare: OnceLock<Value>,
}

impl Variables {
    /// Creates the variables for an answer, with the settings of the page.
    pub(super) fn new(answer: &Answer, look: &Arc<Look>) -> Self {
        let (answer, look) = (answer.clone(), Arc::clone(look));
        let (nonce, message, cloudflare) = (OnceLock::new(), OnceLock::new(), OnceLock::new());
        Self { answer, look, nonce, message, cloudflare }
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
        let answer = &self.answer;
        Some(match name {
            "ahead" => answer.ahead.into(),
            "event" => serialized(answer.event.as_deref()),
            "is_approximate" => answer.is_approximate.into(),
            "is_line_full" => answer.is_line_full().into(),
            "is_placed" => answer.is_placed.into(),
            "is_queue_all" => answer.is_queue_all.into(),
            "is_safe" => answer.is_safe.into(),
            // Only navigations get a page, so the kind is always `navigation`.
            "kind" => answer.kind.as_str().into(),
            "labels" => serialized(Labels::new(answer)),
            "lang" => answer.language.tag().into(),
            "dir" => direction(answer.language).into(),
            "last_check_in" => serialized(answer.last_check_in.map(Iso)),
            "line" => answer.line.into(),
            "logo" => self.look.logo.clone().into(),
            "message" => self.message.get_or_init(|| serialized(answer.message())).clone(),
            "method" => super::cloudflare::name(answer.method).into(),
            "nonce" => self.nonce().into(),
            "notice" => self.look.notice.clone().into(),
            "now" => serialized(Iso(answer.now)),
            "outcome" => answer.outcome.as_str().into(),
            "palette" => Arc::clone(&self.look.palette).into(),
            "place_retention" => answer.place_retention.as_secs().into(),
            "position" => answer.position.into(),
            "progress" => progress(answer).into(),
            "push" => answer.push.as_deref().into(),
            "reason" => answer.reason.to_string().into(),
            "refresh_interval" => answer.refresh_interval.as_secs().into(),
            "retry_after" => answer.retry_after_seconds().into(),
            "room" => Arc::clone(&answer.room).into(),
            "status" => answer.status.as_u16().into(),
            "support" => self.look.support.clone().into(),
            "title" => Arc::clone(self.look.title.as_ref().unwrap_or(&answer.room)).into(),
            "token" => answer.token.as_deref().into(),
            "transfer" => answer.transfer.as_deref().into(),
            "wait" => serialized(answer.wait.map(WaitSeconds::new)),
            "waiting_since" => serialized(answer.waiting_since.map(Iso)),
            name if CfWaitingRoom::VARIABLES.contains(&name) => {
                let all = self.cloudflare.get_or_init(|| serialized(Mustache::new(answer)));
                return all.get_attr(name).ok();
            }
            _ => return None,
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

/// Converts a value to a value of the template engine.
fn serialized(value: impl Serialize) -> Value {
    Value::from(Serde(value))
}

/// The variables of Cloudflare Waiting Room templates.
#[derive(Serialize)]
struct Mustache {
    /// The number of whole hours in Cloudflare's `waitTime`.
    #[serde(rename = "waitTimeHours")]
    wait_time_hours: u64,
    /// The number of minutes in Cloudflare's `waitTime` that remain after the whole hours.
    #[serde(rename = "waitTimeHourMinutes")]
    wait_time_hour_minutes: u64,
    #[serde(flatten)]
    fields: CfWaitingRoom,
}

impl Mustache {
    fn new(answer: &Answer) -> Self {
        let fields = CfWaitingRoom::new(answer);
        let (wait_time_hours, wait_time_hour_minutes) = (fields.hours(), fields.minutes_over());
        Self { wait_time_hours, wait_time_hour_minutes, fields }
    }
}

/// The fixed texts of the default page, in the visitor's language. `unsent` is `none` unless the
/// visitor submitted a form that was not delivered.
struct Labels {
    language: Language,
    is_unsent: bool,
}

impl Labels {
    fn new(answer: &Answer) -> Self {
        Self { language: answer.language, is_unsent: is_unsent(answer) }
    }
}

impl Serialize for Labels {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(LABELS.iter().map(|(name, phrase)| {
            let applies = self.is_unsent || *name != "unsent";
            (name, applies.then(|| self.language.phrase(*phrase)))
        }))
    }
}

/// The names of the fixed texts of the default page.
const LABELS: [(&str, Phrase); 17] = [
    // The label of the link that repeats a refused request.
    ("again", Phrase::ButtonAgain),
    // The text that is shown if the browser does not accept cookies.
    ("cookies", Phrase::Cookies),
    // The label of the button with which the other device continues with a place.
    ("here", Phrase::TransferHere),
    // The text that is shown with a link to the place.
    ("link", Phrase::TransferLink),
    // The label of the button that gets a link to the place.
    ("offer", Phrase::TransferOffer),
    // The text that is shown after two failed polls in a row.
    ("offline", Phrase::Offline),
    // The text that is announced to screen readers when a poll succeeds again.
    ("online", Phrase::Online),
    // The note that the page of a refusal tries again by itself.
    ("retries", Phrase::Retries),
    // The reason for a longer wait, if visitors with earlier places have returned.
    ("returned", Phrase::Returned),
    // The label of the button that submits a form again.
    ("send", Phrase::ButtonSend),
    // The reason for a longer wait, if visitors are admitted more slowly.
    ("slower", Phrase::Slower),
    // The label of the link to the operator's support.
    ("support", Phrase::Support),
    // The text that is shown when it is the visitor's turn, if the page must not reload by itself.
    ("turn", Phrase::HeadlineTurn),
    // The text that is shown if the visitor submitted a form that was not delivered.
    ("unsent", Phrase::Unsent),
    // The text that is shown if a link is no longer valid.
    ("void", Phrase::TransferVoid),
    // The label before the time of the last update.
    ("updated", Phrase::Updated),
    // The note that the page updates by itself.
    ("updates", Phrase::Updates),
];

/// The names of all variables.
static NAMES: [&str; OWN_NAMES.len() + CfWaitingRoom::VARIABLES.len()] = {
    let mut names = [""; OWN_NAMES.len() + CfWaitingRoom::VARIABLES.len()];
    let (own, cloudflare) = names.split_at_mut(OWN_NAMES.len());
    own.copy_from_slice(&OWN_NAMES);
    cloudflare.copy_from_slice(CfWaitingRoom::VARIABLES);
    names
};

/// The names of the variables that are facts of the answer.
#[rustfmt::skip]
const OWN_NAMES: [&str; 36] = [
    "ahead", "dir", "event", "is_approximate", "is_line_full", "is_placed", "is_queue_all",
    "is_safe", "kind", "labels", "lang", "last_check_in", "line", "logo", "message", "method",
    "nonce", "notice", "now", "outcome", "palette", "place_retention", "position", "progress",
    "push", "reason", "refresh_interval", "retry_after", "room", "status", "support", "title",
    "token", "transfer", "wait", "waiting_since",
];

/// The name of the template. The extension makes `minijinja` escape values for HTML.
const NAME: &str = "page.html";

/// The maximum number of instructions for rendering one page, called "fuel" in `minijinja`. The
/// limit ensures that every loop in a template ends.
const MAX_STEPS: u64 = 1_000_000;

#[cfg(test)]
mod tests;
