//! The settings of a room, each of which is declared once.
//!
//! [`RoomRules::SETTINGS`] has one entry for each rule: its name, its values, and what it means. The
//! check of the rules, the overrides of events, configuration files, the encodings of stores, the
//! random rules of the test kit, and the table in the docs are derived from these entries.

#[cfg(test)]
mod tests;

use std::{borrow::Cow, fmt, ops::RangeInclusive, time::Duration};

use crate::{
    ConfigError, RoomRules,
    error::ConfigErrorKind,
    room::{CookieTest, QueueingMethod, Recovery, RoomMode, SessionRenewal, Shares},
};

/// One rule of a room, except for the room's name: the name of the rule, and its possible values.
///
/// ```
/// use waiting_room_core::{RoomRules, room::SettingValue};
///
/// let capacity = RoomRules::setting("line_capacity").unwrap();
/// let mut rules = RoomRules::new("shop", 200);
/// capacity.set(&mut rules, &SettingValue::Count(500))?;
/// assert_eq!(rules.line_capacity, 500);
///
/// let error = capacity.set(&mut rules, &SettingValue::Count(0)).unwrap_err();
/// assert_eq!(error.to_string(), "line_capacity is 0, expected at least 1");
/// # Ok::<(), waiting_room_core::ConfigError>(())
/// ```
#[derive(Debug)]
pub struct Setting {
    name: &'static str,
    doc: &'static str,
    values: AllowedValues,
    is_for_events: bool,
    get: fn(&RoomRules) -> SettingValue,
    /// Sets the rule, or returns `None` for a value of the wrong form.
    set: fn(&mut RoomRules, &SettingValue) -> Option<()>,
}

/// The value of a setting, in the form in which files and stores contain it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize, serde::Serialize))]
#[expect(clippy::exhaustive_enums, reason = "files and stores write each of these forms")]
pub enum SettingValue {
    /// A number of visitors or places, or a percentage.
    Count(u32),
    /// A duration.
    Duration(Duration),
    /// A number that is only reported, and not enforced.
    Shadow(u32),
    /// One of the words of the setting, such as `fifo` or `off`.
    Word(Cow<'static, str>),
}

/// The values that a setting can have. Each form is optional.
#[derive(Debug)]
struct AllowedValues {
    words: &'static [&'static str],
    counts: Option<RangeInclusive<u32>>,
    durations: Option<(Duration, Duration)>,
    has_shadow: bool,
}

impl RoomRules {
    /// The settings of a room, in alphabetical order.
    pub const SETTINGS: &'static [Setting] = &[
        Setting {
            name: "cookie_test",
            doc: "the percentage of slots in use at which newcomers must start to return a cookie \
                  before they get a slot",
            values: AllowedValues::counts(0..=100).or_words(&[OFF]),
            is_for_events: false,
            get: |rules| match rules.cookie_test {
                CookieTest::AboveUtilization(percent) => SettingValue::Count(percent.into()),
                CookieTest::Off => SettingValue::word(OFF),
            },
            set: |rules, value| {
                rules.cookie_test = if let SettingValue::Count(percent) = value {
                    CookieTest::AboveUtilization(u8::try_from(*percent).ok()?)
                } else {
                    value.off(CookieTest::Off)?
                };
                Some(())
            },
        },
        Setting {
            name: "line_capacity",
            doc: "the maximum number of places in the line; further visitors are refused",
            values: AllowedValues::counts(1..=Self::MAX_LINE_CAPACITY),
            is_for_events: false,
            get: |rules| SettingValue::Count(rules.line_capacity),
            set: |rules, value| value.count().map(|places| rules.line_capacity = places),
        },
        Setting {
            name: "longest_session_duration",
            doc: "the longest `session_duration` of an earlier deployment whose passes may still be \
                  in use; it matters only if `recovery` is `pause`",
            values: AllowedValues::durations(Self::SESSION_DURATION).or_words(&[OFF]),
            is_for_events: false,
            get: |rules| {
                rules
                    .longest_session_duration
                    .map_or(SettingValue::word(OFF), SettingValue::Duration)
            },
            set: |rules, value| {
                rules.longest_session_duration = if let SettingValue::Duration(longest) = value {
                    Some(*longest)
                } else {
                    value.off(None)?
                };
                Some(())
            },
        },
        Setting {
            name: "longest_visit",
            doc: "the time after its admission beyond which a session is not prolonged while \
                  visitors wait",
            values: AllowedValues::durations(Self::LONGEST_VISIT).or_words(&[OFF]),
            is_for_events: false,
            get: |rules| {
                rules.longest_visit.map_or(SettingValue::word(OFF), SettingValue::Duration)
            },
            set: |rules, value| {
                rules.longest_visit = if let SettingValue::Duration(longest) = value {
                    Some(*longest)
                } else {
                    value.off(None)?
                };
                Some(())
            },
        },
        Setting {
            name: "mode",
            doc: "the mode in which the room starts",
            values: AllowedValues::words(&["auto", "drain", "queue_all", "suspended"]),
            is_for_events: false,
            get: |rules| SettingValue::word(rules.mode.name()),
            set: |rules, value| {
                value.one_of(RoomMode::ALL, RoomMode::name).map(|to| rules.mode = to)
            },
        },
        Setting {
            name: "new_users_per_minute",
            doc: "the maximum number of visitors who are admitted within any 60 seconds",
            values: AllowedValues::counts(1..=Self::MAX_USERS).or_words(&[OFF]),
            is_for_events: true,
            get: |rules| {
                rules.new_users_per_minute.map_or(SettingValue::word(OFF), SettingValue::Count)
            },
            set: |rules, value| {
                rules.new_users_per_minute = if let SettingValue::Count(users) = value {
                    Some(*users)
                } else {
                    value.off(None)?
                };
                Some(())
            },
        },
        Setting {
            name: "place_retention",
            doc: "the time for which a place is kept after the last check-in, at least twice \
                  `refresh_interval`",
            values: AllowedValues::durations(Self::PLACE_RETENTION),
            is_for_events: false,
            get: |rules| SettingValue::Duration(rules.place_retention),
            set: |rules, value| value.duration().map(|to| rules.place_retention = to),
        },
        Setting {
            name: "queueing_method",
            doc: "the order in which waiting visitors are admitted",
            values: AllowedValues::words(&["fifo", "passthrough", "random", "reject"]),
            is_for_events: true,
            get: |rules| SettingValue::word(rules.queueing_method.name()),
            set: |rules, value| {
                let method = value.one_of(QueueingMethod::ALL, QueueingMethod::name);
                method.map(|method| rules.queueing_method = method)
            },
        },
        Setting {
            name: "recovery",
            doc: "how a room that has lost its state starts; `pause` needs `keys`",
            values: AllowedValues::words(&["admit_at_once", "pause"]),
            is_for_events: false,
            get: |rules| SettingValue::word(rules.recovery.name()),
            set: |rules, value| {
                value.one_of(Recovery::ALL, Recovery::name).map(|to| rules.recovery = to)
            },
        },
        Setting {
            name: "refresh_interval",
            doc: "the longest time between two check-ins of a waiting visitor",
            values: AllowedValues::durations(Self::REFRESH_INTERVAL),
            is_for_events: false,
            get: |rules| SettingValue::Duration(rules.refresh_interval),
            set: |rules, value| value.duration().map(|to| rules.refresh_interval = to),
        },
        Setting {
            name: "session_duration",
            doc: "the time for which a session lasts after its last request",
            values: AllowedValues::durations(Self::SESSION_DURATION),
            is_for_events: true,
            get: |rules| SettingValue::Duration(rules.session_duration),
            set: |rules, value| value.duration().map(|to| rules.session_duration = to),
        },
        Setting {
            name: "session_renewal",
            doc: "whether requests prolong a session (`sliding`), or `session_duration` is counted \
                  from the admission (`fixed`)",
            values: AllowedValues::words(&["fixed", "sliding"]),
            is_for_events: true,
            get: |rules| SettingValue::word(rules.session_renewal.name()),
            set: |rules, value| {
                let renewal = value.one_of(SessionRenewal::ALL, SessionRenewal::name);
                renewal.map(|renewal| rules.session_renewal = renewal)
            },
        },
        Setting {
            name: "shares",
            doc: "the number of slots that the visitors of one address may hold while others wait, \
                  and of places; `auto` derives them from `total_active_users`",
            values: AllowedValues::counts(1..=Self::MAX_LINE_CAPACITY)
                .or_shadow()
                .or_words(&["auto", OFF]),
            is_for_events: false,
            get: |rules| match rules.shares {
                Shares::Auto => SettingValue::word("auto"),
                Shares::Limit(number) => SettingValue::Count(number),
                Shares::Off => SettingValue::word(OFF),
                Shares::Shadow(number) => SettingValue::Shadow(number),
            },
            set: |rules, value| {
                rules.shares = match value {
                    SettingValue::Count(number) => Shares::Limit(*number),
                    SettingValue::Shadow(number) => Shares::Shadow(*number),
                    SettingValue::Word(word) if word == "auto" => Shares::Auto,
                    SettingValue::Duration(_) | SettingValue::Word(_) => value.off(Shares::Off)?,
                };
                Some(())
            },
        },
        Setting {
            name: "total_active_users",
            doc: "the maximum number of active visitors; without it, the layer has no room",
            values: AllowedValues::counts(1..=Self::MAX_USERS),
            is_for_events: true,
            get: |rules| SettingValue::Count(rules.total_active_users),
            set: |rules, value| value.count().map(|users| rules.total_active_users = users),
        },
    ];

    /// Returns the setting with this name.
    #[must_use]
    pub fn setting(name: &str) -> Option<&'static Setting> {
        Self::SETTINGS.iter().find(|setting| setting.name == name)
    }
}

impl Setting {
    /// Returns the name, which is the same in code and in files.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// Returns the meaning, in Markdown.
    #[must_use]
    pub const fn doc(&self) -> &'static str {
        self.doc
    }

    /// Returns whether an event can override this setting.
    #[must_use]
    pub const fn is_for_events(&self) -> bool {
        self.is_for_events
    }

    /// Returns whether the setting can be a duration.
    #[must_use]
    pub const fn is_duration(&self) -> bool {
        self.values.durations.is_some()
    }

    /// Returns whether the setting can be a number that is only reported.
    #[must_use]
    pub const fn has_shadow(&self) -> bool {
        self.values.has_shadow
    }

    /// Returns the words that are values of the setting.
    #[must_use]
    pub const fn words(&self) -> &'static [&'static str] {
        self.values.words
    }

    /// Returns the value in these rules.
    #[must_use]
    pub fn get(&self, rules: &RoomRules) -> SettingValue {
        (self.get)(rules)
    }

    /// Sets the value in these rules.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`check`](Self::check). Whether the value contradicts another rule is
    /// checked by [`RoomRules::validate`].
    pub fn set(&self, rules: &mut RoomRules, value: &SettingValue) -> Result<(), ConfigError> {
        self.check(value)?;
        (self.set)(rules, value).ok_or_else(|| self.wrong(value))
    }

    /// Returns the error for a value that the setting cannot have.
    #[must_use]
    pub fn wrong(&self, given: impl fmt::Display) -> ConfigError {
        ConfigError::new(ConfigErrorKind::Malformed, self.name, given, &self.values)
    }

    /// Checks that the setting can have this value.
    ///
    /// # Errors
    ///
    /// Returns an error for a value of the wrong form, and for a number or a duration out of
    /// bounds.
    pub fn check(&self, value: &SettingValue) -> Result<(), ConfigError> {
        let values = &self.values;
        match value {
            SettingValue::Count(count) => self.check_count(*count, value),
            SettingValue::Shadow(count) if values.has_shadow => self.check_count(*count, value),
            SettingValue::Duration(duration) => {
                let (shortest, longest) = values.durations.ok_or_else(|| self.wrong(value))?;
                if *duration < shortest {
                    return Err(self.out_of_bounds(
                        ConfigErrorKind::TooSmall,
                        value,
                        shortest.into(),
                    ));
                }
                if *duration > longest {
                    return Err(self.out_of_bounds(
                        ConfigErrorKind::TooLarge,
                        value,
                        longest.into(),
                    ));
                }
                Ok(())
            }
            SettingValue::Word(word) if values.words.contains(&&**word) => Ok(()),
            SettingValue::Shadow(_) | SettingValue::Word(_) => Err(self.wrong(value)),
        }
    }

    fn check_count(&self, count: u32, value: &SettingValue) -> Result<(), ConfigError> {
        let Some(bounds) = &self.values.counts else { return Err(self.wrong(value)) };
        if count < *bounds.start() {
            let least = SettingValue::Count(*bounds.start());
            return Err(self.out_of_bounds(ConfigErrorKind::TooSmall, count, least));
        }
        if count > *bounds.end() {
            let most = SettingValue::Count(*bounds.end());
            return Err(self.out_of_bounds(ConfigErrorKind::TooLarge, count, most));
        }
        Ok(())
    }

    fn out_of_bounds(
        &self,
        kind: ConfigErrorKind,
        given: impl fmt::Display,
        bound: SettingValue,
    ) -> ConfigError {
        let word = if kind == ConfigErrorKind::TooSmall { "at least" } else { "at most" };
        ConfigError::new(kind, self.name, given, format_args!("{word} {bound}"))
    }
}

impl SettingValue {
    /// Returns a word, such as `off`.
    #[must_use]
    pub const fn word(word: &'static str) -> Self {
        Self::Word(Cow::Borrowed(word))
    }

    /// Returns the value that `off` stands for, if this is the word `off`.
    fn off<T>(&self, off: T) -> Option<T> {
        matches!(self, Self::Word(word) if word == OFF).then_some(off)
    }

    fn count(&self) -> Option<u32> {
        if let Self::Count(count) = self { Some(*count) } else { None }
    }

    pub(super) fn duration(&self) -> Option<Duration> {
        if let Self::Duration(duration) = self { Some(*duration) } else { None }
    }

    /// Returns the option that this word names.
    fn one_of<T: Copy>(&self, all: &[T], name: fn(T) -> &'static str) -> Option<T> {
        let Self::Word(word) = self else { return None };
        all.iter().copied().find(|&option| name(option) == word)
    }
}

impl From<Duration> for SettingValue {
    fn from(duration: Duration) -> Self {
        Self::Duration(duration)
    }
}

/// The form of values in error messages.
impl fmt::Display for SettingValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count(count) => write!(f, "{count}"),
            Self::Duration(duration) => write!(f, "{} s", duration.as_secs_f64()),
            Self::Shadow(count) => write!(f, "{{ shadow: {count} }}"),
            Self::Word(word) => write!(f, "{word:?}"),
        }
    }
}

impl AllowedValues {
    const NONE: Self = Self { words: &[], counts: None, durations: None, has_shadow: false };

    const fn counts(bounds: RangeInclusive<u32>) -> Self {
        Self { words: &[], counts: Some(bounds), durations: None, has_shadow: false }
    }

    const fn durations(bounds: (Duration, Duration)) -> Self {
        Self { durations: Some(bounds), ..Self::NONE }
    }

    const fn words(words: &'static [&'static str]) -> Self {
        Self { words, ..Self::NONE }
    }

    const fn or_words(mut self, words: &'static [&'static str]) -> Self {
        self.words = words;
        self
    }

    const fn or_shadow(mut self) -> Self {
        self.has_shadow = true;
        self
    }
}

/// The values that are possible, for error messages and for the docs.
impl fmt::Display for AllowedValues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut forms = Vec::new();
        if let Some(counts) = &self.counts {
            forms.push(format!("a number from {} to {}", counts.start(), counts.end()));
        }
        if self.has_shadow {
            forms.push("{ \"shadow\": number }".to_owned());
        }
        if let Some((shortest, longest)) = self.durations {
            let bounds = [shortest, longest].map(SettingValue::Duration);
            forms.push(format!(
                "a duration such as \"1m 30s\", from {} to {}",
                bounds[0], bounds[1]
            ));
        }
        forms.extend(self.words.iter().map(|word| format!("{word:?}")));
        let last = forms.pop().unwrap_or_default();
        match &*forms {
            [] => f.write_str(&last),
            others => write!(f, "{} or {last}", others.join(", ")),
        }
    }
}

/// The word for a rule that is not in effect.
const OFF: &str = "off";
