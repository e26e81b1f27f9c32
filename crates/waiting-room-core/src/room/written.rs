//! Settings that are stored by name: those that an event overrides, and the rules of a room in a
//! store.

use std::{borrow::Cow, collections::BTreeMap};

#[cfg(feature = "serde")]
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::{Setting, SettingValue};
use crate::{ConfigError, RoomRules, error::ConfigErrorKind};

/// The rules that an event overrides, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(Deserialize, Serialize))]
#[cfg_attr(feature = "serde", serde(transparent))]
pub(super) struct Overrides(BTreeMap<Cow<'static, str>, SettingValue>);

impl Overrides {
    pub(super) fn set(&mut self, setting: &'static str, value: SettingValue) {
        self.0.insert(Cow::Borrowed(setting), value);
    }

    pub(super) fn get(&self, setting: &str) -> Option<&SettingValue> {
        self.0.get(setting)
    }

    /// Applies every value to the rules.
    ///
    /// # Errors
    ///
    /// Returns an error for the first setting that an event cannot override, and for the first value
    /// that its setting cannot have. The values before it are applied.
    pub(super) fn apply(&self, rules: &mut RoomRules) -> Result<(), ConfigError> {
        self.0.iter().try_for_each(|(name, value)| {
            match RoomRules::setting(name).filter(|setting| setting.is_for_events()) {
                Some(setting) => setting.set(rules, value),
                None => Err(not_for_events(name)),
            }
        })
    }
}

fn not_for_events(name: &str) -> ConfigError {
    let names = RoomRules::SETTINGS.iter().filter(|setting| setting.is_for_events());
    let names = names.map(Setting::name).collect::<Vec<_>>().join(", ");
    let given = format_args!("{name:?}");
    ConfigError::new(ConfigErrorKind::Malformed, "event", given, format_args!("one of {names}"))
}

/// The rules of a room as a store writes them: only those that differ from the default.
///
/// Releases with and without a setting therefore write equal rules in the same way.
#[cfg(feature = "serde")]
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct StoredRules {
    name: String,
    settings: BTreeMap<Cow<'static, str>, SettingValue>,
}

#[cfg(feature = "serde")]
impl From<RoomRules> for StoredRules {
    fn from(rules: RoomRules) -> Self {
        let default = RoomRules::new("", 0);
        let given = RoomRules::SETTINGS.iter().filter_map(|setting| {
            let value = setting.get(&rules);
            (value != setting.get(&default)).then_some((Cow::Borrowed(setting.name()), value))
        });
        Self { settings: given.collect(), name: rules.name }
    }
}

#[cfg(feature = "serde")]
impl TryFrom<StoredRules> for RoomRules {
    type Error = ConfigError;

    fn try_from(stored: StoredRules) -> Result<Self, ConfigError> {
        let mut rules = Self::new(stored.name, 0);
        for (name, value) in &stored.settings {
            let setting = Self::setting(name).ok_or_else(|| {
                let given = format_args!("{name:?}");
                ConfigError::new(ConfigErrorKind::Malformed, "setting", given, "a known setting")
            })?;
            setting.set(&mut rules, value)?;
        }
        rules.validate()
    }
}

#[cfg(feature = "serde")]
impl Serialize for RoomRules {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        StoredRules::from(self.clone()).serialize(serializer)
    }
}

#[cfg(feature = "serde")]
impl<'de> Deserialize<'de> for RoomRules {
    /// Reads rules and validates them, as if they were configured.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        StoredRules::deserialize(deserializer)?.try_into().map_err(de::Error::custom)
    }
}
