//! Which requests a limit is about.

use http::Method;
use waiting_room_core::ConfigError;

use crate::request::{Doubt, Matcher, RequestHead, is_method};

/// All of these at a time; every request, if there are none.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scope {
    methods: Vec<Method>,
    matchers: Vec<Matcher>,
}

impl Scope {
    /// Whether a request is meant. A path is, if any reader takes it for one that is.
    pub(crate) fn covers(&self, head: &RequestHead<'_>) -> bool {
        (self.methods.is_empty() || self.methods.iter().any(|it| is_method(head.method(), it)))
            && self.matchers.iter().all(|it| it.covers(head, Doubt::Covered))
    }

    pub(crate) fn is_everything(&self) -> bool {
        self.methods.is_empty() && self.matchers.is_empty()
    }

    pub(crate) fn add_methods(&mut self, methods: impl IntoIterator<Item = Method>) {
        self.methods.extend(methods);
    }

    pub(crate) fn add(&mut self, matcher: Matcher) {
        self.matchers.push(matcher);
    }

    /// Checks that it can be meant; `field` and `rule` are named in the error.
    pub(crate) fn validate(&self, field: &'static str, rule: &str) -> Result<(), ConfigError> {
        self.matchers.iter().try_for_each(|it| it.validate(field, rule))
    }
}
