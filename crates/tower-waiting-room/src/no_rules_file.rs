//! Takes the place of `rules_file.rs` without the feature `rules-file`. No configuration can name
//! a rules file then, so these types have no values, and the code that follows a file is never
//! reached.

use std::{convert::Infallible, sync::Arc};

use waiting_room_core::ConfigError;

use crate::{
    rate::{LimitSet, RateLimit},
    request::{Caller, Part},
    telemetry::Telemetry,
};

/// Never exists: only the options of the feature `rules-file` create one.
#[derive(Clone, Debug)]
pub(crate) enum RulesSource {}

impl RulesSource {
    pub(crate) const fn load_first(&self) -> Result<Vec<RateLimit>, ConfigError> {
        match *self {}
    }
}

/// Never exists, since no file is followed without a [`RulesSource`].
pub(crate) enum FollowedFile {}

impl FollowedFile {
    #[expect(clippy::needless_pass_by_value, reason = "that of `followed.rs` keeps its arguments")]
    pub(crate) fn new(
        source: RulesSource,
        _limits: Arc<LimitSet>,
        _telemetry: Telemetry,
    ) -> (Arc<Self>, Option<Watch>) {
        match source {}
    }

    pub(crate) const fn reload(&self) -> bool {
        match *self {}
    }

    pub(crate) const fn error(&self) -> Option<Infallible> {
        match *self {}
    }
}

/// Never exists, since no file is watched without a [`RulesSource`].
pub(crate) enum Watch {}

/// Takes the place of `rate/condition.rs`: only rules of a file have conditions.
#[derive(Clone, Debug)]
pub(crate) struct Condition {
    pub(crate) part: Part,
    never: Infallible,
}

impl Condition {
    pub(crate) const fn holds(&self, _caller: &Caller<'_>) -> bool {
        match self.never {}
    }
}
