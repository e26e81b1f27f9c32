//! Gates in a configuration file: all options of a [`Concurrency`] that do not need a closure.
//!
//! Classes need a closure, and a custom adaptive limit is a type that the application defines, so
//! both can be configured only in code.

mod limit;

use std::time::Duration;

use jiff::fmt::serde::unsigned_duration::friendly::compact::{optional, required};
use serde::{Deserialize, Deserializer};
use waiting_room_core::{
    ConfigError,
    error::ConfigErrorKind,
    gate::{Discipline, Tenants},
};

use self::limit::{AdaptiveFile, LimitFile};
use super::{bypass::method, settings::with};
use crate::{
    gate::{ClientDeadline, Concurrency, GateStatuses, ReleaseAt},
    request::{Key, MissingKey, Part},
};

/// The fields of one gate. An absent field has the same default as in [`Concurrency`].
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ConcurrencyFile {
    #[serde(default, deserialize_with = "given")]
    limit: Option<LimitFile>,
    adaptive: Option<AdaptiveFile>,
    name: Option<String>,
    queue: Option<u32>,
    #[serde(default, with = "optional")]
    max_wait: Option<Duration>,
    #[serde(default, with = "optional")]
    longest_retry: Option<Duration>,
    discipline: Option<DisciplineFile>,
    for_each: Option<KeyFile>,
    missing_key: Option<MissingKey>,
    #[serde(default)]
    methods: Vec<String>,
    path: Option<String>,
    path_prefix: Option<String>,
    release_at: Option<ReleaseAt>,
    #[serde(default, deserialize_with = "given")]
    min_rate: Option<RateFile>,
    #[serde(default, deserialize_with = "given")]
    max_hold: Option<HoldFile>,
    watched_bytes: Option<usize>,
    #[serde(default)]
    client_deadline_ms: Vec<String>,
    #[serde(default)]
    client_deadline_s: Vec<String>,
    statuses: Option<GateStatuses>,
}

/// The name of a key such as `remote_address`, or a list of names. If a key has several parts,
/// requests share the key only if they agree in every part.
#[derive(Deserialize)]
#[serde(untagged, expecting = "key is neither a name nor a list of names")]
enum KeyFile {
    One(String),
    Several(Vec<String>),
}

/// A duration such as `30s`, or `none` (or `null`) for no bound.
///
/// An absent field means the default, so "no bound" needs an explicit value.
#[derive(Deserialize)]
#[serde(untagged, expecting = "max_hold is neither a duration nor none")]
enum HoldFile {
    AtMost(#[serde(with = "required")] Duration),
    ForEver(Option<NoneName>),
}

/// A number of bytes per second, or `none` (or `null`) for any rate.
#[derive(Deserialize)]
#[serde(untagged, expecting = "min_rate is neither a number up to 4294967295 nor none")]
enum RateFile {
    AtLeast(u32),
    Any(Option<NoneName>),
}

/// The keyword `none`.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum NoneName {
    None,
}

/// The disciplines that need no closure. Each discipline is written as a table of its parameters,
/// such as `{ "controlled_delay": { "target": "100ms", "interval": "1s" } }`. The table for `fifo`
/// is empty.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum DisciplineFile {
    AdaptiveLifo {
        #[serde(with = "required")]
        interval: Duration,
    },
    ControlledDelay {
        #[serde(with = "required")]
        target: Duration,
        #[serde(with = "required")]
        interval: Duration,
    },
    FairBy {
        key: KeyFile,
        #[serde(default)]
        shuffled: bool,
    },
    Fifo {},
}

impl ConcurrencyFile {
    /// Converts the fields to a gate for the builder.
    ///
    /// # Errors
    ///
    /// Returns an error if neither or both of `limit` and `adaptive` are given, or if a method or a
    /// key is malformed. Bounds are checked when the configuration is built.
    pub(super) fn concurrency(self) -> Result<Concurrency, ConfigError> {
        let mut gate = limit::begin(self.limit, self.adaptive)?;
        gate = with(gate, self.name, Concurrency::name);
        // The name is set first, because the errors below contain it.
        let name = gate.name.to_string();
        let methods = self.methods.iter().map(|method| self::method("concurrency", &name, method));
        gate = gate.methods(methods.collect::<Result<Vec<_>, _>>()?);
        gate = with(gate, self.queue, Concurrency::queue);
        gate = with(gate, self.max_wait, Concurrency::max_wait);
        gate = with(gate, self.longest_retry, Concurrency::longest_retry);
        gate = with(gate, self.missing_key, Concurrency::missing_key);
        gate = with(gate, self.path, Concurrency::path);
        gate = with(gate, self.path_prefix, Concurrency::path_prefix);
        gate = with(gate, self.release_at, Concurrency::release_at);
        gate = with(gate, self.min_rate, |to, rate| to.min_rate(rate.bytes_per_second()));
        gate = with(gate, self.max_hold, |to, hold| to.max_hold(hold.time()));
        gate = with(gate, self.watched_bytes, Concurrency::watched_bytes);
        gate = with(gate, self.statuses, Concurrency::statuses);
        for header in self.client_deadline_ms {
            gate = gate.client_deadline(ClientDeadline::Millis(header));
        }
        for header in self.client_deadline_s {
            gate = gate.client_deadline(ClientDeadline::Seconds(header));
        }
        if let Some(key) = self.for_each {
            gate = gate.for_each(key.key(&name)?);
        }
        match self.discipline {
            Some(discipline) => discipline.of(gate, &name),
            None => Ok(gate),
        }
    }
}

impl KeyFile {
    /// Converts the names to a key. `gate` is the name of the gate, for error messages.
    ///
    /// # Errors
    ///
    /// Returns an error if a name is unknown or the list is empty.
    fn key(self, gate: &str) -> Result<Key, ConfigError> {
        let names = match self {
            Self::One(name) => vec![name],
            Self::Several(names) => names,
        };
        let wrong = |kind, given: String| {
            let known = [&Part::BUILT_IN[..], &["cookie.<name>", "header.<name>"]].concat();
            let expected = format!("one of {}", known.join(", "));
            ConfigError::new(kind, "key", format!("{given} in the gate {gate:?}"), expected)
        };
        let parts = names.iter().map(|name| {
            let part = Part::named(name);
            part.ok_or_else(|| wrong(ConfigErrorKind::Malformed, format!("{name:?}")))
        });
        let parts = parts.collect::<Result<Vec<_>, _>>()?;
        if parts.is_empty() {
            return Err(wrong(ConfigErrorKind::Missing, "empty".to_owned()));
        }
        Ok(Key::from(parts))
    }
}

impl HoldFile {
    /// Returns the duration, or `None` for no bound.
    const fn time(self) -> Option<Duration> {
        match self {
            Self::AtMost(time) => Some(time),
            Self::ForEver(Some(NoneName::None) | None) => None,
        }
    }
}

impl RateFile {
    /// Returns the rate, or `None` for any rate.
    const fn bytes_per_second(self) -> Option<u32> {
        match self {
            Self::AtLeast(rate) => Some(rate),
            Self::Any(Some(NoneName::None) | None) => None,
        }
    }
}

impl DisciplineFile {
    /// Applies the discipline to a gate. `name` is the name of the gate, for error messages.
    fn of(self, gate: Concurrency, name: &str) -> Result<Concurrency, ConfigError> {
        Ok(match self {
            Self::AdaptiveLifo { interval } => {
                gate.discipline(Discipline::AdaptiveLifo { interval })
            }
            Self::ControlledDelay { target, interval } => {
                gate.discipline(Discipline::ControlledDelay { target, interval })
            }
            Self::FairBy { key, shuffled } => {
                let tenants = if shuffled { Tenants::Shuffled } else { Tenants::Each };
                gate.fair_by(key.key(name)?, tenants)
            }
            Self::Fifo {} => gate.discipline(Discipline::Fifo),
        })
    }
}

/// Deserializes a field that is present, even if its value is `null`.
///
/// Serde's `Option` treats `null` in the same way as an absent field, so an explicit "no limit"
/// would become the default.
fn given<'de, D, T>(from: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    T::deserialize(from).map(Some)
}
