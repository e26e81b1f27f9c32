//! Arrival times that follow the shape of a real day.
//!
//! ```text
//! file ─► Day ─► the steepest hour ─► compressed to three minutes ─► scaled ─► Replay
//!         every minute, in order      each minute to 3 s             the busiest minute asks for
//!                                                                    three times what is allowed
//! ```
//!
//! Only the shape of the day is used: where it climbs, and how fast. The number of visitors follows
//! from the limits of the room, so that any day fills any room, and every replay is short.

#[cfg(test)]
mod tests;

use std::time::Duration;

use rand::{Rng, RngExt};
use waiting_room_sim::{Day, DayError};

use crate::cli::ReplayArgs;

/// Reads a file, and scales the selected part for a room that admits `allowed_per_minute` visitors
/// per minute.
pub(crate) fn load(args: &ReplayArgs, allowed_per_minute: f64) -> Result<Replay, DayError> {
    let window = &args.window;
    let day = Day::open(&args.file)?;
    let stretch = match &window.from {
        Some(from) => day.from(from, window.minutes)?,
        None => day.steepest(window.minutes)?,
    };
    let peak = allowed_per_minute * window.peak_factor;
    let pressed = Pressed::new(&day.counts()[stretch.clone()], window.press, peak);
    let first = day.label(stretch.start);
    let last = day.label(stretch.end - 1);
    let missing = match day.missing() {
        0 => String::new(),
        missing => format!(" ({missing} minutes of the file are missing, and count as 0)"),
    };
    Ok(Replay { pressed, story: format!("{first} to {last} of {}{missing}", args.file.display()) })
}

/// The arrivals of a part of a day, and its description.
#[derive(Clone, Debug)]
pub(crate) struct Replay {
    pub(crate) pressed: Pressed,
    pub(crate) story: String,
}

/// The number of visitors in each of many equal parts of a short period.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Pressed {
    visitors: Vec<u32>,
    part: Duration,
    over: Duration,
}

impl Pressed {
    /// The period over which a peak is measured, because the limits are per minute.
    const MINUTE: Duration = Duration::from_secs(60);

    /// Compresses the counts into the time `over`, and scales them so that `peak` visitors arrive
    /// in the busiest minute of that time.
    ///
    /// The numbers are rounded to whole visitors, and each rounding error is carried to the next
    /// part.
    pub(crate) fn new(counts: &[u32], over: Duration, peak: f64) -> Self {
        let parts = u32::try_from(counts.len()).unwrap_or(u32::MAX).max(1);
        let part = over / parts;
        let scale = peak / busiest_per_minute(counts, part).max(f64::MIN_POSITIVE);
        let mut come = 0_u32;
        let mut sum = 0.0;
        let visitors = counts.iter().map(|&count| {
            sum += f64::from(count) * scale;
            let next = rounded(sum) - come;
            come += next;
            next
        });
        Self { visitors: visitors.collect(), part, over }
    }

    /// The total number of visitors.
    pub(crate) fn visitors(&self) -> u32 {
        self.visitors.iter().fold(0, |sum, &part| sum.saturating_add(part))
    }

    /// The number of visitors in the busiest minute, extrapolated if the whole replay is shorter.
    pub(crate) fn peak_per_minute(&self) -> f64 {
        busiest_per_minute(&self.visitors, self.part)
    }

    /// The time within which all visitors arrive.
    pub(crate) const fn over(&self) -> Duration {
        self.over
    }

    /// Draws the arrival times, in ascending order, each uniformly within its part.
    pub(crate) fn arrivals(&self, chance: &mut impl Rng) -> Vec<Duration> {
        let mut arrivals = Vec::new();
        let mut begin = Duration::ZERO;
        for &visitors in &self.visitors {
            for _ in 0..visitors {
                arrivals.push(begin + self.part.mul_f64(chance.random_range(0.0..1.0)));
            }
            begin += self.part;
        }
        arrivals.sort_unstable();
        arrivals
    }
}

/// The rate of the busiest minute, in visitors per minute. A minute is a whole number of parts, or
/// all parts if together they are shorter than a minute.
fn busiest_per_minute(counts: &[u32], part: Duration) -> f64 {
    let in_a_minute = Pressed::MINUTE.as_nanos().div_ceil(part.as_nanos().max(1));
    let length = usize::try_from(in_a_minute).unwrap_or(usize::MAX).min(counts.len()).max(1);
    let sum = |window: &[u32]| window.iter().map(|&count| f64::from(count)).sum::<f64>();
    let busiest = counts.windows(length).map(sum).fold(0.0, f64::max);
    busiest * Pressed::MINUTE.as_secs_f64() / (part.as_secs_f64() * length as f64)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a conversion of a float to an integer saturates, and the sum is not negative"
)]
fn rounded(sum: f64) -> u32 {
    sum.round() as u32
}
