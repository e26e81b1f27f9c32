//! Runs every benchmark, with so few repetitions that its figures mean nothing.

use std::process::{Command, ExitStatus, Stdio};

/// Returns the output of the program for these arguments.
fn bench(arguments: &[&str]) -> (String, ExitStatus) {
    let output = Command::new(env!("CARGO_BIN_EXE_waiting-room-bench"))
        .args(arguments)
        .args(["--smoke", "--counting", "off"])
        .stderr(Stdio::inherit())
        .output()
        .expect("the program starts");
    (String::from_utf8(output.stdout).expect("it prints text"), output.status)
}

#[track_caller]
fn has_rows(printed: &str, rows: &[&str]) {
    for row in rows {
        let is_row = |line: &str| line.starts_with(&format!("| {row} "));
        assert!(printed.lines().any(is_row), "no row {row:?} in:\n{printed}");
    }
}

#[test]
fn every_case_of_every_group_runs() {
    let (printed, status) = bench(&["cases"]);
    assert!(status.success(), "{status}");
    has_rows(
        &printed,
        &[
            "+ waiting room, three tickets and a pass",
            "of everything, 60 KiB",
            "governor, 1 000 000 keys, zipf",
            "+ tower-resilience bulkhead",
            "HTML, early ticket, made-up Accept",
            "a request that waits at our gate",
        ],
    );
    assert_eq!(printed.matches("| tower-resilience, no key ").count(), 1, "{printed}");
}

#[test]
fn a_table_has_the_cases_of_its_group_its_command_and_its_machine() {
    let (printed, status) = bench(&["cases", "permits"]);
    assert!(status.success(), "{status}");
    let command = "`cargo lab waiting-room-bench -- cases permits --smoke`";
    assert!(printed.contains(command) && printed.contains(" cores, Linux "), "{printed}");
    has_rows(&printed, &["Gate, the time given", "Semaphore, acquire_owned"]);
    assert_eq!(printed.matches("\n## ").count(), 0, "{printed}");
    assert!(!bench(&["cases", "no-such-group"]).1.success());
}

#[test]
fn the_tables_of_crowded_rooms_have_their_rows() {
    let (printed, status) = bench(&["room"]);
    assert!(status.success(), "{status}");
    has_rows(
        &printed,
        &[
            "half of the line is away: check_in",
            "growth: enter, admitted",
            "1000 by lot",
            "1000 in line, and 5 µs outside of the lock",
        ],
    );
}

#[test]
fn the_table_of_the_bars_has_its_rows_and_fails_if_a_bar_is_not_met() {
    let (printed, status) = bench(&["bars"]);
    has_rows(
        &printed,
        &[
            "the layer with nothing to do",
            "refused by a limit, made-up Accept",
            "waiting: early ticket, page, a dozen browsers",
            "… p99.9 of such a check",
            "a bare 429",
        ],
    );
    // Without counting, no bar of instructions is known to be met.
    assert!(printed.contains("not measured") && !status.success(), "{status}: {printed}");
    let (printed, status) = bench(&["bars", "--counted-only"]);
    assert!(printed.is_empty() && !status.success(), "{status}: {printed}");
}
