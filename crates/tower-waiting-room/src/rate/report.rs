//! The limits of one request: their charges and their decisions.
//!
//! A [`ChargeSet`] collects the limits that apply to a request and are counted in this process.
//! After charging, each of these limits is represented by a [`LocalCharge`], whereas a limit that a
//! store counts is represented by a `StoreCharge` (`remote.rs`). The stage uses both types through
//! the [`Charged`] trait. The outcome is a [`RateReport`], which accompanies the request. It
//! provides the handles for the application, and the state of each limit for the response headers.

use std::{
    borrow::{Borrow, BorrowMut},
    slice,
    sync::Arc,
    time::Duration,
};

use http::Extensions;
use smallvec::SmallVec;
use waiting_room_core::{
    Reason, Timestamp,
    rate::{
        KeyHash,
        charging::{LazyDecision, LimiterCharge, charge_all},
    },
};

use super::{
    diagnosis::Diagnosis,
    handle::{ChargeHandle, OverSoftLimit, Spent},
    policy::Policy,
};
use crate::rate_headers::PolicyState;

/// The decisions that the limits made for a request.
pub(crate) struct RateReport {
    /// The time of the decisions. Times in headers are relative to this time.
    pub(crate) at: Timestamp,
    /// The reason that is reported if the request is forwarded and the layer has no room.
    pub(crate) admitted: Reason,
    /// The limits at the time of the decisions. Each decision refers to its limit by index.
    policies: Arc<Vec<Arc<Policy>>>,
    /// The decisions of the hard limits that apply. Soft limits are not reported to clients.
    pub(super) decisions: SmallVec<[Applied; 2]>,
    /// The charges that the application may correct, or `None` if no adjustable limit was charged.
    pub(super) spend: Option<ChargeHandle>,
    /// The soft limits that the request exceeds, or `None` if it exceeds none.
    pub(super) over_soft: Option<OverSoftLimit>,
    /// The mark that this layer leaves on the request if it is one of the layer's first requests.
    pub(super) counted: Option<Diagnosis>,
}

/// The decision of one limit.
pub(super) struct Applied {
    /// The index of the limit in the list of current limits.
    pub(super) policy: usize,
    /// The tier of the request, or 0 if the request is in no tier.
    pub(super) tier: usize,
    /// The numbers of the decision are computed only for headers that report them.
    pub(super) decision: LazyDecision,
}

/// A limit that applies to a request, after an attempt to charge the limit in this process or in a
/// store.
pub(super) trait Charged {
    /// Returns the index of the limit in the list of current limits.
    fn policy(&self) -> usize;

    /// Returns the tier of the request, or 0 if the request is in no tier.
    fn tier(&self) -> usize;

    /// Returns the decision, or `None` if another limit refused the request before this limit was
    /// reached.
    fn decision(&self) -> Option<LazyDecision>;

    /// Returns whether the limit was charged.
    fn is_charged(&self) -> bool;

    /// Returns the receipt for the charge, or `None` if the limit was not charged.
    fn spent(&self, policy: &Arc<Policy>) -> Option<Spent>;
}

impl RateReport {
    /// Creates a report without decisions. The report is boxed, because it is moved often on its
    /// way to the response.
    pub(super) fn new(policies: Arc<Vec<Arc<Policy>>>, at: Timestamp) -> Box<Self> {
        Box::new(Self {
            at,
            admitted: Reason::AdmittedLimits,
            decisions: SmallVec::new(),
            policies,
            spend: None,
            over_soft: None,
            counted: None,
        })
    }

    /// Inserts the application's handles into the request's extensions. Handles from an outer layer
    /// remain valid and are merged with the new handles.
    pub(crate) fn insert_extensions(&mut self, extensions: &mut Extensions) {
        if let Some(spend) = self.spend.take() {
            let spend = match extensions.remove::<ChargeHandle>() {
                Some(outer) => outer.and(spend),
                None => spend,
            };
            extensions.insert(spend);
        }
        if let Some(OverSoftLimit(over)) = self.over_soft.take() {
            extensions.get_or_insert_with(|| OverSoftLimit(SmallVec::new())).0.extend(over);
        }
        if let Some(counted) = self.counted.take() {
            counted.mark(extensions);
        }
    }

    /// Refuses a request that would have to wait in a leaky queue, but cannot be held.
    ///
    /// `corrected` yields the decision of each limit after the refund of its charge, in the order
    /// of `decisions`. Only the queues that would have held the request refuse it, with the delay
    /// as the retry time.
    pub(super) fn refuse_to_hold(&mut self, corrected: impl Iterator<Item = LazyDecision>) {
        for (applied, corrected) in self.decisions.iter_mut().zip(corrected) {
            let delay = applied.decision.delay();
            applied.decision = corrected;
            if !delay.is_zero() {
                let mut refused = corrected.describe();
                refused.allowed = false;
                refused.retry_after = Some(delay);
                applied.decision = refused.into();
            }
        }
    }

    /// Returns the state of each limit, for the headers of the response.
    pub(crate) fn lines(&self) -> impl Iterator<Item = PolicyState<'_>> {
        self.decisions.iter().map(|report| {
            let lines = &self.policies[report.policy].lines;
            let line = lines.get(report.tier).unwrap_or(&lines[0]);
            PolicyState { line, decision: report.decision.describe() }
        })
    }

    /// Returns the limit that is named as the reason for a refusal, and the time until a retry can
    /// succeed.
    ///
    /// If several limits refuse, the limit with the longest wait is binding, because an earlier
    /// retry would be refused again. A limit without a retry time (`None`) is treated as having the
    /// longest wait.
    ///
    /// # Panics
    ///
    /// Panics if the report contains no decision. The report of a refused request contains at least
    /// one decision.
    pub(crate) fn binding(&self) -> (&Policy, Option<Duration>) {
        let refused = self.decisions.iter().filter(|report| !report.decision.is_allowed());
        let waits = refused.map(|report| (report, report.decision.retry_after()));
        let longest = waits.max_by_key(|(_, retry_after)| retry_after.unwrap_or(Duration::MAX));
        let (longest, retry_after) = longest.unwrap_or_else(|| {
            let first = &self.decisions[0];
            (first, first.decision.retry_after())
        });
        (&self.policies[longest.policy], retry_after)
    }

    /// Returns the time for which the request must be held: the longest delay of any queue.
    pub(super) fn delay(&self) -> Duration {
        self.decisions.iter().map(|report| report.decision.delay()).max().unwrap_or_default()
    }
}

/// The charges of one request against the limits that this process counts.
pub(super) struct ChargeSet<'a> {
    /// All current limits.
    pub(super) policies: &'a Arc<Vec<Arc<Policy>>>,
    /// One charge for each limit that applies.
    pub(super) charges: SmallVec<[LocalCharge<'a>; 2]>,
}

/// A charge against a limit that this process counts, with its outcome.
pub(super) struct LocalCharge<'a> {
    /// The index of the limit in the list of current limits.
    pub(super) policy: usize,
    ask: LimiterCharge<'a>,
}

impl<'a> ChargeSet<'a> {
    /// Creates an empty set of charges.
    pub(super) fn of(policies: &'a Arc<Vec<Arc<Policy>>>) -> Self {
        Self { policies, charges: SmallVec::new() }
    }

    /// Adds a charge against the limit with this index. The limit is not charged yet.
    pub(super) fn push(&mut self, policy: usize, key: KeyHash, tier: usize, cost: u64) {
        let ask = LimiterCharge::new(&self.policies[policy].limiter, key, tier, cost);
        self.charges.push(LocalCharge { policy, ask });
    }

    /// Returns the limits that apply, in the order of their charges.
    pub(super) fn policies(&self) -> impl Iterator<Item = &'a Arc<Policy>> {
        self.charges.iter().map(|charge| &self.policies[charge.policy])
    }

    /// Returns whether a request that these limits allow needs no further decision: none of them
    /// holds requests, and none has a charge that the application may correct.
    pub(super) fn is_plain(&self) -> bool {
        self.policies().all(|policy| !policy.is_queue() && !policy.limit.is_adjustable)
    }

    /// Charges each limit separately, regardless of the decisions of the other limits.
    pub(super) fn charge_each(&mut self, now: Timestamp) -> impl Iterator<Item = &LocalCharge<'a>> {
        self.charges.iter_mut().for_each(|ask| _ = charge_all(slice::from_mut(ask), now));
        self.charges.iter()
    }

    /// Returns the decision that each limit would make at `now`, without charging any limit.
    pub(super) fn looks(&self, now: Timestamp) -> impl Iterator<Item = LazyDecision> {
        self.charges.iter().map(move |LocalCharge { policy, ask }| {
            self.policies[*policy].limiter.look(ask.key(), ask.tier(), ask.cost(), now).into()
        })
    }
}

impl<'a> BorrowMut<LimiterCharge<'a>> for LocalCharge<'a> {
    fn borrow_mut(&mut self) -> &mut LimiterCharge<'a> {
        &mut self.ask
    }
}

impl<'a> Borrow<LimiterCharge<'a>> for LocalCharge<'a> {
    fn borrow(&self) -> &LimiterCharge<'a> {
        &self.ask
    }
}

impl Charged for &LocalCharge<'_> {
    fn policy(&self) -> usize {
        self.policy
    }

    fn tier(&self) -> usize {
        self.ask.tier()
    }

    fn decision(&self) -> Option<LazyDecision> {
        self.ask.decision().copied()
    }

    fn is_charged(&self) -> bool {
        self.ask.charge().is_some()
    }

    fn spent(&self, policy: &Arc<Policy>) -> Option<Spent> {
        Spent::new(policy, &self.ask)
    }
}
