//! The configuration of rate limits, and its validation.
//!
//! All limits go through the same validation, whether they come from code, from a rules file or
//! from a live change, so the stage can apply any limit that it is given. The validation covers
//! what the layer adds to a quota: the name in headers, and the bound on how long a leaky queue
//! holds a request. [`Limiter::validate`] checks the arithmetic of a quota.

use std::path::PathBuf;

use waiting_room_core::{ConfigError, Limiter, error::ConfigErrorKind, rate::Algorithm};

use super::{
    limit::{OverLimit, RateLimit},
    limit_set::Limits,
    store::Shared,
};
use crate::{
    rate_headers::{MAX_NAME_LEN, RateHeaders},
    request::{ClientIp, Part, Scope, validate_name},
};

/// The settings for rate limits that are fixed at start-up, and the initial limits.
#[derive(Clone, Debug)]
pub(crate) struct RateConfig {
    /// The limits at start-up. An operator or a rules file may change them later.
    pub(crate) limits: Limits,
    /// The source of the client's address.
    pub(crate) client_ip: ClientIp,
    /// The profile of the headers that report limits to clients.
    pub(crate) headers: RateHeaders,
    /// The store that counts the limits of all nodes, or `None` if each process counts by itself.
    pub(crate) shared: Option<Shared>,
    /// The maximum number of requests that all leaky queues together hold at a time. Each held
    /// request occupies memory for the request, its future and its connection.
    pub(crate) max_held: usize,
}

/// The rules file from which limits are read, and the meaning of the keys in this file.
#[derive(Clone, Debug, Default)]
pub(crate) struct RulesSource {
    /// The path of the file. The path is empty if the application has named keys but no file. An
    /// empty path is rejected.
    pub(crate) path: PathBuf,
    /// The keys that the application has named, in addition to the built-in ones.
    pub(crate) descriptors: Vec<Part>,
}

impl RateConfig {
    /// The default value of `max_held`.
    const MAX_HELD: usize = 10_000;

    /// Checks all settings.
    ///
    /// # Errors
    ///
    /// Returns an error if the bound on held requests is 0, if the source of the client's address
    /// is invalid, or if a limit is invalid, either as it was defined or when reduced to the share
    /// of one node.
    pub(crate) fn validate(&self) -> Result<(), ConfigError> {
        if self.max_held == 0 {
            let kind = ConfigErrorKind::TooSmall;
            let field = "max_held_requests";
            return Err(ConfigError::new(kind, field, 0, "at least 1"));
        }
        self.client_ip.validate()?;
        self.limits.validate()?;
        let Some(shared) = &self.shared else { return Ok(()) };
        // One node's share of a valid quota may be invalid, for example because it takes too long
        // to replenish. An invalid share has to be detected before the first outage.
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
    /// Checks that the limit is valid.
    ///
    /// # Errors
    ///
    /// Returns an error that names the invalid field, its value and the expected value.
    pub(crate) fn validate(&self) -> Result<(), ConfigError> {
        validate_name("rate_limit", &self.name)?;
        self.key.validate(&self.name)?;
        self.scope.iter().try_for_each(|scope| Scope::validate(scope, "rate_limit", &self.name))?;
        if self.name.len() > MAX_NAME_LEN {
            let given = format!("a name of {} bytes", self.name.len());
            let expected = format!("at most {MAX_NAME_LEN}");
            let kind = ConfigErrorKind::TooLarge;
            return Err(ConfigError::new(kind, "rate_limit", given, expected));
        }
        // A leaky queue bounds its delay by refusing requests. A queue that refuses nothing would
        // have to hold requests without bound, or hold none and therefore have no effect on
        // traffic.
        let is_mock_queue =
            self.algorithm == Algorithm::LeakyQueue && self.over_limit != OverLimit::Refuse;
        if is_mock_queue {
            let given = format!("{:?} for the leaky queue {:?}", self.over_limit, self.name);
            let expected = "Refuse: a queue must refuse requests that it cannot hold";
            let kind = ConfigErrorKind::Contradicts;
            return Err(ConfigError::new(kind, "over_limit", given, expected));
        }
        let keys = self.max_keys.min(self.keys());
        Limiter::validate(self.algorithm, &self.quotas(), keys)?;
        self.validate_hold()
    }

    /// Checks that the last request in a leaky queue waits for at most [`Self::MAX_HOLD`].
    ///
    /// A held request has no deadline other than this maximum. The request at position `n` of the
    /// queue, counted from 0, waits for `n` intervals of the quota.
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
                "at most {places}, so that the leaky queue {:?} holds requests for at most {} s",
                self.name,
                Self::MAX_HOLD.as_secs(),
            );
            let kind = ConfigErrorKind::TooLarge;
            Err(ConfigError::new(kind, "burst", quota.capacity(), expected))
        })
    }
}
