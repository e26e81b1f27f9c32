//! What was counted of one algorithm.

/// One algorithm under the requests of some sources.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Tally {
    pub requests: u64,
    pub open: Wrong,
    pub closed: Wrong,
    /// The sum over all requests of how far the count of the algorithm was off, as a share of the
    /// true one.
    pub rate_error: f64,
    /// Closed loop: how many were allowed.
    pub admitted: u64,
    /// Closed loop: how many an exact limiter allows.
    pub admitted_exactly: u64,
    /// Closed loop: the most that was allowed in any window.
    pub most: u64,
}

/// Wrong decisions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Wrong {
    pub refused: u64,
    pub allowed: u64,
}

impl Tally {
    /// The same algorithm under the requests of other sources.
    pub(super) fn add(&mut self, other: &Self) {
        self.requests += other.requests;
        self.open.add(other.open);
        self.closed.add(other.closed);
        self.rate_error += other.rate_error;
        self.admitted += other.admitted;
        self.admitted_exactly += other.admitted_exactly;
        self.most = self.most.max(other.most);
    }
}

impl Wrong {
    /// Counts a decision that is not the right one.
    pub(super) const fn judge(&mut self, allowed: bool, right: bool) {
        match (allowed, right) {
            (true, false) => self.allowed += 1,
            (false, true) => self.refused += 1,
            _ => {}
        }
    }

    pub(super) const fn total(self) -> u64 {
        self.refused + self.allowed
    }

    const fn add(&mut self, other: Self) {
        self.refused += other.refused;
        self.allowed += other.allowed;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_added_up_keeps_the_fullest_window() {
        let one = Tally {
            requests: 9,
            open: Wrong { refused: 1, allowed: 2 },
            closed: Wrong { refused: 3, allowed: 4 },
            rate_error: 0.5,
            admitted: 6,
            admitted_exactly: 5,
            most: 7,
        };
        let mut sum = one;
        sum.add(&Tally { most: 2, ..one });
        let twice = Tally {
            requests: 18,
            open: Wrong { refused: 2, allowed: 4 },
            closed: Wrong { refused: 6, allowed: 8 },
            rate_error: 1.0,
            admitted: 12,
            admitted_exactly: 10,
            most: 7,
        };
        assert_eq!(sum, twice);
    }
}
