//! The knowledge of the sites about the world, and its age.

use std::{collections::VecDeque, sync::Arc};

use waiting_room_ledger::{
    SiteId,
    model::{Minute, WorldSnapshot},
};

use super::clock::{MINUTE, timestamp};

/// Snapshots of the world on their way to the sites, and the news of the line.
///
/// All sites receive them at the same time. A site that is cut off keeps what it received last.
#[derive(Debug)]
pub(super) struct News {
    delay: u32,
    line_delay: u32,
    version: u64,
    under_way: VecDeque<(u32, Arc<WorldSnapshot>)>,
    known: Option<Arc<WorldSnapshot>>,
    line_under_way: VecDeque<(u32, LineNews)>,
    line_known: LineNews,
    cut: Vec<Option<Cut>>,
    /// The number of new visitors admitted at each site, for the current minute and the last ones.
    minutes: VecDeque<(u32, Vec<u32>)>,
    /// The number of active visitors that each site last reported.
    reported: Vec<u32>,
}

/// The last news of a site that is cut off.
#[derive(Clone, Debug)]
struct Cut {
    known: Option<Arc<WorldSnapshot>>,
    line: LineNews,
}

/// The line, as the sites know it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct LineNews {
    pub(super) waiting: u32,
    /// Visitors who arrived in this second or before may ask. Later ones are told that they are not
    /// next.
    pub(super) frontier: u32,
    /// The number of admissions per minute, averaged over the last three minutes.
    pub(super) per_minute: f64,
}

impl Default for LineNews {
    /// No visitor waits.
    fn default() -> Self {
        Self { waiting: 0, frontier: u32::MAX, per_minute: 0.0 }
    }
}

impl LineNews {
    /// The wait in seconds of a visitor who arrives now. `None` if no visitor is being admitted.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
    pub(super) fn wait(&self) -> Option<u16> {
        let seconds = 60.0 * f64::from(self.waiting + 1) / self.per_minute;
        seconds.is_finite().then_some(seconds as u16)
    }
}

impl News {
    /// The snapshots of the world and the news of the line may have different delays.
    pub(super) fn new(sites: usize, delay: u32, line_delay: u32) -> Self {
        Self {
            delay,
            line_delay,
            version: 0,
            under_way: VecDeque::new(),
            known: None,
            line_under_way: VecDeque::new(),
            line_known: LineNews::default(),
            cut: vec![None; sites],
            minutes: VecDeque::new(),
            reported: vec![0; sites],
        }
    }

    /// Gives all sites a first snapshot of an empty world, because a node obtains one before it
    /// starts.
    pub(super) fn begin(&mut self, nodes: &[u16]) {
        self.publish(&vec![0; nodes.len()], nodes, 0);
        self.known = self.under_way.pop_front().map(|(_, snapshot)| snapshot);
    }

    /// Counts a new visitor who was admitted at this site.
    pub(super) fn count(&mut self, site: u16, now: u32) {
        self.turn(now);
        if let Some((_, visitors)) = self.minutes.back_mut() {
            visitors[usize::from(site)] += 1;
        }
    }

    /// Collects the reports of the sites, and sends a snapshot.
    pub(super) fn publish(&mut self, active: &[u32], nodes: &[u16], now: u32) {
        self.arrive(now);
        for (site, active) in active.iter().enumerate() {
            if self.cut[site].is_none() {
                self.reported[site] = *active;
            }
        }
        self.turn(now);
        self.version += 1;
        let site = |index: usize| SiteId::new(u16::try_from(index).unwrap_or(u16::MAX));
        let nodes = nodes.iter().enumerate().filter(|(_, nodes)| **nodes > 0);
        let mut snapshot = WorldSnapshot::new(self.version, timestamp(now))
            .with_active(self.reported.iter().sum())
            .with_nodes(nodes.map(|(index, nodes)| (site(index), u32::from(*nodes))));
        let over = now / MINUTE;
        for (minute, visitors) in self.minutes.iter().filter(|(minute, _)| *minute < over) {
            let visitors = visitors.iter().enumerate().filter(|(_, count)| **count > 0);
            snapshot = snapshot.with_traffic(
                Minute::of(timestamp(minute * MINUTE)),
                visitors.map(|(index, count)| (site(index), *count)),
            );
        }
        self.under_way.push_back((now + self.delay, Arc::new(snapshot)));
    }

    /// Sends the news of the line.
    pub(super) fn publish_line(&mut self, line: LineNews, now: u32) {
        self.arrive(now);
        self.line_under_way.push_back((now + self.line_delay, line));
    }

    /// The newest snapshot that this site has received.
    pub(super) fn world(&mut self, site: u16, now: u32) -> Option<&Arc<WorldSnapshot>> {
        self.arrive(now);
        match &self.cut[usize::from(site)] {
            Some(cut) => cut.known.as_ref(),
            None => self.known.as_ref(),
        }
    }

    /// The news of the line that this site has received.
    pub(super) fn line(&mut self, site: u16, now: u32) -> LineNews {
        self.arrive(now);
        self.cut[usize::from(site)].as_ref().map_or(self.line_known, |cut| cut.line)
    }

    /// Cuts off a site: it receives nothing from now on, and its reports do not arrive.
    pub(super) fn cut(&mut self, site: usize, now: u32) {
        self.arrive(now);
        self.cut[site] = Some(Cut { known: self.known.clone(), line: self.line_known });
    }

    /// Reconnects a site.
    pub(super) fn join(&mut self, site: usize) {
        self.cut[site] = None;
    }

    /// Discards the last report of a dead site.
    pub(super) fn forget(&mut self, site: usize) {
        self.reported[site] = 0;
    }

    pub(super) fn is_cut(&self, site: u16) -> bool {
        self.cut[usize::from(site)].is_some()
    }

    /// Begins to count the minutes that have begun. A minute without visitors also belongs to the
    /// history.
    fn turn(&mut self, now: u32) {
        let present = now / MINUTE;
        let mut next = self.minutes.back().map_or(present, |(last, _)| last + 1);
        while next <= present {
            self.minutes.push_back((next, vec![0; self.reported.len()]));
            if self.minutes.len() > WorldSnapshot::MINUTES {
                self.minutes.pop_front();
            }
            next += 1;
        }
    }

    fn arrive(&mut self, now: u32) {
        while self.under_way.front().is_some_and(|(at, _)| *at <= now) {
            self.known = self.under_way.pop_front().map(|(_, snapshot)| snapshot);
        }
        while let Some(&(at, line)) = self.line_under_way.front()
            && at <= now
        {
            self.line_known = line;
            self.line_under_way.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NODES: [u16; 2] = [1, 1];

    fn active(news: &mut News, site: u16, now: u32) -> u32 {
        news.world(site, now).unwrap().active()
    }

    #[test]
    fn nothing_piles_up_without_readers() {
        let mut news = News::new(2, 6_000, 6_000);
        for now in (0..86_400_000).step_by(2_000) {
            news.publish(&[1, 1], &NODES, now);
            news.publish_line(LineNews::default(), now);
        }
        assert!(news.under_way.len() <= 4 && news.line_under_way.len() <= 4);
    }

    #[test]
    fn a_site_that_is_cut_off_neither_receives_nor_is_received() {
        let mut news = News::new(2, 0, 0);
        news.publish(&[10, 1], &NODES, 0);
        news.cut(0, 0);
        news.publish(&[20, 2], &NODES, 1_000);
        assert_eq!([0, 1].map(|site| active(&mut news, site, 1_000)), [11, 12]);
        news.join(0);
        news.publish(&[20, 2], &NODES, 2_000);
        assert_eq!([0, 1].map(|site| active(&mut news, site, 2_000)), [22, 22]);
    }

    #[test]
    fn the_reports_of_a_dead_site_count_until_they_are_forgotten() {
        let mut news = News::new(2, 0, 0);
        news.publish(&[10, 1], &NODES, 0);
        news.cut(0, 0);
        news.publish(&[0, 1], &[0, 1], 1_000);
        assert_eq!(active(&mut news, 1, 1_000), 11);
        news.forget(0);
        news.publish(&[0, 1], &[0, 1], 2_000);
        assert_eq!(active(&mut news, 1, 2_000), 1);
    }
}
