//! Takes the fields of a JSON object one by one, with errors that name them, and lists the fields
//! that do not carry over.

use std::{fmt, time::Duration};

use serde_json::{Map, Value};
use waiting_room_core::{
    ConfigError, RoomRules,
    error::ConfigErrorKind,
    room::{Setting, SettingValue},
};

/// The fields of an object that have not been read yet.
pub(super) struct JsonFields {
    /// The path of the object: empty for a room, and `events[0]` for its first event.
    of: String,
    map: Map<String, Value>,
}

impl JsonFields {
    /// Takes the fields of a value.
    ///
    /// # Errors
    ///
    /// Returns an error if the value is not an object.
    pub(super) fn of(path: impl Into<String>, what: &'static str, value: Value) -> Read<Self> {
        let of = path.into();
        match value {
            Value::Object(map) => Ok(Self { of, map }),
            other @ (Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_)) => Err(malformed(what, &shown(&other), &of, "an object")),
        }
    }

    /// Returns the path of a field, for the list of unsupported settings.
    pub(super) fn path(&self, field: &str) -> String {
        match &*self.of {
            "" => field.to_owned(),
            of => format!("{of}.{field}"),
        }
    }

    /// Takes a field. An absent field and `null` are the same, as in Cloudflare's API.
    pub(super) fn take(&mut self, field: &str) -> Option<Value> {
        self.map.remove(field).filter(|value| !value.is_null())
    }

    /// Takes the fields that are settings of a room, according to their declarations.
    ///
    /// # Errors
    ///
    /// Returns an error if a setting cannot have the given value.
    pub(super) fn settings(
        &mut self,
        is_wanted: impl Fn(&Setting) -> bool,
    ) -> Read<Vec<(&'static Setting, SettingValue)>> {
        let mut settings = Vec::new();
        for setting in RoomRules::SETTINGS.iter().filter(|setting| is_wanted(setting)) {
            let Some(given) = self.take(setting.name()) else { continue };
            let value = setting_value(setting, &given);
            let Some(value) = value.filter(|value| setting.check(value).is_ok()) else {
                let expected = setting.wrong("").expected().to_owned();
                let unit = if setting.is_duration() { "minutes, for " } else { "" };
                return self.wrong(setting.name(), &given, &format!("{unit}{expected}"));
            };
            settings.push((setting, value));
        }
        Ok(settings)
    }

    /// Takes the field that stands for the setting `session_renewal`.
    pub(super) fn renewal(&mut self) -> Read<Option<SettingValue>> {
        let is_fixed = self.truth("disable_session_renewal")?;
        Ok(is_fixed.map(|is_fixed| SettingValue::word(if is_fixed { "fixed" } else { "sliding" })))
    }

    /// Takes a boolean.
    pub(super) fn truth(&mut self, field: &'static str) -> Read<Option<bool>> {
        let Some(value) = self.take(field) else { return Ok(None) };
        value
            .as_bool()
            .map_or_else(|| self.wrong(field, &value, "true or false"), |is_on| Ok(Some(is_on)))
    }

    /// Takes a string.
    pub(super) fn text(&mut self, field: &'static str) -> Read<Option<String>> {
        match self.take(field) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => self.wrong(field, &other, "a string"),
        }
    }

    /// Takes a string that is one of these words, whatever their case.
    pub(super) fn word(
        &mut self,
        field: &'static str,
        words: &'static [&'static str],
    ) -> Read<Option<&'static str>> {
        let Some(value) = self.take(field) else { return Ok(None) };
        let text = value.as_str().unwrap_or_default();
        match words.iter().find(|word| word.eq_ignore_ascii_case(text)) {
            Some(word) => Ok(Some(word)),
            None => self.wrong(field, &value, &format!("one of {}", words.join(", "))),
        }
    }

    /// Takes an array of at most `most` elements. An absent array is empty.
    pub(super) fn list(&mut self, field: &'static str, most: usize) -> Read<Vec<Value>> {
        match self.take(field) {
            None => Ok(Vec::new()),
            Some(Value::Array(list)) if list.len() <= most => Ok(list),
            Some(Value::Array(list)) => {
                let given = format!("{} elements", list.len());
                let kind = ConfigErrorKind::TooLarge;
                let expected = format!("at most {most}");
                Err(ConfigError::new(kind, field, self.placed(&given), expected))
            }
            Some(other) => self.wrong(field, &other, "an array"),
        }
    }

    /// Takes a value that must be given.
    pub(super) fn required<T>(&self, field: &'static str, value: Option<T>) -> Read<T> {
        value.ok_or_else(|| {
            let given = self.placed("missing");
            ConfigError::new(ConfigErrorKind::Missing, field, given, "a value")
        })
    }

    /// Returns an error for the value of a field.
    pub(super) fn wrong<T>(&self, field: &'static str, value: &Value, expected: &str) -> Read<T> {
        Err(malformed(field, &shown(value), &self.of, expected))
    }

    /// Returns an error for a value that contradicts that of another field.
    pub(super) fn contradiction<T>(
        &self,
        field: &'static str,
        given: &str,
        expected: &str,
    ) -> Read<T> {
        let kind = ConfigErrorKind::Contradicts;
        Err(ConfigError::new(kind, field, self.placed(given), expected))
    }

    fn placed(&self, given: &str) -> String {
        placed(given, &self.of)
    }

    /// Reports the fields that were not read, except for those in `ignored`.
    pub(super) fn report_rest(self, ignored: &[&str], unsupported: &mut Vec<Unsupported>) {
        let unread = self
            .map
            .iter()
            .filter(|(field, value)| !value.is_null() && !ignored.contains(&field.as_str()));
        for (field, value) in unread {
            let field = self.path(&field.chars().take(MAX_SHOWN).collect::<String>());
            let why = format!("{} is the value of an unknown field", shown(value));
            unsupported.push(Unsupported::new(field, why));
        }
    }
}

/// A setting of Cloudflare Waiting Room that has no counterpart in the configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unsupported {
    /// The field, such as `turnstile_mode` or `rules[2].expression`.
    pub field: String,
    /// The reason, with the value of the field and an alternative.
    pub why: String,
}

impl Unsupported {
    pub(super) fn new(field: impl Into<String>, why: impl Into<String>) -> Self {
        Self { field: field.into(), why: why.into() }
    }

    /// Describes an element of a list that cannot be used. The other elements are used.
    pub(super) fn left_out(field: impl Into<String>, error: ConfigError) -> Self {
        Self::new(field, format!("it is left out, because {error}"))
    }
}

impl fmt::Display for Unsupported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.why)
    }
}

/// Returns the value of a setting in Cloudflare's form, in which a duration is in whole minutes.
fn setting_value(setting: &Setting, given: &Value) -> Option<SettingValue> {
    if let Some(word) = given.as_str() {
        return Some(SettingValue::Word(word.to_ascii_lowercase().into()));
    }
    let count = given.as_u64().and_then(|count| u32::try_from(count).ok())?;
    Some(if setting.is_duration() {
        SettingValue::Duration(Duration::from_secs(60 * u64::from(count)))
    } else {
        SettingValue::Count(count)
    })
}

/// The result of reading.
pub(super) type Read<T> = Result<T, ConfigError>;

/// Returns the error for fields that are not a valid configuration file.
pub(super) fn refused(error: impl fmt::Display) -> ConfigError {
    let expected = "the fields of a configuration file";
    ConfigError::new(ConfigErrorKind::Malformed, "configuration", error, expected)
}

/// Returns the error for a value of the wrong form.
fn malformed(field: &'static str, given: &str, of: &str, expected: &str) -> ConfigError {
    ConfigError::new(ConfigErrorKind::Malformed, field, placed(given, of), expected)
}

/// Adds the path of an object to a value.
fn placed(given: &str, of: &str) -> String {
    if of.is_empty() { given.to_owned() } else { format!("{given} in {of}") }
}

/// Returns the beginning of a value as JSON, for a message.
pub(super) fn shown(value: &Value) -> String {
    let text = match value {
        Value::Array(list) => return format!("an array of {} elements", list.len()),
        Value::Object(map) => return format!("an object with {} fields", map.len()),
        Value::String(text) => {
            return match text.char_indices().nth(MAX_SHOWN) {
                None => format!("{text:?}"),
                Some((end, _)) => format!("{:?}… ({} bytes)", &text[..end], text.len()),
            };
        }
        other @ (Value::Null | Value::Bool(_) | Value::Number(_)) => other.to_string(),
    };
    text.chars().take(MAX_SHOWN).collect()
}

/// The maximum number of characters of a value in a message.
const MAX_SHOWN: usize = 80;
