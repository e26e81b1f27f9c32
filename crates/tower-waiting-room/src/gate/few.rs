//! A collection of usually no or one value.

use std::{iter, mem};

/// A collection of a few values, in no particular order.
///
/// The first value needs no allocation, and no or one value is copied and dropped in a few instructions.
/// Further values form a list.
#[derive(Clone, Debug)]
pub(crate) struct Few<T> {
    /// One of the values, or `None` if there is none.
    one: Option<T>,
    others: Option<Box<Self>>,
}

impl<T> Few<T> {
    /// Creates an empty collection.
    pub(crate) const fn new() -> Self {
        Self { one: None, others: None }
    }

    /// Adds a value.
    pub(super) fn push(&mut self, value: T) {
        if !self.is_empty() {
            self.others = Some(Box::new(mem::take(self)));
        }
        self.one = Some(value);
    }

    /// Removes one of the values.
    fn pop(&mut self) -> Option<T> {
        let others = self.others.take().map(|others| *others).unwrap_or_default();
        mem::replace(self, others).one
    }

    /// Moves the values of another collection into this one.
    pub(super) fn extend(&mut self, mut values: Self) {
        while let Some(value) = values.pop() {
            self.push(value);
        }
    }

    /// Drops the values for which `keeps` returns false.
    pub(crate) fn retain(&mut self, keeps: impl Fn(&T) -> bool) {
        let mut all = mem::take(self);
        while let Some(value) = all.pop() {
            if keeps(&value) {
                self.push(value);
            }
        }
    }

    /// Drops all values.
    pub(crate) fn clear(&mut self) {
        *self = Self::new();
    }

    /// Returns whether there are no values.
    pub(crate) const fn is_empty(&self) -> bool {
        self.one.is_none()
    }

    /// Returns the values.
    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        let lists = iter::successors(Some(self), |list| list.others.as_deref());
        lists.filter_map(|list| list.one.as_ref())
    }
}

impl<T> Default for Few<T> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn few(values: &[u8]) -> Few<u8> {
        let mut few = Few::new();
        values.iter().for_each(|value| few.push(*value));
        few
    }

    fn set(few: &Few<u8>) -> BTreeSet<u8> {
        let values: BTreeSet<u8> = few.iter().copied().collect();
        assert_eq!((values.len(), values.is_empty()), (few.iter().count(), few.is_empty()));
        values
    }

    #[test]
    fn any_values_are_kept_and_the_others_dropped() {
        for values in [&[][..], &[1], &[1, 2], &[1, 2, 4]] {
            for kept in 0..8 {
                let mut some = few(values);
                some.retain(|value| kept & value != 0);
                let expected = values.iter().copied().filter(|value| kept & value != 0);
                assert_eq!(set(&some), expected.collect());
            }
            let mut all = few(&[8]);
            all.extend(few(values));
            assert_eq!(set(&all), [values, &[8]].concat().into_iter().collect());
            all.clear();
            assert!(set(&all).is_empty());
        }
    }
}
