//! The tables of rate limits: the check of a key, its memory, and admitted and refused requests.

use anyhow::Result;

use super::{
    algorithms::{ALGORITHMS, KEY_MEMORY},
    keyed::{MILLION, ONE, THOUSAND, TWO_THREADS},
    refused::REFUSED,
    routers::ADMITTED,
};
use crate::{
    case::Group,
    effort::Effort,
    figure::{Bar, NONE, cell, figure, range},
    report::{REQUESTS, Report, requests},
    rounds::{time, time_by_wall},
    usage::{Weight, weigh},
    valgrind::{Counting, count},
};

/// Measures everything, and prints the tables.
pub(crate) fn run(effort: Effort, counting: Counting) -> Result<()> {
    // Under valgrind, a million keys take minutes to insert; the instructions of a check do not
    // depend on their number.
    for (group, keys, limit, counting) in [
        (ONE, "1 key", None, counting),
        (THOUSAND, "1 000 keys", Some(0.8), counting),
        (MILLION, "1 000 000 keys", Some(0.5), Counting::Off),
    ] {
        println!("{}", checks(group, keys, limit, effort, counting)?);
    }
    println!("{}", on_two_threads(effort));
    println!("{}", algorithms(effort, counting)?);
    println!("{}", memory(effort, counting)?);
    println!("{}", admitted(effort, counting)?);
    println!("{}", refused(effort, counting)?);
    Ok(())
}

/// Compares our check with that of governor and its default map, for the same keys and outcomes.
fn checks(
    group: Group,
    keys: &str,
    limit: Option<f64>,
    effort: Effort,
    counting: Counting,
) -> Result<Report> {
    let title = format!("The check of a key by GCRA, {keys}");
    let columns = ["check", "ns/op", "min..max", "x governor", "instr/op", "allocs/op", "bar"];
    let mut report = Report::new(&title, "limits", effort, &columns);
    let cases = group.cases();
    let times = time(cases, effort);
    let counts = count(group, effort, counting)?;
    for ((case, ns), counted) in cases.iter().zip(&times).zip(&counts) {
        let peer = PEERS.iter().find(|(ours, _)| *ours == case.name);
        let peer = peer.and_then(|(_, peer)| cases.iter().position(|case| case.name == *peer));
        let ratio = peer.map(|peer| ns.ratio_to(&times[peer]).median());
        let has_bar = ["Limiter", "Limiter, IpAddr"].contains(&case.name);
        let bar = limit.filter(|_| has_bar).map(|limit| Bar::at_most("x governor", limit, ratio));
        report.row([
            case.name.to_owned(),
            figure(ns.median()),
            range(ns),
            ratio.map_or(NONE.to_owned(), figure),
            cell(counted, |counts| counts.instructions),
            cell(counted, |counts| counts.allocations),
            bar.map_or(NONE.to_owned(), |bar| bar.to_string()),
        ]);
    }
    report.note(
        "A Limiter hashes its key as the layer does. Unless the row differs, it reads the clock of \
         governor, and all keys are u64 and equally frequent.",
    );
    report.note("governor has its default map, a DashMap with SipHash, unless the row has ahash.");
    counting.excuse().into_iter().for_each(|excuse| report.note(excuse));
    Ok(report)
}

fn on_two_threads(effort: Effort) -> Report {
    let columns = ["check", "ns/op", "min..max", "x governor"];
    let title = "The check of a key on two threads at once";
    let mut report = Report::new(title, "limits", effort, &columns);
    let cases = TWO_THREADS.cases();
    let times = time_by_wall(cases, effort);
    for (case, ns) in cases.iter().zip(&times) {
        let peer = case.name.replace("Limiter", "governor");
        let peer = cases.iter().position(|other| other.name == peer && other.name != case.name);
        let ratio = peer.map(|peer| figure(ns.ratio_to(&times[peer]).median()));
        let ratio = ratio.unwrap_or_else(|| NONE.to_owned());
        report.row([case.name.to_owned(), figure(ns.median()), range(ns), ratio]);
    }
    report
        .note("Wall time, for one check on each thread; other work on the machine has influence.");
    report
}

fn algorithms(effort: Effort, counting: Counting) -> Result<Report> {
    let columns = ["algorithm", "ns/op", "min..max", "instr/op", "allocs/op", "bytes/op"];
    let title = "The algorithms, 1 000 keys, without reading a clock";
    let mut report = Report::new(title, "limits", effort, &columns);
    report.costs(ALGORITHMS, effort, counting)?;
    report.note("A limit of 2 000 per second, half of which each key uses.");
    Ok(report)
}

fn memory(effort: Effort, counting: Counting) -> Result<Report> {
    let columns = ["what", "heap bytes", "at the worst", "resident bytes", "allocations", "bar"];
    let mut report = Report::new("The memory of a key", "limits", effort, &columns);
    let keys = effort.keys();
    for (index, case) in KEY_MEMORY.cases().iter().enumerate() {
        let Weight { resident, heap } = weigh(KEY_MEMORY, case.name, keys, counting)?;
        let [kept, peak, allocations] = heap.map_or([NONE; 3].map(str::to_owned), |heap| {
            [heap.kept, heap.peak, heap.allocations].map(figure)
        });
        let bar = (index == 0).then(|| Bar::at_most("bytes", 36.0, resident).to_string());
        let bar = bar.unwrap_or_else(|| NONE.to_owned());
        report.row([case.name.to_owned(), kept, peak, figure(resident), allocations, bar]);
    }
    report.note(format!("For {keys} keys; a Limiter is created for that number."));
    counting.excuse().into_iter().for_each(|excuse| report.note(excuse));
    Ok(report)
}

fn admitted(effort: Effort, counting: Counting) -> Result<Report> {
    let title = "Admitted, through axum's Router::layer";
    let mut report = Report::new(title, "limits", effort, &REQUESTS);
    requests(&mut report, ADMITTED, effort, counting, |name, added, _| {
        let has_bar = name == "+ ours, a limit by IP, all headers";
        has_bar.then(|| Bar::at_most("added ns", 250.0, added))
    })?;
    report.note("One thread; every request is a clone of one with four headers and four cookies.");
    Ok(report)
}

fn refused(effort: Effort, counting: Counting) -> Result<Report> {
    let title = "Refused, through axum's Router::layer";
    let mut report = Report::new(title, "limits", effort, &REQUESTS);
    requests(&mut report, REFUSED, effort, counting, |name, _, ratio| {
        let has_bar = name == "ours, all headers and a problem document";
        has_bar.then(|| Bar::at_most("x floor", 1.5, ratio))
    })?;
    report.note("The same request, sent by a program unless the row differs.");
    Ok(report)
}

/// Our checks, and those of governor with which they are compared.
const PEERS: [(&str, &str); 6] = [
    ("Limiter, the time given", "governor"),
    ("Limiter", "governor"),
    ("Limiter, SystemClock", "governor"),
    ("Limiter, zipf", "governor, zipf"),
    ("Limiter, refused", "governor, refused"),
    ("Limiter, IpAddr", "governor, IpAddr"),
];

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the additional allocations of a case, compared with another of its group.
    fn more(group: Group, name: &str, than: &str) -> u64 {
        let case = |name| group.cases().iter().find(|case| case.name == name);
        let [ours, other] = [name, than].map(|name| case(name).expect("it is there").allocations());
        ours.saturating_sub(other)
    }

    #[test]
    fn a_limit_allocates_at_most_twice_and_its_headers_four_times() {
        let more = |name| more(ADMITTED, name, "+ a layer that forwards");
        let none = more("+ ours, a limit by IP, no headers");
        let all = more("+ ours, a limit by IP, all headers");
        assert!(none <= 2 && all <= none + 4, "{none} without headers, {all} with all");
    }

    #[test]
    fn a_refusal_allocates_at_most_ten_times_more_than_a_bare_one() {
        let floor = "a layer answering 429, no body (the floor)";
        let more = more(REFUSED, "ours, all headers and a problem document", floor);
        assert!(more <= 10, "{more}");
    }
}
