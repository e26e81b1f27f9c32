//! Finds limits that are probably not set up as intended.
//!
//! Whenever limits change, they are inspected for quotas of 0, and for keys that clients can invent
//! if no limit by address covers all requests. The first requests to a layer are inspected too, to
//! find forwarding headers that are not read and requests that the same limits count twice.
//! Findings are reported as [`Misconfiguration`]s and do not affect decisions.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use http::Extensions;

use super::{limit::RateLimit, policy::Policy};
use crate::{misconfiguration::Misconfiguration, request::Caller, telemetry::Telemetry};

/// The number of requests that a layer has inspected so far. All clones of this value share one
/// counter.
///
/// Only the first requests are inspected, because a wrong setup is wrong from the start, and the
/// inspection should not slow down later requests. The memory address of the counter also
/// identifies the layer.
#[derive(Clone, Debug, Default)]
pub(super) struct Diagnosis(pub(super) Arc<AtomicU32>);

/// The layers whose limits have counted a request, stored in the extensions of the request.
#[derive(Clone, Default)]
struct CountedBy(Vec<Diagnosis>);

impl Diagnosis {
    /// The number of requests to inspect. If requests arrive at the same time, slightly more may be
    /// inspected.
    pub(super) const WATCHED: u32 = 1_024;

    /// Inspects a request and reports probable mistakes in the setup.
    pub(super) fn look(
        &self,
        caller: &Caller<'_>,
        policies: &[Arc<Policy>],
        telemetry: &Telemetry,
    ) {
        self.0.fetch_add(1, Ordering::Relaxed);
        // The source of the address matters only if a limit needs the address.
        if policies.iter().any(|policy| policy.limit.needs_address())
            && let Some(suspect) = caller.head.suspect()
        {
            telemetry.misconfigured(suspect);
        }
        let counted = caller.head.extensions().get::<CountedBy>();
        if counted
            .is_some_and(|counted| counted.0.iter().any(|handle| Arc::ptr_eq(&handle.0, &self.0)))
        {
            telemetry.misconfigured(Misconfiguration::CountedTwice);
        }
    }

    /// Marks a request as counted by this layer.
    pub(super) fn mark(self, extensions: &mut Extensions) {
        extensions.get_or_insert_default::<CountedBy>().0.push(self);
    }
}

/// Returns the probable mistakes in the setup of these limits.
pub(super) fn lint(policies: &[Arc<Policy>]) -> impl Iterator<Item = Misconfiguration> {
    let limits = || policies.iter().map(|policy| &policy.limit);
    // A quota of 0 refuses every request, and does not mean "unlimited".
    let is_zero = limits().any(|limit| limit.quotas().iter().any(|quota| quota.limit() == 0));
    // A client that sends a new key with each request is stopped only by a limit that it cannot
    // evade: a limit by address that covers all of its requests.
    let is_made_up = limits().any(|limit| limit.key.can_be_made_up());
    let is_open = is_made_up && !limits().any(RateLimit::is_guard);
    let zero = is_zero.then_some(Misconfiguration::ZeroLimit);
    zero.into_iter().chain(is_open.then_some(Misconfiguration::NoIpLimit))
}
