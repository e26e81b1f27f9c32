//! The lines of sites, as their ledgers know them.

use std::collections::BTreeMap;

use waiting_room_ledger::model::LineFront;

use crate::sites::clock::timestamp;

/// The lines of the sites. Without sites, the ledgers know of no line.
#[derive(Debug, Default)]
pub(super) struct Lines(Vec<SiteLine>);

/// The present visitors in the line of a site, by the time of their arrival.
#[derive(Clone, Debug, Default)]
struct SiteLine {
    visitors: BTreeMap<u32, u32>,
    front: LineFront,
    /// The part of the front that the ledger of slots was told of.
    told: LineFront,
}

impl Lines {
    /// Empty lines of this many sites.
    pub(super) fn of(sites: usize) -> Self {
        Self(vec![SiteLine::default(); sites])
    }

    /// A visitor who has arrived at this time is in the line of a site from now on. Returns the front of
    /// the line, if its ledgers know of it.
    pub(super) fn join(&mut self, site: u16, arrived: u32) -> Option<LineFront> {
        let line = self.0.get_mut(usize::from(site))?;
        *line.visitors.entry(arrived).or_default() += 1;
        Some(line.look())
    }

    /// Such a visitor has left the line.
    pub(super) fn leave(&mut self, site: u16, arrived: u32) -> Option<LineFront> {
        let line = self.0.get_mut(usize::from(site))?;
        if let Some(visitors) = line.visitors.get_mut(&arrived) {
            *visitors -= 1;
            if *visitors == 0 {
                line.visitors.remove(&arrived);
            }
        }
        Some(line.look())
    }

    /// The visitors of a site for whom there is a place in the minute, and who therefore need a slot, if
    /// they are others than those that this has returned before.
    pub(super) fn with_place(
        &mut self,
        site: u16,
        places: impl FnOnce() -> u64,
    ) -> Option<LineFront> {
        let line = self.0.get_mut(usize::from(site))?;
        let front = first(&line.front, places());
        (std::mem::replace(&mut line.told, front) != front).then_some(front)
    }
}

impl SiteLine {
    fn look(&mut self) -> LineFront {
        self.front = LineFront::new();
        for (arrived, visitors) in &self.visitors {
            self.front.add(timestamp(*arrived), *visitors);
        }
        self.front
    }
}

/// The first visitors of a front.
fn first(front: &LineFront, mut visitors: u64) -> LineFront {
    let mut first = LineFront::new();
    for (arrived, count) in front.buckets() {
        let count = count.min(u32::try_from(visitors).unwrap_or(u32::MAX));
        first.add(arrived, count);
        visitors -= u64::from(count);
    }
    first
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_requested_for_visitors_with_a_place_in_the_minute() {
        let mut lines = Lines::of(1);
        let visitors =
            |front: LineFront| front.buckets().map(|(_, count)| count).collect::<Vec<_>>();
        for arrived in [1_000, 2_000, 7_000] {
            lines.join(0, arrived);
        }
        assert_eq!(lines.with_place(0, || 0), None, "it was told of none before");
        assert_eq!(lines.with_place(0, || 1).map(visitors), Some(vec![1]));
        assert_eq!(lines.with_place(0, || 1), None);
        assert_eq!(lines.with_place(0, || 100).map(visitors), Some(vec![2, 1]));
        lines.leave(0, 2_000);
        assert_eq!(lines.with_place(0, || 100).map(visitors), Some(vec![1, 1]));
        assert_eq!(Lines::default().with_place(0, || 100), None);
    }
}
