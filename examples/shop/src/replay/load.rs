//! From a file to the arrivals that it stands for.

use waiting_room_sim::{Day, DayError};

use super::Pressed;
use crate::cli::ReplayArgs;

/// Reads the file, and makes of it what was asked for, for a room that lets in so many a minute.
pub(crate) fn load(args: &ReplayArgs, allowed_per_minute: f64) -> Result<Replay, DayError> {
    let window = &args.window;
    let day = Day::open(&args.file)?;
    let stretch = match &window.from {
        Some(from) => day.from(from, window.minutes)?,
        None => day.steepest(window.minutes)?,
    };
    let peak = allowed_per_minute * window.peak_factor;
    let pressed = Pressed::new(&day.counts()[stretch.clone()], window.press, peak);
    let (first, last) = (day.label(stretch.start), day.label(stretch.end - 1));
    let missing = match day.missing() {
        0 => String::new(),
        missing => format!(" ({missing} minutes of the file are missing, and count as 0)"),
    };
    Ok(Replay { pressed, story: format!("{first} to {last} of {}{missing}", args.file.display()) })
}

/// The arrivals of a stretch of a day, and what to call it.
#[derive(Clone, Debug)]
pub(crate) struct Replay {
    pub(crate) pressed: Pressed,
    pub(crate) story: String,
}
