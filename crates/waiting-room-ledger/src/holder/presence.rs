//! The sites on the list that have a stream, and the time for which the other sites have had no
//! stream. Time is an argument, and nothing waits here.

use std::{collections::BTreeMap, time::Duration};

use tokio::time::Instant;

use crate::SiteId;

/// The time for which a site can be without a stream before a warning reports it as away: a minute.
const AWAY_AFTER: Duration = Duration::from_secs(60);

/// The interval at which the list is compared with the streams.
const LOOK: Duration = Duration::from_secs(1);

/// The presence of all sites on the list in one term.
#[derive(Debug)]
pub(super) struct Presence {
    begun: Instant,
    /// The time of the last comparison.
    looked: Option<Instant>,
    sites: BTreeMap<SiteId, Site>,
}

/// The presence of one site.
#[derive(Clone, Copy, Debug)]
struct Site {
    /// The time at which the site was last connected; if it never was, the time from which it is
    /// expected.
    seen: Instant,
    is_told: bool,
}

/// A change of a site's presence, for the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum News {
    /// The site has had no stream for this long.
    Away(SiteId, Duration),
    /// The site has a stream again, after this time.
    Back(SiteId, Duration),
}

impl Presence {
    /// Begins a term, in which all sites on the list are expected.
    pub(super) const fn new(now: Instant) -> Self {
        Self { begun: now, looked: None, sites: BTreeMap::new() }
    }

    /// Returns whether a second has passed since the last look.
    pub(super) fn is_due(&self, now: Instant) -> bool {
        self.looked.is_none_or(|looked| now >= looked + LOOK)
    }

    /// Compares the sites on the list with those that have a stream. Reports each absence of more
    /// than a minute once, and later its end.
    pub(super) fn look(
        &mut self,
        now: Instant,
        listed: impl Iterator<Item = SiteId>,
        is_connected: impl Fn(SiteId) -> bool,
    ) -> Vec<News> {
        // A site that was added since the last look is expected from now on.
        let expected = if self.looked.is_some() { now } else { self.begun };
        self.looked = Some(now);
        let mut news = Vec::new();
        let before = std::mem::take(&mut self.sites);
        for id in listed {
            let new = Site { seen: expected, is_told: false };
            let mut site = before.get(&id).copied().unwrap_or(new);
            let silent_for = now.duration_since(site.seen);
            if is_connected(id) {
                if site.is_told {
                    news.push(News::Back(id, silent_for));
                }
                site = Site { seen: now, is_told: false };
            } else if silent_for >= AWAY_AFTER && !site.is_told {
                news.push(News::Away(id, silent_for));
                site.is_told = true;
            }
            self.sites.insert(id, site);
        }
        news
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SITES: [SiteId; 2] = [SiteId::new(1), SiteId::new(2)];

    /// Looks once in each of these seconds, and returns each report with its time.
    fn look(
        presence: &mut Presence,
        begin: Instant,
        seconds: std::ops::Range<u64>,
        (listed, connected): (&[SiteId], &[SiteId]),
    ) -> Vec<(u64, News)> {
        let mut reported = Vec::new();
        for second in seconds {
            let now = begin + Duration::from_secs(second);
            assert!(presence.is_due(now));
            let news = presence.look(now, listed.iter().copied(), |site| connected.contains(&site));
            reported.extend(news.into_iter().map(|news| (second, news)));
            assert!(!presence.is_due(now + LOOK / 2));
        }
        reported
    }

    #[test]
    fn each_absence_of_a_minute_and_its_end_are_reported_once() {
        let begin = Instant::now();
        let mut presence = Presence::new(begin);
        let [paris, tokyo] = SITES;
        let seconds = Duration::from_secs;
        // Tokyo has not connected since the term began.
        let reported = look(&mut presence, begin, 0..200, (&SITES, &[paris]));
        assert_eq!(reported, [(60, News::Away(tokyo, seconds(60)))]);
        let reported = look(&mut presence, begin, 200..300, (&SITES, &[tokyo]));
        // Paris was last seen at 199 s.
        let back = (200, News::Back(tokyo, seconds(200)));
        assert_eq!(reported, [back, (259, News::Away(paris, seconds(60)))]);
        let reported = look(&mut presence, begin, 300..301, (&SITES, &SITES));
        assert_eq!(reported, [(300, News::Back(paris, seconds(101)))]);
        // Shorter absences are not reported.
        let reported = look(&mut presence, begin, 301..360, (&SITES, &[]));
        assert_eq!(reported, []);
        assert_eq!(look(&mut presence, begin, 360..361, (&SITES, &SITES)), []);
        // A second absence is reported like the first one.
        let reported = look(&mut presence, begin, 361..500, (&SITES, &[tokyo]));
        assert_eq!(reported, [(420, News::Away(paris, seconds(60)))]);
    }

    #[test]
    fn an_added_site_is_expected_and_a_removed_one_forgotten() {
        let begin = Instant::now();
        let mut presence = Presence::new(begin);
        let [paris, tokyo] = SITES;
        assert_eq!(look(&mut presence, begin, 0..500, (&[paris], &[paris])), []);
        let reported = look(&mut presence, begin, 500..600, (&SITES, &[paris]));
        assert_eq!(reported, [(560, News::Away(tokyo, Duration::from_secs(60)))]);
        assert_eq!(look(&mut presence, begin, 600..601, (&[paris], &[paris])), []);
        let reported = look(&mut presence, begin, 601..700, (&SITES, &[paris]));
        assert_eq!(reported, [(661, News::Away(tokyo, Duration::from_secs(60)))]);
    }
}
