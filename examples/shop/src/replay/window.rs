//! Which stretch of a day is replayed.

use std::ops::Range;

use super::{ReplayError, day::Day};

/// The stretch of `minutes` with the steepest rise: where the busiest minute exceeds the *first* by
/// the most, and of equal ones the one with the most requests, so that a rush is not cut off behind
/// its summit. For an hour of a real day it is the one that the simulator takes.
///
/// A day that is shorter is taken whole.
pub(super) fn steepest(day: &Day, minutes: u32) -> Result<Range<usize>, ReplayError> {
    let length = length(minutes).min(day.counts.len());
    let mut best = ((0, 0), 0..length);
    for start in 0..=day.counts.len() - length {
        let stretch = start..start + length;
        let counts = &day.counts[stretch.clone()];
        let steepness = (rise(counts), total(counts));
        if steepness > best.0 {
            best = (steepness, stretch);
        }
    }
    match best {
        ((_, total), stretch) if total > 0 => Ok(stretch),
        _ => Err(ReplayError::new("there are no requests in it")),
    }
}

/// The stretch of `minutes` that begins at this one, or what the day has of it.
pub(super) fn from(day: &Day, from: &str, minutes: u32) -> Result<Range<usize>, ReplayError> {
    let last = day.counts.len() - 1;
    let Some(start) = day.find(from) else {
        let (first, last) = (day.label(0), day.label(last));
        let message = format!("--from is {from:?}, expected a minute from {first} to {last}");
        return Err(ReplayError::new(message));
    };
    let stretch = start..(start + length(minutes)).min(last + 1);
    if total(&day.counts[stretch.clone()]) == 0 {
        let (first, last) = (day.label(start), day.label(stretch.end - 1));
        let message = format!("there are no requests from {first} to {last}");
        return Err(ReplayError::new(message));
    }
    Ok(stretch)
}

fn rise(counts: &[u32]) -> u32 {
    let highest = counts.iter().copied().max().unwrap_or(0);
    highest - counts.first().copied().unwrap_or(0)
}

fn total(counts: &[u32]) -> u64 {
    counts.iter().map(|&count| u64::from(count)).sum()
}

fn length(minutes: u32) -> usize {
    usize::try_from(minutes).unwrap_or(usize::MAX)
}
