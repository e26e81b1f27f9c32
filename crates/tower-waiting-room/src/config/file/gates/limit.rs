//! The limit of a gate in a configuration file: a number, `unlimited`, or an adaptive limit.

use std::time::Duration;

use jiff::fmt::serde::unsigned_duration::friendly::compact::optional as friendly;
use serde::Deserialize;
use waiting_room_core::{
    ConfigError,
    error::ConfigErrorKind,
    gate::{AdaptiveRules, Aimd, Gradient2, Vegas},
};

use crate::{config::file::rates::with, gate::Concurrency};

/// A number such as `64`, or `unlimited` (or `null`).
///
/// With 0 the gate is closed. The operator's handle can change a limit of either form.
#[derive(Deserialize)]
#[serde(untagged, expecting = "limit is neither a number up to 4194303 nor unlimited")]
pub(super) enum LimitFile {
    /// The number of requests that run at once.
    AtMost(u32),
    /// `unlimited`, or `null` if the option is empty.
    None(Option<UnlimitedName>),
}

/// The word `unlimited`.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum UnlimitedName {
    Unlimited,
}

/// An adaptive limit: the name of its algorithm, with its rules.
///
/// The limit measures how long requests hold their permits and how they end, and settles between
/// `min` and `max`.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum AdaptiveFile {
    /// Grows by one after a good window, and shrinks by a tenth after a bad one.
    Aimd(AdaptiveRulesFile),
    /// Compares how long permits are held with the mean of many windows. For holds that vary.
    Gradient2(AdaptiveRulesFile),
    /// Estimates from how long permits are held how many requests wait inside the service. For
    /// holds that are alike.
    Vegas(AdaptiveRulesFile),
}

/// The rules of an adaptive limit. An absent field has the default of [`AdaptiveRules`].
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AdaptiveRulesFile {
    /// The lowest limit: 1 by default.
    min: Option<u32>,
    /// The highest limit: 200 by default. The service must survive that many requests at once.
    max: Option<u32>,
    /// The limit at the start: 20 by default, or the bound that is nearest to it.
    initial: Option<u32>,
    /// The limit does not grow while permits are typically held for longer than this. No target by
    /// default.
    #[serde(default, with = "friendly")]
    latency_target: Option<Duration>,
    /// The time over which samples are collected before the limit changes: `1s` by default.
    #[serde(default, with = "friendly")]
    window: Option<Duration>,
}

/// Creates a gate with this limit and the defaults of everything else.
///
/// # Errors
///
/// If neither kind of limit is given, or both are, or if the rules of an adaptive limit contradict
/// each other.
pub(super) fn begin(
    limit: Option<LimitFile>,
    adaptive: Option<AdaptiveFile>,
) -> Result<Concurrency, ConfigError> {
    let wrong = |kind, given| {
        let expected = "a number, unlimited, or adaptive instead";
        Err(ConfigError::new(kind, "limit", given, expected))
    };
    match (limit, adaptive) {
        (Some(LimitFile::AtMost(limit)), None) => Ok(Concurrency::limit(limit)),
        (Some(LimitFile::None(Some(UnlimitedName::Unlimited) | None)), None) => {
            Ok(Concurrency::limit(None))
        }
        (None, Some(adaptive)) => adaptive.concurrency(),
        (None, None) => wrong(ConfigErrorKind::Missing, "missing"),
        (Some(_), Some(_)) => wrong(ConfigErrorKind::Contradicts, "given beside adaptive"),
    }
}

impl AdaptiveFile {
    /// Creates a gate with this adaptive limit.
    ///
    /// # Errors
    ///
    /// If a rule is out of bounds, or contradicts another one.
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
        // `latency_target` takes an option itself: `None` means that there is no target.
        let mut rules = Self::new().latency_target(file.latency_target);
        rules = with(rules, file.min, Self::min);
        rules = with(rules, file.max, Self::max);
        rules = with(rules, file.initial, Self::initial);
        with(rules, file.window, Self::window)
    }
}
