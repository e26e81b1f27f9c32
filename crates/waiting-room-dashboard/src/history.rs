//! The recent past of a room: the last 15 minutes by second, and the last two days by minute.
//!
//! Both are rings of fixed size, so a dashboard needs as much memory after a day as after a month.
//! [`RoomHistory::BYTES`] is the size of both rings.

use std::collections::VecDeque;

use serde_json::{Value, json};

/// The figures of one second, or of one minute.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct RoomSample {
    /// The beginning of the second or minute, in seconds since the Unix epoch.
    pub(super) at: u64,
    /// Whether the store answered. If not, there are no figures of the room.
    pub(super) is_known: bool,
    /// The number of active visitors. For a minute, the maximum of its seconds.
    pub(super) active: u32,
    /// The limit on active visitors.
    pub(super) limit: u32,
    /// The number of places in the line. For a minute, the maximum of its seconds.
    pub(super) waiting: u32,
    /// The number of visitors admitted in the last 60 seconds.
    pub(super) admitted: u32,
    /// The number of requests that were refused in this second or minute.
    pub(super) refused: u32,
    /// The median wait of the visitors admitted in the last 60 seconds, in milliseconds.
    pub(super) p50: Option<u32>,
    /// The wait that 95 % of these visitors did not exceed, in milliseconds.
    pub(super) p95: Option<u32>,
    /// The wait estimated for a visitor who arrives at the back of the line, in milliseconds.
    pub(super) told: Option<u32>,
}

/// The history of a room.
#[derive(Debug)]
pub(super) struct RoomHistory {
    seconds: VecDeque<RoomSample>,
    minutes: VecDeque<RoomSample>,
}

impl RoomHistory {
    /// The number of seconds in 15 minutes.
    pub(super) const SECONDS: usize = 15 * 60;
    /// The number of minutes in two days.
    pub(super) const MINUTES: usize = 2 * 24 * 60;
    /// The size of both rings, in bytes.
    #[cfg(test)]
    pub(super) const BYTES: usize = (Self::SECONDS + Self::MINUTES) * size_of::<RoomSample>();

    /// Adds the figures of a second. A later sample of the same second replaces the earlier sample,
    /// and keeps the requests that the earlier sample counted.
    pub(super) fn push(&mut self, sample: RoomSample) {
        let mut second = sample;
        if let Some(last) = pop_from(&mut self.seconds, sample.at) {
            second = RoomSample { at: last.at, refused: last.refused + sample.refused, ..sample };
        }
        add(&mut self.seconds, second, Self::SECONDS);

        let mut minute = RoomSample { at: second.at - second.at % 60, ..sample };
        if let Some(last) = pop_from(&mut self.minutes, minute.at) {
            if !minute.is_known {
                let refused = minute.refused;
                minute = RoomSample { refused, ..last };
            }
            minute.at = last.at;
            minute.active = minute.active.max(last.active);
            minute.waiting = minute.waiting.max(last.waiting);
            minute.refused = minute.refused.saturating_add(last.refused);
        }
        add(&mut self.minutes, minute, Self::MINUTES);
    }

    /// The last 15 minutes by second, oldest first.
    pub(super) const fn seconds(&self) -> &VecDeque<RoomSample> {
        &self.seconds
    }

    /// The last two days by minute, oldest first.
    pub(super) const fn minutes(&self) -> &VecDeque<RoomSample> {
        &self.minutes
    }
}

impl Default for RoomHistory {
    /// Creates an empty history. All of its memory is reserved here.
    fn default() -> Self {
        Self {
            seconds: VecDeque::with_capacity(Self::SECONDS),
            minutes: VecDeque::with_capacity(Self::MINUTES),
        }
    }
}

/// Removes the last sample of a ring if it does not end before `at`.
fn pop_from(ring: &mut VecDeque<RoomSample>, at: u64) -> Option<RoomSample> {
    if ring.back()?.at >= at { ring.pop_back() } else { None }
}

/// Adds a sample to a ring, and removes the oldest sample of a full ring.
fn add(ring: &mut VecDeque<RoomSample>, sample: RoomSample, most: usize) {
    if ring.len() == most {
        ring.pop_front();
    }
    ring.push_back(sample);
}

/// Returns the figures of these samples, one list for each figure.
pub(super) fn columns<'a>(samples: impl Iterator<Item = &'a RoomSample> + Clone) -> Value {
    let all = |figure: fn(&RoomSample) -> Option<u32>| -> Vec<_> {
        samples.clone().map(figure).collect()
    };
    let known = |figure: fn(&RoomSample) -> u32| -> Vec<_> {
        samples.clone().map(|sample| sample.is_known.then(|| figure(sample))).collect()
    };
    json!({
        "at": samples.clone().map(|sample| sample.at).collect::<Vec<_>>(),
        "active": known(|sample| sample.active),
        "limit": known(|sample| sample.limit),
        "waiting": known(|sample| sample.waiting),
        "admitted": known(|sample| sample.admitted),
        "refused": all(|sample| Some(sample.refused)),
        "p50": all(|sample| sample.p50),
        "p95": all(|sample| sample.p95),
        "told": all(|sample| sample.told),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn second(at: u64, waiting: u32, refused: u32) -> RoomSample {
        RoomSample { at, is_known: true, waiting, refused, ..RoomSample::default() }
    }

    #[test]
    fn the_rings_keep_15_minutes_and_two_days_and_never_grow() {
        let mut history = RoomHistory::default();
        let before = (history.seconds.capacity(), history.minutes.capacity());
        for at in 0..3 * 24 * 60 * 60 {
            history.push(second(at, 0, 1));
        }
        assert_eq!((history.seconds.len(), history.minutes.len()), (900, 2_880));
        assert_eq!((history.seconds.capacity(), history.minutes.capacity()), before);
        assert_eq!(history.seconds[0].at, 3 * 24 * 60 * 60 - 900);
        assert_eq!(history.minutes[0].at, 24 * 60 * 60);
        assert_eq!(history.minutes[0].refused, 60);
    }

    #[test]
    fn both_rings_fit_into_a_megabyte() {
        const { assert!(RoomHistory::BYTES <= 1 << 20) };
    }

    #[test]
    fn a_minute_has_the_longest_line_of_its_seconds_and_the_sum_of_the_refusals() {
        let mut history = RoomHistory::default();
        for (at, waiting) in [(120, 3), (121, 9), (179, 4), (180, 1)] {
            history.push(second(at, waiting, 2));
        }
        let minutes: Vec<_> = history
            .minutes()
            .iter()
            .map(|minute| (minute.at, minute.waiting, minute.refused))
            .collect();
        assert_eq!(minutes, [(120, 9, 6), (180, 1, 2)]);
    }

    #[test]
    fn a_clock_that_stands_still_adds_no_second_and_loses_no_refusal() {
        let mut history = RoomHistory::default();
        history.push(second(60, 1, 5));
        history.push(second(60, 2, 6));
        assert_eq!(history.seconds(), &[second(60, 2, 11)]);
        assert_eq!(history.minutes()[0].refused, 11);
    }
}
