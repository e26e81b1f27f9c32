//! The settings that determine the bounds, as read from the configuration file.

use std::{path::Path, time::Duration};

use anyhow::{Context, Result};
use serde::{Deserialize, Deserializer, de::Error};
use tower_waiting_room::WaitingRoomConfig;

/// The fields of a configuration that determine the bounds.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Settings {
    pub(crate) total_active_users: u32,
    #[serde(deserialize_with = "duration")]
    pub(crate) refresh_interval: Duration,
    #[serde(deserialize_with = "duration")]
    pub(crate) session_duration: Duration,
    /// The maximum number of places in the line for one network.
    shares: Option<toml::Value>,
    #[serde(default)]
    rate_limits: Vec<DescriptorSettings>,
    #[serde(default)]
    concurrency: Vec<GateSettings>,
}

/// A descriptor of the configuration, with its limit or with nested descriptors.
#[derive(Clone, Debug, Deserialize)]
struct DescriptorSettings {
    rate_limit: Option<LimitSettings>,
    #[serde(default)]
    descriptors: Vec<DescriptorSettings>,
}

/// A rate limit of the configuration.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct LimitSettings {
    name: String,
    requests_per_unit: u64,
    unit: Unit,
    burst: Option<u64>,
    max_keys: Option<u32>,
}

/// The unit of time of a rate limit.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Unit {
    Hour,
    Minute,
}

/// A gate of the configuration.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct GateSettings {
    name: String,
    pub(crate) limit: u32,
    #[serde(deserialize_with = "duration")]
    pub(crate) max_wait: Duration,
}

impl Settings {
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
        toml::from_str(&text).with_context(|| path.display().to_string())
    }

    pub(crate) fn limit(&self, name: &str) -> Result<&LimitSettings> {
        let found = self.rate_limits.iter().find_map(|descriptor| descriptor.limit(name));
        found.with_context(|| format!("the configuration has no limit {name:?}"))
    }

    pub(crate) fn gate(&self, name: &str) -> Result<&GateSettings> {
        let found = self.concurrency.iter().find(|gate| gate.name == name);
        found.with_context(|| format!("the configuration has no gate {name:?}"))
    }

    /// Returns the maximum number of places that one address can have after it has requested them
    /// for the time `asked_for`, and the reason. The maximum is `shares` if the file
    /// sets it and the limit by address does not allow less.
    pub(crate) fn places(&self, asked_for: Duration) -> Result<(u64, &'static str)> {
        let share = self.shares.as_ref().and_then(toml::Value::as_integer);
        let by_limit = self.limit("per_ip")?.most(asked_for);
        Ok(match share.and_then(|share| u64::try_from(share).ok()) {
            Some(share) if share <= by_limit => (share, "its share of the places"),
            _ => (by_limit, "the newcomers that its address may send"),
        })
    }
}

impl DescriptorSettings {
    fn limit(&self, name: &str) -> Option<&LimitSettings> {
        let own = self.rate_limit.as_ref().filter(|limit| limit.name == name);
        own.or_else(|| self.descriptors.iter().find_map(|inner| inner.limit(name)))
    }
}

impl LimitSettings {
    /// The maximum number of requests of one key that are allowed within the given time.
    pub(crate) fn most(&self, within: Duration) -> u64 {
        let window = match self.unit {
            Unit::Hour => Duration::from_secs(3_600),
            Unit::Minute => Duration::from_secs(60),
        };
        let requests = u128::from(self.requests_per_unit);
        let replenished = requests * within.as_micros() / window.as_micros();
        let replenished = u64::try_from(replenished).unwrap_or(u64::MAX);
        self.at_once().saturating_add(replenished).saturating_add(1)
    }

    /// The number of requests of one key that are allowed at once.
    pub(crate) fn at_once(&self) -> u64 {
        self.burst.unwrap_or(self.requests_per_unit)
    }

    /// The number of keys that are remembered, if the file sets it.
    pub(crate) fn max_keys(&self) -> Option<u32> {
        self.max_keys
    }
}

/// Reads a configuration file.
pub(crate) fn configured(path: &Path) -> Result<WaitingRoomConfig> {
    let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
    toml::from_str(&text).with_context(|| path.display().to_string())
}

fn duration<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
    humantime::parse_duration(&String::deserialize(from)?).map_err(D::Error::custom)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = r#"
        total_active_users = 1
        refresh_interval = "2s"
        session_duration = "5m"
        [[rate_limits]]
        rate_limit = { name = "per_ip", unit = "minute", requests_per_unit = 600, burst = 60 }
    "#;

    #[test]
    fn a_share_of_the_places_in_the_file_is_the_bound() {
        let settings = |line: &str| toml::from_str::<Settings>(&format!("{line}\n{FILE}")).unwrap();
        let after_a_second = |line: &str| settings(line).places(Duration::from_secs(1)).unwrap().0;
        assert_eq!(after_a_second(""), 60 + 10 + 1);
        assert_eq!(after_a_second("shares = 20"), 20);
        assert_eq!(after_a_second("shares = 1000"), 71);
    }
}
