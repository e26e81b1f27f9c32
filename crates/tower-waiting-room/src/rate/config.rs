//! What a config says about rate limits.

use waiting_room_core::{ConfigError, ConfigErrorKind, Limiter};

use super::{limit_set::Limits, remote::Shared, source::Source};
use crate::{request::ClientIp, respond::RateHeaders};

/// Everything about rate limits that is decided at start-up.
#[derive(Clone, Debug)]
pub(crate) struct RateConfig {
    pub(crate) limits: Limits,
    pub(crate) client_ip: ClientIp,
    pub(crate) headers: RateHeaders,
    pub(crate) source: Option<Source>,
    /// Where the limits are counted, if nodes share them.
    pub(crate) shared: Option<Shared>,
    /// How many requests leaky queues hold at a time, all together.
    pub(crate) max_held: usize,
}

impl RateConfig {
    /// How many requests are held by default.
    const MAX_HELD: usize = 10_000;

    pub(crate) fn is_empty(&self) -> bool {
        self.limits.iter().next().is_none() && self.source.is_none()
    }

    /// Reads the rules file, if there is one.
    pub(crate) fn load(&mut self) -> Result<(), ConfigError> {
        let Some(source) = &self.source else { return Ok(()) };
        source.validate()?;
        self.limits.file = source.load().map_err(|error| {
            let message = error.to_string();
            let (given, expected) =
                message.split_once(", expected ").unwrap_or((&message, "a file of rate limits"));
            ConfigError::new(ConfigErrorKind::Malformed, "rate_limits_file", given, expected)
        })?;
        Ok(())
    }

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
            source: None,
            shared: None,
            max_held: Self::MAX_HELD,
        }
    }
}
