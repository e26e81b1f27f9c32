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
mod tests;
