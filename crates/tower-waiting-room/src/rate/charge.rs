//! What the limits that apply to a request are asked.

use std::{slice, sync::Arc};

use smallvec::SmallVec;
use waiting_room_core::{Ask, KeyHash, Timestamp, charge_all};

use super::{handle::Spent, policies::Policies, policy::Policy, report::Applied};

/// The limits that apply to a request, and what each of them is asked.
pub(super) struct Asked<'a> {
    policies: &'a Policies,
    /// Which of them, in the order of the asks.
    applying: SmallVec<[usize; 2]>,
    asks: SmallVec<[Ask<'a>; 2]>,
}

impl<'a> Asked<'a> {
    /// Nothing is asked of any of these yet.
    pub(super) fn none_of(policies: &'a Policies) -> Self {
        Self { policies, applying: SmallVec::new(), asks: SmallVec::new() }
    }

    /// Asks for this cost as well.
    pub(super) fn push(&mut self, policy: usize, key: KeyHash, tier: usize, cost: u64) {
        self.applying.push(policy);
        self.asks.push(Ask::new(&self.policies.get(policy).limiter, key, tier, cost));
    }

    /// Charges all of them or none; says which it was.
    pub(super) fn charge_all(&mut self, now: Timestamp) -> bool {
        charge_all(&mut self.asks, now)
    }

    /// Charges each of them by itself.
    pub(super) fn charge_each(&mut self, now: Timestamp) {
        for ask in &mut self.asks {
            charge_all(slice::from_mut(ask), now);
        }
    }

    /// Whether nothing is asked.
    pub(super) fn is_empty(&self) -> bool {
        self.asks.is_empty()
    }

    /// Each limit, and what it was asked.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&'a Arc<Policy>, &Ask<'a>)> {
        self.applying.iter().map(|&policy| self.policies.get(policy)).zip(&self.asks)
    }

    /// What each limit has said.
    pub(super) fn applied(&self) -> impl Iterator<Item = Applied> {
        self.applying.iter().zip(&self.asks).filter_map(|(&policy, ask)| {
            let decision = *ask.decision()?;
            Some(Applied { policy, tier: ask.tier(), decision })
        })
    }

    /// What was spent of each limit.
    pub(super) fn spent(&self) -> impl Iterator<Item = Spent> {
        self.iter().filter_map(|(policy, ask)| Spent::new(policy, ask))
    }
}
