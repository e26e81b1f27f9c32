//! The ends of sessions that a node still has to report to the store.
//!
//! An end is reported with the response that ends the session. If that is not possible, for example
//! because the client has disconnected, the next requests that call the store report the end, a few
//! ends with each request. A request waits for the end of its own visitor only: the other ends are
//! reported while the store handles the request, and no request waits for them.

use std::{
    collections::{BTreeMap, HashMap, hash_map::Entry},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use waiting_room_core::VisitorId;

/// The session ends that are still to be reported.
#[derive(Debug, Default)]
pub(crate) struct Ends(Mutex<EndList>);

/// All session ends on the list, without duplicates and with ascending numbers.
#[derive(Debug, Default)]
struct EndList {
    by_age: BTreeMap<u64, VisitorId>,
    numbers: HashMap<VisitorId, u64>,
    next: u64,
}

impl Ends {
    /// The maximum number of session ends that may be waiting to be reported. They take up a few
    /// MiB. Further ends are dropped, and their slots become free when the sessions lapse.
    pub(super) const MAX: usize = 65_536;
    /// The maximum number of session ends that one request delivers for other visitors.
    const TOLD_AT_ONCE: usize = 8;

    /// Records that the end of a session has to be reported to the store. A later request reports
    /// the end, even if the response to the current request is never sent.
    pub(crate) fn owe(&self, id: VisitorId) {
        let EndList { by_age, numbers, next } = &mut *self.list();
        if numbers.len() < Self::MAX
            && let Entry::Vacant(number) = numbers.entry(id)
        {
            number.insert(*next);
            by_age.insert(*next, id);
            *next += 1;
        }
    }

    /// Takes the end of this session off the list, for a caller that delivers it to the store. No
    /// other request then delivers the same end.
    pub(crate) fn take_end(self: &Arc<Self>, id: VisitorId) -> Owed {
        let EndList { by_age, numbers, .. } = &mut *self.list();
        if let Some(number) = numbers.remove(&id) {
            by_age.remove(&number);
        }
        Owed { told: vec![id], ends: Arc::clone(self) }
    }

    /// If the end of an earlier session of `asker` is on the list, takes this end off the list. The
    /// caller delivers the end before it asks the store about `asker`. A person has the same id in
    /// each session, so a later delivery would end the person's next session.
    pub(crate) fn take_own(self: &Arc<Self>, asker: VisitorId) -> Owed {
        let EndList { by_age, numbers, .. } = &mut *self.list();
        let number = numbers.remove(&asker);
        if let Some(number) = number {
            by_age.remove(&number);
        }
        Owed { told: number.map(|_| asker).into_iter().collect(), ends: Arc::clone(self) }
    }

    /// Takes up to [`Self::TOLD_AT_ONCE`] ends of sessions off the list, oldest first, for a caller
    /// that delivers them to the store.
    pub(crate) fn take_owed(self: &Arc<Self>) -> Owed {
        let mut taken = Vec::new();
        let mut list = self.list();
        while taken.len() < Self::TOLD_AT_ONCE
            && let Some((_, id)) = list.by_age.pop_first()
        {
            list.numbers.remove(&id);
            taken.push(id);
        }
        // The lock is released before the `Owed` is created, because dropping an `Owed` takes the
        // same lock.
        drop(list);
        // The end that is delivered next has to be the last element.
        taken.reverse();
        Owed { told: taken, ends: Arc::clone(self) }
    }

    /// Locks the list, even if another thread panicked while holding the lock. At worst, an end is
    /// then in only one of the two maps, and its slot becomes free when the session lapses.
    fn list(&self) -> MutexGuard<'_, EndList> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The ends of sessions that are being delivered to the store.
///
/// # Cancel safety
///
/// Dropping this value puts the ends that were not delivered back on the list. Therefore, no end is
/// lost if the store fails, or if the request that delivers it is dropped. An end may be delivered
/// twice, which is harmless because `leave` is idempotent.
#[derive(Debug)]
pub(crate) struct Owed {
    /// The ends that are still to be delivered.
    told: Vec<VisitorId>,
    ends: Arc<Ends>,
}

impl Owed {
    /// Returns the next end to deliver, or `None` once all ends are delivered.
    pub(crate) fn next(&self) -> Option<VisitorId> {
        self.told.last().copied()
    }

    /// Records that the end returned by [`next`](Self::next) was delivered.
    pub(crate) fn is_told(&mut self) {
        self.told.pop();
    }
}

impl Drop for Owed {
    fn drop(&mut self) {
        self.told.drain(..).for_each(|id| self.ends.owe(id));
    }
}

/// A session whose pass has not been sent to its visitor yet.
///
/// If this value is dropped before the pass is sent, the session ends with the next call to the
/// store. Otherwise a newcomer who reloads a slow page would take another slot with each reload,
/// because the aborted responses never delivered a pass. Nothing else is remembered about the
/// session, because none of its passes exists outside this node.
#[derive(Debug)]
pub(crate) struct Undelivered(Option<(VisitorId, Arc<Ends>)>);

impl Undelivered {
    /// Creates the guard for the session of a newcomer. The id was generated for this request, so
    /// no other request can have been admitted to the same session.
    pub(crate) const fn new(id: VisitorId, ends: Arc<Ends>) -> Self {
        Self(Some((id, ends)))
    }

    /// Records that the pass is sent with a response. From then on, the session belongs to the
    /// visitor.
    pub(crate) fn sent(mut self) {
        self.0 = None;
    }
}

impl Drop for Undelivered {
    fn drop(&mut self) {
        if let Some((id, ends)) = self.0.take() {
            ends.owe(id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owe(ends: &Ends, ids: std::ops::Range<u128>) {
        ids.for_each(|id| ends.owe(VisitorId::new(id)));
    }

    /// Takes and delivers all ends, and returns them in the order of their delivery.
    fn delivered(ends: &Arc<Ends>) -> Vec<VisitorId> {
        let mut told = Vec::new();
        loop {
            let mut owed = ends.take_owed();
            if owed.next().is_none() {
                return told;
            }
            while let Some(id) = owed.next() {
                owed.is_told();
                told.push(id);
            }
        }
    }

    #[test]
    fn every_unsent_pass_of_a_flood_is_given_back() {
        let ends = Arc::new(Ends::default());
        Undelivered::new(VisitorId::new(1), Arc::clone(&ends)).sent();
        assert_eq!(ends.take_owed().next(), None);
        for id in 0..20_500 {
            drop(Undelivered::new(VisitorId::new(id), Arc::clone(&ends)));
        }
        assert_eq!(delivered(&ends), (0..20_500).map(VisitorId::new).collect::<Vec<_>>());
    }

    #[test]
    fn an_end_is_delivered_once_and_oldest_first() {
        let ends = Arc::new(Ends::default());
        owe(&ends, 1..20);
        owe(&ends, 2..3);
        let mut own = ends.take_end(VisitorId::new(2));
        own.is_told();
        drop(own);
        let others = (1..20).filter(|&id| id != 2).map(VisitorId::new);
        assert_eq!(delivered(&ends), others.collect::<Vec<_>>());
    }

    #[test]
    fn the_end_of_a_returning_visitor_is_delivered_first_and_once() {
        let ends = Arc::new(Ends::default());
        owe(&ends, 1..20);
        assert_eq!(ends.take_own(VisitorId::new(20)).next(), None);
        let mut own = ends.take_own(VisitorId::new(19));
        assert_eq!(own.next(), Some(VisitorId::new(19)));
        own.is_told();
        // The other ends are taken, and put back.
        let owed = ends.take_owed();
        assert_eq!(owed.next(), Some(VisitorId::new(1)));
        drop(owed);
        let all = delivered(&ends);
        assert!(all.len() == 18 && !all.contains(&VisitorId::new(19)), "{all:?}");
    }

    #[test]
    fn the_list_is_bounded_even_if_ends_are_taken_off_and_put_back() {
        let ends = Arc::new(Ends::default());
        let most = Ends::MAX as u128;
        owe(&ends, 0..most + 10);
        for id in 0..3 * most {
            drop(ends.take_end(VisitorId::new(id % most)));
        }
        let list = ends.list();
        assert_eq!((list.numbers.len(), list.by_age.len()), (Ends::MAX, Ends::MAX));
    }
}
