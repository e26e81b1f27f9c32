//! The reference: a log of all times, without any algorithm.

use std::{collections::VecDeque, time::Duration};

use waiting_room_core::Timestamp;

/// All times within the window that ends now.
///
/// A window is half open: a time that is exactly one window old is outside.
#[derive(Clone, Debug)]
pub(super) struct Window {
    length: u128,
    times: VecDeque<u64>,
    most: u64,
}

impl Window {
    pub(super) fn new(length: Duration) -> Self {
        Self { length: length.as_nanos(), times: VecDeque::new(), most: 0 }
    }

    /// Adds a time, which must not be before the last one added.
    pub(super) fn add(&mut self, now: Timestamp) {
        self.times.push_back(now.as_nanos());
        // The fullest window is one that ends with a time, so it suffices to count here.
        self.most = self.most.max(self.count(now));
    }

    /// The number of times in the window that ends at `now`.
    pub(super) fn count(&mut self, now: Timestamp) -> u64 {
        let now = u128::from(now.as_nanos());
        while self.times.front().is_some_and(|&time| u128::from(time) + self.length <= now) {
            self.times.pop_front();
        }
        self.times.len() as u64
    }

    /// The highest number of times in any window.
    pub(super) const fn most(&self) -> u64 {
        self.most
    }
}

/// The correct decisions about the requests of one source.
#[derive(Clone, Debug)]
pub(super) struct Truth {
    /// For each request, the number of earlier requests in the window that ends with it.
    pub before: Vec<u64>,
    /// The number of requests that an exact limiter admits which counts only admitted requests.
    pub admitted: u64,
}

impl Truth {
    pub(super) fn of(arrivals: &[Timestamp], limit: u64, window: Duration) -> Self {
        let mut all = Window::new(window);
        let mut inside = Window::new(window);
        let mut truth = Self { before: Vec::with_capacity(arrivals.len()), admitted: 0 };
        for &now in arrivals {
            truth.before.push(all.count(now));
            all.add(now);
            if inside.count(now) < limit {
                inside.add(now);
                truth.admitted += 1;
            }
        }
        truth
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW: Duration = Duration::from_secs(60);

    fn seconds(times: &[u64]) -> Vec<Timestamp> {
        times.iter().map(|&time| Timestamp::from_secs(time)).collect()
    }

    #[test]
    fn an_event_of_exactly_one_window_ago_is_outside() {
        let mut window = Window::new(WINDOW);
        seconds(&[100, 159]).into_iter().for_each(|time| window.add(time));
        assert_eq!(window.count(Timestamp::from_secs(159)), 2);
        assert_eq!(window.count(Timestamp::from_secs(160)), 1);
        assert_eq!(window.most(), 2);
    }

    #[test]
    fn the_fullest_window_is_found_wherever_it_begins() {
        let mut window = Window::new(WINDOW);
        seconds(&[100, 150, 155, 165, 170, 214, 400]).into_iter().for_each(|t| window.add(t));
        assert_eq!(window.most(), 4);
    }

    #[test]
    fn the_exact_count_of_a_few_requests_agrees_with_counting_by_hand() {
        let truth = Truth::of(&seconds(&[100, 100, 110, 160, 165, 171]), 2, WINDOW);
        assert_eq!(truth.before, [0, 1, 2, 1, 2, 2]);
        // The third and the last request find two others in the window.
        assert_eq!(truth.admitted, 4);
    }
}
