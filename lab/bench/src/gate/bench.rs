//! The tables of a gate.

use anyhow::Result;

use super::{
    connections, overload,
    permits::{HANDED_ON, ON_TWO_THREADS, PERMITS, WAITING},
    refused::REFUSED,
    routers::ADMITTED,
    tasks::CROWDS,
    waiters::WAITERS,
};
use crate::{
    effort::Effort,
    figure::{Bar, NONE, cell, figure, range},
    report::{REQUESTS, Report, requests},
    rounds::{Samples, time, time_by_wall},
    usage::{Weight, weigh},
    valgrind::{Counting, count},
};

/// Measures everything, and prints the tables.
pub(crate) fn run(effort: Effort, counting: Counting) -> Result<()> {
    println!("{}", permits(effort, counting)?);
    println!("{}", crowds(effort));
    println!("{}", handed_on(effort, counting)?);
    println!("{}", admitted(effort, counting)?);
    println!("{}", refused(effort, counting)?);
    println!("{}", waiters(effort, counting)?);
    println!("{}", connections::weighed(effort)?);
    overload::run(effort)
}

fn permits(effort: Effort, counting: Counting) -> Result<Report> {
    let columns = ["permit", "ns/op", "min..max", "instr/op", "allocs/op", "bar"];
    let title = "Taking and giving back an uncontended permit";
    let mut report = Report::new(title, "gate", effort, &columns);
    let group = PERMITS;
    let times = time(group.cases(), effort);
    let counts = count(group, effort, counting)?;
    for (index, (case, ns)) in group.cases().iter().zip(&times).enumerate() {
        let bar = (index == 0).then(|| Bar::at_most("ns", 20.0, ns.median()).to_string());
        report.row([
            case.name.to_owned(),
            figure(ns.median()),
            range(ns),
            cell(&counts[index], |counts| counts.instructions),
            cell(&counts[index], |counts| counts.allocations),
            bar.unwrap_or_else(|| NONE.to_owned()),
        ]);
    }
    report.note("A gate receives the time as an argument; the layer reads it once per request.");
    counting.excuse().into_iter().for_each(|excuse| report.note(excuse));
    Ok(report)
}

fn crowds(effort: Effort) -> Report {
    let names = CROWDS[0].cases.each_ref().map(|case| case.name);
    let [_, ours, tried, acquired, timed] = names;
    let columns = ["threads", "tasks", "no permit, ns", ours, tried, acquired, timed];
    let title = "A permit for each of several tasks, with enough permits for all";
    let mut report = Report::new(title, "gate", effort, &columns);
    for crowd in &CROWDS {
        let times = time_by_wall(&crowd.cases, effort);
        let [ours, tried, acquired, timed] =
            [1, 2, 3, 4].map(|index| figure(times[index].over(&times[0]).median()));
        let threads = crowd.threads.to_string();
        let tasks = crowd.tasks.to_string();
        report.row([threads, tasks, figure(times[0].median()), ours, tried, acquired, timed]);
    }
    report.note(
        "Wall time in nanoseconds from one permit taken by any task to the next, less the time \
         without permits. Each task holds its permit while all others have a turn. The gate reads \
         its clock.",
    );
    report
}

fn handed_on(effort: Effort, counting: Counting) -> Result<Report> {
    let title = format!("A permit that {WAITING} tasks hand on to each other");
    let on_one = ["one thread, ns", "min..max", "x tokio", "instr", "allocs"];
    let on_two = ["two threads, ns", "min..max", "x tokio"];
    let columns = [&["permit"][..], &on_one, &on_two, &["bar"]].concat();
    let mut report = Report::new(&title, "gate", effort, &columns);
    let group = HANDED_ON;
    let cases = HANDED_ON.cases();
    let counts = count(group, effort, counting)?;
    let one = time(cases, effort);
    let two = time_by_wall(ON_TWO_THREADS, effort);
    for (index, case) in cases.iter().enumerate() {
        let ratio = |times: &[Samples]| times[index].ratio_to(&times[0]).median();
        let on_one = ratio(&one);
        let on_two = ratio(&two);
        let bars = [Bar::at_most("one", 1.0, on_one), Bar::at_most("two", 1.0, on_two)];
        let bar = (case.name == "Gate").then(|| Bar::all(&bars));
        report.row([
            case.name.to_owned(),
            figure(one[index].median()),
            range(&one[index]),
            figure(on_one),
            cell(&counts[index], |counts| counts.instructions),
            cell(&counts[index], |counts| counts.allocations),
            figure(two[index].median()),
            range(&two[index]),
            figure(on_two),
            bar.unwrap_or_else(|| NONE.to_owned()),
        ]);
    }
    report.note(
        "From one grant to the next. A task that gets the permit gives it back at once and waits \
         again. CPU time on one thread; wall time, which includes other work, on two.",
    );
    counting.excuse().into_iter().for_each(|excuse| report.note(excuse));
    Ok(report)
}

fn admitted(effort: Effort, counting: Counting) -> Result<Report> {
    let title = "Admitted by a gate, through axum's Router::layer";
    let mut report = Report::new(title, "gate", effort, &REQUESTS);
    requests(&mut report, ADMITTED, effort, counting, |_, _, _| None)?;
    report.note("One thread; every request is a clone of one with four headers and four cookies.");
    Ok(report)
}

fn refused(effort: Effort, counting: Counting) -> Result<Report> {
    let title = "Refused by a gate that is full, through axum's Router::layer";
    let mut report = Report::new(title, "gate", effort, &REQUESTS);
    requests(&mut report, REFUSED, effort, counting, |_, _, _| None)?;
    report.note("The same request, of a program. Others answer 503 with nothing more.");
    Ok(report)
}

fn waiters(effort: Effort, counting: Counting) -> Result<Report> {
    let columns = ["waiter", "heap bytes", "at the worst", "resident bytes", "allocations"];
    let mut report = Report::new("The memory of a waiter", "gate", effort, &columns);
    let group = WAITERS;
    let waiters = effort.crowd();
    for case in group.cases() {
        let Weight { resident, heap } = weigh(group, case.name, waiters, counting)?;
        let [kept, peak, allocations] = heap.map_or([NONE; 3].map(str::to_owned), |heap| {
            [heap.kept, heap.peak, heap.allocations].map(figure)
        });
        report.row([case.name.to_owned(), kept, peak, figure(resident), allocations]);
    }
    report.note(format!("For {waiters} waiters, each polled once, without a network."));
    counting.excuse().into_iter().for_each(|excuse| report.note(excuse));
    Ok(report)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        case::Group,
        gate::routers::{DECIDES, OURS},
    };

    /// Returns the additional allocations of a case, compared with another of its group.
    fn more(group: Group, name: &str, than: &str) -> u64 {
        let case = |name| group.case(name).expect("it is there");
        let [ours, other] = [name, than].map(|name| case(name).allocations());
        ours.saturating_sub(other)
    }

    #[test]
    fn an_uncontended_permit_allocates_nothing() {
        assert!(PERMITS.cases()[..2].iter().all(|case| case.allocations() == 0));
    }

    #[test]
    fn a_gate_allocates_at_most_five_times_more_than_a_deciding_layer() {
        let more = more(ADMITTED, OURS, DECIDES);
        assert!(more <= 5, "{more}");
    }
}
