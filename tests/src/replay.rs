//! Replays a page: its programs are started, its commands are run, and its transcripts compared.
//!
//! | block | is |
//! |---|---|
//! | `rust` with a `main` function | the program that `cargo run` runs from here on |
//! | `toml` | the dependencies of the next program |
//! | `sh` | commands, which have to succeed |
//! | `console` | a transcript: each command follows `$ `, and its output follows the command |
//!
//! In a transcript, `…` matches any characters of a line, and a line that contains nothing else
//! matches any number of lines. A time until a refresh, a reset or a retry may be up to five seconds shorter
//! than on the page. A command that starts with `cargo run --quiet` or `redis-server` keeps running: its
//! output is compared as soon as it has printed as much as the page shows, and it is stopped when
//! the page starts a server with the same output, or ends.
//!
//! Servers use free ports, because tests run concurrently. The ports of the page are replaced in
//! commands, and restored in their output.

use std::net::TcpListener;

use crate::{Block, Session};

/// The actions of a reader with the programs of a page.
pub trait Reader {
    /// Receives the dependencies of the next program.
    fn dependencies(&mut self, session: &mut Session, dependencies: &Block);

    /// Receives the next program, and returns the command that stands for `cargo run --quiet`.
    fn program(&mut self, session: &mut Session, program: &Block) -> String;
}

/// Replays the blocks of a page, and returns the number of commands that were compared.
///
/// # Panics
///
/// If a command fails in an `sh` block, or prints something else than the page shows.
pub fn replay(name: &str, page: &str, session: &mut Session, reader: &mut impl Reader) -> usize {
    let run = CARGO_RUN.to_owned();
    let mut replay = Replay { session, ports: Vec::new(), run, wrong: String::new() };
    let mut compared = 0;
    for block in Block::all(page) {
        let place = format!("{name}:{}", block.line);
        match &*block.language {
            "rust" if block.is_program() => replay.run = reader.program(replay.session, &block),
            "toml" => reader.dependencies(replay.session, &block),
            "sh" => {
                let commands = replay.to_real(&block.text);
                let (status, printed) = replay.session.run(&format!("set -e\n{commands}\nset +e"));
                assert_eq!(status, "0", "{place}: {commands}\n{printed}");
            }
            "console" => {
                for (command, expected) in exchanges(&block.text) {
                    replay.exchange(&place, &command, &expected);
                    compared += 1;
                }
            }
            _ => {}
        }
    }
    assert!(replay.wrong.is_empty(), "\n{}", replay.wrong);
    compared
}

struct Replay<'a> {
    session: &'a mut Session,
    /// Each text of the page that contains a port, and the text that replaces it.
    ports: Vec<(String, String)>,
    run: String,
    /// Describes each command that printed something else.
    wrong: String,
}

impl Replay<'_> {
    fn exchange(&mut self, place: &str, command: &str, expected: &str) {
        if command.contains(REDIS_PORT) && !self.ports.iter().any(|(shown, _)| shown == REDIS_PORT)
        {
            self.ports.push((REDIS_PORT.to_owned(), free_port()));
        }
        let printed = if command.starts_with(CARGO_RUN) {
            self.start(command, expected)
        } else if command.starts_with("redis-server") {
            let command = self.to_real(command);
            self.session.serve(expected, &command, |printed| matches(expected, printed))
        } else {
            let command = self.to_real(command);
            self.session.run(&command).1
        };
        let printed = self.to_shown(&printed);
        if !matches(expected, &printed) {
            self.wrong += &format!(
                "{place}: $ {command}\n-- the page shows:\n{expected}-- it printed:\n{printed}\n"
            );
        }
    }

    /// Starts a program of the page, on any free port.
    fn start(&mut self, command: &str, expected: &str) -> String {
        let shown = address(expected).unwrap_or_else(|| panic!("{command} prints no address"));
        let command = command.replace(CARGO_RUN, &self.run).replace(&shown, ANY_PORT);
        let is_ready = |printed: &str| printed.lines().count() >= expected.lines().count();
        let printed = self.session.serve(&shown, &command, is_ready);
        let real = address(&printed).unwrap_or_else(|| panic!("{command} prints {printed}"));
        self.ports.retain(|(other, _)| *other != shown);
        self.ports.push((shown, real));
        printed
    }

    fn to_real(&self, text: &str) -> String {
        self.ports.iter().fold(text.to_owned(), |text, (shown, real)| text.replace(shown, real))
    }

    fn to_shown(&self, text: &str) -> String {
        self.ports.iter().fold(text.to_owned(), |text, (shown, real)| text.replace(real, shown))
    }
}

/// Returns the commands of a transcript with their outputs. A command continues on the next line
/// after a backslash.
fn exchanges(transcript: &str) -> Vec<(String, String)> {
    let mut exchanges: Vec<(String, String)> = Vec::new();
    for line in transcript.lines() {
        match (line.strip_prefix("$ "), exchanges.last_mut()) {
            (Some(command), _) => exchanges.push((command.to_owned(), String::new())),
            (None, Some((command, printed))) if printed.is_empty() && command.ends_with('\\') => {
                *command = format!("{command}\n{line}");
            }
            (None, Some((_, printed))) => *printed += &format!("{line}\n"),
            (None, None) => panic!("a transcript begins with a command: {line}"),
        }
    }
    exchanges
}

/// Returns the first `127.0.0.1:<port>` in a text.
fn address(text: &str) -> Option<String> {
    let (_, rest) = text.split_once(LOOPBACK)?;
    let port: String = rest.chars().take_while(char::is_ascii_digit).collect();
    Some(format!("{LOOPBACK}{port}"))
}

fn free_port() -> String {
    let listener = TcpListener::bind((std::net::Ipv4Addr::LOCALHOST, 0)).unwrap();
    listener.local_addr().unwrap().port().to_string()
}

/// Returns whether the output of a command is the one that the page shows.
fn matches(expected: &str, printed: &str) -> bool {
    let expected: Vec<_> = expected.trim_end().lines().collect();
    let printed: Vec<_> = printed.trim_end().lines().map(str::trim_end).collect();
    lines_match(&expected, &printed)
}

fn lines_match(expected: &[&str], printed: &[&str]) -> bool {
    match (expected, printed) {
        ([], []) => true,
        ([first, rest @ ..], _) if first.trim() == ANYTHING => {
            (0..=printed.len()).any(|skipped| lines_match(rest, &printed[skipped..]))
        }
        ([first, rest @ ..], [line, others @ ..]) => {
            line_matches(first, line) && lines_match(rest, others)
        }
        _ => false,
    }
}

fn line_matches(expected: &str, line: &str) -> bool {
    let lower = expected.to_lowercase();
    let is_time = ["refresh", "reset", "retry"].iter().any(|word| lower.contains(word));
    if is_time && !expected.contains(ANYTHING) {
        let expected = split_numbers(expected);
        let line = split_numbers(line);
        return expected.len() == line.len()
            && expected.iter().zip(&line).all(|(expected, given)| {
                match (expected.parse::<u64>(), given.parse::<u64>()) {
                    (Ok(most), Ok(given)) => given <= most && given + SLACK_SECS >= most,
                    _ => text_matches(expected, given),
                }
            });
    }
    text_matches(expected, line)
}

fn text_matches(expected: &str, text: &str) -> bool {
    match expected.split_once(ANYTHING) {
        None => expected == text,
        Some((before, rest)) => text.strip_prefix(before).is_some_and(|text| {
            text.char_indices()
                .map(|(at, _)| at)
                .chain([text.len()])
                .any(|at| text_matches(rest, &text[at..]))
        }),
    }
}

/// Splits a line into its numbers and the texts between them.
fn split_numbers(line: &str) -> Vec<&str> {
    let is_digit = |character: char| character.is_ascii_digit();
    let mut parts = Vec::new();
    let mut rest = line;
    while let Some(first) = rest.chars().next() {
        let same = |character: char| is_digit(character) == is_digit(first);
        let end = rest.find(|character| !same(character)).unwrap_or(rest.len());
        let (part, after) = rest.split_at(end);
        parts.push(part);
        rest = after;
    }
    parts
}

const CARGO_RUN: &str = "cargo run --quiet";
const ANYTHING: &str = "…";
const LOOPBACK: &str = "127.0.0.1:";
const ANY_PORT: &str = "127.0.0.1:0";
/// The port of Redis on a page.
const REDIS_PORT: &str = "6379";
/// By how many seconds a time until a retry may be shorter than on the page.
const SLACK_SECS: u64 = 5;

#[cfg(test)]
mod tests {
    use super::{exchanges, matches};

    #[test]
    fn a_transcript_matches_its_own_output_only() {
        for (expected, printed, is_same) in [
            ("Hello.", "Hello.\n", true),
            ("Hello.", "Hello there.", false),
            ("a … c", "a b b c", true),
            ("a … c", "a b b d", false),
            ("a\n…\nc\n", "a\nb\nb\nc\n", true),
            ("a\n…", "a", true),
            ("a\n…\nc", "a\nb\n", false),
            ("retry-after: 600", "retry-after: 596\r\n", true),
            ("retry-after: 600", "retry-after: 590", false),
            ("retry-after: 600", "retry-after: 601", false),
            ("HTTP/1.1 429 …", "HTTP/1.1 428 Other", false),
        ] {
            assert_eq!(matches(expected, printed), is_same, "{expected:?} {printed:?}");
        }
    }

    #[test]
    fn each_command_has_the_output_below_it() {
        let transcript = "$ one \\\n    two\nthree\n$ four\n$ five\n\nsix\n";
        let expected = [("one \\\n    two", "three\n"), ("four", ""), ("five", "\nsix\n")];
        let expected = expected.map(|(command, printed)| (command.to_owned(), printed.to_owned()));
        assert_eq!(exchanges(transcript), expected);
    }
}
