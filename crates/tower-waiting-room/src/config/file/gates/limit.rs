//! The limit of a gate in a configuration file: a number, `unlimited`, or an adaptive limit.

use std::time::Duration;

use jiff::fmt::serde::unsigned_duration::friendly::compact::optional as friendly;
use serde::Deserialize;
use waiting_room_core::{
    ConfigError,
    error::ConfigErrorKind,
    gate::{AdaptiveRules, Aimd, Gradient2, Vegas},
};

use crate::{config::file::settings::with, gate::Concurrency};

/// A number such as `64`, or `unlimited` (or `null`).
///
/// A limit of 0 closes the gate. The operator can change either form of limit through the handle.
#[derive(Deserialize)]
#[serde(untagged, expecting = "limit is neither a number up to 4194303 nor unlimited")]
pub(super) enum LimitFile {
    AtMost(u32),
    None(Option<UnlimitedName>),
}

/// The keyword `unlimited`.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum UnlimitedName {
    Unlimited,
}

/// An adaptive limit: its algorithm and its rules.
///
/// The limit varies between `min` and `max`, depending on how long requests hold their permits and
/// on how the requests end.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum AdaptiveFile {
    Aimd(AdaptiveRulesFile),
    Gradient2(AdaptiveRulesFile),
    Vegas(AdaptiveRulesFile),
}

/// The rules of an adaptive limit. An absent field has the same default as in [`AdaptiveRules`].
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AdaptiveRulesFile {
    min: Option<u32>,
    max: Option<u32>,
    initial: Option<u32>,
    #[serde(default, with = "friendly")]
    latency_target: Option<Duration>,
    #[serde(default, with = "friendly")]
    window: Option<Duration>,
}

/// Creates a gate with this limit and the defaults for all other options.
///
/// # Errors
///
/// Returns an error if `limit` and `adaptive` are both given or both missing, or if the rules of an
/// adaptive limit contradict each other.
pub(super) fn begin(
    limit: Option<LimitFile>,
    adaptive: Option<AdaptiveFile>,
) -> Result<Concurrency, ConfigError> {
    let wrong = |kind, given| {
        let expected = "either limit (a number or unlimited) or adaptive";
        Err(ConfigError::new(kind, "limit", given, expected))
    };
    match (limit, adaptive) {
        (Some(LimitFile::AtMost(limit)), None) => Ok(Concurrency::limit(limit)),
        (Some(LimitFile::None(Some(UnlimitedName::Unlimited) | None)), None) => {
            Ok(Concurrency::limit(None))
        }
        (None, Some(adaptive)) => adaptive.concurrency(),
        (None, None) => wrong(ConfigErrorKind::Missing, "missing"),
        (Some(_), Some(_)) => wrong(ConfigErrorKind::Contradicts, "given together with adaptive"),
    }
}

impl AdaptiveFile {
    /// Creates a gate with this adaptive limit.
    ///
    /// # Errors
    ///
    /// Returns an error if a rule is out of bounds or contradicts another rule.
    fn concurrency(self) -> Result<Concurrency, ConfigError> {
        Ok(match self {
            Self::Aimd(rules) => Concurrency::adaptive(Aimd::new(rules.into())?),
            Self::Gradient2(rules) => Concurrency::adaptive(Gradient2::new(rules.into())?),
            Self::Vegas(rules) => Concurrency::adaptive(Vegas::new(rules.into())?),
        })
    }
}

impl From<AdaptiveRulesFile> for AdaptiveRules {
    fn from(file: AdaptiveRulesFile) -> Self {
        // An absent `latency_target` is passed on as `None`, which means that there is no target.
        let mut rules = Self::new().latency_target(file.latency_target);
        rules = with(rules, file.min, Self::min);
        rules = with(rules, file.max, Self::max);
        rules = with(rules, file.initial, Self::initial);
        with(rules, file.window, Self::window)
    }
}
