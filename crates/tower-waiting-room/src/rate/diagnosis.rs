//! Finds out whether the limits are set up as they are meant.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use http::Extensions;

use super::{limit::RateLimit, policy::Policy};
use crate::{misconfiguration::Misconfiguration, request::Caller, telemetry::Telemetry};

/// The requests of a layer that are looked at. Clones are the same.
///
/// They are the first ones: a set-up that is wrong is wrong from the start.
#[derive(Clone, Debug, Default)]
pub(super) struct Diagnosis(pub(super) Arc<AtomicU32>);

/// In the extensions of a request: the layers whose limits have counted it.
#[derive(Clone, Default)]
struct CountedBy(Vec<Diagnosis>);

impl Diagnosis {
    /// The number of requests that are looked at.
    pub(super) const WATCHED: u32 = 1_024;

    /// Looks at a request.
    pub(super) fn look(
        &self,
        caller: &Caller<'_>,
        policies: &[Arc<Policy>],
        telemetry: &Telemetry,
    ) {
        self.0.fetch_add(1, Ordering::Relaxed);
        // How the address is found matters only to limits that need it.
        if policies.iter().any(|policy| policy.limit.needs_address())
            && let Some(suspect) = caller.head.suspect()
        {
            telemetry.misconfigured(suspect);
        }
        let counted = caller.head.extensions().get::<CountedBy>();
        if counted.is_some_and(|counted| counted.0.iter().any(|it| Arc::ptr_eq(&it.0, &self.0))) {
            telemetry.misconfigured(Misconfiguration::CountedTwice);
        }
    }

    /// Marks a request as counted.
    pub(super) fn mark(self, extensions: &mut Extensions) {
        extensions.get_or_insert_default::<CountedBy>().0.push(self);
    }
}

/// What about these limits is probably not meant.
pub(super) fn lint(policies: &[Arc<Policy>]) -> impl Iterator<Item = Misconfiguration> {
    let limits = || policies.iter().map(|policy| &policy.limit);
    let is_zero = limits().any(|limit| limit.quotas().iter().any(|it| it.limit() == 0));
    let is_made_up = limits().any(|limit| limit.key.can_be_made_up());
    let is_open = is_made_up && !limits().any(RateLimit::is_guard);
    let zero = is_zero.then_some(Misconfiguration::ZeroLimit);
    zero.into_iter().chain(is_open.then_some(Misconfiguration::NoIpLimit))
}
