//! Which gates can be kept.

use std::time::Duration;

use waiting_room_core::{ConfigError, ConfigErrorKind, Discipline};

use super::Concurrency;
use crate::{gate::ClientDeadline, matcher::validate_name, respond::MAX_NAME_LEN};

impl Concurrency {
    /// A permit that is free earlier was hardly held.
    const SHORTEST_HOLD: Duration = Duration::from_millis(100);

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
        for (field, time) in [("body_stall", self.body_stall), ("max_hold", self.max_hold)] {
            if let Some(time) = time.filter(|time| *time < Self::SHORTEST_HOLD) {
                let (kind, given) = (ConfigErrorKind::TooSmall, format!("{time:?}"));
                return Err(ConfigError::new(kind, field, given, "at least 100 ms, or none"));
            }
        }
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
