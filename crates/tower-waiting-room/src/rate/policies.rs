//! The limits in force.

use std::sync::Arc;

use waiting_room_core::{ConfigError, Timestamp};

use super::{limit::RateLimit, limit_set::Limits, policy::Policy, remote::Shared};
use crate::misconfiguration::Misconfiguration;

/// All limits of a layer, ready.
#[derive(Debug, Default)]
pub(crate) struct Policies(Vec<Arc<Policy>>);

impl Policies {
    /// Makes limits ready; those that take the place of one of `before` take over its memory.
    pub(crate) fn new(
        limits: &Limits,
        before: &Self,
        shared: Option<&Shared>,
        now: Timestamp,
    ) -> Result<Self, ConfigError> {
        limits.validate()?;
        let ready = |limit: &RateLimit| {
            let before = before.named(limit.name());
            Policy::new(limit.clone(), before.map(|it| &**it), shared, now).map(Arc::new)
        };
        limits.iter().map(ready).collect::<Result<_, _>>().map(Self)
    }

    /// The limit of this name.
    pub(crate) fn named(&self, name: &str) -> Option<&Arc<Policy>> {
        self.0.iter().find(|policy| &*policy.name == name)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<Policy>> {
        self.0.iter()
    }

    pub(crate) fn get(&self, index: usize) -> &Arc<Policy> {
        &self.0[index]
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether any of them asks for the address of the client.
    pub(crate) fn need_address(&self) -> bool {
        self.0.iter().any(|policy| policy.limit.needs_address())
    }

    /// What about them is probably not meant.
    pub(crate) fn lint(&self) -> impl Iterator<Item = Misconfiguration> {
        let limits = || self.0.iter().map(|policy| &policy.limit);
        let is_zero = limits().any(|limit| limit.quotas().iter().any(|it| it.limit() == 0));
        let is_made_up = limits().any(|limit| limit.key.can_be_made_up());
        let is_open = is_made_up && !limits().any(RateLimit::is_guard);
        let zero = is_zero.then_some(Misconfiguration::ZeroLimit);
        zero.into_iter().chain(is_open.then_some(Misconfiguration::NoIpLimit))
    }
}
