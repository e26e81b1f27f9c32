//! Turns the settings of a room of Cloudflare Waiting Room into a configuration file.
//!
//! ```text
//! from-cloudflare room.json [--rules rules.json] [--events events.json] > waiting-room.toml
//! ```
//!
//! The files contain answers of Cloudflare's API. The configuration file goes to the standard
//! output. The settings that do not carry over, and the events, go to the standard error.

use std::{env, error::Error, fs, process::ExitCode};

use waiting_room_cloudflare::WaitingRoom;

fn main() -> ExitCode {
    // The first argument is the name of the program.
    match run(env::args().skip(1)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("from-cloudflare: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Reads the room, and prints the file and everything that is not part of it.
///
/// Nothing goes to the standard output unless the whole file is valid, so a failure does not leave
/// half a file behind.
fn run(mut args: impl Iterator<Item = String>) -> Result<(), Box<dyn Error>> {
    let room = args.next().ok_or(USAGE)?;
    if ["-h", "--help"].contains(&&*room) {
        println!("{USAGE}");
        return Ok(());
    }
    let mut room = WaitingRoom::from_json(&read(&room)?)?;
    while let Some(option) = args.next() {
        let path = args.next().ok_or(USAGE)?;
        room = match &*option {
            "--events" => room.with_events(&read(&path)?)?,
            "--rules" => room.with_rules(&read(&path)?)?,
            _ => return Err(USAGE.into()),
        };
    }
    print!("{}", room.to_toml()?);
    for event in room.schedule()?.events() {
        eprintln!("event: {}, add it to the file as one of [[events]]", event.name);
    }
    for setting in room.unsupported() {
        eprintln!("unsupported: {setting}");
    }
    Ok(())
}

/// Reads a file. An error names its path.
fn read(path: &str) -> Result<String, Box<dyn Error>> {
    fs::read_to_string(path).map_err(|error| format!("{path}: {error}").into())
}

/// The usage of the program.
const USAGE: &str = "usage: from-cloudflare room.json [--rules rules.json] [--events events.json]";
