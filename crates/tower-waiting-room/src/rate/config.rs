//! What a config says about rate limits, and which limits can be kept.

use waiting_room_core::{Algorithm, ConfigError, ConfigErrorKind, Limiter};

use super::{
    limit::{OverLimit, RateLimit},
    limit_set::Limits,
    store::Shared,
};
use crate::{
    rate_headers::{MAX_NAME_LEN, RateHeaders},
    request::{ClientIp, Scope, validate_name},
};

/// Everything about rate limits that is decided at start-up.
#[derive(Clone, Debug)]
pub(crate) struct RateConfig {
    pub(crate) limits: Limits,
    pub(crate) client_ip: ClientIp,
    pub(crate) headers: RateHeaders,
    /// Where the limits are counted, if nodes share them.
    pub(crate) shared: Option<Shared>,
    /// How many requests leaky queues hold at a time, all together.
    pub(crate) max_held: usize,
}

impl RateConfig {
    /// How many requests are held by default.
    const MAX_HELD: usize = 10_000;

    pub(crate) fn validate(&self) -> Result<(), ConfigError> {
        if self.max_held == 0 {
            let (kind, field) = (ConfigErrorKind::TooSmall, "max_held_requests");
            return Err(ConfigError::new(kind, field, 0, "at least 1"));
        }
        self.client_ip.validate()?;
        self.limits.validate()?;
        let Some(shared) = &self.shared else { return Ok(()) };
        self.limits.iter().try_for_each(|limit| {
            let (own, keys) = shared.on_failure.own_part(&limit.quotas(), limit.keys());
            Limiter::validate(limit.algorithm, &own, keys)
        })
    }
}

impl Default for RateConfig {
    fn default() -> Self {
        Self {
            limits: Limits::default(),
            client_ip: ClientIp::peer(),
            headers: RateHeaders::default(),
            shared: None,
            max_held: Self::MAX_HELD,
        }
    }
}

impl RateLimit {
    /// Checks that it can be kept.
    pub(crate) fn validate(&self) -> Result<(), ConfigError> {
        validate_name("rate_limit", &self.name)?;
        self.key.validate(&self.name)?;
        self.scope.iter().try_for_each(|it| Scope::validate(it, "rate_limit", &self.name))?;
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
        let keys = self.max_keys.min(self.keys());
        Limiter::validate(self.algorithm, &self.quotas(), keys)?;
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
