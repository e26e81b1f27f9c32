//! What the gate has to reach, with each seed.

use super::study::Study;
use crate::sheets::{Bar, Bound};

/// All bars of a study.
pub(super) fn bars(study: &Study) -> Vec<Bar> {
    let default = |name: &str| name.starts_with("ControlledDelay (default)");
    let fair = |name: &str| name.starts_with("FairByTenant(Each), 1 name");
    let gates = |name: &str| name.starts_with("virtual slot");
    [
        Bar::of(&study.overload, "2x: goodput %", default, Bound::AtLeast(97.0)),
        Bar::of(&study.overload_noticed, "2x: goodput %", default, Bound::AtLeast(97.0)),
        Bar::of(&study.bursts, "success %", default, Bound::AtLeast(99.0)),
        Bar::of(&study.fairness, "mice: success %", fair, Bound::AtLeast(99.0)),
        Bar::of(&study.crowd, "attempts per client", gates, Bound::AtMost(2.5)),
    ]
    .concat()
}
