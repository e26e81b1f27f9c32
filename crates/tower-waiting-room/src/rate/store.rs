//! Where limits are counted that nodes share, and what is done while that is away.

use std::{num::NonZeroU32, sync::Arc};

use waiting_room_core::{Quota, RateStore};

/// The store of the limits, for all nodes.
#[derive(Clone, Debug)]
pub(crate) struct Shared {
    pub(crate) store: Arc<dyn RateStore>,
    pub(crate) on_failure: RateStoreFailure,
}

/// What to do with a request about which the store of the limits cannot decide.
///
/// A store that answers, and is asked more by a node than it decides in time, is not away: whatever
/// the policy, requests that a limit may refuse then get 503 with the reason `refused:limits_busy` and
/// a time to come back.
///
/// There is no default: to let everybody through is wrong where a limit protects, to refuse
/// everybody is wrong where it only bills.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RateStoreFailure {
    /// Let it through, uncounted.
    Admit,
    /// Have each node keep its part of every limit by itself, as one of so many.
    ///
    /// What a node has counted in the store does not count here, and the other way around: in the
    /// moment when it changes from one to the other, a client can have both. A node's part is
    /// rounded down, and never to nothing: together the nodes allow no more than the limit, or one
    /// each if that is more.
    LocalShare {
        /// How many nodes there are.
        nodes: NonZeroU32,
    },
    /// Answer it with 503.
    Refuse,
}

impl RateStoreFailure {
    /// The name in metrics.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Admit => "admit",
            Self::LocalShare { .. } => "local_share",
            Self::Refuse => "refuse",
        }
    }

    /// What a node keeps of these quotas by itself, and for how many keys.
    pub(super) fn own_part(self, quotas: &[Quota], keys: usize) -> (Vec<Quota>, usize) {
        match self {
            Self::LocalShare { nodes } => {
                let part = |quota| part(quota, u64::from(nodes.get()));
                (quotas.iter().map(part).collect(), keys)
            }
            // Nobody is ever asked.
            Self::Admit | Self::Refuse => (quotas.to_vec(), 1),
        }
    }
}

/// The part of a quota that is one node's of so many.
fn part(quota: &Quota, nodes: u64) -> Quota {
    let part = |whole: u64| (whole / nodes).max(whole.min(1));
    let own = Quota::new(part(quota.limit()), quota.window());
    match quota.capacity() == quota.limit() {
        true => own,
        false => own.burst(part(quota.capacity())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_all_nodes_are_no_more_than_the_limit_or_one_each() {
        let quota = Quota::per_minute(100).burst(10);
        assert_eq!(part(&quota, 3), Quota::per_minute(33).burst(3));
        assert_eq!(part(&quota, 1), quota);
        assert_eq!(part(&quota, 50), Quota::per_minute(2).burst(1));
        assert_eq!(part(&Quota::per_day(2), 5), Quota::per_day(1));
        assert_eq!(part(&Quota::per_day(0), 5), Quota::per_day(0));
    }
}
