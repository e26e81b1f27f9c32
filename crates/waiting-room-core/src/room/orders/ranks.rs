//! A sorted collection of ranks that counts the present ranks before a given one.

use std::fmt;

use super::{rank::Rank, summaries::Summaries, times::Times};
use crate::{
    Timestamp,
    room::work::{Sizes, count_steps},
};

/// The data that an order stores with each rank.
pub(in crate::room) trait Payload: Copy {
    /// Whether ranks go away as time passes.
    const GOES_AWAY: bool;

    /// The time at which the rank goes away, that is, stops being counted.
    fn until(self) -> Timestamp;
}

/// A sorted collection of ranks, which can count the present ranks before a given rank.
///
/// With a [`Timestamp`] as payload, a rank is present until that time, and
/// [`advance`](Self::advance) has to be called with the current time before any other method.
/// Without a payload, a rank is present for as long as it is in the collection.
#[derive(Clone)]
pub(in crate::room) struct Ranks<P> {
    /// The ranks in sorted sections. No section is empty.
    sections: Vec<Section<P>>,
    /// A summary for each section. All of them are valid at `now`.
    summaries: Summaries,
    /// The number of ranks, present or away.
    len: usize,
    now: Timestamp,
}

/// Up to [`Sizes::section`] consecutive chunks.
#[derive(Clone)]
struct Section<P> {
    /// Each chunk is sorted and contains up to [`Sizes::chunk`] ranks. No chunk is empty.
    chunks: Vec<Vec<(Rank, P)>>,
    /// A summary for each chunk. Outdated summaries are renewed before they are used.
    summaries: Summaries,
    /// The times at which the ranks that are present now go away.
    times: Times,
}

impl Payload for () {
    const GOES_AWAY: bool = false;

    fn until(self) -> Timestamp {
        Timestamp::MAX
    }
}

impl Payload for Timestamp {
    const GOES_AWAY: bool = true;

    fn until(self) -> Timestamp {
        self
    }
}

impl<P: Payload> Ranks<P> {
    /// Advances the time: from now on, only ranks that are present at `now` are counted.
    pub(in crate::room) fn advance(&mut self, now: Timestamp) {
        self.now = self.now.max(now);
        if P::GOES_AWAY {
            let sections = &self.sections;
            let now = self.now;
            self.summaries.renew(now, |index| sections[index].times.later_than(now));
        }
    }

    /// Adds a rank that is not in the collection yet.
    pub(in crate::room) fn insert(&mut self, rank: Rank, payload: P) {
        count_steps(1);
        if self.sections.is_empty() {
            self.sections.push(Section::default());
            self.summaries.insert(0, rank, NONE);
        }
        // A rank after all others goes into the last section.
        let index = self.summaries.find(rank).min(self.sections.len() - 1);
        let section = &mut self.sections[index];
        section.insert(rank, payload, self.now);
        self.len += 1;
        let is_last = rank > self.summaries.last(index);
        if is_last {
            self.summaries.set_last(index, rank);
        }
        if is_present(payload, self.now) {
            self.summaries.add(index, payload.until());
        }
        if section.chunks.len() > Sizes::current().section {
            // Ranks are often added after all others. In that case, the lower section stays full.
            let kept = if is_last { section.chunks.len() - 1 } else { section.chunks.len() / 2 };
            let upper = section.split_off(kept, self.now);
            let last = self.summaries.last(index);
            self.summaries.set(index, section.count(self.now));
            self.summaries.set_last(index, section.last());
            self.summaries.insert(index + 1, last, upper.count(self.now));
            self.sections.insert(index + 1, upper);
        }
    }

    /// Removes a rank, and returns its payload if it existed.
    pub(in crate::room) fn remove(&mut self, rank: Rank) -> Option<P> {
        count_steps(1);
        let index = self.summaries.find(rank);
        let payload = self.sections.get_mut(index)?.remove(rank, self.now)?;
        self.len -= 1;
        if is_present(payload, self.now) {
            self.summaries.subtract(index, 1);
        }
        self.tidy(index);
        Some(payload)
    }

    /// Replaces the payload of a rank, and returns whether the rank exists.
    pub(in crate::room) fn replace(&mut self, rank: Rank, payload: P) -> bool {
        count_steps(1);
        let index = self.summaries.find(rank);
        let section = self.sections.get_mut(index);
        let Some(old) = section.and_then(|section| section.replace(rank, payload, self.now)) else {
            return false;
        };
        if is_present(old, self.now) {
            self.summaries.subtract(index, 1);
        }
        if is_present(payload, self.now) {
            self.summaries.add(index, payload.until());
        }
        true
    }

    /// Drops the last section, and returns whether there was one.
    pub(in crate::room) fn drop_section(&mut self) -> bool {
        let Some(section) = self.sections.pop() else {
            return false;
        };
        self.summaries.remove(self.sections.len());
        self.len -= section.ranks().count();
        true
    }

    /// Returns the number of present ranks before this rank. The rank itself need not be in the
    /// collection.
    pub(in crate::room) fn before(&mut self, rank: Rank) -> u32 {
        if let Some(section) = self.sections.get_mut(self.summaries.find(rank)) {
            section.renew(self.now);
        }
        self.valid_before(rank)
    }

    /// Returns the number of present ranks.
    pub(in crate::room) fn count(&self) -> u32 {
        self.summaries.sum_before(self.summaries.len())
    }

    /// Returns whether a rank exists and is present.
    pub(in crate::room) fn is_present(&self, rank: Rank) -> bool {
        let section = self.sections.get(self.summaries.find(rank));
        let found = section.and_then(|section| section.find(rank).map(|at| (section, at)));
        found.is_some_and(|(section, (chunk, index))| {
            is_present(section.chunks[chunk][index].1, self.now)
        })
    }

    /// Returns all ranks in order, present or away.
    pub(in crate::room) fn iter(&self) -> impl Iterator<Item = Rank> {
        self.sections.iter().flat_map(Section::ranks).map(|(rank, _)| *rank)
    }

    /// Returns up to `most` ranks in order, present or away, starting at `start` (inclusive).
    pub(in crate::room) fn next_from(&self, start: Rank, most: usize) -> Vec<Rank> {
        let index = self.summaries.find(start).min(self.sections.len());
        let sections = self.sections[index..].iter().enumerate();
        let chunks = sections.flat_map(|(nth, section)| {
            let first = if nth == 0 { section.summaries.find(start) } else { 0 };
            section.chunks[first.min(section.chunks.len())..].iter().flatten()
        });
        let ranks = chunks.map(|(rank, _)| *rank).skip_while(|rank| *rank < start);
        ranks.take(most).collect()
    }

    /// Returns the number of ranks, present or away.
    pub(in crate::room) const fn len(&self) -> usize {
        self.len
    }

    /// The same as [`before`](Self::before), if the summaries of the rank's section are valid.
    fn valid_before(&self, rank: Rank) -> u32 {
        let index = self.summaries.find(rank);
        let within = self.sections.get(index).map_or(0, |section| section.before(rank, self.now));
        self.summaries.sum_before(index) + within
    }

    /// Removes a section that has become empty, or joins a section that has become small with an
    /// adjacent one.
    fn tidy(&mut self, index: usize) {
        let len = self.sections[index].chunks.len();
        if len == 0 {
            self.sections.remove(index);
            self.summaries.remove(index);
        } else if let Some(lower) =
            joined(index, Sizes::current().section, &self.sections, |section| section.chunks.len())
        {
            let upper = self.sections.remove(lower + 1);
            let last = self.summaries.last(lower + 1);
            self.summaries.remove(lower + 1);
            self.sections[lower].append(upper, self.now);
            self.summaries.set(lower, self.sections[lower].count(self.now));
            self.summaries.set_last(lower, last);
        }
    }
}

impl Ranks<()> {
    /// In an order by time, removes and returns the first ranks that are due at `now`, at most
    /// `most`.
    pub(in crate::room) fn take_due(&mut self, now: Timestamp, most: usize) -> Vec<Rank> {
        let mut due = Vec::new();
        while due.len() < most
            && let Some(rank) = self.first().filter(|rank| rank.is_due(now))
        {
            self.remove(rank);
            due.push(rank);
        }
        due
    }

    /// Returns the first rank.
    pub(in crate::room) fn first(&self) -> Option<Rank> {
        self.iter().next()
    }

    /// In an order by time, returns the number of ranks that are due at `now`.
    pub(in crate::room) fn count_due(&self, now: Timestamp) -> usize {
        // Usually, no rank is due.
        if self.first().is_none_or(|first| !first.is_due(now)) {
            return 0;
        }
        Rank::first_after(now).map_or(self.len, |rank| self.valid_before(rank) as usize)
    }
}

impl<P: Payload> Section<P> {
    fn insert(&mut self, rank: Rank, payload: P, now: Timestamp) {
        if self.chunks.is_empty() {
            self.push_chunk(0, vec![(rank, payload)], now);
        } else {
            self.insert_in_chunk(rank, payload, now);
        }
        if P::GOES_AWAY && is_present(payload, now) {
            self.times.add(payload.until(), now);
        }
    }

    fn insert_in_chunk(&mut self, rank: Rank, payload: P, now: Timestamp) {
        let most = Sizes::current().chunk;
        let index = self.summaries.find(rank).min(self.chunks.len() - 1);
        let chunk = &mut self.chunks[index];
        let is_last = rank > self.summaries.last(index);
        // Ranks are often added after all others. In that case, the chunk stays full.
        if is_last && chunk.len() >= most {
            return self.push_chunk(index + 1, vec![(rank, payload)], now);
        }
        let at = chunk.partition_point(|(other, _)| *other < rank);
        chunk.insert(at, (rank, payload));
        if is_last {
            self.summaries.set_last(index, rank);
        }
        if is_present(payload, now) && self.summaries.is_valid(index, now) {
            self.summaries.add(index, payload.until());
        }
        if chunk.len() > most {
            let upper = chunk.split_off(most / 2);
            let last = self.summaries.last(index);
            self.summaries.set(index, count(&*chunk, now));
            self.summaries.set_last(index, chunk[chunk.len() - 1].0);
            self.summaries.insert(index + 1, last, count(&upper, now));
            self.chunks.insert(index + 1, upper);
        }
    }

    fn push_chunk(&mut self, index: usize, chunk: Vec<(Rank, P)>, now: Timestamp) {
        if let Some((last, _)) = chunk.last() {
            self.summaries.insert(index, *last, count(&chunk, now));
            self.chunks.insert(index, chunk);
        }
    }

    fn remove(&mut self, rank: Rank, now: Timestamp) -> Option<P> {
        let (chunk, index) = self.find(rank)?;
        let (_, payload) = self.chunks[chunk].remove(index);
        self.forget(chunk, payload, now);
        if self.chunks[chunk].is_empty() {
            self.chunks.remove(chunk);
            self.summaries.remove(chunk);
        } else if let Some(lower) = joined(chunk, Sizes::current().chunk, &self.chunks, Vec::len) {
            let mut upper = self.chunks.remove(lower + 1);
            let last = self.summaries.last(lower + 1);
            self.summaries.remove(lower + 1);
            self.chunks[lower].append(&mut upper);
            self.summaries.set(lower, count(&self.chunks[lower], now));
            self.summaries.set_last(lower, last);
        }
        Some(payload)
    }

    fn replace(&mut self, rank: Rank, payload: P, now: Timestamp) -> Option<P> {
        let (chunk, index) = self.find(rank)?;
        let old = std::mem::replace(&mut self.chunks[chunk][index].1, payload);
        self.forget(chunk, old, now);
        if is_present(payload, now) {
            if self.summaries.is_valid(chunk, now) {
                self.summaries.add(chunk, payload.until());
            }
            if P::GOES_AWAY {
                self.times.add(payload.until(), now);
            }
        }
        Some(old)
    }

    /// Stops counting a payload that was removed from a chunk.
    fn forget(&mut self, chunk: usize, payload: P, now: Timestamp) {
        if is_present(payload, now) {
            if self.summaries.is_valid(chunk, now) {
                self.summaries.subtract(chunk, 1);
            }
            if P::GOES_AWAY {
                self.times.remove(payload.until(), now);
            }
        }
    }

    /// Splits off the chunks from `index` on.
    fn split_off(&mut self, index: usize, now: Timestamp) -> Self {
        let chunks = self.chunks.split_off(index);
        let summaries = self.summaries.split_off(index);
        let mut upper = Self { chunks, summaries, times: Times::default() };
        upper.times = upper.present_until(now);
        self.times = self.present_until(now);
        upper
    }

    /// Appends the chunks of the next section.
    fn append(&mut self, mut upper: Self, now: Timestamp) {
        self.chunks.append(&mut upper.chunks);
        self.summaries.append(upper.summaries);
        self.times = self.present_until(now);
    }

    /// Renews the chunk summaries that are no longer valid.
    fn renew(&mut self, now: Timestamp) {
        if P::GOES_AWAY {
            let chunks = &self.chunks;
            self.summaries.renew(now, |index| count(&chunks[index], now));
        }
    }

    fn before(&self, rank: Rank, now: Timestamp) -> u32 {
        let index = self.summaries.find(rank);
        let within = self.chunks.get(index).map_or(0, |chunk| {
            // Reading the chunk in order is faster than a binary search, because the ranks before
            // this one have to be read anyway.
            let before = chunk.iter().take_while(|(other, _)| *other < rank);
            count(before, now).0
        });
        self.summaries.sum_before(index) + within
    }

    /// Returns the index of the chunk that contains this rank, and the rank's index in that chunk,
    /// if the rank exists.
    fn find(&self, rank: Rank) -> Option<(usize, usize)> {
        let chunk = self.summaries.find(rank);
        let index = self.chunks.get(chunk)?.binary_search_by_key(&rank, |(rank, _)| *rank).ok()?;
        Some((chunk, index))
    }

    fn last(&self) -> Rank {
        self.summaries.last(self.summaries.len() - 1)
    }

    /// Returns the number of present ranks, and the time until which this number is valid.
    fn count(&self, now: Timestamp) -> (u32, Timestamp) {
        if P::GOES_AWAY {
            self.times.later_than(now)
        } else {
            (self.summaries.sum_before(self.summaries.len()), Timestamp::MAX)
        }
    }

    /// Reads all chunks, and collects the times at which their present ranks go away.
    fn present_until(&self, now: Timestamp) -> Times {
        if !P::GOES_AWAY {
            return Times::default();
        }
        let until = self.ranks().map(|(_, payload)| payload.until());
        until.filter(|until| *until > now).collect()
    }

    fn ranks(&self) -> impl Iterator<Item = &(Rank, P)> {
        self.chunks.iter().flatten()
    }
}

impl<P> Default for Ranks<P> {
    fn default() -> Self {
        let sections = Vec::new();
        let summaries = Summaries::new();
        Self { sections, summaries, len: 0, now: Timestamp::ZERO }
    }
}

impl<P> Default for Section<P> {
    fn default() -> Self {
        Self { chunks: Vec::new(), summaries: Summaries::new(), times: Times::default() }
    }
}

impl<P> fmt::Debug for Ranks<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ranks")
            .field("len", &self.len)
            .field("now", &self.now)
            .finish_non_exhaustive()
    }
}

/// The count of a part without ranks.
const NONE: (u32, Timestamp) = (0, Timestamp::MAX);

fn is_present<P: Payload>(payload: P, now: Timestamp) -> bool {
    !P::GOES_AWAY || payload.until() > now
}

/// Returns how many of these ranks are present, and the time until which this number is valid.
fn count<'a, P: Payload + 'a>(
    entries: impl IntoIterator<Item = &'a (Rank, P)>,
    now: Timestamp,
) -> (u32, Timestamp) {
    entries.into_iter().fold(NONE, |(count, valid), (_, payload)| {
        count_steps(1);
        if is_present(*payload, now) {
            (count + 1, valid.min(payload.until()))
        } else {
            (count, valid)
        }
    })
}

/// Returns the index of the lower of two adjacent parts that should be joined after the part at
/// `index` has lost an entry. They are joined if the part at `index` is at most a quarter full
/// and the joined part would be at most half full.
fn joined<T>(index: usize, most: usize, parts: &[T], len: impl Fn(&T) -> usize) -> Option<usize> {
    if len(&parts[index]) > most / 4 {
        return None;
    }
    let fits = |lower: usize| {
        let upper = parts.get(lower + 1)?;
        (len(&parts[lower]) + len(upper) <= most / 2).then_some(lower)
    };
    fits(index).or_else(|| fits(index.checked_sub(1)?))
}

#[cfg(test)]
mod tests;
