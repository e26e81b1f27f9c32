//! Which gates can be kept.

use std::time::Duration;

use waiting_room_core::{ConfigError, ConfigErrorKind, Discipline};

use super::Concurrency;
use crate::{gate::ClientDeadline, request::validate_name, respond::MAX_NAME_LEN};

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
        Self::validate_hold("body_stall", self.body_stall)?;
        Self::validate_hold("max_hold", self.max_hold)?;
        self.for_each.iter().chain(&self.fair_by).try_for_each(|key| key.validate(&self.name))?;
        self.deadlines.iter().try_for_each(ClientDeadline::validate)?;
        self.scope.validate("concurrency", &self.name)?;
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
