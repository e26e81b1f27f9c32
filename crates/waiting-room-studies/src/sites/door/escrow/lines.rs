//! The lines of sites, as their ledgers know them.

use std::collections::BTreeMap;

use waiting_room_sites::escrow::LineFront;

use crate::sites::clock::timestamp;

/// The present visitors in the line of each site, by the time of their arrival. Without sites, the ledgers
/// know of no line.
#[derive(Debug, Default)]
pub(super) struct Lines(Vec<BTreeMap<u32, u32>>);

impl Lines {
    /// Empty lines of this many sites.
    pub(super) fn of(sites: usize) -> Self {
        Self(vec![BTreeMap::new(); sites])
    }

    /// A visitor who has arrived at this time is in the line of a site from now on. Returns the front of
    /// the line, if its ledgers know of it.
    pub(super) fn join(&mut self, site: u16, arrived: u32) -> Option<LineFront> {
        let line = self.0.get_mut(usize::from(site))?;
        *line.entry(arrived).or_default() += 1;
        Some(front(line))
    }

    /// Such a visitor has left the line.
    pub(super) fn leave(&mut self, site: u16, arrived: u32) -> Option<LineFront> {
        let line = self.0.get_mut(usize::from(site))?;
        if let Some(visitors) = line.get_mut(&arrived) {
            *visitors -= 1;
            if *visitors == 0 {
                line.remove(&arrived);
            }
        }
        Some(front(line))
    }
}

fn front(line: &BTreeMap<u32, u32>) -> LineFront {
    let mut front = LineFront::new();
    line.iter().for_each(|(arrived, visitors)| front.add(timestamp(*arrived), *visitors));
    front
}
