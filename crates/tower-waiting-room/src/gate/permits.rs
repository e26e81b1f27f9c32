//! The permits that one request holds.

use std::{iter, mem, sync::Arc};

use super::lease::HeldPermit;

/// The permits of all gates that a request has passed, in no particular order.
///
/// Most layers have no gate or one, so one permit needs no allocation, and is copied and dropped in a
/// few instructions. Further permits form a list, which is as long as the request has gates.
#[derive(Clone, Debug, Default)]
pub(crate) struct Permits {
    /// One of the permits, or `None` if there is none.
    one: Option<Arc<HeldPermit>>,
    others: Option<Box<Self>>,
}

impl Permits {
    /// Creates an empty set.
    pub(crate) const fn new() -> Self {
        Self { one: None, others: None }
    }

    /// Adds a permit.
    pub(super) fn push(&mut self, permit: Arc<HeldPermit>) {
        if !self.is_empty() {
            self.others = Some(Box::new(mem::take(self)));
        }
        self.one = Some(permit);
    }

    /// Removes one of the permits.
    fn pop(&mut self) -> Option<Arc<HeldPermit>> {
        let others = self.others.take().map(|others| *others).unwrap_or_default();
        mem::replace(self, others).one
    }

    /// Moves the permits of another set into this one.
    pub(super) fn extend(&mut self, mut permits: Self) {
        while let Some(permit) = permits.pop() {
            self.push(permit);
        }
    }

    /// Drops the permits for which `keeps` returns false.
    pub(crate) fn retain(&mut self, keeps: impl Fn(&HeldPermit) -> bool) {
        let mut all = mem::take(self);
        while let Some(permit) = all.pop() {
            if keeps(&permit) {
                self.push(permit);
            }
        }
    }

    /// Drops all permits.
    pub(crate) fn clear(&mut self) {
        *self = Self::new();
    }

    /// Returns whether there are no permits.
    pub(crate) const fn is_empty(&self) -> bool {
        self.one.is_none()
    }

    /// Returns the permits.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Arc<HeldPermit>> {
        let sets = iter::successors(Some(self), |set| set.others.as_deref());
        sets.filter_map(|set| set.one.as_ref())
    }
}

#[cfg(test)]
mod tests {
    use std::ptr;

    use http::Request;
    use waiting_room_core::{Timestamp, rate::KeyHasher};

    use super::*;
    use crate::{
        ambient::StageClock,
        gate::{Concurrency, GateStage, Gated},
        request::Caller,
        telemetry::Telemetry,
    };

    /// Returns the permits of three gates.
    fn three() -> Permits {
        let gates = ["a", "b", "c"].map(|name| Concurrency::limit(1).name(name));
        let clock = StageClock::new(|| Timestamp::ZERO);
        let stage = GateStage::new(&gates, &clock, &Telemetry::new("api".into())).unwrap();
        let hasher = KeyHasher::new([3, 1, 4, 1]);
        let request = Request::new(());
        let caller = Caller { head: (&request).into(), hasher: &hasher, visitor: None };
        let mut permits = Permits::new();
        let gated = stage.enter(&caller, Timestamp::ZERO, &mut permits, Timestamp::ZERO);
        assert!(matches!(gated, Gated::Admitted), "the gates are free");
        permits
    }

    #[test]
    fn any_permits_are_kept_and_the_others_dropped() {
        let permits = three();
        let all: Vec<_> = permits.iter().cloned().collect();
        assert_eq!(all.len(), 3);
        for kept in 0..8_u8 {
            let mut some = permits.clone();
            let index = |permit: &HeldPermit| all.iter().position(|it| ptr::eq(&**it, permit));
            some.retain(|permit| kept & 1 << index(permit).unwrap() != 0);
            let left = some.iter().fold(0, |left, permit| left | 1 << index(permit).unwrap());
            assert_eq!((left, some.is_empty()), (kept, kept == 0));
        }
        let mut none = permits.clone();
        none.clear();
        assert!(none.is_empty() && all.iter().all(|it| Arc::strong_count(it) == 2));
        none.extend(permits);
        assert_eq!(none.iter().count(), 3);
    }
}
