//! How many requests may run at once, in a configuration file.

use std::time::Duration;

use jiff::fmt::serde::unsigned_duration::friendly::compact::optional as friendly;
use serde::Deserialize;
use waiting_room_core::{AdaptiveRules, Aimd, ConfigError, ConfigErrorKind, Gradient2, Vegas};

use crate::{config::file::rates::with, gate::Concurrency};

/// `64`, or `unlimited`.
#[derive(Deserialize)]
#[serde(untagged, expecting = "limit is neither a number up to 4194303 nor unlimited")]
pub(super) enum LimitFile {
    AtMost(u32),
    None(Option<UnlimitedName>),
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum UnlimitedName {
    Unlimited,
}

/// A limit that finds out by itself.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum AdaptiveFile {
    Aimd(AdaptiveRulesFile),
    Gradient2(AdaptiveRulesFile),
    Vegas(AdaptiveRulesFile),
}

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

/// A gate of which nothing is known but how many may run.
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
        (Some(_), Some(_)) => wrong(ConfigErrorKind::Contradicts, "there beside adaptive"),
    }
}

impl AdaptiveFile {
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
        let mut rules = Self::new().latency_target(file.latency_target);
        rules = with(rules, file.min, Self::min);
        rules = with(rules, file.max, Self::max);
        rules = with(rules, file.initial, Self::initial);
        with(rules, file.window, Self::window)
    }
}
