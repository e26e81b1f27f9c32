//! Which limits apply to a request, wherever they are counted.

use std::sync::Arc;

use waiting_room_core::KeyHash;

use super::{
    limit::OverLimit, policies::Policies, policy::Policy, report::Rated, stage::RateStage,
};
use crate::{
    misconfiguration::Misconfiguration,
    request::{Caller, Found},
};

impl RateStage {
    /// Finds the limits that apply to a request, and its key for each of them; or else one that
    /// refuses, as it cannot tell whose the request is.
    pub(super) fn each_applying(
        &self,
        caller: &Caller<'_>,
        policies: &Policies,
        mut ask: impl FnMut(usize, KeyHash),
    ) -> Result<(), Arc<Policy>> {
        for (index, policy) in policies.iter().enumerate() {
            if !policy.concerns(caller) {
                continue;
            }
            let found = policy.key(caller);
            match found {
                Found::Key(key) => ask(index, key),
                Found::Bypass => {}
                Found::Refuse | Found::Stranger => {
                    if matches!(found, Found::Stranger) {
                        self.telemetry.misconfigured(Misconfiguration::PeerUnknown);
                    }
                    self.telemetry.rated(&policy.subject, policy.over());
                    if policy.limit.over_limit == OverLimit::Refuse {
                        return Err(Arc::clone(policy));
                    }
                }
            }
        }
        Ok(())
    }

    /// Looks at how the limits are set up, if this is one of the first requests; says whether it is.
    pub(super) fn watch_set_up(&self, caller: &Caller<'_>, policies: &Policies) -> bool {
        self.set_up.watch(caller, policies, &self.telemetry)
    }

    /// Marks a request as counted, if it is watched.
    pub(super) fn mark_counted(&self, rated: &mut Rated, is_watched: bool) {
        if let Rated::Pass(told) | Rated::Hold(told, ..) = rated {
            told.counted = is_watched.then(|| self.set_up.clone());
        }
    }
}
