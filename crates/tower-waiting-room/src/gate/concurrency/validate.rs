//! Which gates can be kept, and which are probably not meant.

use std::time::Duration;

use waiting_room_core::{ConfigError, ConfigErrorKind, Discipline};

use super::Concurrency;
use crate::{
    gate::ClientDeadline,
    misconfiguration::Misconfiguration,
    rate_headers::MAX_NAME_LEN,
    request::{Key, Scope, validate_name},
};

impl Concurrency {
    /// A permit that is free earlier was hardly held.
    const SHORTEST_HOLD: Duration = Duration::from_millis(100);
    /// A permit that is free later might as well be held for ever, and that can be said.
    const LONGEST_HOLD: Duration = Duration::from_secs(24 * 3_600);

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
        Self::validate_hold("body_read_timeout", self.body_read_timeout)?;
        Self::validate_hold("body_stall", self.body_stall)?;
        Self::validate_hold("max_hold", self.max_hold)?;
        self.for_each.iter().chain(&self.fair_by).try_for_each(|key| key.validate(&self.name))?;
        self.deadlines.iter().try_for_each(ClientDeadline::validate)?;
        self.scope.iter().try_for_each(|it| Scope::validate(it, "concurrency", &self.name))?;
        if self.adaptive.is_some() && self.for_each.is_some() {
            let (kind, given) = (ConfigErrorKind::Contradicts, "an adaptive limit");
            let expected = "a number: the values of a key have too few requests to learn from";
            return Err(ConfigError::new(kind, "for_each", given, expected));
        }
        self.validate_discipline()?;
        self.rules.validate()
    }

    /// After how long a permit is free.
    fn validate_hold(field: &'static str, time: Option<Duration>) -> Result<(), ConfigError> {
        let Some(time) = time else { return Ok(()) };
        let (kind, expected) = if time < Self::SHORTEST_HOLD {
            (ConfigErrorKind::TooSmall, "at least 100 ms, or none")
        } else if time > Self::LONGEST_HOLD {
            (ConfigErrorKind::TooLarge, "at most 24 h, or none")
        } else {
            return Ok(());
        };
        Err(ConfigError::new(kind, field, format!("{time:?}"), expected))
    }

    /// Turns and classes are of no use to a discipline that does not know them.
    fn validate_discipline(&self) -> Result<(), ConfigError> {
        let (has_turns, has_classes) = match self.rules.current_discipline() {
            Discipline::FairByTenant(_) => (true, false),
            Discipline::Priority { .. } => (false, true),
            _ => (false, false),
        };
        let given = format!("{:?} for the gate {:?}", self.rules.current_discipline(), self.name);
        let expected = match (self.fair_by.is_some(), self.class.is_some()) {
            is if is == (has_turns, has_classes) => return Ok(()),
            (true, true) => "either turns by a key or classes",
            (true, false) => "the one that fair_by has chosen",
            (false, true) => "the one that classes has chosen",
            (false, false) => "fair_by or classes instead, which say by what",
        };
        Err(ConfigError::new(ConfigErrorKind::Contradicts, "discipline", given, expected))
    }
}

/// What is probably not meant about these gates.
pub(in crate::gate) fn suspects(gates: &[Concurrency]) -> impl Iterator<Item = Misconfiguration> {
    let is_long = gates.iter().any(has_long_wait);
    let is_open = !gates.iter().any(is_for_everybody)
        && gates.iter().filter_map(|gate| gate.for_each.as_ref()).any(Key::can_be_made_up);
    let long = is_long.then_some(Misconfiguration::LongMaxWait);
    long.into_iter().chain(is_open.then_some(Misconfiguration::NoCommonGate))
}

/// Whether requests may wait for so long that nothing is served in time under overload.
fn has_long_wait(gate: &Concurrency) -> bool {
    let wait = gate.rules.current_max_wait();
    // Who says first come, first served has been told that nothing else bounds the wait.
    let is_without_shedding = matches!(
        gate.rules.current_discipline(),
        Discipline::FairByTenant(_) | Discipline::Priority { .. }
    );
    wait >= LONG_WAIT || is_without_shedding && wait > LONG_PLAIN_WAIT
}

/// Whether nobody gets past it by another value of a key.
fn is_for_everybody(gate: &Concurrency) -> bool {
    let is_common = match &gate.for_each {
        Some(key) => key.is_by_address() || key.is_constant(),
        None => gate.adaptive.is_some() || gate.rules.current_limit().is_some(),
    };
    is_common && gate.is_for_all()
}

/// Waits that are no shorter are longer than common proxies wait for a response.
const LONG_WAIT: Duration = Duration::from_secs(15);

/// Where nobody is shed, every wait is as long as may be under overload; and people leave sooner
/// than proxies.
const LONG_PLAIN_WAIT: Duration = Duration::from_secs(1);
