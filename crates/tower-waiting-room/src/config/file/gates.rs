//! Limits on concurrency in a configuration file: all of a [`Concurrency`] that needs no closure.
//! Classes do, and so does a limit that is not one of ours.

mod limit;

use std::time::Duration;

use jiff::fmt::serde::unsigned_duration::friendly::compact::{optional, required};
use serde::{Deserialize, Deserializer};
use waiting_room_core::{ConfigError, Discipline, Tenants};

use self::limit::{AdaptiveFile, LimitFile};

use super::rates::{KeyFile, method, with};
use crate::{
    gate::{ClientDeadline, Concurrency, GateStatuses, ReleaseAt},
    request::MissingKey,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ConcurrencyFile {
    /// Either this or `adaptive`: what is forgotten is not unlimited.
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
    body_read_timeout: Option<HoldFile>,
    #[serde(default, deserialize_with = "given")]
    body_stall: Option<HoldFile>,
    #[serde(default, deserialize_with = "given")]
    max_hold: Option<HoldFile>,
    watched_bytes: Option<usize>,
    /// Headers with the time that a client has, in milliseconds.
    #[serde(default)]
    client_deadline_ms: Vec<String>,
    /// And in seconds.
    #[serde(default)]
    client_deadline_s: Vec<String>,
    statuses: Option<GateStatuses>,
}

/// `30s`, or `none`.
#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "body_read_timeout, body_stall or max_hold is neither a time nor none"
)]
enum HoldFile {
    AtMost(#[serde(with = "required")] Duration),
    ForEver(Option<NoneName>),
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum NoneName {
    None,
}

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
    pub(super) fn concurrency(self) -> Result<Concurrency, ConfigError> {
        let mut gate = limit::begin(self.limit, self.adaptive)?;
        gate = with(gate, self.name, Concurrency::name);
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
        gate = with(gate, self.body_read_timeout, |to, time| to.body_read_timeout(time.time()));
        gate = with(gate, self.body_stall, |to, stall| to.body_stall(stall.time()));
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

impl HoldFile {
    const fn time(self) -> Option<Duration> {
        match self {
            Self::AtMost(time) => Some(time),
            Self::ForEver(Some(NoneName::None) | None) => None,
        }
    }
}

impl DisciplineFile {
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

/// What is there, be it `null`.
fn given<'de, D, T>(from: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    T::deserialize(from).map(Some)
}
