//! Gates in a configuration file: everything about a [`Concurrency`] that needs no closure.
//!
//! Classes need a closure, and so do adaptive limits other than those of this crate. Both can only
//! be configured in code.

mod limit;

use std::time::Duration;

use jiff::fmt::serde::unsigned_duration::friendly::compact::{optional, required};
use serde::{Deserialize, Deserializer};
use waiting_room_core::{
    ConfigError,
    gate::{Discipline, Tenants},
};

use self::limit::{AdaptiveFile, LimitFile};

use super::rates::{KeyFile, method, with};
use crate::{
    gate::{ClientDeadline, Concurrency, GateStatuses, ReleaseAt},
    request::MissingKey,
};

/// One gate. An absent field has the default of [`Concurrency`].
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ConcurrencyFile {
    /// The number of requests that run at once. Exactly one of this and `adaptive` is required,
    /// since a forgotten limit must not mean that there is none.
    #[serde(default, deserialize_with = "given")]
    limit: Option<LimitFile>,
    /// A limit that adapts to how long requests hold their permits.
    adaptive: Option<AdaptiveFile>,
    /// The name in headers, logs and metrics: `gate` by default.
    name: Option<String>,
    /// The maximum number of requests that wait: 1 024 by default. With 0, no request waits.
    queue: Option<u32>,
    /// The longest time for which a request waits: `5s` by default.
    #[serde(default, with = "optional")]
    max_wait: Option<Duration>,
    /// The longest `Retry-After` of a refusal: `60s` by default.
    #[serde(default, with = "optional")]
    longest_retry: Option<Duration>,
    /// The order in which the queue is served: controlled delay by default.
    discipline: Option<DisciplineFile>,
    /// The key whose values have a gate each. By default, all requests share one gate.
    for_each: Option<KeyFile>,
    /// What happens to requests without the key of `for_each`: `address` by default.
    missing_key: Option<MissingKey>,
    /// The methods that the gate covers. All of them if empty.
    #[serde(default)]
    methods: Vec<String>,
    /// The path that the gate covers; all paths by default. If `path_prefix` is given as well, a
    /// request must match both.
    path: Option<String>,
    /// The beginning of the paths that the gate covers.
    path_prefix: Option<String>,
    /// When a permit is released: at `body_end` by default, or at `head`.
    release_at: Option<ReleaseAt>,
    /// The longest wait for a frame of a request's body: `30s` by default.
    #[serde(default, deserialize_with = "given")]
    body_read_timeout: Option<HoldFile>,
    /// The time after which a permit is released whose response is not read: `30s` by default.
    #[serde(default, deserialize_with = "given")]
    body_stall: Option<HoldFile>,
    /// The time after which a permit is released in any case: `none` by default.
    #[serde(default, deserialize_with = "given")]
    max_hold: Option<HoldFile>,
    /// The number of bytes of a request's body that are read while it waits, to notice clients that
    /// disconnect: 32 768 by default. With 0, the body is not touched.
    watched_bytes: Option<usize>,
    /// Headers in which clients state how long they wait, in milliseconds. `grpc-timeout` is always
    /// read.
    #[serde(default)]
    client_deadline_ms: Vec<String>,
    /// The same in seconds.
    #[serde(default)]
    client_deadline_s: Vec<String>,
    /// The statuses of refusals: `limiter` by default, or `origin`.
    statuses: Option<GateStatuses>,
}

/// A time such as `30s`, or `none` (or `null`) for no bound.
///
/// Absent means the default, so "no bound" needs a value of its own.
#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "body_read_timeout, body_stall or max_hold is neither a time nor none"
)]
enum HoldFile {
    /// The longest time that is allowed.
    AtMost(#[serde(with = "required")] Duration),
    /// `none`, or `null` if the option is empty.
    ForEver(Option<NoneName>),
}

/// The word `none`.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum NoneName {
    None,
}

/// The disciplines that need no closure. Each is a table with its parameters, such as
/// `{ "controlled_delay": { "target": "100ms", "interval": "1s" } }`; that of `fifo` is empty.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum DisciplineFile {
    /// The newest request first while the gate is overloaded.
    AdaptiveLifo {
        /// How long the queue may stand before it counts as overload.
        #[serde(with = "required")]
        interval: Duration,
    },
    /// First come, first served, with shorter waits while the gate is overloaded.
    ControlledDelay {
        /// The longest wait under overload.
        #[serde(with = "required")]
        target: Duration,
        /// How long the queue may stand before it counts as overload.
        #[serde(with = "required")]
        interval: Duration,
    },
    /// Turns among the values of a key.
    FairBy {
        key: KeyFile,
        /// Whether the values share a fixed number of queues, for keys that clients can make up.
        /// False by default.
        #[serde(default)]
        shuffled: bool,
    },
    /// First come, first served.
    Fifo {},
}

impl ConcurrencyFile {
    /// Turns the fields into a gate of the builder.
    ///
    /// # Errors
    ///
    /// If there is not exactly one kind of limit, or if a method or a key is malformed. Bounds are
    /// checked when the configuration is built.
    pub(super) fn concurrency(self) -> Result<Concurrency, ConfigError> {
        let mut gate = limit::begin(self.limit, self.adaptive)?;
        gate = with(gate, self.name, Concurrency::name);
        // The name is set first, because the errors below state it.
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
    /// Returns the time; `None` for no bound.
    const fn time(self) -> Option<Duration> {
        match self {
            Self::AtMost(time) => Some(time),
            Self::ForEver(Some(NoneName::None) | None) => None,
        }
    }
}

impl DisciplineFile {
    /// Applies the discipline to a gate. `name` is the name of the gate, for errors.
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
/// Serde's own `Option` reads `null` like an absent field, and an explicit "no limit" would become
/// the default.
fn given<'de, D, T>(from: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    T::deserialize(from).map(Some)
}
