//! Instructions and allocations of a case, counted by valgrind in child processes.

use std::{
    env, iter,
    process::Command,
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

use anyhow::{Context, Result, ensure};
use clap::ValueEnum;

use crate::{case::Group, effort::Effort};

/// Whether to count instructions and allocations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Counting {
    /// Measure times only.
    Off,
    /// Count with valgrind, if it is installed.
    #[default]
    On,
}

impl Counting {
    /// Returns the reason why nothing is counted, if nothing is.
    pub(crate) fn excuse(self) -> Option<&'static str> {
        match self {
            Self::Off => Some("Instructions and allocations were not counted: --counting off."),
            Self::On if is_installed() => None,
            Self::On => {
                Some("Instructions and allocations were not counted: valgrind is not installed.")
            }
        }
    }
}

/// The counts of one repetition of a case.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counts {
    pub(crate) instructions: f64,
    pub(crate) allocations: f64,
    pub(crate) bytes: f64,
}

/// Counts one repetition of each case of a group; `None` if counting is off or impossible.
pub(crate) fn count(
    group: Group,
    effort: Effort,
    counting: Counting,
) -> Result<Vec<Option<Counts>>> {
    let cases = group.cases();
    if counting.excuse().is_some() {
        return Ok(vec![None; cases.len()]);
    }
    let cases: Vec<_> = cases.iter().map(|case| (group, case.name)).collect();
    let counts = count_each(&cases, effort.counted())?;
    Ok(counts.into_iter().map(Some).collect())
}

/// Counts one repetition of each case, identified by its group and its name.
///
/// The counts are the difference between two numbers of repetitions. The tools are slow, so each
/// core counts another case; nothing may be timed meanwhile.
pub(crate) fn count_each(cases: &[(Group, &str)], repetitions: (u64, u64)) -> Result<Vec<Counts>> {
    let next = AtomicUsize::new(0);
    let count_some = || -> Result<Vec<(usize, Counts)>> {
        let turns = iter::repeat_with(|| next.fetch_add(1, Ordering::Relaxed));
        let turns = turns.map_while(|turn| cases.get(turn).map(|case| (turn, *case)));
        turns.map(|(turn, (group, case))| Ok((turn, of(group, case, repetitions)?))).collect()
    };
    let cores = thread::available_parallelism()?.get();
    let found: Result<Vec<_>> = thread::scope(|scope| {
        let threads: Vec<_> = (0..cores).map(|_| scope.spawn(count_some)).collect();
        let join = |thread: thread::ScopedJoinHandle<'_, _>| thread.join().expect("it only counts");
        threads.into_iter().map(join).collect()
    });
    let mut counts: Vec<(usize, Counts)> = found?.into_iter().flatten().collect();
    counts.sort_by_key(|(turn, _)| *turn);
    Ok(counts.into_iter().map(|(_, counts)| counts).collect())
}

/// Counts one repetition of a case.
fn of(group: Group, case: &str, (few, many): (u64, u64)) -> Result<Counts> {
    let repetitions = f64::from(u32::try_from(many - few)?);
    let instructions = callgrind(group, case, few, many - few)? / repetitions;
    let less = dhat(group, case, few)?.total;
    let more = dhat(group, case, many)?.total;
    let [bytes, allocations] = [0, 1].map(|field| (more[field] - less[field]) / repetitions);
    Ok(Counts { instructions, allocations, bytes })
}

/// Runs one case under DHAT.
pub(crate) fn dhat(group: Group, case: &str, times: u64) -> Result<Heap> {
    // Where inlined functions come from takes long to read, and is of no use here.
    let tool = ["--tool=dhat", "--dhat-out-file=/dev/null", "--read-inline-info=no"];
    let said = run(&tool, "", group, case, [0, times])?;
    Heap::parse(&said).with_context(|| format!("DHAT said: {said}"))
}

/// The heap of one process, in bytes and blocks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Heap {
    /// All that was ever allocated.
    pub(crate) total: [f64; 2],
    /// The allocations when the bytes were at their peak.
    pub(crate) peak: [f64; 2],
    /// The allocations that remained at the end.
    pub(crate) end: [f64; 2],
}

impl Heap {
    fn parse(said: &str) -> Option<Self> {
        let line = |label| Some(numbers(after(said, label)?)).filter(|line| line.len() >= 2);
        let pair = |label| line(label).map(|line| [line[0], line[1]]);
        Some(Self {
            total: pair(" Total: ")?,
            peak: pair(" At t-gmax: ")?,
            end: pair(" At t-end: ")?,
        })
    }
}

pub(crate) fn is_installed() -> bool {
    Command::new("valgrind").arg("--version").output().is_ok_and(|said| said.status.success())
}

/// Counts the instructions of one repetition of a case, which reads this input from its environment.
pub(crate) fn instructions_with(
    group: Group,
    case: &str,
    input: &str,
    (first, then): (u64, u64),
) -> Result<f64> {
    let repetitions = f64::from(u32::try_from(then)?);
    Ok(callgrind_with(input, group, case, first, then)? / repetitions)
}

/// Runs one case under callgrind, and returns the instructions of the counted repetitions.
fn callgrind(group: Group, case: &str, first: u64, then: u64) -> Result<f64> {
    callgrind_with("", group, case, first, then)
}

fn callgrind_with(input: &str, group: Group, case: &str, first: u64, then: u64) -> Result<f64> {
    let inside = "--toggle-collect=*case::Repeat::counted*";
    let tool = ["--tool=callgrind", "--callgrind-out-file=/dev/null", inside];
    let said = run(&tool, input, group, case, [first, then])?;
    let collected = after(&said, " Collected : ").map(numbers).unwrap_or_default();
    let instructions = collected.first().copied().with_context(|| format!("callgrind: {said}"))?;
    ensure!(instructions > 0.0, "callgrind found no function for {inside}");
    Ok(instructions)
}

/// Runs one case under valgrind, and returns its standard error.
fn run(tool: &[&str], input: &str, group: Group, case: &str, times: [u64; 2]) -> Result<String> {
    let output = Command::new("valgrind")
        .args(tool)
        .env(INPUT, input)
        .arg(env::current_exe()?)
        .args(["repeat", group.name(), case])
        .args(times.map(|times| times.to_string()))
        .output()?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    ensure!(output.status.success(), "{tool:?} on {case:?}: {}: {said}", output.status);
    Ok(said)
}

/// Returns the rest of the first line that has this label.
fn after<'a>(said: &'a str, label: &str) -> Option<&'a str> {
    said.lines().find_map(|line| line.split_once(label)).map(|(_, rest)| rest)
}

/// Parses the numbers in a line, which may have commas between thousands.
fn numbers(line: &str) -> Vec<f64> {
    line.split_ascii_whitespace().filter_map(|word| word.replace(',', "").parse().ok()).collect()
}

/// The variable from which a case may read its input.
pub(crate) const INPUT: &str = "WORST_INPUT";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_output_of_dhat_is_parsed() {
        let said = "==7== \n==7== Total:     1,002,048 bytes in 1,017 blocks\n\
                    ==7== At t-gmax: 4,096 bytes in 3 blocks\n\
                    ==7== At t-end:  0 bytes in 0 blocks\n";
        let heap = Heap { total: [1_002_048.0, 1_017.0], peak: [4_096.0, 3.0], end: [0.0; 2] };
        assert_eq!(Heap::parse(said), Some(heap));
        assert_eq!(Heap::parse("==7== Total: none"), None);
    }

    #[test]
    fn the_output_of_callgrind_is_parsed() {
        let said = "==7== Events    : Ir\n==7== Collected : 37268523\n";
        assert_eq!(after(said, " Collected : ").map(numbers), Some(vec![37_268_523.0]));
    }
}
