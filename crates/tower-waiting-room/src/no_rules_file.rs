//! Replaces `rules_file.rs` if the `rules-file` feature is disabled. Without the feature, no
//! configuration can name a rules file. The types below therefore have no values, and the code that
//! follows a file is never reached.

use std::{convert::Infallible, sync::Arc};

use waiting_room_core::ConfigError;

use crate::{
    rate::{LimitSet, RateLimit},
    request::{Caller, Part},
    telemetry::Telemetry,
};

/// The source of a rules file. This type has no values, because a source is created only by options
/// of the `rules-file` feature.
#[derive(Clone, Debug)]
pub(crate) enum RulesSource {}

impl RulesSource {
    pub(crate) const fn load_first(&self) -> Result<Vec<RateLimit>, ConfigError> {
        match *self {}
    }
}

/// A rules file that is followed. This type has no values, because there is no [`RulesSource`].
pub(crate) enum FollowedFile {}

impl FollowedFile {
    #[expect(clippy::needless_pass_by_value, reason = "`new` in `followed.rs` owns its arguments")]
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

/// The watch of a rules file. This type has no values, because there is no [`RulesSource`].
pub(crate) enum Watch {}

/// Replaces `rate/condition.rs`, because only the rules of a file have conditions.
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
