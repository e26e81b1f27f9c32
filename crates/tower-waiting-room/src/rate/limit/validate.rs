//! Which limits can be kept.

use waiting_room_core::{Algorithm, ConfigError, ConfigErrorKind, Limiter};

use super::{OverLimit, RateLimit};
use crate::{request::validate_name, respond::MAX_NAME_LEN};

impl RateLimit {
    pub(crate) fn validate(&self) -> Result<(), ConfigError> {
        validate_name("rate_limit", &self.name)?;
        self.key.validate(&self.name)?;
        self.matchers.iter().try_for_each(|it| it.validate("rate_limit", &self.name))?;
        if self.name.len() > MAX_NAME_LEN {
            let given = format!("a name of {} bytes", self.name.len());
            let expected = format!("at most {MAX_NAME_LEN}");
            let kind = ConfigErrorKind::TooLarge;
            return Err(ConfigError::new(kind, "rate_limit", given, expected));
        }
        let is_mock_queue =
            self.algorithm == Algorithm::LeakyQueue && self.over_limit != OverLimit::Refuse;
        if is_mock_queue {
            let given = format!("{:?} for the leaky queue {:?}", self.over_limit, self.name);
            let expected = "Refuse: a queue that lets everybody through is none";
            let kind = ConfigErrorKind::Contradicts;
            return Err(ConfigError::new(kind, "over_limit", given, expected));
        }
        Limiter::validate(self.algorithm, &self.quotas(), self.max_keys)?;
        self.validate_hold()
    }

    /// A held request has a deadline: that of the last place in the queue.
    fn validate_hold(&self) -> Result<(), ConfigError> {
        if self.algorithm != Algorithm::LeakyQueue {
            return Ok(());
        }
        self.quotas().iter().try_for_each(|quota| {
            let interval = quota.window().as_nanos().div_ceil(quota.limit().max(1).into());
            let places = Self::MAX_HOLD.as_nanos() / interval.max(1) + 1;
            if u128::from(quota.capacity()) <= places {
                return Ok(());
            }
            let expected = format!(
                "at most {places}, so that the leaky queue {:?} holds nobody for more than {} s",
                self.name,
                Self::MAX_HOLD.as_secs(),
            );
            let kind = ConfigErrorKind::TooLarge;
            Err(ConfigError::new(kind, "burst", quota.capacity(), expected))
        })
    }
}
