//! Which stretch of a day is of interest.

use std::ops::Range;

use super::{Day, DayError};

impl Day {
    /// The stretch of `minutes` with the steepest rise: where the busiest minute exceeds the
    /// *first* by the most. Of equal ones it is the one with the most requests, and then the
    /// last, so that a rush is not cut off behind its summit.
    ///
    /// A day that is shorter is taken whole.
    ///
    /// # Errors
    ///
    /// There are no requests in it.
    pub fn steepest(&self, minutes: u32) -> Result<Range<usize>, DayError> {
        let length = length(minutes).min(self.counts.len());
        let mut best = ((0, 0), 0..length);
        for start in 0..=self.counts.len() - length {
            let stretch = start..start + length;
            let counts = &self.counts[stretch.clone()];
            let steepness = (rise(counts), total(counts));
            if steepness >= best.0 {
                best = (steepness, stretch);
            }
        }
        match best {
            ((_, total), stretch) if total > 0 => Ok(stretch),
            _ => Err(DayError::new("there are no requests in it")),
        }
    }

    /// The stretch of `minutes` that begins at this one, or what the day has of it.
    ///
    /// # Errors
    ///
    /// The day does not have this minute, or no requests from there on.
    pub fn from(&self, from: &str, minutes: u32) -> Result<Range<usize>, DayError> {
        let last = self.counts.len() - 1;
        let Some(start) = self.find(from) else {
            let (first, last) = (self.label(0), self.label(last));
            let message = format!("--from is {from:?}, expected a minute from {first} to {last}");
            return Err(DayError::new(message));
        };
        let stretch = start..(start + length(minutes)).min(last + 1);
        if total(&self.counts[stretch.clone()]) == 0 {
            let (first, last) = (self.label(start), self.label(stretch.end - 1));
            let message = format!("there are no requests from {first} to {last}");
            return Err(DayError::new(message));
        }
        Ok(stretch)
    }
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
