//! What a run is judged by.

use crate::run::{Run, Way};

/// What was missed by a run in which so much of the CPU was to be used.
pub(super) fn missed(run: &Run, cpu: u32) -> Vec<String> {
    let (server, cpu) = (run.curve.server(), f64::from(cpu));
    let (least, most) = match run.way {
        Way::Adaptive | Way::Fixed => (cpu - TOLERANCE, cpu + TOLERANCE),
        Way::Ungated => (WITHOUT_A_GATE, f64::INFINITY),
    };
    let mut missed = Vec::new();
    let mut bar = |is_met: bool, what: String| {
        if !is_met {
            missed.push(format!("{}: {what}", run.way.name()));
        }
    };
    bar((least..=most).contains(&server), format!("CPU at {server:.1} %"));
    bar(run.seen.served() > 0, "nobody was served".to_owned());
    let unserved = run.seen.unserved;
    bar(unserved == 0, format!("{unserved} never served"));
    let troubles = run.seen.troubles;
    bar(troubles == 0, format!("{troubles} without an answer"));
    let overtaken = run.let_in.overtaken;
    bar(overtaken == 0, format!("{overtaken} let in out of order"));
    missed
}

/// Without a gate, conversions take at least so many percent.
const WITHOUT_A_GATE: f64 = 95.0;

/// With one, the mean is no farther from what it was to be.
const TOLERANCE: f64 = 5.0;

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::{
        clients::Seen,
        cpu::Used,
        order::Overtaking,
        run::{Curve, START},
    };

    fn run(way: Way, server: f64) -> Run {
        let used = |over, server| Used { over, server, others: None };
        let none = Overtaking { overtaken: 0, by_at_most: 0 };
        Run {
            way,
            curve: Curve(vec![used(START, 0.0), used(Duration::from_secs(1), server)]),
            seen: Seen::of_one_served(),
            let_in: none,
            finished: none,
        }
    }

    #[test]
    fn a_run_is_judged_by_the_cpu_that_its_way_is_meant_to_use() {
        for (way, server, is_met) in [
            (Way::Ungated, 94.9, false),
            (Way::Ungated, 95.1, true),
            (Way::Fixed, 64.9, false),
            (Way::Fixed, 65.1, true),
            (Way::Fixed, 74.9, true),
            (Way::Adaptive, 75.1, false),
        ] {
            assert_eq!(missed(&run(way, server), 70).is_empty(), is_met, "{way:?} {server}");
        }
        assert!(missed(&run(Way::Fixed, 40.0), 40).is_empty());
    }

    #[test]
    fn everybody_is_to_be_served_and_in_order() {
        let spoilt = |spoil: &dyn Fn(&mut Run)| {
            let mut run = run(Way::Fixed, 70.0);
            spoil(&mut run);
            missed(&run, 70)
        };
        assert_eq!(spoilt(&|_| ()), [""; 0]);
        assert_eq!(spoilt(&|run| run.seen.unserved = 2), ["fixed limit: 2 never served"]);
        assert_eq!(spoilt(&|run| run.seen.troubles = 1), ["fixed limit: 1 without an answer"]);
        assert_eq!(spoilt(&|run| run.seen = Seen::default()), ["fixed limit: nobody was served"]);
        let out_of_order = spoilt(&|run| run.let_in.overtaken = 3);
        assert_eq!(out_of_order, ["fixed limit: 3 let in out of order"]);
    }
}
