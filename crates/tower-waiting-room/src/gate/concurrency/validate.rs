//! Validation of the gates in a configuration.
//!
//! Settings that a gate cannot honor, or that contradict each other, are errors that prevent the
//! layer from being built. Settings that a gate can honor, but that rarely have the intended
//! effect, are applied and reported as a [`Misconfiguration`]. The core crate's `GateRules` check
//! their own bounds, while this module checks the settings that this crate adds.

use std::time::Duration;

use waiting_room_core::{ConfigError, error::ConfigErrorKind, gate::Discipline};

use super::Concurrency;
use crate::{
    gate::ClientDeadline,
    misconfiguration::Misconfiguration,
    rate_headers::MAX_NAME_LEN,
    request::{Key, MinRate, Scope, validate_name},
};

impl Concurrency {
    /// The minimum of `max_hold`. With a shorter time, requests that run normally would lose their
    /// permits, and the sweeper would run more than 40 times per second.
    const SHORTEST_HOLD: Duration = Duration::from_millis(100);
    /// The maximum of `max_hold`. A longer bound would hardly ever take effect, and `None` expresses
    /// more clearly that there is no bound.
    const LONGEST_HOLD: Duration = Duration::from_secs(24 * 3_600);

    /// Checks every setting of one gate.
    ///
    /// # Errors
    ///
    /// Returns an error for the first violation. The error names the field, the given value and the
    /// expected value.
    pub(crate) fn validate(&self) -> Result<(), ConfigError> {
        validate_name("concurrency", &self.name)?;
        let too_large = |field, given: String, expected: String| {
            Err(ConfigError::new(ConfigErrorKind::TooLarge, field, given, expected))
        };
        if self.name.len() > MAX_NAME_LEN {
            let given = format!("a name of {} bytes", self.name.len());
            return too_large("concurrency", given, format!("at most {MAX_NAME_LEN}"));
        }
        if self.watched_bytes > Self::MAX_WATCHED_BYTES {
            let expected = format!("at most {}", Self::MAX_WATCHED_BYTES);
            return too_large("watched_bytes", self.watched_bytes.to_string(), expected);
        }
        if self.min_rate == Some(MinRate(0)) {
            let kind = ConfigErrorKind::TooSmall;
            return Err(ConfigError::new(kind, "min_rate", 0, "at least 1, or none"));
        }
        self.validate_hold()?;
        self.for_each.iter().chain(&self.fair_by).try_for_each(|key| key.validate(&self.name))?;
        self.deadlines.iter().try_for_each(ClientDeadline::validate)?;
        self.scope
            .iter()
            .try_for_each(|scope| Scope::validate(scope, "concurrency", &self.name))?;
        // Each key value would need a separate adaptive limit, and an adaptive limit does not adapt
        // if it gets fewer than about ten requests per minute.
        if self.adaptive.is_some() && self.for_each.is_some() {
            let kind = ConfigErrorKind::Contradicts;
            let given = "an adaptive limit";
            let expected = "a fixed limit, because a single key value has too few requests for an adaptive limit";
            return Err(ConfigError::new(kind, "for_each", given, expected));
        }
        self.validate_shared()?;
        self.validate_discipline()?;
        self.rules.validate()
    }

    /// Checks that a shared limit belongs to a single gate, and that no part of it is reserved.
    fn validate_shared(&self) -> Result<(), ConfigError> {
        if self.shared.is_none() {
            return Ok(());
        }
        if self.for_each.is_some() {
            let expected = "one gate for all requests, because the share belongs to one gate";
            return Err(ConfigError::new(
                ConfigErrorKind::Contradicts,
                "for_each",
                "a limit that nodes share",
                expected,
            ));
        }
        if let Discipline::Priority { reserved, .. } = &self.rules.discipline
            && reserved.iter().any(|permits| *permits > 0)
        {
            let all: u64 = reserved.iter().map(|permits| u64::from(*permits)).sum();
            let given = format!("{all} permits in total");
            let expected = "0, because the node's share may fall below the reserved permits";
            return Err(ConfigError::new(
                ConfigErrorKind::Contradicts,
                "reserved",
                given,
                expected,
            ));
        }
        Ok(())
    }

    /// Checks the time after which a permit is taken back. `None` means never.
    fn validate_hold(&self) -> Result<(), ConfigError> {
        let Some(time) = self.max_hold else { return Ok(()) };
        let (kind, expected) = if time < Self::SHORTEST_HOLD {
            (ConfigErrorKind::TooSmall, "at least 100 ms, or none")
        } else if time > Self::LONGEST_HOLD {
            (ConfigErrorKind::TooLarge, "at most 24 h, or none")
        } else {
            return Ok(());
        };
        Err(ConfigError::new(kind, "max_hold", format!("{time:?}"), expected))
    }

    /// Checks that the discipline is set together with the option by which it distinguishes waiting
    /// requests: `fair_by` for turns by tenant, and `classes` for priorities.
    ///
    /// Each of these options also sets the matching discipline. A mismatch therefore means that a
    /// later call replaced the discipline, or that the discipline was set without its option and
    /// cannot distinguish waiting requests.
    fn validate_discipline(&self) -> Result<(), ConfigError> {
        let discipline = &self.rules.discipline;
        let has_turns = matches!(discipline, Discipline::FairByTenant(_));
        let has_classes = matches!(discipline, Discipline::Priority { .. });
        let given = format!("{:?} for the gate {:?}", self.rules.discipline, self.name);
        let expected = match (self.fair_by.is_some(), self.class.is_some()) {
            is if is == (has_turns, has_classes) => return Ok(()),
            (true, true) => "either fair_by or classes, but not both",
            (true, false) => "the discipline set by the option fair_by",
            (false, true) => "the discipline set by the option classes",
            (false, false) => "the option fair_by or classes, which also sets the discipline",
        };
        Err(ConfigError::new(ConfigErrorKind::Contradicts, "discipline", given, expected))
    }
}

/// Returns the settings of these gates that are allowed but probably not intended, each at most
/// once.
///
/// `NoCommonGate` concerns all gates together. Gates for a key whose values clients can invent
/// protect nothing by themselves, because each new value gets a new gate.
pub(in crate::gate) fn suspects(gates: &[Concurrency]) -> impl Iterator<Item = Misconfiguration> {
    let is_long = gates.iter().any(has_long_wait);
    let is_open = !gates.iter().any(is_for_everybody)
        && gates.iter().filter_map(|gate| gate.for_each.as_ref()).any(Key::can_be_made_up);
    let long = is_long.then_some(Misconfiguration::LongMaxWait);
    long.into_iter().chain(is_open.then_some(Misconfiguration::NoCommonGate))
}

/// Returns whether requests may wait so long that, under overload, every response comes too late,
/// because the queue contains only requests whose clients have given up.
fn has_long_wait(gate: &Concurrency) -> bool {
    let wait = gate.rules.max_wait;
    // The disciplines that serve requests by tenant or by class do not shorten waits under
    // overload, which is easy to overlook. A plain first-come, first-served queue is not reported,
    // because it is chosen explicitly and `max_wait` is obviously the only bound on its waits.
    let is_without_shedding =
        matches!(gate.rules.discipline, Discipline::FairByTenant(_) | Discipline::Priority { .. });
    wait >= LONG_WAIT || is_without_shedding && wait > LONG_PLAIN_WAIT
}

/// Returns whether this gate bounds all requests, even those of a client that sends a new key value
/// with each request. Such a gate covers every request, and is either a single gate with a limit or
/// a gate whose key is constant or based on the address.
fn is_for_everybody(gate: &Concurrency) -> bool {
    let is_common = match &gate.for_each {
        Some(key) => key.is_by_address() || key.is_constant(),
        None => gate.adaptive.is_some() || gate.rules.limit.is_some(),
    };
    is_common && gate.is_for_all()
}

/// The shortest `max_wait` for which a gate is reported as a [`Misconfiguration`], whatever its
/// discipline. Common proxies may give up within this time, before the request is served.
const LONG_WAIT: Duration = Duration::from_secs(15);

/// The longest `max_wait` that is not reported for a discipline that sheds no requests. Under
/// overload, every request at such a gate waits for the whole `max_wait`, and people give up sooner
/// than proxies do.
const LONG_PLAIN_WAIT: Duration = Duration::from_secs(1);
