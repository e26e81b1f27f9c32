//! Runs every benchmark, with so few repetitions that its figures mean nothing.

use std::process::{Command, ExitStatus, Stdio};

/// Returns the output of the program for these arguments.
#[track_caller]
fn bench(arguments: &[&str]) -> String {
    let (printed, status) = bench_and_status(arguments);
    assert!(status.success(), "{arguments:?}: {status}");
    printed
}

fn bench_and_status(arguments: &[&str]) -> (String, ExitStatus) {
    let output = Command::new(env!("CARGO_BIN_EXE_waiting-room-bench"))
        .args(arguments)
        .args(["--smoke", "--counting", "off", "--load", "hyper"])
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
fn the_table_of_the_pass_has_its_rows() {
    let printed = bench(&["pass"]);
    has_rows(
        &printed,
        &[
            "bare Router (the floor)",
            "a ready service (the floor)",
            "+ a layer that forwards",
            "+ waiting room, valid pass",
            "+ waiting room, suspended",
            "+ tower_governor, peer IP, 1 key",
            "+ PrivateCookieJar, read and rewrite",
        ],
    );
    assert_eq!(printed.matches("store calls ≤ 0: 0 met").count(), 2, "{printed}");
}

#[test]
fn the_table_of_the_ledger_has_its_rows() {
    let printed = bench(&["ledger"]);
    has_rows(&printed, &["idle sites", "full sites", "their accounts alone"]);
    assert!(printed.contains("answers ≥ 33: "), "{printed}");
}

#[test]
fn the_table_of_the_paths_has_its_rows() {
    has_rows(&bench(&["paths"]), &["plain, 32 B", "of everything, 256 B", "only /., 60 KiB"]);
}

#[test]
fn the_table_of_the_token_has_its_rows() {
    has_rows(
        &bench(&["token"]),
        &[
            "find, decode and open one token",
            "find out about a renewal, seal a pass, set the cookie",
            "AES-256-GCM open alone",
            "AES-256-GCM seal alone",
        ],
    );
}

#[test]
fn the_tables_of_the_answers_have_their_rows() {
    let printed = bench(&["answers"]);
    let both = ["JSON, early ticket", "JSON, first touch", "JSON, check-in", "HTML, first touch"];
    has_rows(&printed, &["hello-world (the floor)", "hello-world behind the room, valid pass"]);
    has_rows(&printed, &both);
    assert!(both.iter().all(|row| printed.matches(&format!("| {row} ")).count() == 2), "{printed}");
}

#[test]
fn the_tables_of_the_room_have_their_rows() {
    has_rows(
        &bench(&["room"]),
        &[
            "enter and be let in, 100 000 active",
            "check_in, 1 000 in line",
            "check_in, 100 000 in line",
            "renew, 1 000 active",
            "half of the line is away: check_in",
            "growth: enter, admitted",
            "1000 by lot",
            "1000 in line, and 5 µs outside of the lock",
            "an active visitor",
            "a waiting visitor",
        ],
    );
}

#[test]
fn the_tables_of_the_limits_have_their_rows() {
    let printed = bench(&["limits"]);
    has_rows(
        &printed,
        &[
            "Limiter, SystemClock",
            "governor, IpAddr",
            "governor direct, no keys",
            "Limiter, 1 000 000 keys, zipf",
            "governor, 1 key",
            "sliding log",
            "Limiter, GCRA, any key",
            "+ ours, a limit by IP, all headers",
            "+ tower_governor, by IP, use_headers",
            "ours, to a browser: the page",
        ],
    );
    let refused = ["a layer answering 429, no body (the floor)", "tower-resilience, no key"];
    assert!(refused.iter().all(|row| printed.matches(&format!("| {row} ")).count() == 2));
    for bar in ["x governor ≤ 0.8", "x governor ≤ 0.5", "bytes ≤ 36", "added ns ≤ 250"] {
        assert!(printed.contains(bar), "no bar {bar:?} in:\n{printed}");
    }
    assert!(
        printed.contains("x floor ≤ 1.5") && printed.contains("ratio by CPU ≥ 0.9"),
        "{printed}"
    );
}

#[test]
fn the_tables_of_the_gate_have_their_rows() {
    let printed = bench(&["gate"]);
    has_rows(
        &printed,
        &[
            "Gate, the time given",
            "Semaphore, timeout(acquire_owned)",
            "Gate, Fifo",
            "+ ours, held to the head",
            "+ tower's limit, LoadShed",
            "ours, all headers and a problem document",
            "tower-resilience bulkhead, reject_when_full",
            "a place at a Gate",
            "a request that waits at our layer",
            "a permit of ours",
        ],
    );
    // Each gate is measured for each kind of work.
    let gates = ["no gate", "tower's GlobalConcurrencyLimit", "the same, Timeout 200 ms", "ours"];
    for gate in gates {
        assert_eq!(printed.matches(&format!("| {gate} ")).count(), 3, "{gate:?} in:\n{printed}");
    }
    for bar in ["ns ≤ 20", "one ≤ 1", "two ≤ 1", "KiB ≤ 21.3", "goodput ≥ 97"] {
        assert!(printed.contains(bar), "no bar {bar:?} in:\n{printed}");
    }
    assert!(printed.contains("Poisson arrivals, seed 1"), "{printed}");
}

#[test]
fn the_table_of_the_bars_has_its_rows_and_fails_if_a_bar_is_not_met() {
    let (printed, status) = bench_and_status(&["bars"]);
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
    let (printed, status) = bench_and_status(&["bars", "--counted-only"]);
    assert!(printed.is_empty() && !status.success(), "{status}: {printed}");
}

#[test]
fn the_table_of_the_dashboard_has_its_rows_and_its_bars() {
    // In this build, a second is too short to hold the bars. A test of the docs holds them.
    let (printed, _) = bench_and_status(&["dashboard"]);
    has_rows(&printed, &["% of a core", "MiB of memory"]);
    assert!(printed.contains("% ≤ 1: ") && printed.contains("MiB ≤ 16: "), "{printed}");
    assert!(printed.contains(" -- dashboard "), "{printed}");
}

#[test]
fn every_table_names_its_command_and_its_machine() {
    let printed = bench(&["token"]);
    let command = "`cargo lab waiting-room-bench -- token --smoke`";
    assert!(printed.contains(command) && printed.contains(" cores, Linux "), "{printed}");
}

#[test]
fn the_table_of_push_has_its_row() {
    let printed = bench(&["push"]);
    has_rows(&printed, &["50"]);
    for column in ["bytes each", "CPU µs each a minute", "CPU µs an event", "CPU µs a turn"] {
        assert!(printed.contains(column), "no column {column:?} in:\n{printed}");
    }
}

#[test]
fn the_table_of_the_polls_has_its_rows() {
    let printed = bench(&["polls"]);
    for row in ["JSON", "page"] {
        let line = printed.lines().find(|line| line.starts_with(&format!("| {row} ")));
        let cells: Vec<_> = line.expect("there is the row").split('|').map(str::trim).collect();
        // The line of 500 visitors polls every 2 to 26 s.
        let polls: u32 = cells[3].parse().expect("the number of polls");
        assert!(cells[2] == "500" && (1_000..20_000).contains(&polls), "{printed}");
        assert!(!cells[5..10].contains(&"-"), "{printed}");
    }
}
