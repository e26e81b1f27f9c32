//! Every code block of the guide is checked by a test, and the calculations are right.

use std::fs;

use tests::{Block, pages};

use super::{
    every_command_of_the_guide_prints_the_shown_output, every_excerpt_of_the_guide_runs,
    fragments::{
        a_grpc_client_with_the_service_configuration_retries_on_time,
        nginx_passes_on_addresses_that_no_client_can_forge,
        the_parts_of_the_manifest_refer_to_each_other,
    },
};

/// Returns the test that checks a block, or `None` if no test does. `below` are the later blocks of
/// its page.
///
/// The tests of fragments and calculations read all blocks in their language.
fn checked_by(page: &str, block: &Block, below: &[Block], has_transcript: bool) -> Option<fn()> {
    let replay = match page {
        "quick-start" => newcomer as fn(),
        _ => every_command_of_the_guide_prints_the_shown_output,
    };
    match &*block.language {
        "console" => Some(replay),
        // The programs that they lead to are compiled with the others of the guide.
        "diff" => Some(every_excerpt_of_the_guide_runs),
        "json" => Some(a_grpc_client_with_the_service_configuration_retries_on_time),
        "nginx" => Some(nginx_passes_on_addresses_that_no_client_can_forge),
        "rust" if block.is_excerpt() => Some(every_excerpt_of_the_guide_runs),
        // Only a page with transcripts is replayed.
        "rust" | "sh" if has_transcript => Some(replay),
        "text" => Some(every_calculation_of_the_guide_is_right),
        "yaml" => Some(the_parts_of_the_manifest_refer_to_each_other),
        "toml" => {
            let code = below.iter().find(|block| block.language == "rust");
            let is_used = block.text.starts_with("[dependencies]")
                && code.is_some_and(Block::is_program)
                && has_transcript;
            is_used.then_some(replay)
        }
        _ => None,
    }
}

/// Stands for `scripts/newcomer.sh`, which replays the quick start.
const fn newcomer() {}

#[test]
fn every_code_block_of_the_guide_is_checked_by_a_test() {
    let mut unchecked = Vec::new();
    let mut checked = 0;
    for file in pages("docs/guide") {
        let text = fs::read_to_string(&file).unwrap();
        let page = file.file_stem().unwrap().to_str().unwrap();
        let blocks = Block::all(&text);
        let fences = text.lines().filter(|line| {
            let line = line.trim_start_matches([' ', '>', '-', '*']);
            line.starts_with("```") || line.starts_with("~~~")
        });
        assert_eq!(fences.count(), 2 * blocks.len(), "{page}: a fence is indented");
        let has_transcript = blocks.iter().any(|block| block.language == "console");
        for (number, block) in blocks.iter().enumerate() {
            match checked_by(page, block, &blocks[number + 1..], has_transcript) {
                Some(_) => checked += 1,
                None => unchecked.push(format!("{page}.md:{} ({})", block.line, block.language)),
            }
        }
    }
    assert!(checked > 50, "only {checked} blocks are found");
    assert_eq!(unchecked, [""; 0], "no test checks these blocks");
}

#[test]
fn every_calculation_of_the_guide_is_right() {
    let mut compared = 0;
    for file in pages("docs/guide") {
        let text = fs::read_to_string(&file).unwrap();
        for block in Block::all(&text).into_iter().filter(|block| block.language == "text") {
            for line in block.text.lines() {
                let place = format!("{}:{}: {line}", file.display(), block.line);
                let values: Vec<_> = line.split(['=', '≈']).filter_map(value).collect();
                assert!(values.len() > 1, "{place}: compares no two numbers");
                for pair in values.windows(2) {
                    let left = pair[0];
                    let right = pair[1];
                    assert!((left - right).abs() < 1.0, "{place}: {left} is not {right}");
                    compared += 1;
                }
            }
        }
    }
    assert!(compared > 8, "only {compared} calculations are found");
}

/// Evaluates one side of an equation, from left to right with parentheses. Words and units have no
/// effect, nor has what follows a comma or an arrow. `None` if the side contains no number.
fn value(side: &str) -> Option<f64> {
    let side = side.split([',', '→']).next()?;
    let mut rest: Vec<char> = side.chars().rev().collect();
    side.contains(|c: char| c.is_ascii_digit()).then(|| sum(&mut rest))
}

fn sum(rest: &mut Vec<char>) -> f64 {
    let mut total = product(rest);
    loop {
        match rest.last() {
            Some('+') => {
                rest.pop();
                total += product(rest);
            }
            Some('−') => {
                rest.pop();
                total -= product(rest);
            }
            _ => return total,
        }
    }
}

fn product(rest: &mut Vec<char>) -> f64 {
    let mut total = factor(rest);
    loop {
        skip_words(rest);
        match rest.last() {
            Some('×') => {
                rest.pop();
                total *= factor(rest);
            }
            Some('÷' | '/') => {
                rest.pop();
                total /= factor(rest);
            }
            _ => return total,
        }
    }
}

fn factor(rest: &mut Vec<char>) -> f64 {
    skip_words(rest);
    if rest.last() == Some(&'(') {
        rest.pop();
        let inner = sum(rest);
        assert_eq!(rest.pop(), Some(')'), "a parenthesis is not closed");
        return inner;
    }
    let mut digits = String::new();
    while let Some(&next) = rest.last() {
        // A space separates thousands if three digits follow it.
        let groups = next == ' ' && rest.iter().rev().skip(1).take(3).all(char::is_ascii_digit);
        if next.is_ascii_digit() || next == '.' || groups {
            digits.extend(rest.pop().filter(|last| *last != ' '));
        } else {
            break;
        }
    }
    digits.parse().unwrap_or_else(|_| panic!("no number before {rest:?}"))
}

/// Skips spaces, words, and units such as `/s`. A slash before a digit is a division.
fn skip_words(rest: &mut Vec<char>) {
    while let Some(&next) = rest.last() {
        let is_unit =
            next == '/' && rest.iter().rev().nth(1).is_some_and(|letter| letter.is_alphabetic());
        if !(next.is_alphabetic() || next == ' ' || is_unit) {
            return;
        }
        rest.pop();
    }
}

#[test]
fn a_calculation_is_evaluated_as_a_person_would() {
    for (side, expected) in [
        ("visitors", None),
        ("X × S", None),
        ("400/s × 0.05 s", Some(20.0)),
        ("2/3 × 900/s ÷ 0.5/s", Some(1_200.0)),
        ("(10 000 − 1300) ÷ 100/min", Some(87.0)),
        ("16 requests at once, for 2 instances", Some(16.0)),
    ] {
        let given = value(side);
        let is_same = match (given, expected) {
            (Some(given), Some(expected)) => (given - expected).abs() < 1e-9,
            (None, None) => true,
            _ => false,
        };
        assert!(is_same, "{side}: {given:?}");
    }
}
