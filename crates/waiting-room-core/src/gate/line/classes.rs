//! A line with a lane for each priority class.
//!
//! Two rules determine which class is served next. A class that has waiting requests, and fewer
//! running requests than reserved permits, goes first. If there is no such class, the class with
//! the lowest number goes first. For this comparison, a request's class number is lowered by one
//! for each full aging period that the request has waited.

use std::time::Duration;

use super::lane::{Lane, Line};
use crate::{
    Timestamp,
    gate::waiters::{Id, Waiters},
};

/// A line ordered by priority class, with the lowest class number first.
pub(in crate::gate) struct Classes {
    /// The classes, indexed by class number. There is at least one class, because rules without
    /// classes are invalid.
    classes: Vec<Class>,
    /// The length of an aging period, after which a waiting request's class number counts as one
    /// lower.
    aging: Duration,
}

/// The waiting requests and the reserved permits of one class.
struct Class {
    lane: Lane,
    /// The number of permits reserved for the class. While fewer requests of the class are running,
    /// the class is served before classes whose reserved permits are all in use.
    reserved: u32,
}

impl Classes {
    pub(in crate::gate) fn new(reserved: &[u32], aging: Duration) -> Self {
        let class = |&reserved| Class { lane: Lane::default(), reserved };
        Self { classes: reserved.iter().map(class).collect(), aging }
    }

    /// Returns the class to serve next, or `None` if no request is waiting.
    ///
    /// Of the classes that have waiting requests and fewer running requests than reserved permits,
    /// the lowest is served next. If there is no such class, the class with the lowest number after
    /// aging is served next. Aging lowers the number of a class by one for each full aging period
    /// that its oldest request has waited. Only the oldest request of each class matters, because
    /// the others have not waited as long.
    fn next_class(
        &self,
        now: Timestamp,
        running: &dyn Fn(u8) -> u32,
        waiters: &Waiters,
    ) -> Option<usize> {
        let waiting =
            || self.classes.iter().enumerate().filter(|(_, class)| !class.lane.is_empty());
        let is_short = |index: usize, class: &Class| {
            u8::try_from(index).is_ok_and(|index| running(index) < class.reserved)
        };
        let short = waiting().find(|(index, class)| is_short(*index, class));
        let rank = |(index, class): &(usize, &Class)| {
            let since = class.lane.oldest(waiters).unwrap_or(now);
            let aged = now.since(since).as_nanos() / self.aging.as_nanos().max(1);
            i128::try_from(*index).unwrap_or(i128::MAX) - i128::try_from(aged).unwrap_or(i128::MAX)
        };
        short.or_else(|| waiting().min_by_key(rank)).map(|(index, _)| index)
    }

    /// Returns the lane with this number, as returned by [`lane`](Line::lane).
    fn of(&mut self, lane: u64) -> Option<&mut Lane> {
        let index = usize::try_from(lane).ok()?;
        self.classes.get_mut(index).map(|class| &mut class.lane)
    }
}

/// The share of the queue that is guaranteed to a class: space for as many requests as the class
/// has reserved permits.
///
/// Without this guarantee, a crowd of another class could fill the queue and would then also get
/// the reserved permits, because no request of this class would be waiting for them.
impl Class {
    fn has_less_than_its_share(&self) -> bool {
        (self.lane.len() as u64) < self.reserved.into()
    }

    fn has_more_than_its_share(&self) -> bool {
        self.lane.len() as u64 > self.reserved.into()
    }
}

impl Line for Classes {
    fn lane(&self, class: u8, _: u64) -> u64 {
        u64::from(class).min(self.classes.len().saturating_sub(1) as u64)
    }

    fn push(&mut self, id: Id, waiters: &mut Waiters) {
        if let Some(lane) = self.of(waiters[id].lane) {
            lane.push(id, waiters);
        }
    }

    fn next(
        &mut self,
        now: Timestamp,
        _: bool,
        running: &dyn Fn(u8) -> u32,
        waiters: &mut Waiters,
    ) -> Option<Id> {
        let class = self.next_class(now, running, waiters)?;
        self.classes[class].lane.pop_first(waiters)
    }

    fn evict_for(&mut self, lane: u64, waiters: &mut Waiters) -> Option<Id> {
        // Only classes that use more than their share of the queue can lose requests, and the class
        // with the highest number loses one first. A newcomer evicts only requests of higher
        // classes, unless the newcomer's own class uses less than its share.
        let last = self.classes.iter().rposition(Class::has_more_than_its_share)?;
        let own = usize::try_from(lane).ok().and_then(|lane| self.classes.get(lane));
        let is_owed = own.is_some_and(Class::has_less_than_its_share);
        if last as u64 <= lane && !is_owed {
            return None;
        }
        self.classes[last].lane.pop_last(waiters)
    }

    fn remove(&mut self, id: Id, waiters: &mut Waiters) {
        if let Some(lane) = self.of(waiters[id].lane) {
            lane.remove(id, waiters);
        }
    }

    fn ahead(&self, lane: u64, _: bool) -> usize {
        let before = self.classes.iter().zip(0..=lane);
        // A class with reserved permits may be served before lower classes, so requests of lower
        // classes do not count towards the lower bound on the number of requests ahead.
        let in_own_share = |own: &Class| (own.reserved > 0).then_some(own.lane.len());
        let own = before.clone().last().and_then(|(own, _)| in_own_share(own));
        own.unwrap_or_else(|| before.map(|(class, _)| class.lane.len()).sum())
    }

    fn oldest(&self, waiters: &Waiters) -> Option<Timestamp> {
        self.classes.iter().filter_map(|class| class.lane.oldest(waiters)).min()
    }

    fn len(&self) -> usize {
        self.classes.iter().map(|class| class.lane.len()).sum()
    }
}
