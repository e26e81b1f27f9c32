//! All experiments, with all seeds.

use std::time::Duration;

use super::{crowd_experiment, experiments, open_loop::Span, traffic::Abandonment};
use crate::{
    bar::{Bar, Bound},
    figures::Size,
    sheet::Sheet,
};

/// The results of the experiments.
#[derive(Clone, Debug)]
pub(super) struct Study {
    pub(super) seeds: Vec<u64>,
    pub(super) cliff: Sheet,
    pub(super) overload: Sheet,
    pub(super) overload_noticed: Sheet,
    pub(super) bursts: Sheet,
    pub(super) fairness: Sheet,
    pub(super) crowd: Sheet,
    pub(super) crowd_seconds: Sheet,
}

/// Runs all experiments. The result depends on the seeds and the size, not on the number of threads.
pub(super) fn measure(seeds: &[u64], size: Size) -> Study {
    let span = size.span();
    let (crowd, crowd_seconds) = crowd_experiment::crowd(seeds);
    Study {
        seeds: seeds.to_vec(),
        cliff: experiments::cliff(seeds, span, size.steps()),
        overload: experiments::overload(seeds, span, Abandonment::Unnoticed),
        overload_noticed: experiments::overload(seeds, span, Abandonment::Noticed),
        bursts: experiments::bursts(seeds, size.bursts()),
        fairness: experiments::fairness(seeds, span),
        crowd,
        crowd_seconds: crowd_seconds.by("second"),
    }
}

impl Size {
    /// The duration of a run under a steady load. The warm-up is long enough for the first interval
    /// of controlled delay, and for the queue that it leaves.
    const fn span(self) -> Span {
        let (warm_up, counted) = match self {
            Self::Full => (5, 20),
            Self::Quick => (2, 1),
        };
        Span { warm_up: Duration::from_secs(warm_up), counted: Duration::from_secs(counted) }
    }

    /// The duration of a run under bursts, of which there is one every two seconds. The size of a
    /// burst is random, and some are too large for a queue of half a second. With as few as six
    /// bursts in a run, the result would often miss a bar by chance.
    const fn bursts(self) -> Span {
        let counted = match self {
            Self::Full => 120,
            Self::Quick => 30,
        };
        Span { warm_up: Duration::from_secs(4), counted: Duration::from_secs(counted) }
    }

    /// The step between two values of the longest wait, in milliseconds.
    const fn steps(self) -> u64 {
        match self {
            Self::Full => 10,
            Self::Quick => 60,
        }
    }
}

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
