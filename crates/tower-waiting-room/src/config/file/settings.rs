//! Reads the room settings in a table of a file, as [`RoomRules::SETTINGS`] declares them.
//!
//! A table has fields of its own, such as `keys`, and settings of the room, such as
//! `line_capacity`. Each setting is read at its position in the file, so that an error about it
//! points to its value.

use std::{fmt, marker::PhantomData};

use jiff::fmt::friendly::SpanParser;
use serde::{
    Deserialize, Deserializer,
    de::{self, DeserializeSeed, MapAccess, Visitor, value::StringDeserializer},
    forward_to_deserialize_any,
};
use waiting_room_core::{
    RoomRules,
    room::{Setting, SettingValue},
};

/// A table of a file: the settings of the room, and all other fields.
pub(crate) struct WithSettings<T> {
    pub(super) settings: Vec<(&'static Setting, SettingValue)>,
    pub(super) fields: T,
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for WithSettings<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(SettingsTable(PhantomData))
    }
}

struct SettingsTable<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for SettingsTable<T> {
    type Value = WithSettings<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a table")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        let mut settings = Vec::new();
        let others = Others { map, settings: &mut settings, names: &[] };
        let fields = T::deserialize(others)?;
        Ok(WithSettings { settings, fields })
    }
}

/// The fields of a table that are not settings. The settings are read at the same time.
struct Others<'a, A> {
    map: A,
    settings: &'a mut Vec<(&'static Setting, SettingValue)>,
    /// The names of the other fields.
    names: &'static [&'static str],
}

impl<'de, A: MapAccess<'de>> Deserializer<'de> for Others<'_, A> {
    type Error = A::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, A::Error> {
        visitor.visit_map(self)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        names: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, A::Error> {
        visitor.visit_map(Self { names, ..self })
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option
        unit unit_struct newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Others<'_, A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, A::Error> {
        while let Some(name) = self.map.next_key::<String>()? {
            let Some(setting) = RoomRules::setting(&name) else {
                if !self.names.contains(&&*name) {
                    return Err(unknown(&name, self.names));
                }
                let key: StringDeserializer<A::Error> =
                    de::IntoDeserializer::into_deserializer(name);
                return seed.deserialize(key).map(Some);
            };
            if self.settings.iter().any(|(given, _)| given.name() == setting.name()) {
                return Err(de::Error::duplicate_field(setting.name()));
            }
            if let Some(value) = self.map.next_value_seed(ValueOf(setting))? {
                self.settings.push((setting, value));
            }
        }
        Ok(None)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        self.map.next_value_seed(seed)
    }
}

fn unknown<E: de::Error>(name: &str, names: &'static [&'static str]) -> E {
    let settings = RoomRules::SETTINGS.iter().map(Setting::name);
    let known = names.iter().copied().chain(settings).map(|name| format!("`{name}`"));
    let known = known.collect::<Vec<_>>().join(", ");
    E::custom(format_args!("unknown field `{name}`, expected one of {known}"))
}

/// Reads the value of a setting. `null` is the same as an absent field.
struct ValueOf(&'static Setting);

impl ValueOf {
    fn checked<E: de::Error>(&self, value: SettingValue) -> Result<Option<SettingValue>, E> {
        self.0.check(&value).map_err(E::custom)?;
        Ok(Some(value))
    }

    fn wrong<E: de::Error>(&self, given: impl fmt::Display) -> E {
        E::custom(self.0.wrong(given))
    }
}

impl<'de> DeserializeSeed<'de> for ValueOf {
    type Value = Option<SettingValue>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ValueOf {
    type Value = Option<SettingValue>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a value of {}", self.0.name())
    }

    fn visit_bool<E: de::Error>(self, given: bool) -> Result<Self::Value, E> {
        Err(self.wrong(given))
    }

    fn visit_i64<E: de::Error>(self, given: i64) -> Result<Self::Value, E> {
        let count = u32::try_from(given).map_err(|_| self.wrong(given))?;
        self.checked(SettingValue::Count(count))
    }

    fn visit_u64<E: de::Error>(self, given: u64) -> Result<Self::Value, E> {
        let count = u32::try_from(given).map_err(|_| self.wrong(given))?;
        self.checked(SettingValue::Count(count))
    }

    fn visit_f64<E: de::Error>(self, given: f64) -> Result<Self::Value, E> {
        Err(self.wrong(given))
    }

    fn visit_str<E: de::Error>(self, given: &str) -> Result<Self::Value, E> {
        let duration = SpanParser::new().parse_unsigned_duration(given).ok();
        self.checked(match duration.filter(|_| self.0.is_duration()) {
            Some(duration) => SettingValue::Duration(duration),
            None => SettingValue::Word(given.to_owned().into()),
        })
    }

    fn visit_unit<E: de::Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let key = map.next_key::<String>()?;
        if !self.0.has_shadow() || key.as_deref() != Some("shadow") {
            return Err(self.wrong("another table"));
        }
        let value = self.checked(SettingValue::Shadow(map.next_value()?))?;
        match map.next_key::<String>()? {
            Some(_) => Err(self.wrong("a table with several fields")),
            None => Ok(value),
        }
    }
}

/// Sets an option if a value is given, and leaves the default in place otherwise.
pub(super) fn with<B, T>(builder: B, given: Option<T>, set: impl FnOnce(B, T) -> B) -> B {
    match given {
        Some(value) => set(builder, value),
        None => builder,
    }
}
