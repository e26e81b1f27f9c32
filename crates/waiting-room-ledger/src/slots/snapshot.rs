//! The state of the world as a site knows it, the identity of sites, and calendar minutes.

use std::{collections::BTreeMap, time::Duration};

use waiting_room_core::Timestamp;

/// A site, identified by a number that all sites agree on.
///
/// If two sites have equal claims to a slot, the lower number comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SiteId(u16);

impl SiteId {
    /// The site with this number.
    #[must_use]
    pub const fn new(number: u16) -> Self {
        Self(number)
    }

    /// The number of the site.
    #[must_use]
    pub const fn number(self) -> u16 {
        self.0
    }
}

/// A calendar minute, counted from the Unix epoch. It is the article's `bucketId`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Minute(u32);

impl Minute {
    /// The length of a minute.
    pub const LENGTH: Duration = Duration::from_secs(60);

    /// The minute with this number since the Unix epoch.
    #[must_use]
    pub const fn new(number: u32) -> Self {
        Self(number)
    }

    /// The number of the minute since the Unix epoch.
    #[must_use]
    pub const fn number(self) -> u32 {
        self.0
    }

    /// The minute in which `at` falls.
    #[must_use]
    pub fn of(at: Timestamp) -> Self {
        Self(u32::try_from(at.as_secs() / 60).unwrap_or(u32::MAX))
    }

    /// The previous minute, or this one if it is the first after the epoch.
    #[must_use]
    pub const fn previous(self) -> Self {
        Self(self.0.saturating_sub(1))
    }

    /// The next minute.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }

    /// The first instant of the minute.
    #[must_use]
    pub fn start(self) -> Timestamp {
        Timestamp::from_secs(60 * u64::from(self.0))
    }

    /// The first instant after the minute.
    #[must_use]
    pub fn end(self) -> Timestamp {
        self.start() + Self::LENGTH
    }
}

/// The state of the world at one instant, by which every site decides until it receives a newer
/// one.
///
/// It is made in one place and published with a version, so that all sites split the slots of a
/// minute by the same numbers. It is the article's waiting room state.
///
/// ```
/// use waiting_room_core::Timestamp;
/// use waiting_room_ledger::{
///     SiteId,
///     model::{Minute, WorldSnapshot},
/// };
///
/// let now = Timestamp::from_secs(1_694_432_754); // 11:45:54
/// let [san_jose, london] = [1, 2].map(SiteId::new);
/// let snapshot = WorldSnapshot::new(1, now)
///     .with_active(50)
///     .with_nodes([(san_jose, 3), (london, 7)])
///     .with_traffic(Minute::of(now).previous(), [(san_jose, 20), (london, 30)]);
/// assert_eq!((snapshot.nodes(), snapshot.site_nodes(san_jose)), (10, 3));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorldSnapshot {
    version: u64,
    made_at: Timestamp,
    active: u32,
    nodes: u32,
    site_nodes: Counts,
    history: BTreeMap<Minute, Counts>,
}

impl WorldSnapshot {
    /// The number of recent minutes for which traffic is kept.
    pub const MINUTES: usize = 4;

    /// Creates a snapshot of an empty world at this instant. A higher version replaces a lower one.
    #[must_use]
    pub const fn new(version: u64, made_at: Timestamp) -> Self {
        Self {
            version,
            made_at,
            active: 0,
            nodes: 0,
            site_nodes: Counts(Vec::new()),
            history: BTreeMap::new(),
        }
    }

    /// Sets the number of active visitors in the world.
    #[must_use]
    pub const fn with_active(mut self, active: u32) -> Self {
        self.active = active;
        self
    }

    /// Sets the number of nodes that run at each site.
    ///
    /// A node that starts later is not counted before the next snapshot. Until then all nodes
    /// together may admit more visitors than there are slots.
    #[must_use]
    pub fn with_nodes(mut self, nodes: impl IntoIterator<Item = (SiteId, u32)>) -> Self {
        self.site_nodes = nodes.into_iter().collect();
        self.nodes = u32::try_from(self.site_nodes.total()).unwrap_or(u32::MAX);
        self
    }

    /// Sets the number of new visitors at each site in this minute.
    ///
    /// A minute that was not over when the snapshot was made is never used, because a part of a
    /// minute does not show the traffic of the whole.
    #[must_use]
    pub fn with_traffic(
        mut self,
        minute: Minute,
        visitors: impl IntoIterator<Item = (SiteId, u32)>,
    ) -> Self {
        self.history.insert(minute, visitors.into_iter().collect());
        while self.history.len() > Self::MINUTES {
            self.history.pop_first();
        }
        self
    }

    /// The version, by which the newer of two snapshots is found.
    #[must_use]
    pub const fn version(&self) -> u64 {
        self.version
    }

    /// The instant that the snapshot describes.
    #[must_use]
    pub const fn made_at(&self) -> Timestamp {
        self.made_at
    }

    /// The number of active visitors in the world.
    #[must_use]
    pub const fn active(&self) -> u32 {
        self.active
    }

    /// The number of nodes in the world.
    #[must_use]
    pub const fn nodes(&self) -> u32 {
        self.nodes
    }

    /// The number of nodes of one site.
    #[must_use]
    pub fn site_nodes(&self, site: SiteId) -> u32 {
        self.site_nodes.of(site)
    }

    /// The traffic by which the slots of `minute` are split, in the order of the sites.
    ///
    /// It is the traffic of the minute before or, if that minute was not over when the snapshot was
    /// made, of an earlier minute. It is empty if no traffic is known.
    #[must_use]
    pub fn traffic(&self, minute: Minute) -> &[(SiteId, u32)] {
        self.traffic_minute(minute).map_or(&[], |known| &self.history[&known].0)
    }

    /// The minute whose numbers [`traffic`](Self::traffic) returns.
    #[must_use]
    pub fn traffic_minute(&self, minute: Minute) -> Option<Minute> {
        let before = self.history.range(..minute).map(|(known, _)| *known);
        before.rev().find(|known| known.end() <= self.made_at)
    }
}

/// A number for each site, in the order of the sites.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Counts(Vec<(SiteId, u32)>);

impl Counts {
    fn of(&self, site: SiteId) -> u32 {
        let found = self.0.binary_search_by_key(&site, |(id, _)| *id);
        found.map_or(0, |at| self.0[at].1)
    }

    fn total(&self) -> u64 {
        self.0.iter().map(|(_, count)| u64::from(*count)).sum()
    }
}

impl FromIterator<(SiteId, u32)> for Counts {
    /// Adds up the counts of a site that is named more than once.
    fn from_iter<T: IntoIterator<Item = (SiteId, u32)>>(counts: T) -> Self {
        let mut by_site = BTreeMap::<SiteId, u32>::new();
        for (site, count) in counts {
            let sum = by_site.entry(site).or_default();
            *sum = sum.saturating_add(count);
        }
        Self(by_site.into_iter().collect())
    }
}
